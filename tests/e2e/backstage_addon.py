"""mitmproxy addon for tests: a way into the running proxy, by requests to a host that does not exist.

`POST http://backstage.invalid/options` with a JSON object changes options, `GET http://backstage.invalid/counts` shows
what thoughtkeep has counted, `POST http://backstage.invalid/command` with a list of words runs a command. Load it
before the addon under test.
"""

from __future__ import annotations

import json
from typing import Any

from mitmproxy import ctx, exceptions, http

HOST = "backstage.invalid"


class Backstage:
    """Answers in place of the host."""

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.request.host != HOST:
            return
        try:
            status, answer = 200, self._answer(flow.request)
        except (exceptions.OptionsError, exceptions.CommandError) as error:
            status, answer = 400, {"error": str(error)}
        flow.response = http.Response.make(status, json.dumps(answer), {"content-type": "application/json"})

    def _answer(self, request: http.Request) -> Any:
        told = json.loads(request.content or b"{}")
        if request.path == "/options":
            ctx.options.update(**told)
            return {}
        if request.path == "/command":
            return {"value": ctx.master.commands.call_strings(told[0], told[1:])}
        return dict(ctx.master.addons.get("thoughtkeep").counts)


addons = [Backstage()]
