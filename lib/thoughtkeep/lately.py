"""What was told lately, up to so many bytes: by the name of who told it, the newest last.

Agents tell a conversation again and again, each time with more in it. So what goes on from an earlier telling takes
its place, and a new one is compared with those of the same name.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol

from thoughtkeep.turns import Json


class Telling(Protocol):
    """A conversation as it was told once."""

    @property
    def messages(self) -> list[Json]:
        """What was told."""

    @property
    def size(self) -> int:
        """The bytes that it counts for."""


class Lately[T: Telling]:
    """Tellings of at most `max_bytes` bytes all in all, and at most `most` of one name.

    Of those that are too many the oldest goes, of the name that was not heard of the longest.
    """

    def __init__(self, max_bytes: int, most: int) -> None:
        self.size = 0
        self.names: OrderedDict[Hashable, list[T]] = OrderedDict()
        self._max_bytes, self._most = max_bytes, most

    def likest(self, name: Hashable, shared: Callable[[T], int]) -> tuple[T | None, int]:
        """The telling of that name with the most messages in common, as `shared` counts them, and how many it has."""
        found: tuple[T | None, int] = None, 0
        for telling in reversed(self.names.get(name, ())):
            count = shared(telling)
            if count > found[1]:
                found = telling, count
                if count == len(telling.messages):
                    break
        return found

    def put(self, name: Hashable, telling: T, before: T | None, shared: int) -> None:
        """Add a telling, in the place of the one `before` if that has hardly more than what they have in common."""
        tellings = self.names.setdefault(name, [])
        self.names.move_to_end(name)
        if before is not None and 2 * shared >= len(before.messages) and before in tellings:
            tellings.remove(before)
            self.size -= before.size
        tellings.append(telling)
        self.size += telling.size
        if len(tellings) > self._most:
            self.size -= tellings.pop(0).size
        while self.size > self._max_bytes:
            self._forget_one()

    def _forget_one(self) -> None:
        name, tellings = next(iter(self.names.items()))
        self.size -= tellings.pop(0).size
        if not tellings:
            del self.names[name]
