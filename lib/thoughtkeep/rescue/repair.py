"""The edits that make a refused request acceptable: one function a kind of fault, on the request as it was sent.

`only` are the marks of what an earlier rescue of this conversation took out: given, nothing else is, whatever the error
named. Each function yields its edits, each with the mark of what it takes out (empty where there is none).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from thoughtkeep.identity import digest, same_base64
from thoughtkeep.jsontext import strings
from thoughtkeep.mend import is_filler
from thoughtkeep.profiles import Profile
from thoughtkeep.rescue.fault import Fault
from thoughtkeep.rescue.skip import open_steps, put_skip
from thoughtkeep.turns import Ask, Edit, Json, Kind, Op, Said

REASON = "repaired after a refusal"


@dataclass(frozen=True, slots=True)
class Repair:
    """Edits, and the marks of what they take out; no edits: nothing can be done."""

    edits: tuple[Edit, ...]
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Case:
    key: bytes
    ask: Ask
    profile: Profile
    fault: Fault
    only: frozenset[str] | None
    skip: bool

    def mark(self, value: Json) -> str:
        """A digest of an opaque value, for a lesson: the value itself is not written down twice."""
        return digest(self.key, "lesson", *(same_base64(text) for text in strings(value)))

    def wanted(self, mark: str) -> bool:
        return self.only is None or mark in self.only


def repair(
    key: bytes, ask: Ask, profile: Profile, fault: Fault, only: Sequence[str] | None = None, *, skip: bool = True
) -> Repair:
    """What to change in a request that was refused with this fault; with `skip` Google's stand-in may be used."""
    case = _Case(key, ask, profile, fault, None if only is None else frozenset(only), skip)
    found = list(_KINDS[fault.kind](case))
    edits = tuple(edit for edit, _ in found)
    return Repair(edits, tuple(dict.fromkeys(mark for _, mark in found if mark)))


type _Found = Iterator[tuple[Edit, str]]


def _signature_missing(case: _Case) -> _Found:
    """Google's documented stand-in on the first call of each step of the current turn that has no signature.

    Where nothing is missing there the provider counts turns in another way: then in all turns.
    """
    steps, everywhere = open_steps(case.ask), range(len(case.ask.said))
    if case.only is None:
        yield from list(_stand_ins(case, steps)) or _stand_ins(case, everywhere)
        return
    for number in everywhere:
        yield from (found for found in _stand_ins(case, [number]) if number in steps or case.wanted(found[1]))


def _stand_ins(case: _Case, steps: Sequence[int]) -> _Found:
    for said in (case.ask.said[number] for number in steps):
        if said.calls and case.skip:
            for edit in put_skip(case.ask, said, case.profile, demanded=True):
                yield edit, _step(case, said)


def _step(case: _Case, said: Said) -> str:
    """The mark of a step: its first call."""
    call = said.calls[0]
    return digest(case.key, "lesson", call.id, call.name, call.arguments)


def _signature_refused(case: _Case) -> _Found:
    """Signatures go; on the first call of a step of the current turn the stand-in takes their place."""
    steps = open_steps(case.ask)
    for number, said in enumerate(case.ask.said):
        found = [*_without_state(case, said), *_without_thoughts(case, said)]
        yield from found
        if found and case.skip and number in steps:
            for edit in put_skip(case.ask, said, case.profile, replace=True):
                yield edit, ""


def _without_state(case: _Case, said: Said) -> _Found:
    for message in said.messages:
        for name, value in message.state.items():
            if case.wanted(mark := case.mark(value)):  # prose too: OpenRouter makes an unsigned block of it
                yield Edit(Op.DROP, message.at, key=name, reason=REASON), mark
    for piece in said.pieces:
        for name, value in piece.state.items():
            outer, _, inner = name.rpartition("/")
            signs = isinstance(value, (str, dict)) and not (isinstance(value, str) and is_filler(value))
            if piece.at and signs and case.wanted(mark := case.mark(value)):
                yield Edit(Op.DROP, (*piece.at, outer) if outer else piece.at, key=inner, reason=REASON), mark


def _prose_missing(case: _Case) -> _Found:
    """`reasoning_content` as an empty string where there is none: Kimi takes it, DeepSeek V4 too, in all turns."""
    for said in case.ask.said if case.ask.thinking != "off" else ():
        for message in said.messages:
            if message.state.get("reasoning_content") is None:
                yield Edit(Op.PUT, message.at, key="reasoning_content", value="", reason=REASON), ""


def _state_unwanted(case: _Case) -> _Found:
    """The keys that the error names go from all assistant messages."""
    names = case.fault.named if case.only is None else case.only
    for said in case.ask.said:
        for message in said.messages:
            for name in message.state:
                if name in names:
                    yield Edit(Op.DROP, message.at, key=name, reason=REASON), name


def _thinking_missing(case: _Case) -> _Found:
    """Thinking is turned off for the rest of the turn: there is no stand-in for a signed block."""
    if case.ask.thinking != "off" and case.wanted(_loop(case)):
        yield from _thinking_off(case)
        for said in case.ask.said:
            yield from _without_thoughts(case, said)


def _thinking_refused(case: _Case) -> _Found:
    """All thinking goes (the error names the first block that fails), and in an open tool loop thinking itself.

    A final assistant message must begin with a thinking block where thinking is on: without one, off it must be. Where
    a message before the loop is named, the loop stays as it is.
    """
    named = {int(number) for number in case.fault.named} if case.only is None else set()
    steps = open_steps(case.ask)
    before = [said for number, said in enumerate(case.ask.said) if number not in steps]
    outside = any(message.at[-1] in named for said in before for message in said.messages)
    if steps and not outside and case.ask.thinking != "off" and case.wanted(_loop(case)):
        yield from _thinking_off(case)
    for said in before if outside else case.ask.said:
        yield from _without_thoughts(case, said)


def _loop(case: _Case) -> str:
    """The mark of the current turn: its first step; empty where it has none."""
    steps = open_steps(case.ask)
    return _step(case, case.ask.said[steps[0]]) if steps else ""


def _thinking_off(case: _Case) -> _Found:
    """Said aloud: newer Claude models and DeepSeek think unless told not to (llm-anthropic #80, hermes-agent #15700).

    With it goes what is refused without thinking (`clear_thinking_20251015`: claude-code #11971).
    """
    yield Edit(Op.PUT, (), key="thinking", value={"type": "disabled"}, reason=REASON), _loop(case)
    yield Edit(Op.DROP, (), key="context_management", reason=REASON), ""


def _without_thoughts(case: _Case, said: Said) -> _Found:
    """The thinking among the content goes; so does a message that held nothing else, unless nothing would be left."""
    gone = {
        id(piece): mark
        for piece in said.pieces
        if piece.kind is Kind.THOUGHT
        and (piece.value or piece.state.keys() & {"signature", "data"})
        and case.wanted(mark := case.mark(piece.value or dict(piece.state)))
    }
    if all(id(piece) in gone for piece in said.pieces):
        return
    for message in said.messages:
        inside = [piece for piece in said.pieces if piece.at and piece.at[: len(message.at)] == message.at]
        for piece in inside:
            if piece.at is None or id(piece) not in gone:
                continue
            beside = [other for other in inside if other.at and other.at[:-1] == piece.at[:-1]]
            if all(id(other) in gone for other in inside):
                edit = Edit(Op.REMOVE, message.at, reason=REASON)
            elif all(id(other) in gone for other in beside):  # calls are left, beside an empty array
                edit = Edit(Op.PUT, message.at, key=str(piece.at[-2]), value="", reason=REASON)
            else:
                edit = Edit(Op.REMOVE, piece.at, reason=REASON)
            yield edit, gone[id(piece)]


def _reasoning_missing(case: _Case) -> _Found:
    """The item ids that ask for a reasoning item which nobody has: they go, the call ids stay."""
    for said in case.ask.said:
        thinks = any(piece.kind is Kind.THOUGHT for piece in said.pieces)
        for piece in said.pieces:
            asked = case.only is not None or piece.ref in case.fault.named or not thinks
            if piece.at and piece.ref and asked and case.wanted(piece.ref):
                yield Edit(Op.DROP, piece.at, key="id", reason=REASON), piece.ref


def _reasoning_refused(case: _Case) -> _Found:
    """Reasoning items go, and with them the ids of what they led to: the named ones, else all."""
    for said in case.ask.said:
        gone = False
        for piece in said.pieces:
            if piece.kind is Kind.THOUGHT:
                mark = case.mark(piece.state.get("encrypted_content") or piece.ref)
                named = case.only is not None or not case.fault.named or piece.ref in case.fault.named
                gone = named and case.wanted(mark) and piece.at is not None
                if gone and piece.at is not None:
                    yield Edit(Op.REMOVE, piece.at, reason=REASON), mark
            elif gone and piece.ref and piece.at:
                yield Edit(Op.DROP, piece.at, key="id", reason=REASON), ""


def _overflow(_case: _Case) -> _Found:
    """Nothing to edit: the client's own request goes instead of ours (see the caller)."""
    return iter(())


_KINDS: dict[str, Callable[[_Case], _Found]] = {
    "signature_missing": _signature_missing,
    "signature_refused": _signature_refused,
    "prose_missing": _prose_missing,
    "state_unwanted": _state_unwanted,
    "thinking_missing": _thinking_missing,
    "thinking_refused": _thinking_refused,
    "reasoning_missing": _reasoning_missing,
    "reasoning_refused": _reasoning_refused,
    "overflow": _overflow,
}
