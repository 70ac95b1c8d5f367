"""Requests: read, their lost state put back, and what must not go taken out, in every format."""

from collections import Counter

from fuzz.promises import bounded, hold, hold_edits
from fuzz.wire import BORDER, Planned, Unread, Wire, place
from thoughtkeep.turns import Ask, Who


def check(data: bytes) -> bool:
    """Exchanges, and the next request of a client that lost something.

    The input is a line of one or two names of places (where the conversation was, where the next request goes), then
    requests and answers in turn, the last request the one that is judged.
    """
    names, *parts = data.split(BORDER)
    try:
        urls = [place(name) for name in names.split(b" ")]
        if len(urls) > 2 or len(parts) % 2 != 1 or len(parts) > 7:
            return False
        wire = Wire()
        with bounded():
            for request, answer in zip(parts[:-1:2], parts[1::2], strict=True):
                wire.answer(wire.ask(urls[0], request), answer)
            for skip in (False, True):
                _judge(wire, urls[-1], parts[-1], skip)
    except Unread:
        return False
    return True


def _judge(wire: Wire, url: str, body: bytes, skip: bool) -> None:
    found = wire.ask(url, body, skip=skip)
    hold_edits(body, found.plan.edits, found.sent, found.heard.listed)
    hold_said(found.heard.ask, wire.ask(url, found.sent).heard.ask, of_user=True)
    again = _again(wire, url, found, skip)
    hold(again.sent == found.sent, "state is put in again where it was put before")


def _again(wire: Wire, url: str, found: Planned, skip: bool) -> Planned:
    try:
        return wire.ask(url, found.sent, skip=skip)
    except Unread:
        raise AssertionError("what was written is no request any more") from None


def hold_said(before: Ask, after: Ask, *, of_user: bool) -> None:
    """Nothing that anybody said is lost or invented: the calls in their order, the words of users and tools."""
    calls = [[(call.name, call.arguments) for said in ask.said for call in said.calls] for ask in (before, after)]
    hold(calls[0] == calls[1], "the calls are others, or in another order")
    if of_user:
        words = [Counter((u.who, u.text) for u in ask.talk if u.who not in _MODEL) for ask in (before, after)]
        hold(words[0] == words[1], "the words of the user or of a tool are others")


_MODEL = (Who.ASSISTANT, Who.CALL)
