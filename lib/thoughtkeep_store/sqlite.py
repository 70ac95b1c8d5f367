"""The backend that outlives the process: an SQLite file behind a layer in memory.

Here and nowhere else: what runs on which thread, and what becomes of turns that the file does not take. A turn waits in
memory from `put` until its transaction is committed; lookups look there first, so that a turn is never out of sight.
What is to be forgotten is taken note of in memory likewise, and never in sight again.
All SQL runs on one thread of the store's own, in jobs that never raise.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import Enum, auto
from functools import partial
from pathlib import Path
from threading import Lock, Timer

from thoughtkeep.turns import Facts, Kept, Keys

from . import opening, records
from .base import Stats
from .database import Database
from .erasing import Erasing
from .faults import Fault, Faults, classify
from .forgetting import Conversation, Forgets, Forgetting, Target
from .found import Found
from .marks import Question
from .pruning import Pruning
from .shelf import Entry
from .waiting import Waiting, together

# Turns that one transaction writes, so that lookups get in between.
BATCH = 64

# Seconds until a write is tried again: after a lock, and after a fault that may pass.
RETRY_LOCKED = 0.1
RETRY_FAILED = 5.0

# Seconds that a lock lasts before it is worth a line in the log.
LOCK_TOLD = 5.0

# Seconds that a caller waits for the file at most, whatever the file does; and a lookup, which is then answered from
# memory alone: a request that waits for it goes as it came after one second.
PATIENCE = 2.0
LOOKUP = 0.7

_MEANWHILE = {Fault.FAILED: "turns wait in memory", Fault.HAMPERED: "what it holds may be missed"}


class Outcome(Enum):
    """What became of one write."""

    DONE = auto()
    LOCKED = auto()
    FAILED = auto()


class SqliteStore(Forgets):
    """A store in the file at `path`: turns live for `ttl` seconds from last use and take about `max_bytes` bytes.

    `on_fault` is given a sentence, once for each kind of fault until it has passed; it may be called on another
    thread. Raises Unusable if the file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        ttl: float,
        max_bytes: int,
        clock: Callable[[], float],
        on_fault: Callable[[str], None],
    ) -> None:
        connection, self.key = opening.open_file(path)
        self.name = f"sqlite {path}"
        self._path = path
        self._identity = _identity(path)
        self._clock = clock
        self._faults = Faults(on_fault)
        self._waiting = Waiting(ttl=ttl, max_bytes=max_bytes)
        self._database = Database(connection, self.key, self._skipped)
        self._pruning = Pruning(self._database, ttl=ttl, max_bytes=max_bytes)
        self._erasing = Erasing(self._database)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="thoughtkeep-store")
        self._closed = False
        self._usable = True  # once false, the file is not touched again
        self._locked_since: float | None = None
        self._locked_until = 0.0  # no write is tried before: each takes as long as a statement waits for a lock
        self._lock = Lock()  # guards the two below, which callers and the store's thread change
        self._coming: Future[Outcome] | None = None  # the next write, unless it has begun
        self._retry: Timer | None = None
        self._submit(self._prune)

    def put(self, kept: Kept) -> None:
        """See Store."""
        if self._waiting.put(kept, self._clock()):
            self._tell(Fault.FULL, "too much waits to be written, and the oldest turns are lost")
        self._schedule()

    def touch(self, ids: Sequence[str]) -> None:
        """See Store. Written with the next turn, or when the store is next pruned: nobody waits for it."""
        self._waiting.touch(ids, self._clock())

    async def fetch(self, keys: Keys) -> Facts:
        """See Store."""
        question = Question(keys)
        if not question.own:
            return Facts()
        found = await self._find(
            lambda: self._waiting.find(question),
            lambda forgetting: self._database.find(question, forgetting),
            question.finds,
        )
        return found.facts()

    async def conversation(self, tenant: str, root: str) -> tuple[Kept, ...]:
        """See Store."""
        asked = Conversation(tenant, root)
        found = await self._find(
            lambda: self._waiting.conversation(asked),
            lambda forgetting: self._database.conversation(asked, forgetting),
            asked.holds,
        )
        return found.conversation()

    async def flush(self) -> None:
        """See Store. Gives up after some seconds of a lock, and at once on other faults; what waits goes on waiting."""
        until = time.monotonic() + PATIENCE
        last = self._waiting.last()
        while self._usable and self._waiting.owes(last, uses=False):
            outcome = await self._outcome(self._coming or self._submit(self._write))
            if outcome is Outcome.LOCKED and time.monotonic() < until:
                await asyncio.sleep(RETRY_LOCKED)
            elif outcome is not Outcome.DONE:
                return
        if self._erasing.traces:
            await self._run(self._clear)

    async def stats(self) -> Stats:
        """See Store. What waits is counted beside what is in the file, also if it is to replace it."""
        while True:
            forgets = self._waiting.forgets
            stored = await self._ask(self._erasing.counts) or (0, 0, 0)
            waiting = self._waiting.counts()
            if forgets == self._waiting.forgets:
                break
        return together(stored, waiting, self.name)

    async def lease(self, name: str, seconds: float) -> bool:
        """See Store. Processes that share a file do not share leases: each does for itself what it needs."""
        return True

    async def release(self, name: str) -> None:
        """See Store."""

    async def close(self) -> None:
        """See Store."""
        if self._closed:
            return
        self._closed = True
        await self.flush()
        if self._waiting.owes():  # uses
            await self._run(self._write)
        if self._usable and (left := self._waiting.counts()[0]):
            self._tell(Fault.FULL, f"it was closed while {left} turns could not be written, and they are lost")
        self._tell_left()
        self._usable = False
        self._no_retry()
        await self._run(self._shut)
        self._executor.shutdown(wait=False)

    # On the caller's thread, or on both.

    def _forget(self, *targets: Target) -> None:
        self._waiting.forget(targets)
        if not self._usable:
            self._tell_left()
        self._schedule()

    async def _find(
        self, waiting: Callable[[], Found], stored: Callable[[Forgetting], Found], finds: Callable[[Kept], bool]
    ) -> Found:
        """Look in memory and in the file; again if something was forgotten meanwhile, which may be among the finds."""
        while True:
            forgets = self._waiting.forgets
            # Memory before the file: what is written in between is found twice, not missed.
            found = waiting()
            if there := await self._ask(stored):
                self._waiting.merge(found, there, finds)
            if forgets == self._waiting.forgets:
                return found

    async def _ask[T](self, query: Callable[[Forgetting], T]) -> T | None:
        """Ask the file on the store's thread, without what is to be forgotten then."""
        job = partial(self._read, lambda: query(self._waiting.forgetting()))
        return await self._run(job, min(LOOKUP, PATIENCE))

    async def _run[T](self, job: Callable[[], T], patience: float = 0.0) -> T | None:
        """Run a job on the store's thread and return its result, or None if it takes too long."""
        return await self._outcome(self._submit(job), patience)

    async def _outcome[T](self, future: Future[T] | None, patience: float = 0.0) -> T | None:
        """Return what comes of a job, or None if it takes too long.

        By hand, since every exchange does it twice: wrapping the future and waiting for that takes a tenth of a
        millisecond more.
        """
        if future is None:
            return None
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def tell(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop is closed, nobody waits any more
                loop.call_soon_threadsafe(_end, ended)

        future.add_done_callback(tell)
        timer = loop.call_later(patience or PATIENCE, _end, ended)
        try:
            await ended
        finally:
            timer.cancel()
        if future.done():
            return future.result()
        self._tell(Fault.HAMPERED, "it does not answer in time; what it holds may be missed until this has passed")
        return None

    def _submit[T](self, job: Callable[[], T]) -> Future[T] | None:
        try:
            return self._executor.submit(job)
        except RuntimeError:  # closed, or the interpreter ends
            return None

    def _schedule(self) -> None:
        """Have what waits written, unless a write is coming anyway."""
        with self._lock:
            if not (self._coming or self._retry) and self._usable:
                self._coming = self._submit(self._write_scheduled)

    def _schedule_in(self, seconds: float) -> None:
        with self._lock:
            if self._retry or self._closed:
                return
            self._retry = Timer(seconds, self._try_again)
            self._retry.daemon = True
            with suppress(RuntimeError):  # the interpreter ends
                self._retry.start()

    def _try_again(self) -> None:
        self._no_retry()
        self._schedule()

    def _no_retry(self) -> None:
        with self._lock:
            if self._retry:
                self._retry.cancel()
            self._retry = None

    def _tell(self, fault: Fault, sentence: str) -> None:
        self._faults.tell(fault, f"{self.name}: {sentence}")

    def _tell_left(self) -> None:
        if self._waiting.forgetting():
            self._tell(Fault.LEFT, "turns that were to be forgotten may still be in it")

    # On the store's thread.

    def _read[T](self, query: Callable[[], T]) -> T | None:
        if not self._usable:
            return None
        try:
            return query()
        except Exception as error:  # the seam: whatever the file does, callers have what memory has
            self._failed(error, Fault.HAMPERED)
            return None
        finally:
            self._prune_later()

    def _write_scheduled(self) -> Outcome:
        with self._lock:
            self._coming = None
        return self._write()

    def _write(self) -> Outcome:
        if not self._usable:
            return Outcome.FAILED
        if time.monotonic() < self._locked_until:
            return Outcome.LOCKED
        work = self._waiting.take(BATCH)
        if not any(work):
            self._locked_since = None
            self._clear()
            return Outcome.DONE
        try:
            encoded = self._encode(work.batch)
            if _identity(self._path) != self._identity:
                raise sqlite3.DatabaseError("the file was deleted or replaced")
            if work.forgetting:
                self._erase(work.forgetting)
            if encoded or work.touched:
                self._database.write(encoded, work.touched)
        except Exception as error:  # likewise
            self._waiting.untake(work.touched)
            return self._failed(error, Fault.FAILED)
        self._waiting.written([entry for entry, _ in encoded])
        self._locked_since = None
        self._no_retry()
        self._faults.passed(Fault.LOCKED, Fault.FAILED, Fault.FULL)
        self._pruning.wrote(len(encoded), sum(len(record.head) + len(record.body) for _, record in encoded))
        if not self._waiting.forgetting():
            self._clear()
        self._prune_later()
        if self._waiting.owes():
            self._schedule()
        return Outcome.DONE

    def _erase(self, forgetting: Forgetting) -> None:
        """Take a step in forgetting. What was put since has higher row numbers, or waits for the write after this."""
        done = self._erasing.step(forgetting)
        self._waiting.forgotten(done)
        if len(done) == len(forgetting):
            self._pruning.look()

    def _clear(self) -> None:
        """See to it that the file holds no trace of what was forgotten, or try again with the next write."""
        if not self._usable:
            return
        try:
            self._erasing.clear()
        except Exception as error:  # likewise
            self._failed(error, Fault.HAMPERED)

    def _encode(self, batch: Sequence[Entry]) -> list[tuple[Entry, records.Record]]:
        """Write turns down. One that is not JSON stays in memory."""
        encoded = []
        for entry in batch:
            try:
                encoded.append((entry, records.encode(entry.kept)))
            except (ValueError, TypeError, RecursionError) as error:
                self._waiting.unwritable(entry)
                self._tell(Fault.RECORD, f"a turn stays in memory, it cannot be written ({type(error).__name__})")
        return encoded

    def _prune_later(self) -> None:
        """Behind what is asked of the thread by now."""
        if self._pruning.due(self._clock()):
            self._submit(self._prune)

    def _prune(self, *, goes_on: bool = False) -> None:
        now = self._clock()
        if not self._usable or not (goes_on or self._pruning.due(now)):
            return
        if self._waiting.owes():  # uses, which keep a conversation from being forgotten
            self._write()
        try:
            more = self._pruning.step(now)
        except Exception as error:  # likewise
            self._failed(error, Fault.HAMPERED)
            return
        self._clear()
        if more:
            self._submit(lambda: self._prune(goes_on=True))

    def _failed(self, error: Exception, otherwise: Fault) -> Outcome:
        """Draw the consequences of an error of the file."""
        fault = classify(error)
        if fault is Fault.LOCKED:
            now = time.monotonic()
            self._locked_since = self._locked_since or now
            if now - self._locked_since >= LOCK_TOLD:
                self._tell(fault, "another program holds it locked, and turns wait in memory")
            self._locked_until = time.monotonic() + RETRY_LOCKED / 2
            self._schedule_in(RETRY_LOCKED)
            return Outcome.LOCKED
        if fault is Fault.DAMAGED:
            self._usable = False
            opening.leave_alone(self._database.connection)
            self._tell(fault, f"{error}; it is left alone, and turns are kept in memory from now on")
            self._tell_left()
        else:
            self._tell(
                otherwise, f"{str(error) or type(error).__name__}; {_MEANWHILE[otherwise]} until this has passed"
            )
            self._schedule_in(RETRY_FAILED)
        return Outcome.FAILED

    def _skipped(self, error: records.Unreadable) -> None:
        self._tell(Fault.RECORD, f"a stored turn is skipped, it cannot be read ({error})")

    def _shut(self) -> None:
        with suppress(sqlite3.Error):
            self._database.connection.close()


def _end(waited: asyncio.Future[None]) -> None:
    if not waited.done():
        waited.set_result(None)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells the file from another one at its path, or None if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
