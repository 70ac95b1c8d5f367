"""mitmproxy addon that profiles the process, all threads of it, between two requests, and writes down what it found.

`--set bench_profile=FILE`; a request to the host `profile.bench` begins with the path `/start` and ends with `/stop`.
"""

import cProfile

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader

HOST = "profile.bench"


class Profiler:
    """Answers its own host, passes all others."""

    def __init__(self) -> None:
        self._profile = cProfile.Profile()

    def load(self, loader: Loader) -> None:
        """Declare the option."""
        loader.add_option("bench_profile", str, "", "The file that the profile is written to")

    def request(self, flow: http.HTTPFlow) -> None:
        """Start or stop."""
        if flow.request.host != HOST:
            return
        if flow.request.path == "/start":
            self._profile.enable()
        else:
            self._profile.disable()
            self._profile.dump_stats(ctx.options.bench_profile)
        flow.response = http.Response.make(200, b"{}")


addons = [Profiler()]
