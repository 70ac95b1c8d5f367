"""Handovers: the request in which a summary stands in the place of the history."""

import json
from typing import Any

from fuzz.promises import bounded, elements, hold, hold_edits
from fuzz.wire import BORDER, Heard, Unread, Wire, hear, place
from thoughtkeep import splice
from thoughtkeep.handover.rewrite import part, rewrite
from thoughtkeep.handover.transcript import transcript
from thoughtkeep.turns import Ask, Edit, Who

type Json = Any

SUMMARY = '- Task: what the user wants, \N{SNOWMAN} "quoted".\n- Done: some.'


def check(data: bytes) -> bool:
    """A request, its history replaced at its first and last borders: the edits fit, and the latest user turn stays.

    The input is the name of a place and the request.
    """
    name, _, body = data.partition(BORDER)
    try:
        url = place(name)
        with bounded():
            heard = hear(url, body)
            last = len(heard.ask.said)
            for border in {*range(min(last, 2)), max(0, last - 1), last}:
                for role in ("user", "assistant"):
                    _judge(url, heard, border, role)
    except Unread:
        return False
    return True


def _judge(url: str, heard: Heard, border: int, role: str) -> None:
    ask, form, body = heard.ask, heard.endpoint.format, heard.body
    parted = part(ask, border)
    edits = rewrite(ask, form, border, SUMMARY, role)
    if edits is None or parted is None:
        hold(edits is None, "a summary is put where there is no user turn to keep")
        return
    transcript(parted.history)
    _once(ask, border)
    sent = splice.apply(body, edits)
    hold_edits(body, edits, sent, heard.listed)
    after = hear(url, sent)
    texts = [u.text for u in after.ask.talk]
    hold(any(SUMMARY in text for text in texts), "the summary is not in the request")
    stays = all(u.text in texts for u in ask.talk if u.who is Who.SYSTEM)
    hold(stays, "words of the system are lost")
    for kept in (u for u in ask.talk if u.who is Who.USER and u.at in parted.kept):
        hold(any(kept.text in text for text in texts), "words of the latest user turn are lost")
    planned = Wire().ask(url, body, skip=True, start=border)
    hold_edits(body, both := [*edits, *planned.plan.edits], splice.apply(body, both), heard.listed)
    _stays(url, heard, border, role, edits)


def _once(ask: Ask, border: int) -> None:
    """What a summary has told is not told to the next one again."""
    if not 0 < border < len(ask.said):
        return
    later = part(ask, len(ask.said), border)
    places = [at for at, _ in ask.listed]
    first = places.index(ask.said[border].messages[0].at)
    for told in later.history if later else ():
        hold(told.who is Who.USER or places.index(told.at) >= first, "what was summarised is told once more")


def _stays(url: str, heard: Heard, border: int, role: str, edits: list[Edit]) -> None:
    """What was sent a turn before is how what is sent now begins, or no cache would hold."""
    *top, name = heard.listed
    value = json.loads(json.dumps(heard.json))
    inner = value[top[0]] if top else value
    if border >= len(heard.ask.said) or not isinstance(inner[name], list):
        return
    now = json.dumps(value)
    inner[name].pop()
    before = hear(url, json.dumps(value).encode())
    if border >= len(before.ask.said):
        return
    earlier = rewrite(before.ask, before.endpoint.format, border, SUMMARY, role)
    assert earlier is not None
    sent = [splice.apply(*each).decode() for each in ((now.encode(), edits), (before.body, earlier))]
    whole, begun = (elements(text, heard.listed) for text in sent)
    hold(whole[: len(begun)] == begun, "a later turn changes what was sent before")
