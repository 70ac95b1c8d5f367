"""What a store is to its callers: the protocol, its figures, and the one way in which opening it fails.

Here and nowhere else: what every backend promises, and how much one question may bring back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from thoughtkeep.turns import Facts, Kept, Keys

# Turns that one lineage, call id or value brings back, newest first. Enough to see that a call id is ambiguous.
PER_KEY = 64

# Newest turns of all tenants that are looked at for one lineage or value, to find the origins among them.
SCANNED = 128

# Origins that one question brings back.
ORIGINS = 1000

# Turns of one conversation that are told, the newest.
PER_CONVERSATION = 1000


class Unusable(Exception):
    """A store cannot be opened. Its message is one sentence: what is wrong, and that the file is left alone."""


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a store holds: turns, conversations, their size in bytes, and the turns that are not durable yet."""

    turns: int
    conversations: int
    bytes: int
    backend: str
    pending: int = 0


class Store(Protocol):
    """Where captured turns live.

    `key` is 32 random bytes that live in the store: all digests are made with it. `name` tells logs what it is.
    No method raises for a fault of the backend: what cannot be reached is as if it were not there, and the store
    says so once through the callback it was opened with.
    """

    key: bytes
    name: str

    def put(self, kept: Kept) -> None:
        """Keep a turn: visible to `fetch` at once, durable later. The same id again replaces it. Does no I/O.

        The conversation of the turn counts as used now.
        """

    async def flush(self) -> None:
        """Return when all puts and forgettings so far are durable, or when the backend cannot make them so for now."""

    async def fetch(self, keys: Keys) -> Facts:
        """Return what the keys lead to; empty keys lead to nothing.

        Turns are those of the tenant, newest first (by `made`, then what was put last), each once; a key leads to
        its newest `PER_KEY` turns that are durable and to as many that are not yet. Origins are those of other
        tenants, newest first, by lineage or value, at most `ORIGINS`.
        """

    async def conversation(self, tenant: str, root: str) -> tuple[Kept, ...]:
        """Return the turns of a conversation, oldest first (by `made`, then what was put first).

        Of more than `PER_CONVERSATION` turns these are the newest.
        """

    def touch(self, ids: Sequence[str]) -> None:
        """Count the conversations (same tenant, same root) of these turns as used now. Does no I/O."""

    def forget_turns(self, ids: Sequence[str]) -> None:
        """Forget these turns, whosever they are: gone from all answers at once, durably so later. Does no I/O.

        No trace of them is left where turns are stored. What is put afterwards is kept, also with the same id.
        """

    def forget_conversation(self, tenant: str, root: str) -> None:
        """Forget all turns of a conversation, as `forget_turns` does. What is put into it afterwards is kept."""

    def forget_all(self) -> None:
        """Forget all turns of all tenants, as `forget_turns` does. The key stays."""

    async def stats(self) -> Stats:
        """Return how much is stored."""

    async def lease(self, name: str, seconds: float) -> bool:
        """Whether it is for this process to do what has that name, for so many seconds or until it is released.

        Of the processes that share a store one is told yes, and again if it asks again; where nothing is shared, or the
        backend cannot be reached, each is.
        """

    async def release(self, name: str) -> None:
        """Let others have what `lease` gave to this process."""

    async def close(self) -> None:
        """Flush and let go of the backend. Closing again does nothing."""
