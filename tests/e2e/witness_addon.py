"""mitmproxy addon for tests: writes to the log what a flow shows in the UIs when it is over, and what events it led to.

Load it behind the addon under test. Requests for a host that is not a loopback address are none of its concern.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import Any

from mitmproxy import http


class Witness:
    """A line a flow and event."""

    def response(self, flow: http.HTTPFlow) -> None:
        if flow.request.host != "backstage.invalid":
            body = flow.response.raw_content if flow.response else None
            self._tell(
                "flow",
                flow,
                comment=flow.comment,
                marked=flow.marked,
                metadata=flow.metadata,
                body=None if body is None else len(body),
            )

    error = response

    def thoughtkeep_captured(self, flow: http.HTTPFlow, captured: Any) -> None:
        self._tell("captured", flow, **dataclasses.asdict(captured))

    async def thoughtkeep_injected(self, flow: http.HTTPFlow, injected: Any) -> None:
        self._tell("injected", flow, **dataclasses.asdict(injected))

    def thoughtkeep_handover(self, flow: http.HTTPFlow, handover: Any) -> None:
        self._tell("handover", flow, **dataclasses.asdict(handover))

    def _tell(self, what: str, flow: http.HTTPFlow, **told: Any) -> None:
        logging.info(f"WITNESS {json.dumps({'what': what, 'id': flow.id, 'path': flow.request.path, **told})}")


addons = [Witness()]
