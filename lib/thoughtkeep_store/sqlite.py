"""The backend that outlives the process: an SQLite file behind a layer in memory.

Here and nowhere else: what runs on which thread, and what becomes of turns that the file does not take. A turn waits in
memory from `put` until its transaction is committed; lookups look there first, so that a turn is never out of sight.
All SQL runs on one thread of the store's own, in jobs that never raise.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from threading import Lock, Timer

from thoughtkeep.turns import Facts, Kept, Keys

from . import opening, records
from .base import Stats
from .database import Database
from .faults import Fault, Faults, classify
from .marks import Question
from .pruning import Pruning
from .shelf import Entry
from .waiting import Waiting

# Turns that one transaction writes, so that lookups get in between.
BATCH = 64

# Seconds until a write is tried again: after a lock, and after a fault that may pass.
RETRY_LOCKED = 0.1
RETRY_FAILED = 5.0

# Seconds that a lock lasts before it is worth a line in the log.
LOCK_TOLD = 5.0

# Seconds that a caller waits for the file at most, whatever the file does.
PATIENCE = 2.0

_MEANWHILE = {Fault.FAILED: "turns wait in memory", Fault.HAMPERED: "what it holds may be missed"}


class Outcome(Enum):
    """What became of one write."""

    DONE = auto()
    LOCKED = auto()
    FAILED = auto()


class SqliteStore:
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
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="thoughtkeep-store")
        self._closed = False
        self._usable = True  # once false, the file is not touched again
        self._locked_since: float | None = None
        self._lock = Lock()  # guards the two below, which callers and the store's thread change
        self._scheduled = False
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
        # Memory before the file: what is written in between is found twice, not missed.
        found = self._waiting.find(question)
        if stored := await self._run(lambda: self._read(lambda: self._database.find(question))):
            self._waiting.merge(found, stored, question)
        return found.facts()

    async def flush(self) -> None:
        """See Store. Gives up after some seconds of a lock, and at once on other faults; the turns go on waiting."""
        until = time.monotonic() + PATIENCE
        last = self._waiting.last()
        while self._usable and self._waiting.owes(last, uses=False):
            outcome = await self._run(self._write)
            if outcome is Outcome.LOCKED and time.monotonic() < until:
                await asyncio.sleep(RETRY_LOCKED)
            elif outcome is not Outcome.DONE:
                return

    async def stats(self) -> Stats:
        """See Store. What waits is counted beside what is in the file, also if it is to replace it."""
        stored = await self._run(lambda: self._read(self._database.counts)) or (0, 0, 0)
        waiting = self._waiting.counts()
        conversations = max(stored[1], waiting[1])
        return Stats(stored[0] + waiting[0], conversations, stored[2] + waiting[2], self.name, waiting[0])

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
        self._usable = False
        self._no_retry()
        await self._run(self._shut)
        self._executor.shutdown(wait=False)

    # On the caller's thread, or on both.

    async def _run[T](self, job: Callable[[], T]) -> T | None:
        """Run a job on the store's thread and return its result, or None if it takes too long."""
        future = self._submit(job)
        if future is None:
            return None
        wrapped = asyncio.wrap_future(future)
        await asyncio.wait((wrapped,), timeout=PATIENCE)
        return wrapped.result() if wrapped.done() else None

    def _submit[T](self, job: Callable[[], T]) -> Future[T] | None:
        try:
            return self._executor.submit(job)
        except RuntimeError:  # closed, or the interpreter ends
            return None

    def _schedule(self) -> None:
        """Have what waits written, unless a write is coming anyway."""
        with self._lock:
            if self._scheduled or self._retry or not self._usable:
                return
            self._scheduled = True
        self._submit(self._write)

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
            self._submit(self._prune)

    def _write(self) -> Outcome:
        with self._lock:
            self._scheduled = False
        if not self._usable:
            return Outcome.FAILED
        batch, touched = self._waiting.take(BATCH)
        if not batch and not touched:
            self._locked_since = None
            return Outcome.DONE
        try:
            encoded = self._encode(batch)
            if _identity(self._path) != self._identity:
                raise sqlite3.DatabaseError("the file was deleted or replaced")
            self._database.write(encoded, touched)
        except Exception as error:  # likewise
            self._waiting.untake(touched)
            return self._failed(error, Fault.FAILED)
        self._waiting.written([entry for entry, _ in encoded])
        self._locked_since = None
        self._no_retry()
        self._faults.passed(Fault.LOCKED, Fault.FAILED, Fault.FULL)
        self._pruning.wrote(len(encoded), sum(len(record.head) + len(record.body) for _, record in encoded))
        self._submit(self._prune)
        if self._waiting.owes():
            self._schedule()
        return Outcome.DONE

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
            self._schedule_in(RETRY_LOCKED)
            return Outcome.LOCKED
        if fault is Fault.DAMAGED:
            self._usable = False
            opening.leave_alone(self._database.connection)
            self._tell(fault, f"{error}; it is left alone, and turns are kept in memory from now on")
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


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells the file from another one at its path, or None if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
