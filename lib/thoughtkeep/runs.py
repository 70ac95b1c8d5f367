"""Runs of events that differ in little: a thousand deltas become the one that they amount to, without parsing each.

Most of what parsing a stream costs is its packaging: every delta repeats the ids, the model and the keys around a word
or two. Where a format says which texts of an event add up (see Assembler.alike), the text of the event is made a mould:
it knows all events that are as this one but for them, and finds the words in those. All of it is done on the bytes, at
C speed; what no mould fits is left as it is.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import orjson

from thoughtkeep.turns import Json, Path
from thoughtkeep.walk import Unfit, spans

# Fewer events than these are not worth it: a mould takes a tenth of a millisecond to make, and saves 4 µs an event.
FEWEST = 32

# Moulds that an answer may ask for in vain or in turn, and how many of them are tried on each batch.
MOST = 12
TRIED = 3

# A JSON string between its quotes. No escaped surrogates: a pair may be cut in two by the border of two events, and is
# two halves then, not a character.
_CHARACTERS = rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
_STRING = b"(" + _CHARACTERS + b")"
_are_strings = re.compile(_CHARACTERS + rb"(?:\n" + _CHARACTERS + rb")*+").fullmatch

# Numbers that every reader of JSON takes for the same: one is whole or it is not, and readers tell the two apart.
_WHOLE = rb"(-?(?:0|[1-9][0-9]{0,14})(?![0-9.eE]))"
_BROKEN = rb"(-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}(?![0-9eE]))"

# Lines whose holes are looked at one by one: by then it is worth half a millisecond to have an expression for all.
SOME = 200

type Alike = Callable[[Json], Mapping[Path, bool] | None]


class _Mould:
    """An event with holes: knows the lines that are as it is but for what is in them."""

    def __init__(self, text: bytes, holes: Sequence[tuple[int, int, bool]]) -> None:
        """Holes are from where to where in the text, and whether what is found in them adds up."""
        self._joins = [joins for _, _, joins in holes]
        self._added = self._joins.index(True) if self._joins.count(True) == 1 else None
        self._between: list[bytes] = []
        self._kinds: list[bytes] = []
        at = 0
        for start, stop, _ in holes:
            is_string = text[start : start + 1] == b'"'
            self._between.append(text[at : start + is_string])
            at = stop - is_string
            self._kinds.append(_STRING if is_string else _BROKEN if b"." in text[start:stop] else _WHOLE)
        self._between.append(text[at:])
        self._finds = [re.compile(kind).match for kind in self._kinds]
        self._seen = 0
        self._find_all: Callable[[bytes], list[Any]] | None = None

    def row(self, line: bytes) -> list[bytes] | None:
        """What stands in the holes of a line; None if it does not fit."""
        row = []
        at = 0
        for between, find in zip(self._between, self._finds, strict=False):
            if not line.startswith(between, at):
                return None
            at += len(between)
            if (found := find(line, at)) is None:
                return None
            row.append(found[0])
            at = found.end()
        return row if line[at:] == self._between[-1] else None

    def amount(self, lines: Sequence[bytes], text: bytes) -> bytes | None:
        """The event that these lines amount to, of which the text is made; None where one of them does not fit."""
        first = self.row(lines[0])
        if first is None:
            return None
        if self._added is not None and (whole := self._amount_alike(lines, text, first, self._added)) is not None:
            return whole
        rows = self._rows(lines, text)
        if len(rows) < len(lines):
            return None
        columns = zip(zip(*rows, strict=True), self._joins, strict=True)
        return self._put(b"".join(column) if joins else column[-1] for column, joins in columns)

    def _rows(self, lines: Sequence[bytes], text: bytes) -> list[Sequence[bytes]]:
        """What stands in the holes of each line that fits."""
        if self._find_all is not None:
            found = self._find_all(text)
            return [(row,) for row in found] if len(self._joins) == 1 else found
        self._seen += len(lines)
        if self._seen >= SOME:
            pattern = b"".join(re.escape(one) + kind for one, kind in zip(self._between, self._kinds, strict=False))
            pattern = b"^" + pattern + re.escape(self._between[-1]) + b"$"
            self._find_all = re.compile(pattern, re.MULTILINE).findall
        return [row for line in lines if (row := self.row(line)) is not None]

    def _amount_alike(self, lines: Sequence[bytes], text: bytes, first: Sequence[bytes], added: int) -> bytes | None:
        """The same for lines that differ in nothing but the words that add up, as most do."""
        start = sum(map(len, self._between[: added + 1])) + sum(map(len, first[:added]))
        before, behind = lines[0][:start], lines[0][start + len(first[added]) :]
        words = [line[start : -len(behind)] for line in lines]
        if before + (behind + b"\n" + before).join(words) + behind != text or not _are_strings(b"\n".join(words)):
            return None
        return before + b"".join(words) + behind

    def _put(self, row: Iterable[bytes]) -> bytes:
        """The event with this in its holes."""
        parts: list[bytes] = []
        for between, value in zip(self._between, row, strict=False):
            parts += (between, value)
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
            if (whole := mould.amount(texts, lines)) is not None:
                return [whole]
        return self._merge_some(texts)

    def _merge_some(self, texts: list[bytes]) -> list[bytes]:
        """The same for a batch of several kinds of events."""
        merged: list[bytes] = []
        unknown = 0
        for mould, run in groupby(texts, self._mould_of):
            found = list(run)
            whole = mould.amount(found, b"\n".join(found)) if mould else None
            if whole is None:
                merged += found
                unknown += len(found)
            else:
                merged.append(whole)
        if 2 * len(merged) > len(texts) or unknown >= FEWEST:
            self._make(texts[-1])
        return merged

    def _mould_of(self, text: bytes) -> _Mould | None:
        return next((mould for mould in self._moulds if mould.row(text) is not None), None)

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
