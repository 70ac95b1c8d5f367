"""Reading a flow: what of it the pure part must know, and what forbids changing it."""

from dataclasses import dataclass
from ipaddress import ip_address

from mitmproxy import http

from thoughtkeep import identity
from thoughtkeep.decode import Undecodable, pack, unpack
from thoughtkeep.endpoint import may_be, recognise
from thoughtkeep.formats import Endpoint
from thoughtkeep.jsontext import NotJson, loads
from thoughtkeep.turns import Json

# A request body larger than this, decoded, passes unread.
MAX_BODY = 256_000_000

# Headers that sign or digest the body: an edited one would be refused.
_DIGESTS = ("content-digest", "digest", "content-md5", "signature-input")


@dataclass(frozen=True, slots=True)
class Body:
    """A request to an LLM endpoint, read: the endpoint, the plain bytes, their JSON."""

    endpoint: Endpoint
    plain: bytes
    json: Json


def read_body(request: http.Request) -> Body | None:
    """What a request asks, or None where it is not one of ours or cannot be read."""
    raw = request.raw_content
    if not raw or not may_be(request.method, request.path):
        return None
    try:
        plain = unpack(raw, request.headers.get("content-encoding", ""), MAX_BODY)
        body = loads(plain)
    except (Undecodable, NotJson):
        return None
    if not isinstance(body, dict):  # `null` too: for the formats None means a body that is not read yet
        return None
    endpoint = recognise(request.method, request.path, body)
    return Body(endpoint, plain, body) if endpoint else None


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
    headers = request.headers
    if headers.get("authorization", "").upper().startswith("AWS4-HMAC"):
        return True
    if headers.get("x-amz-content-sha256", "UNSIGNED-PAYLOAD").upper() != "UNSIGNED-PAYLOAD":
        return True
    return any(name in headers for name in _DIGESTS)


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
        {name.lower(): flow.request.headers[name] for name in flow.request.headers},
        dict(flow.request.query),
        user=user,
        client=str(peer[0]) if peer else "",
        host=host_of(flow),
    )
