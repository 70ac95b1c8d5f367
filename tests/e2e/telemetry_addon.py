"""mitmproxy addon for tests: writes what thoughtkeep says of handovers in a flow's metadata to the log, a line a flow.

A request with the header `x-test-pause` makes the next request that the proxy makes itself wait for somebody who would
let it go, as a user in a UI can.
"""

from __future__ import annotations

import json
import logging

from mitmproxy import http
from mitmproxy.addons.intercept import Intercept


class Telemetry:
    """Load it behind the addon under test."""

    def __init__(self) -> None:
        self.pauses = False

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not flow.is_replay:
            self.pauses = "x-test-pause" in flow.request.headers
        elif self.pauses:
            flow.intercept()

    def response(self, flow: http.HTTPFlow) -> None:
        named = flow.request.headers.get("x-test-name")
        if named:
            told = {name: value for name, value in flow.metadata.items() if "handover" in name or "thoughtkeep" in name}
            logging.info(f"TELEMETRY {json.dumps({'name': named, **told})}")


# Only the interactive tools have an intercept filter of their own.
addons = [Intercept(), Telemetry()]
