"""What a file has not taken yet: turns, uses of turns, and orders to forget. Safe for threads; each call is short.

Here and nowhere else: that a turn leaves memory only after it was written as it is, and what a lookup answers about a
turn that is in the file and waits as well.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import NamedTuple

from thoughtkeep.turns import Kept

from .base import Stats
from .forgetting import Conversation, Forgetting, Order, Target
from .found import Found
from .marks import Question
from .shelf import Entry, Shelf

# Bytes of turns that wait for a file which does not take them.
WAITING_BYTES = 64 * 1024 * 1024

# Turns whose conversations wait to be counted as used.
TOUCHED = 10_000

# Numbers of waiting turns are higher than those of any row: what waits was put last.
FIRST = 1 << 62


class Work(NamedTuple):
    """What the file is to take next: first the orders to forget, then turns and when turns were used."""

    forgetting: Forgetting
    batch: list[Entry]
    touched: Mapping[str, float]


class Waiting:
    """Turns on a shelf, found like stored ones, until they are written.

    `forgets` counts how often something was to be forgotten.
    """

    def __init__(self, *, ttl: float, max_bytes: int) -> None:
        self.forgets = 0
        self._lock = Lock()
        self._shelf = Shelf(ttl=ttl, max_bytes=min(max_bytes, WAITING_BYTES), first=FIRST)
        self._touched: dict[str, float] = {}
        self._unwritable: set[int] = set()
        self._forgetting = Forgetting()

    def put(self, kept: Kept, now: float) -> int:
        """Add a turn. Returns how many others had to go for want of room."""
        with self._lock:
            return self._shelf.add(kept, now)

    def touch(self, ids: Iterable[str], now: float) -> None:
        """Take note that turns were used."""
        with self._lock:
            ids = tuple(ids)
            self._shelf.touch(ids, now)
            if len(self._touched) < TOUCHED:
                self._touched.update(dict.fromkeys(ids, now))

    def forget(self, targets: Iterable[Target]) -> None:
        """Forget what waits, and take note that the file has to."""
        with self._lock:
            for target in targets:
                self._shelf.forget(target)
                self._forgetting.add(target, self._shelf.last)
            self.forgets += 1

    def forgetting(self) -> Forgetting:
        """Return what is to be forgotten now."""
        with self._lock:
            return Forgetting(self._forgetting)

    def forgotten(self, orders: Iterable[tuple[Target, Order]]) -> None:
        """The file has forgotten this."""
        with self._lock:
            self._forgetting.done(orders)

    def find(self, question: Question) -> Found:
        """Return what waits and answers the question."""
        with self._lock:
            return self._shelf.find(question)

    def conversation(self, asked: Conversation) -> Found:
        """Return what waits of a conversation."""
        with self._lock:
            return self._shelf.conversation(asked)

    def merge(self, found: Found, stored: Found, finds: Callable[[Kept], bool]) -> None:
        """Add what the file has. A turn that was put again since it was written is what it is here."""
        with self._lock:
            for id_, item in stored.turns.items():
                entry = self._shelf.get(id_)
                if entry is None:
                    found.turns.setdefault(id_, item)
                elif finds(entry.kept):
                    found.turns[id_] = (entry.rank, entry.kept)
        for id_, origin in stored.origins.items():
            found.origins.setdefault(id_, origin)

    def take(self, count: int) -> Work:
        """Return what is to be forgotten and the turns that were put first, which both go on waiting, and uses.

        All in one piece: a turn of the batch that an order would reach was put after that order.
        """
        with self._lock:
            touched, self._touched = self._touched, {}
            return Work(Forgetting(self._forgetting), self._first(count), touched)

    def untake(self, touched: Mapping[str, float]) -> None:
        """Have uses wait that could not be written."""
        with self._lock:
            self._touched = {**touched, **self._touched}

    def unwritable(self, entry: Entry) -> None:
        """The turn cannot be written: it stays as long as there is room."""
        with self._lock:
            self._unwritable.add(entry.rank[1])

    def written(self, batch: Sequence[Entry]) -> None:
        """These turns are in the file: they wait no longer, unless they were put again meanwhile."""
        with self._lock:
            for entry in batch:
                if self._shelf.get(entry.kept.id) is entry:
                    self._shelf.drop(entry.kept.id)

    def last(self) -> int:
        """Return the number of the turn that was put last."""
        with self._lock:
            return self._shelf.last

    def owes(self, last: float = math.inf, *, uses: bool = True) -> bool:
        """Whether a turn up to that number, an order from before the next one, or (with `uses`) any use waits."""
        with self._lock:
            first = self._first(1)
            due = bool(first and first[0].rank[1] <= last) or self._forgetting.owed(last)
            return due or (uses and bool(self._touched))

    def counts(self) -> tuple[int, int, int]:
        """Return how many turns and conversations there are, and their bytes."""
        with self._lock:
            return len(self._shelf), self._shelf.conversations, self._shelf.weight

    def _first(self, count: int) -> list[Entry]:
        return list(islice((entry for entry in self._shelf if entry.rank[1] not in self._unwritable), count))


def together(stored: tuple[int, int, int], waiting: tuple[int, int, int], name: str) -> Stats:
    """The figures of a store from those of what it has and of what waits: turns, conversations, bytes of each.

    A conversation may be in both, so the larger number of them stands.
    """
    return Stats(stored[0] + waiting[0], max(stored[1], waiting[1]), stored[2] + waiting[2], name, waiting[0])
