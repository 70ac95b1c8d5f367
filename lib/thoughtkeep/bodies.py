"""Parsing bodies that tell a conversation again: only what is new in them is parsed.

An agent sends all of its conversation with each request, to the byte as it did before. So the last bodies are
remembered, with where their messages stand and what these were parsed as; of a new one that begins alike, only the rest
goes through the parser. Comparing bytes takes a tenth of the time, and holds up nobody for long.
"""

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

from thoughtkeep.jsontext import NotJson, loads
from thoughtkeep.lately import Lately
from thoughtkeep.turns import Json, Path
from thoughtkeep.walk import Outline, Unfit, extended, outline_of

# Bytes of bodies that are remembered, all in all, and how many of one name are compared with a new one.
REMEMBERED = 32_000_000
COMPARED = 64

# Less than this is parsed faster than it is put together.
WORTH = 8_192

# What an element takes in memory beside its bytes: the numbers of its place, as objects.
_ELEMENT_BYTES = 200


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A body as it is remembered."""

    plain: bytes
    outline: Outline
    at: Path
    messages: list[Json]

    @property
    def size(self) -> int:
        return len(self.plain) + _ELEMENT_BYTES * len(self.messages)

    def shared(self, plain: bytes) -> int:
        """How many messages another body begins with that stand in it as they stand here."""
        elements, here = self.outline.elements, memoryview(self.plain)
        low, high = 0, len(elements)
        if plain.startswith(here[: elements[-1].end]):
            low = high
        while low < high:
            middle = (low + high + 1) // 2
            if plain.startswith(here[: elements[middle - 1].end]):
                low = middle
            else:
                high = middle - 1
        if low and not plain.startswith((b",", b"]"), elements[low - 1].end):
            low -= 1  # it goes on, as a number may
        return low


@dataclass(slots=True, eq=False)
class Parsed:
    """A body, and what it says; its first `shared` messages are those of `before`. Nobody may change a value."""

    plain: bytes
    json: Json
    before: _Known | None = None
    shared: int = 0
    _outline: Outline | None = None
    _outlined: Path | None = None

    def outline(self, at: Path) -> Outline | None:
        """Where the elements of the array at a path stand; None where there are none, or it cannot be told.

        It is looked for once: nobody asks for another array than that of the messages.
        """
        if self._outlined != at:
            self._outlined, self._outline = at, None
            with suppress(Unfit):
                self._outline = self._find(at)
        return self._outline

    def _find(self, at: Path) -> Outline | None:
        if self.before is None or self.before.at != at:
            return outline_of(self.plain, at)
        known = self.before.outline
        return extended(self.plain, Outline(known.start, known.elements[: self.shared]))


class Bodies:
    """Parses bodies, and remembers the last ones."""

    def __init__(self, max_bytes: int = REMEMBERED, worth: int = WORTH) -> None:
        self._max_bytes = max_bytes
        self._worth = worth
        self._lately = Lately[_Known](max_bytes, COMPARED)
        self._mark = uuid4().hex  # stands for what is known while the rest is parsed; no client can know it

    def parse(self, name: Hashable, plain: bytes) -> Parsed:
        """Parse a body. Compared with it are those of the same name: of the same client. Raises NotJson."""
        known, count = self._like(name, plain)
        if known is not None:
            try:
                json = loads(self._rest(plain, known, count))
            except NotJson:
                pass  # the whole tells what is wrong with it
            else:
                messages = _at(json, known.at)
                if isinstance(messages, list) and messages[:1] == [self._mark]:  # else it is another array that counts
                    messages[:1] = known.messages[:count]
                    return Parsed(plain, json, known, count)
        return Parsed(plain, loads(plain))

    def remember(self, name: Hashable, parsed: Parsed, at: Path) -> None:
        """Remember a body whose messages are at a path, in the place of the one that it goes on from."""
        if not self._worth <= len(parsed.plain) <= self._max_bytes or (outline := parsed.outline(at)) is None:
            return
        known = _Known(parsed.plain, outline, at, _at(parsed.json, at))
        self._lately.put(name, known, parsed.before, parsed.shared)

    def _like(self, name: Hashable, plain: bytes) -> tuple[_Known | None, int]:
        """The remembered body that has most messages in common with this one, and how many: or none."""
        known, count = self._lately.likest(name, lambda known: known.shared(plain))
        if known is None or known.outline.elements[count - 1].end < self._worth:
            return None, 0
        return known, count

    def _rest(self, plain: bytes, known: _Known, count: int) -> bytes:
        """A body in which the mark stands for what is known of it."""
        begin, end = known.outline.start + 1, known.outline.elements[count - 1].end
        return b'%b"%b"%b' % (plain[:begin], self._mark.encode(), plain[end:])


def _at(json: Json, path: Path) -> Json:
    """The value at a path; None where there is none."""
    for step in path:
        json = json.get(step) if isinstance(json, dict) else None
    return json
