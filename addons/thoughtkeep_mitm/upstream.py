"""Requests of our own to a provider, through mitmproxy itself.

mitmproxy's replay machinery honours the proxy's upstream and certificate settings, and shows the request in the UIs.
The contract here: the flow is marked as a replay (so that neither proxy authentication nor interception stops it), and
its id is known before it starts (so that no hook of ours takes it for a client's); nothing of it is streamed, and a
body that did not arrive is a failure; when time is up, or nobody waits any more, the connection is closed.
"""

import asyncio
import copy

from mitmproxy import connection, ctx, http
from mitmproxy.addons.clientplayback import ReplayHandler
from mitmproxy.net.http.url import hostport
from mitmproxy.proxy.mode_specs import ProxyMode

from thoughtkeep_mitm.redaction import seal
from thoughtkeep_mitm.runtime import Runtime

# How much of an answer is taken unless the caller says otherwise, in bytes.
MAX_ANSWER = 4_000_000


class Failed(Exception):
    """The request brought no answer; the message says why, in a few words."""


async def post(
    runtime: Runtime,
    like: http.HTTPFlow,
    url: str,
    headers: http.Headers,
    body: bytes,
    seconds: float,
    max_answer: int = MAX_ANSWER,
    *,
    comment: str = "",
    sealed: bool = False,
) -> http.Response:
    """Send a request as if the client of `like` had sent it, and return its whole answer. Raises Failed.

    `seconds` is all the time that it may take, `max_answer` bounds the answer, in bytes. `comment` is what UIs show.
    `sealed` is for a request with a credential that is not the client's: it is neither saved nor shown when the request
    is over.
    """
    request = http.Request.make("POST", url, body, headers)
    same = _is_same(request, like.request)
    request.headers["host"] = _host_header(request, like.request)
    client, mode = like.client_conn.copy(), like.client_conn.proxy_mode
    if mode.type_name == "reverse" and not same:  # the credential in `upstream_auth` is for the reverse proxy's server
        client.proxy_mode = ProxyMode.parse("regular")
    if mode.type_name == "upstream" and request.scheme == "http":  # a proxy is told the whole URL
        request.authority = hostport(request.scheme, request.host, request.port)
    flow = http.HTTPFlow(client, connection.Server(address=(request.host, request.port)))
    flow.request = request
    flow.is_replay = "request"
    flow.comment = comment
    if sealed:
        seal(flow)
    runtime.own.add(flow.id)
    options = copy.copy(ctx.options)
    limit = str(max(max_answer, len(body)))
    options.update(mode=[mode.full_spec], stream_large_bodies=None, body_size_limit=limit)  # type: ignore[no-untyped-call]  # mitmproxy's own
    handler = ReplayHandler(flow, options)
    if mode.type_name == "reverse" and same:  # not the Host header, which may be the proxy's own name
        handler.layer.context.server.sni = like.server_conn.sni or like.client_conn.sni or request.host
    try:
        await asyncio.wait_for(handler.replay(), seconds)
    except TimeoutError:
        raise Failed(f"no answer within {seconds:g} s") from None
    finally:
        if not handler.done.is_set():
            _end(flow, handler)
        runtime.own.discard(flow.id)
    if flow.error is not None or flow.response is None:
        raise Failed(f"no answer: {flow.error.msg if flow.error else 'connection closed'}")
    if flow.response.raw_content is None or len(flow.response.raw_content) > max_answer:
        raise Failed("the answer has no body" if flow.response.raw_content is None else "the answer is too long")
    return flow.response


def _is_same(request: http.Request, like: http.Request) -> bool:
    """Whether it goes where the client's own request goes."""
    return (request.host, request.port) == (like.host, like.port)


def _host_header(request: http.Request, like: http.Request) -> str:
    """At the client's own host what the client calls it: in transparent modes the address is only an IP."""
    named = like.host_header if _is_same(request, like) else None
    return named or hostport(request.scheme, request.host, request.port)


def _end(flow: http.HTTPFlow, handler: ReplayHandler) -> None:
    """Let go of a request: one that waits for something is never sent, one that was sent loses its connection."""
    if flow.killable:
        flow.kill()  # type: ignore[no-untyped-call]  # mitmproxy's own
    for transport in handler.transports.values():
        if transport.handler:
            transport.handler.cancel("thoughtkeep: time is up")
