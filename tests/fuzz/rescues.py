"""Refused requests: what the refusal tells, and the request repaired."""

from fuzz.promises import bounded, hold, hold_edits
from fuzz.requests import hold_said
from fuzz.wire import BORDER, Unread, Wire, hear, place
from thoughtkeep import splice
from thoughtkeep.rescue.fault import Fault, read_fault
from thoughtkeep.rescue.repair import repair


def check(data: bytes) -> bool:
    """A request and the error that it was refused with: the repair fits, and repairs what it repaired only once.

    The input is the name of a place, the request, and the words of the error.
    """
    parts = data.split(BORDER)
    if len(parts) != 3:
        return False
    name, body, words = parts
    try:
        url = place(name)
        with bounded():
            heard = hear(url, body)
            fault = read_fault(heard.ask.format, 400, words.decode("utf-8", "replace"))
            if fault is None:
                return False
            _judge(url, body, fault)
    except Unread:
        return False
    return True


def _judge(url: str, body: bytes, fault: Fault) -> None:
    for skip in (True, False):
        heard = hear(url, body)
        made = repair(Wire.key, heard.ask, heard.profile, fault, skip=skip)
        sent = splice.apply(body, made.edits) if made.edits else body
        hold_edits(body, made.edits, sent, heard.listed)
        after = hear(url, sent)
        hold_said(heard.ask, after.ask, of_user=True)
        # On later turns only what was taken out then is taken out: of this request nothing is left to take.
        later = repair(Wire.key, after.ask, after.profile, fault, made.marks, skip=skip)
        hold(not later.edits, "of what was taken out something is left")
