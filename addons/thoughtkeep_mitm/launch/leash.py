"""The proxy's tie to its launcher, an addon: it says when it is ready and what it did, and ends with its launcher.

Both hold an end of one socket pair. The proxy sends a line of JSON when it listens, or why it can't, and one when it
ends; the launcher sends a word when it wants the end. If the launcher's end closes without it, however that came, the
proxy ends too, and takes the launcher's temporary folder with it. What it needs to know comes in a variable, which,
unlike a command line, nobody else can read.
"""

import asyncio
import atexit
import json
import logging
import os
import shutil
import threading
import time
from collections import Counter
from typing import Any

from mitmproxy import ctx, exceptions, http
from mitmproxy.addonmanager import Loader

VARIABLE = "THOUGHTKEEP_LAUNCH"
END = b"end\n"

# Seconds that mitmproxy may take to end in its own way.
GRACE = 8.0

# Hosts and warnings that are remembered at most.
_MOST = 200
_WARNINGS = 5


class Leash:
    """Applies what the launcher wants, and tells it what happens."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.name = "thoughtkeep-leash"
        self._plan = plan
        self._fd = int(plan["fd"])
        self._store = ""
        self._connected: Counter[str] = Counter()
        self._seen = 0
        self._is_ready = False
        self._warnings = _Warnings()
        self._telling: asyncio.Task[None] | None = None

    def load(self, _: Loader) -> None:
        """Set the options, and watch the launcher."""
        options, plan = ctx.options, self._plan
        os.set_inheritable(self._fd, False)
        threading.Thread(target=self._watch, daemon=True).start()
        logging.getLogger("thoughtkeep").addHandler(self._warnings)
        try:
            # Again: mitmproxy lets its config.yaml overrule them. Before the addons that they are for declare them.
            options.set(*plan["set"], defer=True)
            if plan["auth"] and options.upstream_auth is None:
                options.update(upstream_auth=plan["auth"])  # type: ignore[no-untyped-call]  # mitmproxy's own
            if options.ssl_verify_upstream_trusted_ca is None and options.ssl_verify_upstream_trusted_confdir is None:
                options.update(  # type: ignore[no-untyped-call]  # mitmproxy's own
                    ssl_verify_upstream_trusted_ca=plan["trusted"]
                )
        except exceptions.OptionsError as fault:
            logging.error(f"thoughtkeep: {fault}")

    def running(self) -> None:
        """It listens. Scripts have declared their options by now; what is still unknown is so for good."""
        unknown = [name for name in (spec.partition("=")[0] for spec in self._plan["set"]) if name not in ctx.options]
        if unknown:
            logging.error(f"thoughtkeep: no such option: {', '.join(unknown)}")
        self._telling = asyncio.get_running_loop().create_task(self._ready())

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """A client wants a tunnel, whether it is looked into or not."""
        host = flow.request.host
        if host in self._connected or len(self._connected) < _MOST:
            self._connected[host] += 1

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """A request that is looked at."""
        if flow.live:
            self._seen += 1

    def done(self) -> None:
        """The proxy ends. What others do about that comes after this, and may be worth a warning."""
        atexit.register(self._last)

    def _last(self) -> None:
        self._tell(self._report() if self._is_ready else {"faults": self._faults()})

    async def _ready(self) -> None:
        await asyncio.sleep(0.01)  # behind mitmproxy's last look at what was logged while it started
        if self._faults():
            return
        self._is_ready = True
        addons = ctx.master.addons
        runtime = addons.get("thoughtkeep")  # type: ignore[no-untyped-call]  # mitmproxy's own
        if runtime.settings.replay != "off":
            self._store = runtime.store().name
        listening = addons.get("proxyserver").listen_addrs()  # type: ignore[no-untyped-call]  # mitmproxy's own
        port = listening[0][1] if listening else 0
        web = getattr(ctx.master, "web_url", "")
        self._tell({"port": port, "web": web, "confdir": ctx.options.confdir})

    def _faults(self) -> list[str]:
        """The errors that end mitmproxy when it has just started."""
        check = ctx.master.addons.get("errorcheck")  # type: ignore[no-untyped-call]  # mitmproxy's own
        return list(dict.fromkeys(record.getMessage() for record in check.logger.has_errored))

    def _report(self) -> dict[str, Any]:
        runtime = ctx.master.addons.get("thoughtkeep")  # type: ignore[no-untyped-call]  # mitmproxy's own
        return {
            "counts": dict(runtime.counts),
            "store": self._store,
            "connected": list(self._connected),
            "requests": self._seen,
            "warnings": list(self._warnings.words),
            "more_warnings": self._warnings.more,
        }

    def _tell(self, told: dict[str, Any]) -> None:
        try:
            os.write(self._fd, json.dumps(told).encode() + b"\n")
        except OSError:
            return  # the launcher is gone; that ends the proxy by itself

    def _watch(self) -> None:
        heard = b""
        while not heard.endswith(END):
            try:
                data = os.read(self._fd, 16)
            except OSError:
                data = b""
            if not data:
                atexit.register(self._clean)
                break
            heard += data
        ctx.master.shutdown()  # type: ignore[no-untyped-call]  # mitmproxy's own
        time.sleep(GRACE)  # this thread ends with the process
        self._last()
        self._clean()
        os._exit(1)

    def _clean(self) -> None:
        shutil.rmtree(self._plan["folder"], ignore_errors=True)


class _Warnings(logging.Handler):
    """Remembers the first few warnings, each once, and how many more there were."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.words: dict[str, None] = {}
        self.more = 0

    def emit(self, record: logging.LogRecord) -> None:
        words = record.getMessage()
        if words in self.words:
            return
        if len(self.words) < _WARNINGS:
            self.words[words] = None
        else:
            self.more += 1


# Without a launcher there is none, for whoever imports this.
addons = [Leash(json.loads(os.environ[VARIABLE]))] if VARIABLE in os.environ else []
