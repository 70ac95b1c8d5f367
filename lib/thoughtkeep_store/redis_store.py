"""The backend that several proxies share: a Redis or Valkey server behind a layer in memory.

Here and nowhere else: what becomes of turns while the server does not take them. As with a file, a turn waits in memory
from `put` until the server has it, lookups look there first, and what is to be forgotten is never in sight again.
Everything happens on the caller's event loop, in tasks that never raise; writes are small steps, one at a time.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from thoughtkeep.turns import Facts, Kept, Keys

from . import records
from .base import Stats
from .faults import Fault, Faults
from .forgetting import Conversation, Forgets, Forgetting, Target
from .found import Found
from .marks import Question
from .pruning import Due
from .redis_link import Budget, Link
from .redis_turns import Send, Turns
from .redis_url import Address
from .shelf import Entry
from .waiting import Waiting, together

# Turns that one step writes, and about how many bytes, so that lookups get in between.
BATCH = 64
BATCH_BYTES = 1024 * 1024

# Seconds that a lookup waits for the server at most, and a step of writing.
FETCHING = 0.5
WRITING = 5.0

# Seconds that a caller waits for a step of writing at most.
PATIENCE = 2.0

# Seconds until a write is tried again that the server refused.
RETRY_FAILED = 5.0


class RedisStore(Forgets):
    """A store in the server at `address`: turns live for `ttl` seconds from last use and take about `max_bytes` bytes.

    `on_fault` is given a sentence, once for each kind of fault until it has passed, and one when a server that was away
    is back. Where the server is away from the beginning, `key` changes when it is first met and has one.
    """

    def __init__(
        self,
        address: Address,
        *,
        ttl: float,
        max_bytes: int,
        clock: Callable[[], float],
        on_fault: Callable[[str], None],
    ) -> None:
        self.name = address.name
        self.key = os.urandom(32)
        self._who = os.urandom(12).hex()
        self._ttl = ttl
        self._max_bytes = max_bytes
        self._clock = clock
        self._faults = Faults(on_fault)
        self._due = Due(max_bytes)
        self._more = False
        self._written = 0  # steps whose turns have left memory
        self._waiting, self._turns = self._anew()
        self._step: asyncio.Task[bool] | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._closed = False
        self._link = Link(address, self._faults, self._met)
        self._link.open(self.key)

    def put(self, kept: Kept) -> None:
        """See Store."""
        if self._waiting.put(kept, self._clock()):
            self._tell(Fault.FULL, "too much waits to be written, and the oldest turns are lost")
        self._schedule()

    def touch(self, ids: Sequence[str]) -> None:
        """See Store. Written with the next turn, or when it is next time to look for what is too old."""
        self._waiting.touch(ids, self._clock())

    async def fetch(self, keys: Keys) -> Facts:
        """See Store."""
        question = Question(keys)
        if not question.own:
            return Facts()
        found = await self._find(
            lambda waiting: waiting.find(question),
            lambda turns, send, forgetting: turns.find(send, question, forgetting),
            question.finds,
        )
        return found.facts()

    async def conversation(self, tenant: str, root: str) -> tuple[Kept, ...]:
        """See Store."""
        asked = Conversation(tenant, root)
        found = await self._find(
            lambda waiting: waiting.conversation(asked),
            lambda turns, send, forgetting: turns.conversation(send, asked, forgetting),
            asked.holds,
        )
        return found.conversation()

    async def flush(self) -> None:
        """See Store. Gives up where a step takes some seconds, and at once on other faults; what waits goes on waiting.

        Durable is what the server has; what the server does for it is its own matter.
        """
        last = self._waiting.last()
        await self._write_while(lambda: self._waiting.owes(last, uses=False))

    async def stats(self) -> Stats:
        """See Store. What waits is counted beside what is in the server, also if it is to replace it."""
        for _ in range(3):
            await self._write_while(lambda: bool(self._waiting.forgetting()) or self._writes())
            before = self._step
            stored = await self._ask(Budget(FETCHING), lambda send: self._turns.count(send)) or (0, 0, 0)
            waiting = self._waiting.counts()
            if before is self._step:  # else turns may be on their way, and be counted twice
                break
        return together(stored, waiting, self.name)

    async def lease(self, name: str, seconds: float) -> bool:
        """See Store."""
        held = await self._ask(Budget(FETCHING), lambda send: self._turns.lease(send, name, self._who, seconds))
        return held is not False

    async def release(self, name: str) -> None:
        """See Store."""
        await self._ask(Budget(FETCHING), lambda send: self._turns.release(send, name, self._who))

    async def close(self) -> None:
        """See Store."""
        if self._closed:
            return
        self._closed = True
        await self._write_while(lambda: self._waiting.owes())
        if left := self._waiting.counts()[0]:
            self._tell(Fault.FULL, f"it was closed while {left} turns could not be written, and they are lost")
        self._tell_left()
        self._stop_waiting()
        if self._step:
            self._step.cancel()
            await asyncio.wait((self._step,))
        await self._link.close()

    # Looking

    async def _find(
        self,
        waiting: Callable[[Waiting], Found],
        stored: Callable[[Turns, Send, Forgetting], Awaitable[Found]],
        finds: Callable[[Kept], bool],
    ) -> Found:
        """Look in memory and in the server; again if something was forgotten meanwhile: it may be among the finds.

        Some times again, too, if turns were written: those that they replace may be among the finds.
        """
        budget = Budget(FETCHING)
        tries = 0
        while True:
            here = self._waiting
            forgets, written = here.forgets, self._written
            tries += 1
            # Memory before the server: what is written in between is found twice, not missed.
            found = waiting(here)
            if there := await self._ask(budget, lambda send: stored(self._turns, send, self._waiting.forgetting())):
                here.merge(found, there, finds)
            if here is self._waiting and forgets == here.forgets and (written == self._written or tries >= 3):
                return found

    async def _ask[T](self, budget: Budget, query: Callable[[Send], Awaitable[T]]) -> T | None:
        """Ask the server something, in so much time; None if it does not say."""
        if not self._link.up:
            self._link.look()
            return None
        try:
            answer = await query(partial(self._link.send, budget))
        except Exception as error:  # the seam: whatever the server does, callers have what memory has
            await self._link.failed(error, Fault.HAMPERED, "what it holds may be missed")
            return None
        self._faults.passed(Fault.HAMPERED)
        self._schedule()
        return answer

    # Writing

    def _forget(self, *targets: Target) -> None:
        self._waiting.forget(targets)
        if self._closed:
            self._tell_left()
        self._schedule()

    def _schedule(self) -> None:
        """Have what waits written and what is too old deleted, unless it is being done anyway."""
        self._link.look()
        if self._link.up and not self._closed and not self._retry and self._owes():
            self._start()

    def _owes(self) -> bool:
        return self._waiting.owes(uses=False) or self._more or self._due.due(self._clock())

    def _start(self) -> asyncio.Task[bool] | None:
        """Return the step of writing that is under way, or begin one. There is none without an event loop."""
        if not self._writes():
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return None
            self._step = loop.create_task(self._write())
            self._step.add_done_callback(lambda _: self._schedule())
        return self._step

    def _writes(self) -> bool:
        return self._step is not None and not self._step.done()

    async def _write_while(self, owes: Callable[[], bool]) -> None:
        while self._link.up and owes() and (step := self._start()):
            await asyncio.wait((step,), timeout=PATIENCE)
            if not step.done() or step.cancelled() or not step.result():
                return

    async def _write(self) -> bool:
        """Take a step. Returns whether nothing went wrong."""
        waiting, turns = self._waiting, self._turns
        send = partial(self._link.send, Budget(WRITING))
        work = waiting.take(BATCH)
        try:
            encoded = self._encode(work.batch)
            waiting.forgotten(await turns.forget(send, work.forgetting))
            self._more |= await turns.write(send, encoded, work.touched)
            waiting.written([entry for entry, _ in encoded])
            self._written += bool(encoded)
            self._due.wrote(len(encoded), sum(len(record.head) + len(record.body) for _, record in encoded))
            if self._more or self._due.due(self._clock()):
                self._due.looked(self._clock())
                self._more = await turns.trim(send, self._clock())
        except Exception as error:  # likewise
            waiting.untake(work.touched)
            await self._link.failed(error, Fault.FAILED, "turns wait in memory")
            self._try_again()
            return False
        self._faults.passed(Fault.FAILED, Fault.FULL)
        return True

    def _try_again(self) -> None:
        """Have it tried again later, unless the server is away: when it is back, that is done at once."""
        self._stop_waiting()
        if self._link.up and not self._closed:
            self._retry = asyncio.get_running_loop().call_later(RETRY_FAILED, self._now)

    def _now(self) -> None:
        self._stop_waiting()
        self._schedule()

    def _stop_waiting(self) -> None:
        if self._retry:
            self._retry.cancel()
            self._retry = None

    def _encode(self, batch: Sequence[Entry]) -> list[tuple[Entry, records.Record]]:
        """Write turns down, up to a number of bytes. One that is not JSON stays in memory."""
        encoded = []
        size = 0
        for entry in batch:
            try:
                record = records.encode(entry.kept)
            except (ValueError, TypeError, RecursionError) as error:
                self._waiting.unwritable(entry)
                self._tell(Fault.RECORD, f"a turn stays in memory, it cannot be written ({type(error).__name__})")
                continue
            encoded.append((entry, record))
            size += len(record.head) + len(record.body)
            if size >= BATCH_BYTES:
                break
        return encoded

    # Meeting the server

    def _met(self, key: bytes) -> None:
        """The server is there, with that key. What was put under another one cannot be found by anybody any more."""
        if key != self.key:
            if left := self._waiting.counts()[0]:
                self._tell(Fault.FULL, f"it has another key, and {left} turns that were kept meanwhile are lost")
            orders = self._waiting.forgetting()
            self.key = key
            self._waiting, self._turns = self._anew()
            self._waiting.forget([target for target, _ in orders])
        self._now()

    def _anew(self) -> tuple[Waiting, Turns]:
        return (
            Waiting(ttl=self._ttl, max_bytes=self._max_bytes),
            Turns(self.key, self._skipped, ttl=self._ttl, max_bytes=self._max_bytes),
        )

    # Telling

    def _tell(self, fault: Fault, sentence: str) -> None:
        self._faults.tell(fault, f"{self.name}: {sentence}")

    def _tell_left(self) -> None:
        if self._waiting.forgetting():
            self._tell(Fault.LEFT, "turns that were to be forgotten may still be in it")

    def _skipped(self, error: records.Unreadable) -> None:
        self._tell(Fault.RECORD, f"a stored turn is skipped, it cannot be read ({error})")
