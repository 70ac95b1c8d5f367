"""Waiting with a bound that leaves out what the event loop itself took.

Where many requests come at once the loop may be busy for longer than anybody waits: an answer lies there, and nobody
has looked at it yet. That is no fault of the one who answered. So time is counted in steps, each of which begins when
the loop has come round: one round counts for one step at most, however long it took.
"""

import asyncio
from types import TracebackType
from typing import Self

# Seconds of a step.
STEP = 0.05


class Patience:
    """Like `asyncio.timeout`: raises TimeoutError when the block took so many seconds. `left` are those that remain."""

    def __init__(self, seconds: float) -> None:
        self.left = max(seconds, 0.0)
        self._bound = asyncio.timeout(None)
        self._step: asyncio.TimerHandle | None = None
        self._began = self._length = 0.0

    def give_up(self) -> None:
        """Have it end now."""
        self._bound.reschedule(0.0)

    async def __aenter__(self) -> Self:
        await self._bound.__aenter__()
        self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._step
        self._step.cancel()
        self.left -= max(0.0, min(asyncio.get_running_loop().time() - self._began, self._length))
        await self._bound.__aexit__(kind, error, trace)

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._began, self._length = loop.time(), min(STEP, self.left)
        self._step = loop.call_later(self._length, self._passed)

    def _passed(self) -> None:
        self.left -= self._length
        self._length = 0.0
        if self.left > 0:
            self._begin()
        else:
            self.give_up()
