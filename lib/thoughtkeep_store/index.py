"""The mark index of a SQLite file: which rows have a mark, newest first, without touching the rows.

Every request of a conversation asks for the marks of all its turns again, hundreds of them, of which a few are new. So
what was read stays in memory until it changes: by a write of our own, or by another connection (`refresh`). Everything
here is synchronous and raises the errors of SQLite; one thread at a time may use it.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from .base import PER_KEY, SCANNED
from .cache import Cache
from .marks import Mark

# Marks whose rows are kept in memory, and whose digests are. Either takes some MB.
CACHED_MARKS = 32_768

# Both run on the index alone, newest first, and stop after a fixed number of rows for each digest.
_OWN = """
SELECT wanted.value, (SELECT group_concat(turn) FROM (
    SELECT turn FROM mark WHERE digest = wanted.value ORDER BY made DESC, turn DESC LIMIT ?
)) FROM json_each(?) AS wanted
"""
_SHARED = """
SELECT wanted.value, (SELECT group_concat(turn || ' ' || tenant) FROM (
    SELECT turn, tenant FROM mark WHERE digest = wanted.value ORDER BY made DESC, turn DESC LIMIT ?
)) FROM json_each(?) AS wanted
"""

# A row's number and its tenant's digest, which is 0 where the tenant is in the mark itself.
type _Rows = tuple[tuple[int, int], ...]


class Index:
    """Finds rows by marks. `key` is the store's: the file holds digests only."""

    def __init__(self, key: bytes) -> None:
        self._keyed = blake2b(key=key, digest_size=8)
        self._rows: Cache[_Rows] = Cache(CACHED_MARKS)
        self._version = 0
        self.digest: Callable[[Mark], int] = lru_cache(CACHED_MARKS)(self._digest)

    def refresh(self, connection: sqlite3.Connection) -> bool:
        """Take note of what others wrote, and return whether they did. Call it before each look."""
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return False
        self._rows.clear()
        self._version = version
        return True

    def changed(self, digests: Iterable[int]) -> None:
        """Rows with these digests come or go: what was read of them is true no more."""
        for digest in digests:
            self._rows.drop(digest)

    def own(self, connection: sqlite3.Connection, marks: Iterable[Mark]) -> set[int]:
        """Return the rows that have one of these marks, which are of one tenant."""
        return {number for rows in self._find(connection, _OWN, PER_KEY, marks) for number, _ in rows}

    def shared(self, connection: sqlite3.Connection, marks: Iterable[Mark], tenant: str) -> set[int]:
        """Return the rows that have one of these marks, which are of all tenants, but for those of that tenant."""
        own = self.tenant(tenant)
        found = self._find(connection, _SHARED, SCANNED, marks)
        return {number for rows in found for number, owner in rows if owner != own}

    def tenant(self, tenant: str) -> int:
        """Return the digest of a tenant."""
        return self.digest(("tenant", tenant, ""))

    def _find(self, connection: sqlite3.Connection, query: str, limit: int, marks: Iterable[Mark]) -> list[_Rows]:
        found, missing = [], []
        known = self._rows.peek
        for digest in map(self.digest, marks):
            rows = known(digest)
            if rows is None:
                missing.append(digest)
            elif rows:
                found.append(rows)
        if missing:
            for digest, joined in connection.execute(query, (limit, json.dumps(missing))):
                rows = _split(joined)
                self._rows.put(digest, rows, 1 + len(rows))
                found.append(rows)
        return found

    def _digest(self, mark: Mark) -> int:
        # 64 bits find candidates; whether one is an answer is asked of the turn itself.
        digest = self._keyed.copy()
        digest.update("\0".join(mark).encode("utf-8", "surrogatepass"))
        return int.from_bytes(digest.digest(), "big", signed=True)


def _split(joined: str | None) -> _Rows:
    rows: Sequence[str] = joined.split(",") if joined else ()
    return tuple((int(number), int(tenant or 0)) for number, _, tenant in (row.partition(" ") for row in rows))
