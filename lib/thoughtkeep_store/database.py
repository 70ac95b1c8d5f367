"""Turns in an open SQLite file: written, found by mark, touched, counted.

Everything here is synchronous and raises the errors of SQLite; one thread at a time may use it. Rows are read only of
turns that were not read lately.
"""

import json
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import batched
from typing import Literal, NamedTuple

from thoughtkeep.turns import Kept

from . import records
from .base import ORIGINS, PER_CONVERSATION
from .cache import Cache
from .forgetting import UNMET, Conversation, Forgetting, OneTurn, Target
from .found import Found, origin_of
from .index import Index
from .marks import Question, own_marks, shared_marks
from .shelf import Entry

# Bytes of records whose turns are kept decoded, and how many origins are.
CACHED_BYTES = 32 * 1024 * 1024
CACHED_ORIGINS = 4096

# Turns of which it is kept which conversation's row is theirs.
CACHED_HOMES = 32_768

# Bytes that a row takes beyond its record, and each mark of it.
ROW_BYTES = 200
MARK_BYTES = 45

_USE = """
INSERT INTO conversation (name, used, turns, bytes) VALUES (?, ?, 1, ?)
ON CONFLICT (name) DO UPDATE
SET used = max(used, excluded.used), turns = turns + 1, bytes = bytes + excluded.bytes
"""
_INSERT = "INSERT INTO turn (name, conversation, bytes, made, marks, head, body) VALUES (?, ?, ?, ?, ?, ?, ?)"

_ROW = "SELECT number, made, marks, conversation, bytes FROM turn WHERE name = ? AND number <= ? LIMIT ?"
_ROWS = """
SELECT number, made, marks, conversation, bytes FROM turn
WHERE conversation = (SELECT number FROM conversation WHERE name = ?) AND number <= ? ORDER BY number DESC LIMIT ?
"""
_ALL_ROWS = """
SELECT number, made, marks, conversation, bytes FROM turn WHERE number <= ? ORDER BY number DESC LIMIT ?
"""


class Row(NamedTuple):
    """What a turn's row tells without its record."""

    number: int
    made: float
    marks: bytes
    conversation: int
    size: int


class Database:
    """The tables of a store. `skipped` is told of each record that could not be read."""

    def __init__(
        self, connection: sqlite3.Connection, key: bytes, skipped: Callable[[records.Unreadable], None]
    ) -> None:
        self.connection = connection
        self._index = Index(key)
        self._name = blake2b(key=key, digest_size=16)
        self._skipped = skipped
        self._turns: Cache[Kept] = Cache(CACHED_BYTES)
        self._origins: Cache[records.Traced] = Cache(CACHED_ORIGINS)
        self._homes: dict[str, int] = {}

    @contextmanager
    def transaction(self, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[None]:
        """Run the block in one transaction: all of it, or nothing."""
        self._settle()
        self.connection.execute(f"BEGIN {kind}")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            self._homes.clear()
            if self.connection.in_transaction:  # a full disk makes SQLite roll back by itself
                self.connection.execute("ROLLBACK")
            raise

    def write(self, batch: Sequence[tuple[Entry, records.Record]], touched: Mapping[str, float]) -> None:
        """Write turns, in place of those with their ids, and when turns were used."""
        written = []
        with self.transaction("IMMEDIATE"):
            for entry, record in batch:
                written.append((self._insert(entry.kept, record, entry.put), entry.kept, record))
            self._touch(touched)
        for number, kept, record in written:
            self._turns.put(number, kept, len(record.head) + len(record.body))

    def find(self, question: Question, forgetting: Forgetting) -> Found:
        """Return the turns and origins that the question asks for, ranked by their row numbers.

        What is to be forgotten is not among them.
        """
        found = Found()
        # Without a transaction, which takes as long as all the rest where nothing is new: what is gone by the time that
        # it is read is not found, and numbers of rows are never used again.
        self._settle()
        self._refresh()
        own = self._index.own(self.connection, question.own)
        others = self._index.shared(self.connection, question.shared, question.tenant)
        for number, kept in self._load_turns(own):
            if question.finds(kept) and not forgetting.hides(number, kept.id, kept.tenant, kept.root):
                found.turns[kept.id] = ((kept.made, number), kept)
        # The highest numbers are those put last.
        for number, (id_, tenant, root, origin) in self._load_origins(sorted(others)[-ORIGINS:]):
            if question.traces(tenant, origin) and not forgetting.hides(number, id_, tenant, root):
                found.origins[id_] = ((origin.made, number), origin)
        return found

    def conversation(self, asked: Conversation, forgetting: Forgetting) -> Found:
        """Return the newest turns of a conversation, at least as many as are told, without what is to be forgotten."""
        found = Found()
        with self.transaction("DEFERRED"):
            query = """
                SELECT number FROM turn WHERE conversation = (SELECT number FROM conversation WHERE name = ?)
                ORDER BY made DESC, number DESC
            """
            name = self._name_of("conversation", asked.tenant, asked.root)
            numbers = [number for (number,) in self.connection.execute(query, (name,))]
            for newest in batched(numbers, PER_CONVERSATION):
                for number, kept in self._load_turns(set(newest)):
                    if asked.holds(kept) and not forgetting.hides(number, kept.id, kept.tenant, kept.root):
                        found.turns[kept.id] = ((kept.made, number), kept)
                if len(found.turns) >= PER_CONVERSATION:
                    break
        return found

    def counts(self, after: int = 0) -> tuple[int, int, int]:
        """Return how many turns there are in rows after that one, their conversations, and their bytes."""
        query = "SELECT coalesce(sum(turns), 0), count(*), coalesce(sum(bytes), 0) FROM conversation"
        if after:
            query = "SELECT count(*), count(DISTINCT conversation), coalesce(sum(bytes), 0) FROM turn WHERE number > ?"
        turns, conversations, size = self.connection.execute(query, (after,) if after else ()).fetchone()
        return turns, conversations, size

    def turns_of(self, conversation: int, after: int) -> int:
        """Return how many turns the conversation in that row has in rows after that one."""
        query = "SELECT count(*) FROM turn WHERE conversation = ? AND number > ?"
        return int(self.connection.execute(query, (conversation, after)).fetchone()[0])

    def last(self) -> int:
        """Return the highest number that a turn's row has had so far."""
        row = self.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'turn'").fetchone()
        return int(row[0]) if row else 0

    def rows(self, target: Target, reach: int, limit: int = -1) -> list[Row]:
        """Return the rows of what is meant, up to a number: the last ones first, and so many at most."""
        which: tuple[bytes, ...]
        match target:
            case OneTurn(id_):
                query, which = _ROW, (self._name_of("turn", id_),)
            case Conversation(tenant, root):
                query, which = _ROWS, (self._name_of("conversation", tenant, root),)
            case _:  # everything
                query, which = _ALL_ROWS, ()
        return [Row(*row) for row in self.connection.execute(query, (*which, reach, limit))]

    def remove(self, rows: Iterable[Row]) -> None:
        """Delete rows and their marks, and what they count for in their conversations."""
        for row in rows:
            self.delete([row[:3]])
            query = "UPDATE conversation SET turns = turns - 1, bytes = bytes - ? WHERE number = ?"
            self.connection.execute(query, (row.size, row.conversation))
            self.connection.execute("DELETE FROM conversation WHERE number = ? AND turns = 0", (row.conversation,))

    def delete(self, turns: Iterable[tuple[int, float, bytes]]) -> None:
        """Delete rows and their marks, given number, `made` and packed marks. The conversation is the caller's."""
        self._homes.clear()  # numbers of conversations are used again
        for number, made, packed in turns:
            digests = _unpack(packed)
            marks = [(digest, made, number) for digest in digests]
            self.connection.executemany("DELETE FROM mark WHERE digest = ? AND made = ? AND turn = ?", marks)
            self.connection.execute("DELETE FROM turn WHERE number = ?", (number,))
            self._index.changed(digests)
            self._turns.drop(number)
            self._origins.drop(number)

    def _insert(self, kept: Kept, record: records.Record, used: float) -> int:
        name = self._name_of("turn", kept.id)
        self.remove(self.rows(OneTurn(kept.id), UNMET))
        own = [self._index.digest(mark) for mark in own_marks(kept)]
        shared = [self._index.digest(mark) for mark in shared_marks(kept)]
        size = len(record.head) + len(record.body) + ROW_BYTES + MARK_BYTES * (len(own) + len(shared))
        conversation = self._name_of("conversation", kept.tenant, kept.root)
        self.connection.execute(_USE, (conversation, used, size))
        query = "SELECT number FROM conversation WHERE name = ?"
        (number,) = self.connection.execute(query, (conversation,)).fetchone()
        values = (name, number, size, kept.made, _pack(own + shared), record.head, record.body)
        turn = self.connection.execute(_INSERT, values).lastrowid
        assert turn is not None
        tenant = self._index.tenant(kept.tenant)
        marks = [(digest, kept.made, turn, 0) for digest in own]  # the tenant is in the digest
        marks += [(digest, kept.made, turn, tenant) for digest in shared]
        self.connection.executemany("INSERT OR IGNORE INTO mark VALUES (?, ?, ?, ?)", marks)
        self._index.changed(own + shared)
        return turn

    def _touch(self, touched: Mapping[str, float]) -> None:
        self._refresh()
        if len(self._homes) > CACHED_HOMES:
            self._homes.clear()
        used: dict[int, float] = {}
        for id_, now in touched.items():
            if id_ not in self._homes:
                query = "SELECT conversation FROM turn WHERE name = ?"
                row = self.connection.execute(query, (self._name_of("turn", id_),)).fetchone()
                if row is None:
                    continue
                self._homes[id_] = row[0]
            home = self._homes[id_]
            used[home] = max(now, used.get(home, now))
        for number, now in used.items():
            self.connection.execute("UPDATE conversation SET used = max(used, ?) WHERE number = ?", (now, number))

    def _settle(self) -> None:
        """Take back an earlier transaction that could not be taken back then."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _refresh(self) -> None:
        """Let go what was read and may have changed. Call it before all that relies on it."""
        if self._index.refresh(self.connection):
            self._homes.clear()

    def _load_turns(self, numbers: set[int]) -> Iterator[tuple[int, Kept]]:
        missing = []
        for number in numbers:
            if kept := self._turns.get(number):
                yield number, kept
            else:
                missing.append(number)
        if not missing:
            return
        query = "SELECT number, head, body FROM turn WHERE number IN (SELECT value FROM json_each(?))"
        for number, head, body in self.connection.execute(query, (json.dumps(missing),)):
            try:
                kept = records.decode(head, body)
            except records.Unreadable as error:
                self._skipped(error)
            else:
                self._turns.put(number, kept, len(head) + len(body))
                yield number, kept

    def _load_origins(self, numbers: Sequence[int]) -> Iterator[tuple[int, records.Traced]]:
        missing = []
        for number in numbers:
            if traced := self._origins.get(number):
                yield number, traced
            elif kept := self._turns.get(number):
                yield number, records.Traced(kept.id, kept.tenant, kept.root, origin_of(kept))
            else:
                missing.append(number)
        if not missing:
            return
        query = "SELECT number, head FROM turn WHERE number IN (SELECT value FROM json_each(?))"
        for number, head in self.connection.execute(query, (json.dumps(missing),)):
            try:
                traced = records.decode_head(head)
            except records.Unreadable as error:
                self._skipped(error)
            else:
                self._origins.put(number, traced, 1)
                yield number, traced

    def _name_of(self, *parts: str) -> bytes:
        digest = self._name.copy()
        digest.update("\0".join(parts).encode("utf-8", "surrogatepass"))
        return digest.digest()


def _pack(digests: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(digests)}q", *digests)


def _unpack(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(packed) // 8}q", packed)
