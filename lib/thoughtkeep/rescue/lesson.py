"""What a rescue taught, in the store: a note of its conversation, so that it is rescued once."""

from dataclasses import dataclass

from thoughtkeep.identity import digest
from thoughtkeep.note import note
from thoughtkeep.rescue.fault import Fault
from thoughtkeep.turns import Kept, Owner, Turn

FORMAT = "lesson"


@dataclass(frozen=True, slots=True)
class Lesson:
    """A fault, and the marks of what its repair took out (see repair)."""

    fault: Fault
    marks: tuple[str, ...]


def place_of(key: bytes, root: str, group: str) -> str:
    """The digest under which the lessons of a conversation with a provider are kept."""
    return digest(key, FORMAT, root, group)


def to_kept(lesson: Lesson, place: str, tenant: str, root: str, group: str, model: str, now: float) -> Kept:
    """As the store keeps it: one a conversation and kind. `now` is in Unix seconds."""
    fault = lesson.fault
    state = {"kind": fault.kind, "named": list(fault.named), "marks": list(lesson.marks)}
    return note(FORMAT, fault.kind, place, tenant, root, Owner(group, model), Turn((), state), now)


def from_kept(kept: Kept) -> Lesson:
    """As it was learnt."""
    state = kept.turn.state
    return Lesson(Fault(state["kind"], tuple(state["named"])), tuple(state["marks"]))
