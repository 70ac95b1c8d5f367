"""Reading a flow: what of it the pure part must know, and what forbids changing it."""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

from mitmproxy import http

from thoughtkeep import identity
from thoughtkeep.bodies import Bodies, Parsed
from thoughtkeep.decode import Undecodable, pack, unpack
from thoughtkeep.endpoint import may_be, recognise
from thoughtkeep.formats import Endpoint
from thoughtkeep.jsontext import NotJson
from thoughtkeep.turns import Json, Path

# A request body larger than this, decoded, passes unread.
MAX_BODY = 256_000_000

# Headers that sign or digest the body: an edited one would be refused.
_DIGESTS = frozenset(("content-digest", "digest", "content-md5", "signature-input"))


@dataclass(frozen=True, slots=True)
class Body:
    """A request to an LLM endpoint, read: of whom, the endpoint, the plain bytes, their JSON.

    `parsed` is None where the bytes are a frame, which does not tell all that the JSON does.
    """

    tenant: str
    endpoint: Endpoint
    plain: bytes
    json: Json
    parsed: Parsed | None = None

    @property
    def at(self) -> Path:
        """Where its messages stand."""
        return self.endpoint.format.history(self.json)[0]


def read_body(key: bytes, flow: http.HTTPFlow, bodies: Bodies) -> Body | None:
    """What a request asks, or None where it is not one of ours or cannot be read. `key` is the store's."""
    request = flow.request
    raw = request.raw_content
    if not raw or not may_be(request.method, request.path):
        return None
    tenant = tenant_of(key, flow)
    try:
        parsed = bodies.parse(tenant, unpack(raw, request.headers.get("content-encoding", ""), MAX_BODY))
    except (Undecodable, NotJson):
        return None
    if not isinstance(parsed.json, dict):  # `null` too: for the formats None means a body that is not read yet
        return None
    endpoint = recognise(request.method, request.path, parsed.json)
    return Body(tenant, endpoint, parsed.plain, parsed.json, parsed) if endpoint else None


def has_frames(request: http.Request) -> bool:
    """Whether requests come in the frames of a WebSocket here, if it is one: at the Responses API only."""
    return request.path.partition("?")[0].endswith("/responses")


def write_body(request: http.Request, plain: bytes) -> None:
    """Put an edited body in place, encoded the way the client encoded its own. Raises Undecodable."""
    raw = pack(plain, request.headers.get("content-encoding", ""))
    request.raw_content = raw
    if "content-length" in request.headers:
        request.headers["content-length"] = str(len(raw))


def coding_of(response: http.Response) -> tuple[str, str]:
    """The content type and the content encoding of an answer, as it says; empty where it does not."""
    return response.headers.get("content-type", ""), response.headers.get("content-encoding", "")


def is_plain(response: http.Response) -> bool:
    """Whether an answer is not encoded, so that it can be repaired on its way."""
    return response.headers.get("content-encoding", "identity").strip().lower() in ("", "identity")


def is_signed(request: http.Request) -> bool:
    """Whether the body is covered by a signature or digest, so that it must not be edited."""
    headers = _headers_of(request)
    if headers.get("authorization", "").upper().startswith("AWS4-HMAC"):
        return True
    if headers.get("x-amz-content-sha256", "UNSIGNED-PAYLOAD").upper() != "UNSIGNED-PAYLOAD":
        return True
    return not _DIGESTS.isdisjoint(headers)


def _headers_of(request: http.Request) -> dict[str, str]:
    """All headers by their names in lower case. At once: mitmproxy looks for each by its name among all."""
    headers: dict[str, str] = {}
    for name, value in request.headers.items(multi=True):  # type: ignore[no-untyped-call]  # mitmproxy's own
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def host_of(flow: http.HTTPFlow) -> str:
    """The host that the client means.

    Where the address is only an IP (transparent modes, a name resolved by another addon) the Host header or the name
    in the TLS handshake tells it.
    """
    mode = flow.client_conn.proxy_mode.type_name
    if mode in ("transparent", "wireguard", "local", "tun"):
        return flow.request.pretty_host
    host = flow.request.host
    return flow.client_conn.sni or host if _is_ip(host) and mode != "reverse" else host


@lru_cache(maxsize=256)
def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def tenant_of(key: bytes, flow: http.HTTPFlow) -> str:
    """Whose traffic a flow is (see identity.tenant)."""
    auth = flow.metadata.get("proxyauth")
    user = str(auth[0]) if isinstance(auth, (tuple, list)) and auth else ""
    peer = flow.client_conn.peername
    return identity.tenant(
        key,
        _headers_of(flow.request),
        dict(flow.request.query) if "?" in flow.request.path else {},
        user=user,
        client=str(peer[0]) if peer else "",
        host=host_of(flow),
    )
