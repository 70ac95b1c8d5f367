"""mitmproxy addon for tests: a way into the running proxy, by requests to a host that does not exist.

`POST http://backstage.invalid/options` with a JSON object changes options, `GET http://backstage.invalid/counts` shows
what thoughtkeep has counted. Load it before the addon under test.
"""

from __future__ import annotations

import json

from mitmproxy import ctx, exceptions, http

HOST = "backstage.invalid"


class Backstage:
    """Answers in place of the host."""

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.request.host != HOST:
            return
        status, answer = 200, {}
        if flow.request.path == "/options":
            try:
                ctx.options.update(**json.loads(flow.request.content or b"{}"))
            except exceptions.OptionsError as error:
                status, answer = 400, {"error": str(error)}
        else:
            answer = dict(ctx.master.addons.get("thoughtkeep").counts)
        flow.response = http.Response.make(status, json.dumps(answer), {"content-type": "application/json"})


addons = [Backstage()]
