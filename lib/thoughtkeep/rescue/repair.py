"""The edits that make a refused request acceptable: one function a kind of fault, on the request as it was sent.

`only` are the marks of what an earlier rescue of this conversation took out: given, nothing else is. Each function
returns its edits and the marks of what they take out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from thoughtkeep.identity import digest, same_base64
from thoughtkeep.jsontext import strings
from thoughtkeep.mend import is_filler
from thoughtkeep.profiles import PROSE, Profile
from thoughtkeep.rescue.fault import Fault
from thoughtkeep.rescue.skip import open_steps, put_skip
from thoughtkeep.turns import Ask, Edit, Json, Kind, Op, Piece, Said

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

    def mark(self, value: Json) -> str:
        """A digest of an opaque value, for a lesson: the value itself is not written down twice."""
        return digest(self.key, "lesson", *(same_base64(text) for text in strings(value)))

    def wanted(self, mark: str) -> bool:
        return self.only is None or mark in self.only


def repair(key: bytes, ask: Ask, profile: Profile, fault: Fault, only: Sequence[str] | None = None) -> Repair:
    """What to change in a request that was refused with this fault."""
    case = _Case(key, ask, profile, fault, None if only is None else frozenset(only))
    found = list(_KINDS[fault.kind](case))
    edits = tuple(edit for edit, _ in found)
    return Repair(edits, tuple(dict.fromkeys(mark for _, mark in found if mark)))


type _Found = Iterator[tuple[Edit, str]]


def _signature_missing(case: _Case) -> _Found:
    """Google's documented stand-in on the first call of each step of the current turn that has no signature."""
    for number in open_steps(case.ask):
        for edit in put_skip(case.ask, case.ask.said[number], case.profile):
            yield edit, ""


def _signature_refused(case: _Case) -> _Found:
    """Signatures go; on the first call of a step of the current turn the stand-in takes their place."""
    steps = open_steps(case.ask)
    for number, said in enumerate(case.ask.said):
        gone = False
        for message in said.messages:
            for name, value in message.state.items():
                if name not in PROSE and (mark := case.mark(value)) and case.wanted(mark):
                    gone = True
                    yield Edit(Op.DROP, message.at, key=name, reason=REASON), mark
        for piece in said.pieces:
            for name, value in piece.state.items():
                outer, _, inner = name.rpartition("/")
                signs = isinstance(value, (str, dict)) and not (isinstance(value, str) and is_filler(value))
                if piece.at and signs and case.wanted(mark := case.mark(value)):
                    gone = True
                    yield Edit(Op.DROP, (*piece.at, outer) if outer else piece.at, key=inner, reason=REASON), mark
        if gone and number in steps:
            for edit in put_skip(case.ask, said, case.profile, replace=True):
                yield edit, ""


def _prose_missing(case: _Case) -> _Found:
    """`reasoning_content` as an empty string on the calls of the current tool loop: Kimi takes it, DeepSeek V4 too."""
    for number in open_steps(case.ask):
        for message in case.ask.said[number].messages:
            if message.state.get("reasoning_content") is None:
                yield Edit(Op.PUT, message.at, key="reasoning_content", value="", reason=REASON), ""


def _state_unwanted(case: _Case) -> _Found:
    """The keys that the error names go from all assistant messages."""
    for said in case.ask.said:
        for message in said.messages:
            for name in message.state:
                if name in case.fault.named:
                    yield Edit(Op.DROP, message.at, key=name, reason=REASON), ""


def _thinking_missing(case: _Case) -> _Found:
    """Thinking is turned off for this request: there is no stand-in for a signed block."""
    yield Edit(Op.DROP, (), key="thinking", reason=REASON), ""
    for said in case.ask.said:
        yield from _without_thoughts(case, said)


def _thinking_refused(case: _Case) -> _Found:
    """The thinking of the message that is named goes, else all; in an open tool loop with it thinking itself.

    A final assistant message must begin with a thinking block where thinking is on: without one, off it must be.
    """
    named = {int(number) for number in case.fault.named}
    said = [said for said in case.ask.said if any(message.at[-1] in named for message in said.messages)]
    looping = {id(case.ask.said[number]) for number in open_steps(case.ask)}
    if case.only is None and case.ask.thinking == "on" and any(id(one) in looping for one in said or case.ask.said):
        yield Edit(Op.DROP, (), key="thinking", reason=REASON), ""
        said = []
    for one in said or case.ask.said:
        yield from _without_thoughts(case, one)


def _without_thoughts(case: _Case, said: Said) -> _Found:
    thoughts = [piece for piece in said.pieces if piece.kind is Kind.THOUGHT and piece.at]
    if len(thoughts) == len(said.pieces):
        return  # a message must keep something
    for piece in thoughts:
        mark = case.mark(dict(piece.state))
        if piece.at is not None and case.wanted(mark):
            yield Edit(Op.REMOVE, piece.at, reason=REASON), mark


def _reasoning_missing(case: _Case) -> _Found:
    """The item ids that ask for a reasoning item which nobody has: they go, the call ids stay."""
    for said in case.ask.said:
        thinks = any(piece.kind is Kind.THOUGHT for piece in said.pieces)
        for piece in said.pieces:
            if piece.at and piece.ref and (piece.ref in case.fault.named or not thinks) and case.wanted(piece.ref):
                yield Edit(Op.DROP, piece.at, key="id", reason=REASON), piece.ref


def _reasoning_refused(case: _Case) -> _Found:
    """Reasoning items go, and with them the ids of what they led to: the named ones, else all."""
    for said in case.ask.said:
        gone = False
        for piece in said.pieces:
            if piece.kind is Kind.THOUGHT:
                mark = case.mark(piece.state.get("encrypted_content") or piece.ref)
                gone = (_names(case.fault, piece) if case.only is None else case.wanted(mark)) and piece.at is not None
                if gone and piece.at is not None:
                    yield Edit(Op.REMOVE, piece.at, reason=REASON), mark
            elif gone and piece.ref and piece.at:
                yield Edit(Op.DROP, piece.at, key="id", reason=REASON), ""


def _names(fault: Fault, piece: Piece) -> bool:
    return not fault.named or piece.ref in fault.named


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
