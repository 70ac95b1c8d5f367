"""Chat answers that clients of OpenAI's shape cannot read, and the edits that make them readable.

Three faults, each only where the profile names it: calls of one answer that share an id (Gemini behind Databricks uses
the function's name), deltas of calls without `index` or all with the same (Google's compat endpoint: OpenMAIC #1556;
open-webui/computer #224: a signature in a delta of its own, without `function`), and `content` as an array of blocks
(Databricks fmapi-schema).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from thoughtkeep.formats.chat_answer import content_pieces
from thoughtkeep.formats.chat_calls import OpenCall, OpenCalls
from thoughtkeep.turns import Edit, Json, Kind, Op, Path

REASON = "answer made readable"


@dataclass(slots=True)
class _Choice:
    calls: OpenCalls = field(default_factory=OpenCalls)
    indexes: dict[int, int] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)


class ChatRepairer:
    """Tells what to change in the events of one answer, in order; `repairs` as in Profile."""

    def __init__(self, repairs: tuple[str, ...]) -> None:
        self._repairs = repairs
        self._choices: dict[Json, _Choice] = {}

    def edits(self, event: Json) -> list[Edit]:
        """The edits to one event, or to a plain answer; none where a client can read it as it is."""
        choices = event.get("choices") if isinstance(event, dict) else None
        found: list[Edit] = []
        for number, choice in enumerate(choices if isinstance(choices, list) else ()):
            if not isinstance(choice, dict):
                continue
            index = choice.get("index")
            have = self._choices.setdefault(index if isinstance(index, int) else 0, _Choice())
            for name, whole in (("delta", False), ("message", True)):
                said = choice.get(name)
                if isinstance(said, dict):
                    found += self._said(have, said, ("choices", number, name), whole)
        return found

    def _said(self, have: _Choice, said: Mapping[str, Json], at: Path, whole: bool) -> list[Edit]:
        found: list[Edit] = []
        calls = said.get("tool_calls")
        for place, piece in enumerate(calls if isinstance(calls, list) else ()):
            if not isinstance(piece, dict):
                continue
            call = have.calls.take(piece, whole=whole)
            there: Path = (*at, "tool_calls", place)
            if "index" in self._repairs and not whole:
                found += self._index(have, call, piece, there)
            call_id = piece.get("id")
            if "ids" in self._repairs and isinstance(call_id, str) and call_id:
                found += self._id(have, call, call_id, there)
        if "content" in self._repairs and isinstance(said.get("content"), list):
            found += _content(said, at)
        return found

    @staticmethod
    def _index(have: _Choice, call: OpenCall, piece: Mapping[str, Json], at: Path) -> list[Edit]:
        index = piece.get("index")
        if call.number not in have.indexes:
            taken = set(have.indexes.values())
            unused = next(n for n in range(len(taken) + 1) if n not in taken)
            have.indexes[call.number] = index if isinstance(index, int) and index not in taken else unused
        number = have.indexes[call.number]
        found = [] if index == number else [Edit(Op.PUT, at, key="index", value=number, reason=REASON)]
        if not isinstance(piece.get("function", piece.get("custom")), dict):  # OpenAI's own SDK insists on one
            found.append(Edit(Op.PUT, at, key="function", value={"arguments": ""}, reason=REASON))
        return found

    @staticmethod
    def _id(have: _Choice, call: OpenCall, call_id: str, at: Path) -> list[Edit]:
        if call.number not in have.ids:
            taken, name, number = set(have.ids.values()), call_id, 2
            while name in taken:
                name, number = f"{call_id}-{number}", number + 1
            have.ids[call.number] = name
        name = have.ids[call.number]
        return [] if call_id == name else [Edit(Op.PUT, at, key="id", value=name, reason=REASON)]


def _content(said: Mapping[str, Json], at: Path) -> list[Edit]:
    """Blocks as OpenAI's fields: the words as the string, the reasoning as `reasoning_content`."""
    pieces = content_pieces(said["content"])
    if any(piece.kind is Kind.OTHER for piece in pieces):
        return []  # an image or the like has no place in a string
    words = "".join(piece.text for piece in pieces if piece.kind is Kind.TEXT)
    prose = "".join(piece.text for piece in pieces if piece.kind is Kind.THOUGHT)
    found = [Edit(Op.PUT, at, key="content", value=words, reason=REASON)]
    if prose and not said.get("reasoning_content"):
        found.append(Edit(Op.PUT, at, key="reasoning_content", value=prose, reason=REASON))
    return found
