"""The backend that forgets when the process ends."""

import os
from collections.abc import Callable, Sequence

from thoughtkeep.turns import Facts, Kept, Keys

from .base import Stats
from .forgetting import Conversation, Forgets, Target
from .marks import Question
from .shelf import Shelf


class MemoryStore(Forgets):
    """A store in memory: turns live for `ttl` seconds from last use and take about `max_bytes` bytes at most."""

    def __init__(self, *, ttl: float, max_bytes: int, clock: Callable[[], float]) -> None:
        self.key = os.urandom(32)
        self.name = "memory"
        self._clock = clock
        self._shelf = Shelf(ttl=ttl, max_bytes=max_bytes)

    def put(self, kept: Kept) -> None:
        """See Store."""
        self._shelf.add(kept, self._clock())

    async def flush(self) -> None:
        """See Store. Memory is as durable as it gets; what is too old goes."""
        self._shelf.expire(self._clock())

    async def fetch(self, keys: Keys) -> Facts:
        """See Store."""
        return self._shelf.find(Question(keys)).facts()

    async def conversation(self, tenant: str, root: str) -> tuple[Kept, ...]:
        """See Store."""
        return self._shelf.conversation(Conversation(tenant, root)).conversation()

    def touch(self, ids: Sequence[str]) -> None:
        """See Store."""
        self._shelf.touch(ids, self._clock())

    def _forget(self, *targets: Target) -> None:
        for target in targets:
            self._shelf.forget(target)

    async def stats(self) -> Stats:
        """See Store."""
        return Stats(len(self._shelf), self._shelf.conversations, self._shelf.weight, self.name)

    async def lease(self, name: str, seconds: float) -> bool:
        """See Store. Nobody shares it."""
        return True

    async def release(self, name: str) -> None:
        """See Store."""

    async def close(self) -> None:
        """See Store."""
