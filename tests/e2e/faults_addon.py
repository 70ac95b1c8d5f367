"""mitmproxy addon for tests: makes one thing inside thoughtkeep fail, for the request that names it in `x-fault`.

Hooks are made to fail from within: a hook that was replaced as a whole would be without the guard around it. Load it
before the addon under test, so that a request is armed before any other hook sees it. What is raised says a secret.
"""

from __future__ import annotations

import asyncio
import sys
import time
from types import ModuleType
from typing import Any

from mitmproxy import ctx, http

#: The header that names a fault.
HEADER = "x-fault"
#: What the faults say, and no log may.
SECRET = "sk-one and the words of the prompt"


class Faults:
    """Wraps functions so that they fail while their name is armed."""

    def __init__(self) -> None:
        self.armed = ""

    def running(self) -> None:
        exchanges = ctx.master.addons.get("thoughtkeep-exchanges")
        runtime = ctx.master.addons.get("thoughtkeep")
        store = runtime.store()
        for name in ("begin", "_facts", "answer", "commit", "finish"):
            self._wrap(exchanges.engine, name)
        self._wrap(runtime, "concerns")
        for name in ("put", "touch"):
            self._wrap(store, name)
        for name in ("fetch", "flush"):
            self._wrap_async(store, name)
        module = sys.modules["thoughtkeep_mitm.engine"]
        self._wrap(module, "decide")
        for owner, names in (("Journal", ("started", "planned", "ended")), ("Answer", ("_work", "turns"))):
            for name in names:
                self._wrap(getattr(module, owner), name)
        self._wrap(sys.modules["thoughtkeep.splice"], "apply")
        self._wrap_write(sys.modules["thoughtkeep_mitm.traffic"])

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        self.armed = flow.request.headers.pop(HEADER, "")
        # The hook that takes headers off calls nothing that could be wrapped.
        control = sys.modules["thoughtkeep_mitm.control"]
        control.PREFIX = None if self.armed == "control" else "x-thoughtkeep"  # type: ignore[attr-defined]

    def _wrap(self, owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        def failing(*args: Any, **named: Any) -> Any:
            if self.armed == name:
                raise RuntimeError(SECRET)
            return inner(*args, **named)

        setattr(owner, name, failing)

    def _wrap_async(self, owner: Any, name: str) -> None:
        inner = getattr(owner, name)

        async def failing(*args: Any) -> Any:
            if self.armed == name:
                raise RuntimeError(SECRET)
            if self.armed == f"{name} hangs":
                await asyncio.sleep(60)
            if self.armed == f"{name} is heard late":
                for _ in range(6):  # rounds of the loop, each of which is long, as under many requests at a time
                    asyncio.get_running_loop().call_soon(time.sleep, 0.3)
                    await asyncio.sleep(0)
            return await inner(*args)

        setattr(owner, name, failing)

    def _wrap_write(self, traffic: ModuleType) -> None:
        """Fails when everything is changed already."""
        inner = traffic.write_body

        def failing(request: http.Request, *args: Any) -> Any:
            inner(request, *args)
            if self.armed == "write_body":
                request.path = "/somewhere/else"
                request.headers["x-half-done"] = "yes"
                raise RuntimeError(SECRET)

        traffic.write_body = failing  # type: ignore[attr-defined]


addons = [Faults()]
