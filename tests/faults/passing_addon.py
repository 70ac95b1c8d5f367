"""mitmproxy addon for tests: passes streamed answers on as they come and does nothing else.

What mitmproxy alone makes of an upstream's bytes is what thoughtkeep is measured by. Without this it would wait for
the end of an answer, and a client would be told less of a broken one.
"""

from __future__ import annotations

from mitmproxy import http


class Passing:
    """Streams what was asked for as a stream, and what says that it is one."""

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        response = flow.response
        if response is None or not 200 <= response.status_code < 300:
            return
        asked = b'"stream": true' in (flow.request.raw_content or b"")
        response.stream = asked or "event-stream" in response.headers.get("content-type", "")


addons = [Passing()]
