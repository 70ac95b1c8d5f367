"""The list of flows in mitmweb and mitmproxy, which keep all flows and their bodies for ever, unless pruned."""

from typing import Any

from mitmproxy import ctx, flow, http

from thoughtkeep_mitm import labels
from thoughtkeep_mitm.guard import tolerated
from thoughtkeep_mitm.runtime import Runtime


class FlowList:
    """Prunes the list as the option says. mitmdump has no list."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = "thoughtkeep-flows"
        self.runtime = runtime

    def response(self, flow: http.HTTPFlow) -> None:
        """An exchange is over: there may be one too many."""
        keep = self.runtime.settings.keep_flows
        view = flow_view()
        if keep and view is not None and view.store_count() > keep:
            with tolerated(self.runtime, "pruning", flow):
                prune(keep)

    error = response


def prune(keep: int) -> int:
    """Take flows out of the list, oldest first, until `keep` are left. Returns how many went.

    Those under way stay, and those that a user has marked.
    """
    view = flow_view()
    if view is None:
        return 0
    flows = list(view.resolve("@all"))
    gone = [each for each in flows[: max(len(flows) - keep, 0)] if not each.live and not _is_users(each)]
    for each in gone:
        view.remove([each])  # one by one: mitmproxy says it aloud where several go
    return len(gone)


def flow_view() -> Any:
    """mitmproxy's list of flows; None in mitmdump, which has none."""
    return ctx.master.addons.get("view")  # type: ignore[no-untyped-call]  # mitmproxy's own


def _is_users(each: flow.Flow) -> bool:
    return labels.is_users(each) if isinstance(each, http.HTTPFlow) else bool(each.marked)
