"""Requests of our own to a provider, through mitmproxy itself.

mitmproxy's replay machinery honours the proxy's upstream and certificate settings, and shows the request in the UIs.
The contract here: the flow is marked as a replay (so that neither proxy authentication nor interception stops it), and
its id is known before it starts (so that no hook of ours takes it for a client's); a body that did not arrive is a
failure; when time is up the connection is closed.
"""

import asyncio

from mitmproxy import connection, ctx, http
from mitmproxy.addons.clientplayback import ReplayHandler

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
) -> http.Response:
    """Send a request as if the client of `like` had sent it, and return its whole answer. Raises Failed.

    `seconds` is all the time that it may take, `max_answer` bounds the answer, in bytes.
    """
    request = http.Request.make("POST", url, body, headers)
    flow = http.HTTPFlow(like.client_conn.copy(), connection.Server(address=(request.host, request.port)))
    flow.request = request
    flow.is_replay = "request"
    runtime.own.add(flow.id)
    handler = ReplayHandler(flow, ctx.options)
    try:
        await asyncio.wait_for(handler.replay(), seconds)
    except TimeoutError:
        for transport in handler.transports.values():
            if transport.handler:
                transport.handler.cancel("thoughtkeep: time is up")
        raise Failed(f"no answer within {seconds:g} s") from None
    finally:
        runtime.own.discard(flow.id)
    if flow.error is not None or flow.response is None:
        raise Failed(f"no answer: {flow.error.msg if flow.error else 'connection closed'}")
    if flow.response.raw_content is None or len(flow.response.raw_content) > max_answer:
        raise Failed("the answer has no body" if flow.response.raw_content is None else "the answer is too long")
    return flow.response
