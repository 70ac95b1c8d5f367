"""Codex's WebSocket, where it is switched off: it asks for one first, and falls back to server-sent events.

Answered with 426 Codex 0.171 uses SSE at once; left to a 404 of an upstream that has no WebSocket it does so after
seven seconds (measured).
"""

from mitmproxy import http

from thoughtkeep_mitm import traffic
from thoughtkeep_mitm.control import mode_of
from thoughtkeep_mitm.guard import guarded
from thoughtkeep_mitm.runtime import Runtime


class UpgradeRefusal:
    """Refuses WebSocket upgrades at the Responses API."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = "thoughtkeep-upgrade"
        self.runtime = runtime

    @guarded
    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Answer in place of the upstream."""
        request = flow.request
        wants = request.headers.get("upgrade", "").lower() == "websocket" and request.method == "GET"
        if not wants or not traffic.has_frames(request) or mode_of(self.runtime, flow) == "off":
            return
        if self.runtime.settings.websocket == "on":
            return  # its frames are read
        self.runtime.counts["upgrades_refused"] += 1
        flow.response = http.Response.make(
            426, b"thoughtkeep: no WebSocket here, use server-sent events\n", {"content-type": "text/plain"}
        )
