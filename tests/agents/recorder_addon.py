"""mitmproxy addon for tests: writes down every request as it enters the proxy. Load it before all others.

`--set recorder_folder=FOLDER`: a file of JSON for each request, in order. Requests that the proxy makes itself are
marked.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader


class Recorder:
    """A file a request."""

    def __init__(self) -> None:
        self.count = 0

    def load(self, loader: Loader) -> None:
        loader.add_option("recorder_folder", str, "", "Where requests are written down")

    def request(self, flow: http.HTTPFlow) -> None:
        request = flow.request
        told = {
            "method": request.method,
            "host": request.pretty_host,
            "target": request.path,
            "http": request.http_version,
            "headers": list(request.headers.items(multi=True)),
            "body": base64.b64encode(request.raw_content or b"").decode(),
            "own": flow.is_replay is not None,
        }
        folder = Path(ctx.options.recorder_folder)
        part = folder / f"{self.count:04}.part"
        part.write_text(json.dumps(told))
        part.rename(part.with_suffix(".json"))
        self.count += 1


addons = [Recorder()]
