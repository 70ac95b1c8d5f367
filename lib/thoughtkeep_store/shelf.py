"""Turns in memory, found by their marks: all of the memory backend, and the front layer of every other.

Here and nowhere else: how memory is bounded. Whole conversations go, the one that was used longest ago first, when
they are older than the time to live or when the weight is over the bound; a conversation that is over the bound alone
loses its oldest turns. No step costs more because more is stored.
"""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from thoughtkeep.turns import Json, Kept

from .base import PER_KEY, SCANNED
from .forgetting import Conversation, OneTurn, Target
from .found import Found, Rank, origin_of
from .marks import Mark, Question, own_marks, shared_marks

# Bytes that a turn takes beyond its strings: the objects themselves and their marks.
OVERHEAD = 1500


@dataclass(frozen=True, slots=True)
class Entry:
    """A turn on the shelf: when it was put, its rank and its estimated bytes."""

    kept: Kept
    put: float
    rank: Rank
    weight: int


@dataclass(slots=True)
class _Conversation:
    used: float
    weight: int = 0
    ids: dict[str, None] = field(default_factory=dict)


class Shelf:
    """Turns by id, by mark and by conversation. Not safe for threads. Times are those of the caller's clock.

    `first` is the number before the first turn's; the numbers order turns that were made at the same time.
    """

    def __init__(self, *, ttl: float, max_bytes: int, first: int = 0) -> None:
        self.last = first
        self.weight = 0
        self._ttl = ttl
        self._max_bytes = max_bytes
        self._entries: dict[str, Entry] = {}
        self._found_by: dict[Mark, list[tuple[Rank, str]]] = {}
        self._conversations: OrderedDict[tuple[str, str], _Conversation] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        """Go over the turns in the order they were put."""
        return iter(self._entries.values())

    @property
    def conversations(self) -> int:
        """How many conversations the turns belong to."""
        return len(self._conversations)

    def get(self, id_: str) -> Entry | None:
        """Return the turn of that id."""
        return self._entries.get(id_)

    def add(self, kept: Kept, now: float) -> int:
        """Put a turn on the shelf, in place of one with its id. Returns how many turns had to go for its weight."""
        self.drop(kept.id)
        self.last += 1
        entry = Entry(kept, now, (kept.made, self.last), weigh(kept))
        self._entries[kept.id] = entry
        for mark in _marks(kept):
            insort(self._found_by.setdefault(mark, []), (entry.rank, kept.id))
        conversation = self._use(kept, now)
        conversation.ids[kept.id] = None
        conversation.weight += entry.weight
        self.weight += entry.weight
        self.expire(now)
        return self._shrink()

    def drop(self, id_: str) -> None:
        """Take a turn off the shelf, if it is there."""
        entry = self._entries.pop(id_, None)
        if entry is None:
            return
        for mark in _marks(entry.kept):
            ranked = self._found_by[mark]
            del ranked[bisect_left(ranked, (entry.rank, id_))]
            if not ranked:
                del self._found_by[mark]
        name = (entry.kept.tenant, entry.kept.root)
        conversation = self._conversations[name]
        del conversation.ids[id_]
        conversation.weight -= entry.weight
        self.weight -= entry.weight
        if not conversation.ids:
            del self._conversations[name]

    def forget(self, target: Target) -> None:
        """Take all that is meant off the shelf."""
        match target:
            case OneTurn(id_):
                self.drop(id_)
            case Conversation(tenant, root):
                if conversation := self._conversations.get((tenant, root)):
                    self._drop_all(conversation)
            case _:  # everything
                self.weight = 0
                self._entries.clear()
                self._found_by.clear()
                self._conversations.clear()

    def touch(self, ids: Sequence[str], now: float) -> None:
        """Count the conversations of these turns as used now."""
        for id_ in ids:
            if entry := self._entries.get(id_):
                self._use(entry.kept, now)

    def expire(self, now: float) -> None:
        """Let conversations go that were not used for the time to live."""
        while self._conversations:
            oldest = next(iter(self._conversations.values()))
            if oldest.used >= now - self._ttl:
                return
            self._drop_all(oldest)

    def find(self, question: Question) -> Found:
        """Return the turns and origins that the question asks for."""
        found = Found()
        if not self._entries:  # as nearly always where a file has taken them
            return found
        for mark in question.own:
            for rank, id_ in self._newest(mark, PER_KEY):
                found.turns[id_] = (rank, self._entries[id_].kept)
        for mark in question.shared:
            for rank, id_ in self._newest(mark, SCANNED):
                kept = self._entries[id_].kept
                if kept.tenant != question.tenant:
                    found.origins[id_] = (rank, origin_of(kept))
        return found

    def conversation(self, asked: Conversation) -> Found:
        """Return the turns of a conversation."""
        found = Found()
        if conversation := self._conversations.get((asked.tenant, asked.root)):
            entries = (self._entries[id_] for id_ in conversation.ids)
            found.turns = {entry.kept.id: (entry.rank, entry.kept) for entry in entries}
        return found

    def _newest(self, mark: Mark, count: int) -> list[tuple[Rank, str]]:
        return self._found_by.get(mark, [])[-count:]

    def _use(self, kept: Kept, now: float) -> _Conversation:
        name = (kept.tenant, kept.root)
        conversation = self._conversations.setdefault(name, _Conversation(now))
        conversation.used = now
        self._conversations.move_to_end(name)
        return conversation

    def _shrink(self) -> int:
        before = len(self._entries)
        while self.weight > self._max_bytes and len(self._conversations) > 1:
            self._drop_all(next(iter(self._conversations.values())))
        while self.weight > self._max_bytes:
            self.drop(next(iter(self._entries)))
        return before - len(self._entries)

    def _drop_all(self, conversation: _Conversation) -> None:
        for id_ in tuple(conversation.ids):
            self.drop(id_)


def weigh(kept: Kept) -> int:
    """Estimate the bytes that a turn takes in memory, without writing it down."""
    turn = kept.turn
    total = OVERHEAD + len(turn.prose)
    unseen: list[Json] = [turn.state]
    for piece in turn.pieces:
        total += len(piece.text) + 200
        if piece.call:
            total += len(piece.call.arguments)
        unseen += (piece.state, piece.value)
    while unseen:
        value = unseen.pop()
        total += 16
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, Mapping):
            total += 50 * len(value)
            unseen.extend(value.values())
        elif isinstance(value, list):
            unseen.extend(value)
    return total


def _marks(kept: Kept) -> list[Mark]:
    return own_marks(kept) + shared_marks(kept)
