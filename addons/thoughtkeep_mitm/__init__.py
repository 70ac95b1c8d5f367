"""The adapter: the only code that knows mitmproxy. What is to be done is decided in `thoughtkeep`; here it is done."""

from thoughtkeep_mitm.checks import Checks
from thoughtkeep_mitm.collector import Collector
from thoughtkeep_mitm.commands import Commands
from thoughtkeep_mitm.control import ControlHeaders
from thoughtkeep_mitm.engine import Engine
from thoughtkeep_mitm.exchanges import Exchanges
from thoughtkeep_mitm.flows import FlowList
from thoughtkeep_mitm.redaction import Redaction
from thoughtkeep_mitm.runtime import Runtime
from thoughtkeep_mitm.sockets import Sockets
from thoughtkeep_mitm.trust import Trust
from thoughtkeep_mitm.upgrade import UpgradeRefusal
from thoughtkeep_mitm.views import Views

__all__ = ["make_addons"]


def make_addons() -> list[object]:
    """The addons, in the order in which they see each event. Redaction is the last that changes a flow."""
    runtime = Runtime()
    engine = Engine(runtime)
    return [
        runtime,
        Checks(),
        Collector(),
        Trust(runtime),
        Views(runtime),
        Commands(runtime),
        ControlHeaders(runtime),
        UpgradeRefusal(runtime),
        Exchanges(engine),
        Sockets(engine),
        Redaction(runtime),
        FlowList(runtime),
    ]
