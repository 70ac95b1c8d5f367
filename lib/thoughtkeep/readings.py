"""Reading requests that tell a conversation again: only what is new in them is read.

An agent sends all of its conversation with each request. So the last ones are remembered, as they were parsed and as
they were read, and what a request has in common with one of them is taken from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from thoughtkeep.formats import Earlier, Endpoint
from thoughtkeep.identity import Trail, trail
from thoughtkeep.lately import Lately
from thoughtkeep.profiles import binds_thinking
from thoughtkeep.turns import Ask, Json, Path

# Bytes of requests whose reading is remembered, all in all, and how many of one name are compared with a new one.
REMEMBERED = 32_000_000
COMPARED = 8

# What requests of one agent have in common: the key of all digests, the tenant, the format, the place of the messages.
type _Name = tuple[bytes, str, str, Path]


@dataclass(slots=True, eq=False)
class _Reading:
    """A request, read. `plain` tells of each message whether it holds no numbers (see `_same`)."""

    messages: list[Json]
    plain: list[bool]
    ask: Ask
    trail: Trail
    size: int


class Readings:
    """Reads requests, and remembers the last ones."""

    def __init__(self, max_bytes: int = REMEMBERED) -> None:
        self._lately = Lately[_Reading](max_bytes, COMPARED)

    def read(self, key: bytes, tenant: str, endpoint: Endpoint, body: Json, size: int) -> tuple[Ask, Trail]:
        """Read the request of a tenant, of `size` bytes. `key` is that of all digests."""
        form = endpoint.format
        at, messages = form.history(body)
        name = (key, tenant, form.name, at)
        earlier, same = self._lately.likest(name, lambda reading: _same(reading, messages))
        ask = form.read(body, endpoint, Earlier(earlier.ask, same) if earlier else None)
        frames = form.frames(key, body, ask) if binds_thinking(ask.model) else ()
        walked = earlier.trail.places[: _shared(earlier.ask, ask)] if earlier else ()
        found = trail(key, ask, frames, walked)
        self._remember(name, earlier, same, messages, _Reading([], [], ask, found, size))
        return ask, found

    def _remember(
        self, name: _Name, earlier: _Reading | None, same: int, messages: Sequence[Json], reading: _Reading
    ) -> None:
        """Remember a request, in the place of the one that it goes on from."""
        if earlier:  # the parts that its turns were read from: or both would stay in memory
            reading.messages, reading.plain = earlier.messages[:same], earlier.plain[:same]
        new = messages[same:]
        reading.messages += new
        reading.plain += [_is_plain(message) for message in new]
        self._lately.put(name, reading, earlier, same)


def _same(reading: _Reading, messages: Sequence[Json]) -> int:
    """How many messages at the beginning are the same.

    For Python `1`, `1.0` and `True` are equal: where a message holds numbers, its text is compared too.
    """
    number = 0
    try:
        for number, (old, new, plain) in enumerate(zip(reading.messages, messages, reading.plain, strict=False)):
            if old is not new and (old != new or not (plain or _text(old) == _text(new))):
                return number
    except (RecursionError, orjson.JSONEncodeError):  # nested too deep, or numbers too large, to be compared so
        return number
    return min(len(reading.messages), len(messages))


def _text(message: Json) -> bytes:
    return orjson.dumps(message)


def _is_plain(message: Json) -> bool:
    unseen = [message]
    while unseen:
        value = unseen.pop()
        if isinstance(value, dict):
            unseen.extend(value.values())
        elif isinstance(value, list):
            unseen.extend(value)
        elif isinstance(value, int | float):
            return False
    return True


def _shared(earlier: Ask, ask: Ask) -> int:
    """How many turns two requests have in common: the very same objects (see Format.read).

    None of them, where the user's first words came behind the first turns: the way to all of them begins there.
    """
    count = 0
    if earlier.first != ask.first:
        return count
    for old, new in zip(earlier.said, ask.said, strict=False):
        if old is not new:
            break
        count += 1
    return count
