"""The request headers by which a client or a router speaks to thoughtkeep itself. None of them leaves the proxy."""

from mitmproxy import http

from thoughtkeep.show.story import Mode
from thoughtkeep_mitm import traffic
from thoughtkeep_mitm.guard import guarded
from thoughtkeep_mitm.runtime import Runtime

# All headers that begin so are ours.
PREFIX = "x-thoughtkeep"

# Where the value of `x-thoughtkeep` is remembered. Flow metadata takes primitives only, and is saved with the flow.
MODE = "thoughtkeep_mode"

# Where those of `x-thoughtkeep-switch-from` (a model) and `x-thoughtkeep-handover` (`skip`) are.
SWITCH_FROM = "thoughtkeep_switch_from"
HANDOVER = "thoughtkeep_handover"


def mode_of(runtime: Runtime, flow: http.HTTPFlow) -> Mode:
    """What may be done to the requests of a flow: as its client says, or else the option."""
    wish: Mode = flow.metadata.get(MODE, runtime.settings.replay)
    if not flow.live or wish == "off" or not runtime.concerns(flow):
        return "off"
    return "signed" if wish == "on" and traffic.is_signed(flow.request) else wish


class ControlHeaders:
    """Takes the control headers off every request, before anything else can see them go upstream."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = "thoughtkeep-control"
        self.runtime = runtime

    @guarded
    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Remember what they say, take them off."""
        names = {name for name in flow.request.headers if name.lower().startswith(PREFIX)}
        if not names:
            return
        mode = flow.request.headers.get(PREFIX, "").strip().lower()
        if mode in ("on", "observe", "off"):
            flow.metadata[MODE] = mode
        for header, meta in ((f"{PREFIX}-switch-from", SWITCH_FROM), (f"{PREFIX}-handover", HANDOVER)):
            if said := flow.request.headers.get(header, "").strip():
                flow.metadata[meta] = said[:200]
        for name in names:
            del flow.request.headers[name]
