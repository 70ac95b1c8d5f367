"""What the tests of forgetting share: five turns, each way to forget them, and what the file has of them."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from thoughtkeep.turns import Facts
from thoughtkeep_store import Store

from .kit import Backend, kept, keys

EVERY = tuple(f"l{n}" for n in range(5))

# Each forgets all turns of `fill`.
WAYS: dict[str, Callable[[Store], None]] = {
    "turns": lambda store: store.forget_turns([f"t{n}" for n in range(5)]),
    "conversation": lambda store: store.forget_conversation("alice", "root"),
    "all": lambda store: store.forget_all(),
}
each_way = pytest.mark.parametrize("forget", WAYS.values(), ids=WAYS)


def fill(store: Store, text: str = "words") -> None:
    """Put five turns of one conversation."""
    for n in range(5):
        store.put(kept(f"t{n}", lineage=f"l{n}", made=float(n), call_ids=(f"c{n}",), values=("v",), text=text))


async def told(store: Store) -> list[str]:
    """Return the ids of the turns of that conversation."""
    return [turn.id for turn in await store.conversation("alice", "root")]


async def figures(store: Store) -> tuple[int, int, int]:
    """Return turns, conversations and bytes."""
    stats = await store.stats()
    return stats.turns, stats.conversations, stats.bytes


async def require_gone(store: Store) -> None:
    """Require that nothing of those turns is told, and that nothing else is there."""
    for tenant in ("alice", "bob"):
        question = keys(*EVERY, tenant=tenant, call_ids=tuple(f"c{n}" for n in range(5)), values=("v",))
        assert await store.fetch(question) == Facts()
    assert await told(store) == []
    assert await figures(store) == (0, 0, 0)


def table(file: Backend, query: str) -> list[tuple[object, ...]]:
    """Return what another connection reads."""
    with closing(sqlite3.connect(file.path)) as other:
        return other.execute(query).fetchall()


def content(file: Backend) -> bytes:
    """Return all bytes that the store has on the disk."""
    return b"".join(path.read_bytes() for path in sorted(file.folder.iterdir()) if path.is_file())


def held(file: Backend, statement: str = "BEGIN IMMEDIATE") -> closing[sqlite3.Connection]:
    """Have another connection hold the file."""
    other = sqlite3.connect(file.path, isolation_level=None, check_same_thread=False)
    other.execute(statement)
    return closing(other)
