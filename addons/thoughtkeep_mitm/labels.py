"""What a flow shows in the lists of mitmproxy's UIs: a marker and a line of comment, where something was done to it."""

from mitmproxy import http

from thoughtkeep.show.story import Story, comment, word

HEADER = "x-thoughtkeep"

# The emoji of the weightiest deed.
_MARKERS = {
    "rescued": ":ambulance:",
    "handover": ":handshake:",
    "switched": ":twisted_rightwards_arrows:",
    "repaired": ":wrench:",
}
_MARKER = ":brain:"

# What the label put there itself is remembered here, to tell it from what a user writes.
_MINE = "thoughtkeep_label"
_MARKED = "thoughtkeep_marker"


def label(flow: http.HTTPFlow, story: Story) -> None:
    """Mark a flow and comment on it; what somebody else has put there stays."""
    told = comment(story)
    if not told:
        return
    mine = str(flow.metadata.get(_MINE, ""))
    if flow.comment == mine:
        flow.comment = told
    elif mine and mine in flow.comment:
        flow.comment = flow.comment.replace(mine, told)
    elif told not in flow.comment:
        flow.comment = f"{flow.comment} | {told}"
    marker = _MARKERS.get(next(iter(story.deeds())), _MARKER)
    if flow.marked in ("", flow.metadata.get(_MARKED)):
        flow.marked = flow.metadata[_MARKED] = marker
    flow.metadata[_MINE] = told


def is_users(flow: http.HTTPFlow) -> bool:
    """Whether a user (or another addon) has marked the flow."""
    return bool(flow.marked) and flow.marked != flow.metadata.get(_MARKED)


def head(response: http.Response, story: Story) -> None:
    """Say in an answer's header what was done."""
    response.headers[HEADER] = word(story)
