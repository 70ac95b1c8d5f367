"""Runs of events that differ in little: a thousand deltas become the one that they amount to, without parsing each.

Most of what parsing a stream costs is its packaging: every delta repeats the ids, the model and the keys around a word
or two. Where a format says which texts of an event add up (see Assembler.alike), the text of the event is made a mould:
an expression that finds the words in all events that are as this one but for them. All of it is done on the bytes, at C
speed; what no mould fits is left as it is.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import orjson

from thoughtkeep.turns import Json, Path
from thoughtkeep.walk import Unfit, spans

# Fewer events than these are not worth it: a mould takes half a millisecond to make, and saves 5 µs an event.
FEWEST = 32

# Moulds that an answer may ask for in vain or in turn, and how many of them are tried on each batch.
MOST = 12
TRIED = 3

# A JSON string between its quotes. No escaped surrogates: a pair may be cut in two by the border of two events, and is
# two halves then, not a character.
_STRING = rb'([^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+)'

# Numbers that every reader of JSON takes for the same: one is whole or it is not, and readers tell the two apart.
_WHOLE = rb"(-?(?:0|[1-9][0-9]{0,14}))"
_BROKEN = rb"(-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15})"

type Alike = Callable[[Json], Mapping[Path, bool] | None]


class _Mould:
    """An event with holes: finds the lines that are as it is but for what is in them."""

    def __init__(self, text: bytes, holes: Sequence[tuple[int, int, bool]]) -> None:
        """Holes are from where to where in the text, and whether what is found in them adds up."""
        self._joins = [joins for _, _, joins in holes]
        self._between: list[bytes] = []
        expression = b"^"
        at = 0
        for start, stop, _ in holes:
            is_string = text[start : start + 1] == b'"'
            between = text[at : start + is_string]
            at = stop - is_string
            self._between.append(between)
            hole = _STRING if is_string else _BROKEN if b"." in text[start:stop] else _WHOLE
            expression += re.escape(between) + hole
        self._between.append(text[at:])
        self._find = re.compile(expression + re.escape(self._between[-1]) + b"$", re.MULTILINE)

    def rows(self, lines: bytes) -> list[tuple[bytes, ...]]:
        """What stands in the holes of each line that fits."""
        found = self._find.findall(lines)
        return [(row,) for row in found] if len(self._joins) == 1 else found

    def fits(self, line: bytes) -> bool:
        return self._find.fullmatch(line) is not None

    def whole(self, rows: Sequence[tuple[bytes, ...]]) -> bytes:
        """The event that these lines amount to."""
        parts: list[bytes] = []
        for between, column, joins in zip(self._between, zip(*rows, strict=True), self._joins, strict=False):
            parts += (between, b"".join(column) if joins else column[-1])
        return b"".join((*parts, self._between[-1]))


class Runs:
    """Makes one event of each run of events that amount to one. `alike` is that of the answer's assembler."""

    def __init__(self, alike: Alike) -> None:
        self._alike = alike
        self._moulds: list[_Mould] = []
        self._made = 0

    def merge(self, texts: list[bytes]) -> list[bytes]:
        """The events of a batch, as JSON texts; fewer where some amount to one."""
        if len(texts) < FEWEST or (self._made >= MOST and not self._moulds):
            return texts
        lines = b"\n".join(texts)
        try:
            lines.decode()  # characters may be broken at the borders of events, and must not be mended there
        except UnicodeDecodeError:
            return texts
        if lines.count(b"\n") >= len(texts):
            return texts
        for mould in self._moulds:
            if len(rows := mould.rows(lines)) == len(texts):
                return [mould.whole(rows)]
        return self._merge_some(texts)

    def _merge_some(self, texts: list[bytes]) -> list[bytes]:
        """The same for a batch of several kinds of events."""
        merged: list[bytes] = []
        unknown = 0
        for mould, run in groupby(texts, self._mould_of):
            found = list(run)
            if mould is None:
                merged += found
                unknown += len(found)
            else:
                merged.append(mould.whole(mould.rows(b"\n".join(found))))
        if 2 * len(merged) > len(texts) or unknown >= FEWEST:
            self._make(texts[-1])
        return merged

    def _mould_of(self, text: bytes) -> _Mould | None:
        return next((mould for mould in self._moulds if mould.fits(text)), None)

    def _make(self, text: bytes) -> None:
        """Make a mould of an event; the last ones are tried first. Where that is of no use, all of it ends."""
        if self._made >= MOST:
            self._moulds.clear()
            return
        self._made += 1
        try:
            places = self._alike(orjson.loads(text))
            found = spans(text, places) if places else []
        except (orjson.JSONDecodeError, Unfit):
            return
        if places and found:
            holes = sorted((start, stop, joins) for (start, stop), joins in zip(found, places.values(), strict=True))
            self._moulds = [_Mould(text, holes), *self._moulds[: TRIED - 1]]
