"""JSON as text: reading that never gives up early, writing that loses nothing.

orjson is fast but turns integers past 64 bits into floats and refuses lone surrogates and deep nesting; where it may
have done so, the standard library reads again.
"""

import json
import re
from contextlib import suppress
from functools import lru_cache

import orjson

from thoughtkeep.turns import Json

# A run of digits that may be an integer past 64 bits (or a float with more digits than a double holds).
_LONG_NUMBER = re.compile(rb"[0-9]{17}")

# Integers up to here are doubles, each its own; past the largest double there are none.
_EXACT, _LARGEST = 2**53, 2**1023


class NotJson(ValueError):
    """The text is no JSON that can be read."""


def loads(text: bytes) -> Json:
    """Parse a request body or any other JSON. Integers past 64 bits may come as floats: never write them back.

    Raises NotJson.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _slow_loads(text)


def loads_exact(text: bytes) -> Json:
    """Parse JSON whose values will be stored and sent again: integers keep their digits.

    Raises NotJson.
    """
    return _slow_loads(text) if _LONG_NUMBER.search(text) else loads(text)


def _slow_loads(text: bytes) -> Json:
    try:
        return json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        raise NotJson(str(fault)) from fault


def dumps(value: Json) -> str:
    """Compact JSON text that can be encoded as UTF-8: lone surrogates stay escaped.

    Raises ValueError where JSON has no word for a value: NaN, the infinities.
    """
    if isinstance(value, str):
        with suppress(orjson.JSONEncodeError):  # lone surrogates
            return orjson.dumps(value).decode()
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def told(value: Json) -> str:
    """A value as text to be read, never sent: where `dumps` has none (NaN, nested too deep), the words in it."""
    try:
        return dumps(value)
    except (ValueError, RecursionError):
        return canonical(strings(value))


def canonical(value: Json) -> str:
    """One text for all spellings of a value: keys sorted, numbers as a JavaScript client would write them back."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))


def _plain(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():  # JavaScript writes 1.0 as 1
        return int(value)
    if isinstance(value, int) and _EXACT < abs(value) < _LARGEST:  # and an id of 19 digits as its nearest double
        return int(float(value))
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


def arguments(raw: Json) -> str:
    """The canonical form of a call's arguments, given as JSON text (OpenAI's shape) or as an object (Google's).

    No arguments have many spellings (`""`, `{}`, `[]`, `null`, absent): all are `{}`. Text that is no JSON stays
    itself, without the spaces around it.
    """
    if not isinstance(raw, str):
        return _arguments(raw)
    return _short_text(raw) if len(raw) < _SHORT else _text(raw)


# Every request tells all earlier calls again: the short ones are remembered (up to some 16 MB in all).
_SHORT = 2_000


@lru_cache(maxsize=4096)
def _short_text(raw: str) -> str:
    return _text(raw)


def _text(raw: str) -> str:
    try:
        return _arguments(loads(raw.encode("utf-8", "surrogatepass")))
    except NotJson:
        return raw.strip() or "{}"


def _arguments(value: Json) -> str:
    try:
        return canonical(value) if value or value in (0, False) else "{}"
    except RecursionError:  # nested too deep to sort: its words then, in the order they came
        return canonical(strings(value))


def is_whole(raw: str) -> bool:
    """Whether the text is one complete JSON value: how streamed arguments show that they ended."""
    try:
        loads(raw.encode("utf-8", "surrogatepass"))
    except NotJson:
        return False
    return True


class Growing:
    """A text on its way: pieces are added to it without copying what is there. See `settled`."""

    __slots__ = ("parts",)

    def __init__(self, *parts: str) -> None:
        self.parts = list(parts)

    def __str__(self) -> str:
        return "".join(self.parts)


def settled(value: Json) -> Json:
    """A copy of a value in which texts on their way are plain strings."""
    if isinstance(value, Growing):
        return str(value)
    if isinstance(value, dict):
        return {key: settled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [settled(inner) for inner in value]
    return value


def strings(value: Json) -> list[str]:
    """Every string leaf, in order."""
    found: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            stack.extend(reversed(item.values()))
        elif isinstance(item, Growing):
            found.extend(item.parts)
        elif isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
    return found
