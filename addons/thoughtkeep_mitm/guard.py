"""The one seam where faults of this addon end: the flow goes on as it came.

mitmproxy logs an exception of a hook and goes on, but the flow would stay half changed, and every later addon of the
script would miss the event.
"""

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mitmproxy import http

from thoughtkeep_mitm.runtime import Runtime

log = logging.getLogger("thoughtkeep")


class _Before:
    """A flow's request as it was: body, headers, path. The body is a reference, not a copy."""

    def __init__(self, flow: http.HTTPFlow) -> None:
        request = flow.request
        self._content, self._headers, self._path = request.raw_content, request.headers.fields, request.path
        self._response = flow.response

    def restore(self, flow: http.HTTPFlow) -> None:
        """Put it back."""
        flow.request.headers.fields = self._headers
        flow.request.path = self._path
        flow.request.raw_content = self._content
        if self._response is None:
            flow.response = None


def guarded[Hook: Callable[..., Any]](hook: Hook) -> Hook:
    """A hook that never raises, of an object with a `runtime`. Cancellation passes: it is no fault."""
    name = hook.__name__

    if inspect.iscoroutinefunction(hook):

        @functools.wraps(hook)
        async def careful_async(self: Any, flow: http.HTTPFlow) -> None:
            if flow.id in self.runtime.own:
                return  # a request of our own to a provider
            before = _Before(flow)
            try:
                await hook(self, flow)
            except Exception as fault:
                fault_in(self.runtime, name, flow, fault)
                before.restore(flow)

        return careful_async  # type: ignore[return-value]  # the wrapper takes what the hook takes

    @functools.wraps(hook)
    def careful(self: Any, flow: http.HTTPFlow) -> None:
        if flow.id in self.runtime.own:
            return
        before = _Before(flow)
        try:
            hook(self, flow)
        except Exception as fault:
            fault_in(self.runtime, name, flow, fault)
            before.restore(flow)

    return careful  # type: ignore[return-value]  # the wrapper takes what the hook takes


@contextmanager
def tolerated(runtime: Runtime, where: str, flow: http.HTTPFlow) -> Iterator[None]:
    """For what only tells of an exchange: a fault there is said, and changes nothing of the exchange itself."""
    try:
        yield
    except Exception as fault:
        runtime.counts["faults"] += 1
        log.error(f"thoughtkeep: fault in {where} [{flow.id[:8]}], the traffic goes on: {type(fault).__name__}")
        log.debug("thoughtkeep: the fault was", exc_info=fault)


def fault_in(runtime: Runtime, where: str, flow: http.HTTPFlow, fault: Exception) -> None:
    """Count a fault and say so once, with the flow; never its content, which may be secret."""
    runtime.counts["faults"] += 1
    place = f"{flow.request.method} {flow.request.host}{flow.request.path.partition('?')[0]}"
    log.error(f"thoughtkeep: fault in {where}, passed on as it came: {place} [{flow.id[:8]}] {type(fault).__name__}")
    log.debug("thoughtkeep: the fault was", exc_info=fault)
