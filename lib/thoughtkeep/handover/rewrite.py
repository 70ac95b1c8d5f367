"""The request that the new model gets: the summary, the latest user turn, and what came behind the border.

A pure function of the request at hand, the border and the summary: as long as the client's bytes before the border stay
the same, so do those that are sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from thoughtkeep.formats.base import Format
from thoughtkeep.handover import prompt
from thoughtkeep.handover.transcript import cut, line
from thoughtkeep.identity import without_reminders
from thoughtkeep.turns import END, Ask, Edit, Op, Path, Utterance, Who

# How much of the last step of an open tool loop goes along word for word, in characters.
STEP_LIMIT = 24_000

REASON = "history replaced by a summary"


@dataclass(frozen=True, slots=True)
class Cut:
    """A conversation parted at a border.

    `history` is what a summary has to cover, `kept` the messages of the latest user turn, in order, `step` the last
    step of a tool loop that is open at the border, `dropped` the messages that go. `cleared` are the user's own words
    in a first message that stays for what its agent has put into it (a project's instructions, say).
    """

    history: tuple[Utterance, ...]
    kept: tuple[Path, ...]
    step: tuple[Utterance, ...]
    dropped: tuple[Path, ...]
    cleared: tuple[Path, ...] = ()


def part(ask: Ask, border: int, start: int = 0) -> Cut | None:
    """Part a conversation before the assistant turn `border` (their count: at its end).

    `start` is the border of a handover before: what stands before it is in its summary already, but for the user turn
    that was kept then. None where there is no user turn to keep, or one that can hold no words.
    """
    limit = ask.said[border].messages[0].at if border < len(ask.said) else None
    listed = list(ask.listed)
    if limit is not None:
        listed = listed[: [at for at, _ in listed].index(limit)]
    inside = {at for at, _ in listed}
    talk = [uttered for uttered in ask.talk if uttered.at in inside]
    speaking = {u.at for u in talk if u.who is Who.USER and (without_reminders(u.text) or not u.text)}
    heard = [number for number, (at, who) in enumerate(listed) if who is Who.USER and at in speaking]
    if not heard:
        return None
    kept = _run(listed, heard[-1])
    if any(u.at in kept and u.block == u.at and not u.text for u in talk):
        return None  # no content that words could be put into: an approval, say
    covered = [u for u in talk if u.who is not Who.USER or u.at not in kept]
    if 0 < start < len(ask.said):
        first = [at for at, _ in listed].index(ask.said[start].messages[0].at)
        behind = {at for at, _ in listed[first:]}
        earlier = part(ask, start)
        words = earlier.kept if earlier else ()
        covered = [u for u in covered if u.at in behind or (u.who is Who.USER and u.at in words)]
    preface, cleared = _preface(listed[: heard[0] + 1], kept, talk)
    stays = {*kept, *preface, *_asides(listed, kept[-1])}
    dropped = tuple(at for at, who in listed if who is not Who.SYSTEM and at not in stays)
    return Cut(tuple(covered), kept, _step(ask, listed, kept[-1], border, talk), dropped, cleared)


def _preface(
    listed: Sequence[tuple[Path, Who]], kept: Sequence[Path], talk: Sequence[Utterance]
) -> tuple[set[Path], tuple[Path, ...]]:
    """What an agent told the model before the user's first words: it stands in no summary, and stays.

    `listed` ends with the message of those words. Returns the messages that stay, and the blocks of that last one that
    go all the same: the words themselves.
    """
    blocks = {at: [u for u in talk if u.at == at] for at, who in listed if who is Who.USER and at not in kept}
    told = {at for at, spoken in blocks.items() if any(u.text and not without_reminders(u.text) for u in spoken)}
    last = listed[-1][0]
    words = [u.block for u in blocks.get(last, ()) if without_reminders(u.text) or not u.text]
    return told, tuple(words) if last in told else ()


def _asides(listed: Sequence[tuple[Path, Who]], behind: Path) -> Sequence[Path]:
    """What the system says directly behind a message. Elsewhere in the history it goes with the message before it."""
    places = [at for at, _ in listed]
    following = listed[places.index(behind) + 1 :]
    return [at for at, _ in takewhile(lambda each: each[1] is Who.ASIDE, following)]


def _run(listed: Sequence[tuple[Path, Who]], last: int) -> tuple[Path, ...]:
    """The messages of a user turn: those of the user around the last one that has words.

    Neither the assistant nor a tool speaks between them; what the system says there stays where it is.
    """
    ours = [who is Who.USER or who.is_system for _, who in listed]
    through = range(len(listed))
    first = last
    while first - 1 in through and ours[first - 1]:
        first -= 1
    while last + 1 in through and ours[last + 1]:
        last += 1
    return tuple(at for at, who in listed[first : last + 1] if who is Who.USER)


def _step(
    ask: Ask, listed: Sequence[tuple[Path, Who]], behind: Path, border: int, talk: Sequence[Utterance]
) -> tuple[Utterance, ...]:
    """What the last assistant turn before the border said and called, with the results, unless the user spoke since."""
    order = {at: number for number, (at, _) in enumerate(listed)}
    if border == 0:
        return ()
    begin = order.get(ask.said[border - 1].messages[0].at, -1)
    if begin < order[behind]:
        return ()
    return tuple(u for u in talk if order[u.at] >= begin and not u.who.is_system)


def rewrite(ask: Ask, form: Format, border: int, summary: str, role: str = "user") -> list[Edit] | None:
    """The edits that put a summary in the place of what stands before the border; None where that cannot be.

    `role` is who tells the summary: `user`, in front of the user's own words; `assistant`, in a message of its own.
    """
    cut_ = part(ask, border)
    if cut_ is None:
        return None
    front, back = cut_.kept[0], cut_.kept[-1]
    index = front[-1]
    if not isinstance(index, int):  # all of the conversation is one string, and no message
        return None
    edits = [Edit(Op.REMOVE, at, reason=REASON) for at in cut_.dropped]
    edits += [Edit(Op.REMOVE, block, reason=REASON) for block in cut_.cleared]
    edits += [
        Edit(Op.REMOVE, u.block, reason=REASON)
        for u in ask.talk
        if u.who is Who.RESULT and u.at in cut_.kept and u.block != u.at
    ]
    framed = prompt.frame(summary)
    before = ""
    if role == "assistant":
        message = form.message("assistant", framed.strip())
        edits.append(Edit(Op.INSERT, front[:-1], index=index, value=message, reason=REASON))
    else:
        before = framed
    after = _told(cut_.step)
    if front == back:
        edits += _around(ask, form, front, before, after)
    else:
        edits += _around(ask, form, front, before, "")
        edits += _around(ask, form, back, "", after)
    return edits


def _told(step: Sequence[Utterance]) -> str:
    text = "\n\n".join(words for u in step if (words := line(u, STEP_LIMIT)))
    return prompt.open_step(cut(text, STEP_LIMIT)) if text else ""


def _around(ask: Ask, form: Format, at: Path, before: str, after: str) -> list[Edit]:
    """Words before and behind those of a user's message, in the form that the client gave its content."""
    if not before and not after:
        return []
    content = (*at, form.content)
    blocks = [u for u in ask.talk if u.at == at]
    if all(u.block == at for u in blocks):
        words = "".join(u.text for u in blocks)
        return [Edit(Op.PUT, at, key=form.content, value=before + words + after, reason=REASON)]
    if len(blocks) == 1 and blocks[0].text:
        # One text, as the string form has it: clients send a lone text in either form, and change it later on (Claude
        # Code: a list while a cache mark stands on it, then a string), and what a model has seen must stay the same.
        words = before + blocks[0].text + after
        return [Edit(Op.PUT, blocks[0].block, key="text", value=words, reason=REASON)]
    edits = []
    if before:
        edits.append(Edit(Op.INSERT, content, index=0, value=form.words(before.rstrip()), reason=REASON))
    if after:
        edits.append(Edit(Op.INSERT, content, index=END, value=form.words(after.strip()), reason=REASON))
    return edits
