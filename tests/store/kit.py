"""What the tests of the store share: turns to put, a clock to set, and all backends behind one way to open them."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import thoughtkeep_store
from thoughtkeep.turns import Call, Kept, Keys, Kind, Owner, Piece, Turn
from thoughtkeep_store import MemoryStore, SqliteStore, Store
from thoughtkeep_store.redis_store import RedisStore
from thoughtkeep_store.redis_url import address_of

#: For processes of the tests' own.
LIB = str(Path(thoughtkeep_store.__file__).parents[1])
TESTS = str(Path(__file__).parents[1])

WEEK = 7 * 86400.0
PLENTY = 1 << 30


def run[T](scenario: Coroutine[Any, Any, T]) -> T:
    """Run a scenario to its end."""
    return asyncio.run(asyncio.wait_for(scenario, 15))


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def kept(
    id_: str = "t1",
    *,
    tenant: str = "alice",
    root: str = "root",
    lineage: str = "lineage",
    made: float = 1.0,
    call_ids: tuple[str, ...] = (),
    values: tuple[str, ...] = (),
    text: str = "words",
    state: dict[str, Any] | None = None,
) -> Kept:
    """Return a turn whose calls have the ids given."""
    pieces = [Piece(Kind.TEXT, text, state=state or {"thoughtSignature": "c2lnbmF0dXJl"})]
    pieces += [Piece(Kind.CALL, call=Call(id_of, "shell", "{}"), state={"x": [1]}) for id_of in call_ids]
    return Kept(
        id=id_,
        tenant=tenant,
        owner=Owner("google", "gemini-3-pro"),
        format="gemini",
        root=root,
        lineage=lineage,
        after=(f"{lineage}+",),
        context="context",
        near="near",
        thinking="on",
        made=made,
        turn=Turn(tuple(pieces), {"reasoning": ""}, names=("reasoning",)),
        call_ids=call_ids,
        values=values,
    )


def keys(*lineages: str, tenant: str = "alice", call_ids: tuple[str, ...] = (), values: tuple[str, ...] = ()) -> Keys:
    """Return what a request of that tenant asks for."""
    return Keys(tenant, lineages, call_ids, values)


async def found(store: Store, *lineages: str, **more: Any) -> list[str]:
    """Return the ids of the turns that the keys lead to, in the order of the answer."""
    return [turn.id for turn in (await store.fetch(keys(*lineages, **more))).turns]


async def settled(store: Store, done: Callable[[Store], Coroutine[Any, Any, bool]]) -> None:
    """Wait until what happens in the background has happened."""
    for _ in range(1000):
        if await done(store):
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never happened")


class Broken:
    """A connection whose statements raise, while there is an error to raise."""

    def __init__(self, connection: sqlite3.Connection, error: Exception | None = None, only: str = "") -> None:
        self.connection = connection
        self.error = error
        self.only = only

    def execute(self, statement: str, *parameters: Any) -> Any:
        if self.error and self.only in statement:
            raise self.error
        return self.connection.execute(statement, *parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


def breaks(store: Store, error: Exception | None = None, only: str = "") -> Broken:
    """Have the statements of a store raise that hold `only`."""
    broken = Broken(store._database.connection, error, only)
    store._database.connection = broken
    return broken


class Server(Protocol):
    """A server that a store may live in, real or not."""

    def database(self, folder: Path) -> str:
        """The URL of the database of that folder, which is empty at first."""


@dataclass
class Backend:
    """One backend: where its store is, and what it told of faults. Backends of the same folder share a store."""

    kind: str
    folder: Path
    server: Server | None = None
    clock: Clock = field(default_factory=Clock)
    faults: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / "store.sqlite3"

    @property
    def lasting(self) -> bool:
        """Whether what is in the store outlives it."""
        return self.kind != "memory"

    @asynccontextmanager
    async def open(self, *, ttl: float = WEEK, max_bytes: int = PLENTY) -> AsyncIterator[Store]:
        """Open the store, and close it in the end."""
        store: Store
        if self.kind == "memory":
            store = MemoryStore(ttl=ttl, max_bytes=max_bytes, clock=self.clock)
        elif self.kind == "sqlite":
            store = self.open_file(ttl=ttl, max_bytes=max_bytes)
        else:
            store = self.open_server(ttl=ttl, max_bytes=max_bytes)
        try:
            yield store
        finally:
            await store.close()

    def open_file(self, *, ttl: float = WEEK, max_bytes: int = PLENTY) -> SqliteStore:
        """Open the file; closing it is the caller's."""
        return SqliteStore(self.path, ttl=ttl, max_bytes=max_bytes, clock=self.clock, on_fault=self.faults.append)

    def open_server(self, *, ttl: float = WEEK, max_bytes: int = PLENTY) -> RedisStore:
        """Open the database; closing it is the caller's."""
        assert self.server is not None
        address = address_of(self.server.database(self.folder))
        return RedisStore(address, ttl=ttl, max_bytes=max_bytes, clock=self.clock, on_fault=self.faults.append)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    before = time.monotonic()
    yield
    assert time.monotonic() - before < seconds


async def nothing_waits(store: Store) -> bool:
    return (await store.stats()).pending == 0


async def is_up(store: Store) -> bool:
    assert isinstance(store, RedisStore)
    store.touch([])
    return store._link.up


def words(backend: Backend) -> list[str]:
    """What was told, without the server's name."""
    return [fault.partition("/0: ")[2] for fault in backend.faults]


def killed_after(folder: Path, imports: str, steps: str, *words: str) -> None:
    """Run steps on the store in a folder, in a process of its own that is killed when they are done."""
    script = (
        f"import asyncio, sys, time; from pathlib import Path; {imports}\n"
        "async def scenario():\n"
        "    async with Backend('sqlite', Path(sys.argv[1])).open() as store:\n"
        f"        {steps}; await store.flush()\n"
        "        print('flushed', flush=True)\n"
        "        time.sleep(60)\n"
        "asyncio.run(scenario())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((LIB, TESTS))}
    command = [sys.executable, "-c", script, str(folder), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "flushed\n"
        process.send_signal(signal.SIGKILL)
