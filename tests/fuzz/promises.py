"""What every target promises, and how it is judged without the code under test."""

import json
import random
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thoughtkeep.turns import Edit, Op, Path

type Json = Any

#: No input is longer, in bytes.
LONGEST = 65_536

#: The most processor seconds that one input may take. Instrumented code takes some ten times its usual time, which is
#: a few milliseconds for the longest input; work that grows with the square of the length takes minutes.
SECONDS = 4.0


class Broken(AssertionError):
    """A promise that does not hold."""


def hold(promise: object, words: str) -> None:
    """Raise Broken with these words unless the promise holds."""
    if not promise:
        raise Broken(words)


@contextmanager
def bounded(seconds: float = SECONDS) -> Iterator[None]:
    """What runs within must be done in so much time of the processor; what other programs do does not count."""
    began = time.process_time()
    yield
    spent = time.process_time() - began
    hold(spent <= seconds, f"took {spent:.1f} s, more than {seconds} s")


def cuttings(data: bytes) -> list[list[bytes]]:
    """The data in pieces, in some ways that depend on the data alone: a finding is found again."""
    chance = random.Random(zlib.crc32(data))
    few = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(1, 6)))
    least = len(data) // 500  # so many pieces cost no more than the rest
    size = 1 if least < 2 else least + chance.randrange(400)
    return [_cut(data, few), _cut(data, range(size, len(data), size))]


def _cut(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    pieces, start = [], 0
    for cut in (*cuts, len(data)):
        pieces.append(data[start:cut])
        start = cut
    return pieces


def told(value: object) -> str:
    """A value as text, to be compared: NaN is no equal of itself, and 1 is one of True."""
    try:
        return repr(value)
    except RecursionError:
        return "nested too deep to be told"


# -- JSON to the letter ------------------------------------------------------------------------------------------------


class Number(str):
    """A number as it is spelled: a reader would lose digits."""

    __slots__ = ()


def exact(text: str) -> Json:
    """A JSON text parsed so that nothing that counts is lost: numbers keep their spelling."""
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number, strict=False)


def is_strict(text: bytes) -> bool:
    """Whether the text is JSON by its standard, which has no word for NaN."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        json.loads(text.decode(), parse_constant=refuse, parse_int=str)
    except ValueError:
        return False
    return True


def elements(text: str, path: Path) -> list[str]:
    """The text of each element of the array at a path, to the letter."""
    scan = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False).raw_decode
    for step in path:
        text = dict(_members(text, scan))[step]
    return [value for _, value in _members(text, scan)]


def _members(text: str, scan: Any) -> Iterator[tuple[str | int, str]]:
    at, number, is_object = _behind_space(text, 0) + 1, 0, text.lstrip(" \t\r\n")[0] == "{"
    while text[at := _behind_space(text, at)] not in "}]":
        key: str | int = number
        if is_object:
            key, at = scan(text, at)
            at = _behind_space(text, _behind_space(text, at) + 1)
        end = scan(text, at)[1]
        yield key, text[at:end]
        at = _behind_space(text, end)
        at, number = at + (text[at] == ","), number + 1


def _behind_space(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


# -- edits -------------------------------------------------------------------------------------------------------------


def edited(body: Json, edits: Sequence[Edit]) -> Json:
    """A parsed body with the edits made, as `Op` words them: the plainest code that does it, on values."""
    return _Editing(body, edits).made((), body)


class _Editing:
    def __init__(self, body: Json, edits: Sequence[Edit]) -> None:
        self.body = body
        self.here: dict[Path, list[Edit]] = {}
        self.gone: set[Path] = set()
        self.replaced: dict[Path, Json] = {}
        for edit in edits:
            if edit.op is Op.REMOVE:
                self.gone.add(edit.at)
            elif edit.op is Op.REPLACE:
                self.replaced[edit.at] = _value(edit.value)
            else:
                self.here.setdefault(edit.at, []).append(edit)
            if edit.op is Op.MOVE:
                self.gone.add(edit.source)
        named = (*self.here, *self.gone, *self.replaced)
        self.led = {path[:length] for path in named for length in range(len(path) + 1)}

    def made(self, path: Path, value: Json) -> Json:
        """The value at a path, edited."""
        if path in self.replaced:
            return self.replaced[path]
        if path not in self.led or not isinstance(value, (dict, list)):
            return value
        edits = self.here.get(path, [])
        if isinstance(value, dict):
            dropped = {edit.key for edit in edits if edit.op is Op.DROP}
            kept = {key for key in value if key not in dropped and (*path, key) not in self.gone}
            whole = {key: self.made((*path, key), inner) for key, inner in value.items() if key in kept}
            return whole | {edit.key: _value(edit.value) for edit in edits if edit.op is Op.PUT}
        items: list[Json] = []
        later = sorted({edit.index for edit in edits if edit.index >= len(value)})
        for number in (*range(len(value)), *later):
            items += [self._put(edit) for edit in edits if edit.index == number]
            if number < len(value) and (*path, number) not in self.gone:
                items.append(self.made((*path, number), value[number]))
        return items

    def _put(self, edit: Edit) -> Json:
        if edit.op is not Op.MOVE:
            return _value(edit.value)
        value = self.body
        for step in edit.source:
            value = value[step]
        return self.made(edit.source, value)


def _value(value: Json) -> Json:
    return exact(json.dumps(value))


def hold_edits(body: bytes, edits: Sequence[Edit], sent: bytes, listed: Path) -> None:
    """What was written is JSON, and is the client's body but for what the edits name; `listed` are its messages."""
    if not edits:
        hold(sent is body, "a request that needs nothing is not the same object")
        return
    hold(is_strict(sent) or not is_strict(body), "what was written is no JSON, and what the client sent was")
    before, after = body.decode(), sent.decode()
    hold(edited(exact(before), edits) == exact(after), "what was written differs elsewhere than where the edits are")
    touched = {path[: len(listed) + 1] for edit in edits for path in (edit.at, edit.source)}
    if not all(path[: len(listed)] == listed for path in touched if path):
        return  # the whole list was edited away, or what it stands in
    told = elements(before, listed)
    left = iter(elements(after, listed))
    for number, text in enumerate(told):
        if (*listed, number) not in touched:
            hold(text in left, f"message {number} is not carried over to the letter")
