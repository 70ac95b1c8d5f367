"""Turns in a Redis server: written, found by mark, touched, forgotten, counted.

Each method sends scripts, in a number that does not depend on how much is stored, and raises what the sender raises.
Finding asks for the places of what has the marks, then for records that were not read lately.
"""

import asyncio
import math
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import batched
from typing import Any

from thoughtkeep.turns import Kept

from . import records
from . import redis_scripts as scripts
from .base import ORIGINS, PER_CONVERSATION, PER_KEY, SCANNED
from .cache import Cache
from .forgetting import UNMET, Conversation, Forgetting, OneTurn, Order, Target
from .found import Found, origin_of
from .marks import Mark, Question, own_marks, shared_marks
from .pruning import DOOMED, STEP_TURNS
from .shelf import Entry

# Bytes of records whose turns are kept decoded, and how many origins are.
CACHED_BYTES = 32 * 1024 * 1024
CACHED_ORIGINS = 4096

# Records that one script reads, and that are decoded before others have their turn.
READ = 512
DECODED = 64

# Uses that one script writes down.
TOUCHED = 1000

# Seconds that the server keeps a conversation beyond its time: proxies tidy up after it as long as it is there.
GRACE = 3600

# What finds a conversation is renewed when this part of its time has passed.
RENEWED = 1 / 4

# Sends a script and its arguments behind the key, and returns its result.
type Send = Callable[..., Awaitable[Any]]

# Where a turn is: its number and its conversation, as they stand in the server.
type Place = str


class Turns:
    """The turns of the server that has this key. `skipped` is told of each record that could not be read."""

    def __init__(
        self, key: bytes, skipped: Callable[[records.Unreadable], None], *, ttl: float, max_bytes: int
    ) -> None:
        self._hash = blake2b(key=key)
        self._skipped = skipped
        self._ttl = ttl
        self._max_bytes = max_bytes
        life = math.ceil(ttl) + GRACE
        slack = math.ceil(ttl * RENEWED)
        self._lives = (life, life + slack, slack)
        self._turns: Cache[Kept] = Cache(CACHED_BYTES)
        self._origins: Cache[records.Traced] = Cache(CACHED_ORIGINS)

    async def write(
        self, send: Send, batch: Sequence[tuple[Entry, records.Record]], touched: Mapping[str, float]
    ) -> bool:
        """Write turns, in place of those with their ids, and when turns were used. Returns whether it is too much."""
        total = 0
        if batch:
            written = [part for entry, record in batch for part in self._told(entry, record)]
            *numbers, total = map(int, await send(scripts.PUT, *self._lives, *written))
            for number, (entry, record) in zip(numbers, batch, strict=True):
                self._turns.put(number, entry.kept, len(record.head) + len(record.body))
        for uses in batched(touched.items(), TOUCHED):
            told = [part for id_, now in uses for part in (self._turn(id_), repr(now))]
            await send(scripts.TOUCH, *self._lives, *told)
        return total > self._max_bytes

    async def find(self, send: Send, question: Question, forgetting: Forgetting) -> Found:
        """Return the turns and origins that the question asks for, ranked by their numbers.

        What is to be forgotten is not among them. What is gone when it is to be read was replaced, or forgotten by
        others: then it looks once more.
        """
        marks = (self._marks(question.own), self._marks(question.shared))
        for _ in range(2):
            own, others = await send(scripts.LOOK, self._tenant(question.tenant), PER_KEY, SCANNED, *marks)
            # The highest numbers are those put last.
            turns, origins, gone = await self._load(send, _places(own), sorted(set(_places(others)))[-ORIGINS:])
            if not gone:
                break
        found = Found()
        for number, kept in sorted(turns.items()):
            if question.finds(kept) and not forgetting.hides(number, kept.id, kept.tenant, kept.root):
                found.turns[kept.id] = ((kept.made, number), kept)
        for number, (id_, tenant, root, origin) in sorted(origins.items()):
            if question.traces(tenant, origin) and not forgetting.hides(number, id_, tenant, root):
                found.origins[id_] = ((origin.made, number), origin)
        return found

    async def conversation(self, send: Send, asked: Conversation, forgetting: Forgetting) -> Found:
        """Return the newest turns of a conversation, at least as many as are told, without what is to be forgotten."""
        name = self._conversation(asked.tenant, asked.root)
        told = (await send(scripts.TELL, name)).decode()
        found = Found()
        numbers = (told[at : at + scripts.NUMBER] for at in range(0, len(told), scripts.NUMBER))
        for newest in batched(numbers, PER_CONVERSATION):
            turns, _, _ = await self._load(send, [number + name for number in newest], [])
            for number, kept in sorted(turns.items()):
                if asked.holds(kept) and not forgetting.hides(number, kept.id, kept.tenant, kept.root):
                    found.turns[kept.id] = ((kept.made, number), kept)
            if len(found.turns) >= PER_CONVERSATION:
                break
        return found

    async def forget(self, send: Send, forgetting: Forgetting) -> list[tuple[Target, Order]]:
        """Take a step in each order to forget. Returns those that are carried out with it."""
        done = []
        for target, order in forgetting:
            reach = "" if order.reach == UNMET else f"{order.reach:016}"
            met, more = await send(scripts.FORGET, *self._meant(target), reach, STEP_TURNS)
            order.reach = int(met)
            if not more:
                done.append((target, order))
        return done

    async def trim(self, send: Send, now: float) -> bool:
        """Delete some of what has to go. Returns whether there is more."""
        return bool(await send(scripts.TRIM, repr(now - self._ttl), self._max_bytes, STEP_TURNS, repr(DOOMED)))

    async def count(self, send: Send) -> tuple[int, int, int]:
        """Return how many turns and conversations there are, and their bytes."""
        turns, conversations, size = await send(scripts.COUNT)
        return turns, conversations, size

    async def lease(self, send: Send, name: str, who: str, seconds: float) -> bool:
        """Whether that one has the lease."""
        return bool(await send(scripts.LEASE, self._name("lease", name), who, math.ceil(seconds * 1000)))

    async def release(self, send: Send, name: str, who: str) -> None:
        """Take the lease from that one."""
        await send(scripts.RELEASE, self._name("lease", name), who)

    def _told(self, entry: Entry, record: records.Record) -> tuple[str | bytes, ...]:
        kept = entry.kept
        marks = self._marks(own_marks(kept)), self._marks(shared_marks(kept)), repr(float(kept.made))
        name = self._turn(kept.id)
        conversation = self._conversation(kept.tenant, kept.root)
        told = name + self._tenant(kept.tenant) + "/".join(marks)
        return name, conversation, repr(float(kept.made)), repr(entry.put), told, record.head, record.body

    async def _load(
        self, send: Send, own: Iterable[Place], others: Iterable[Place]
    ) -> tuple[dict[int, Kept], dict[int, records.Traced], bool]:
        """Return turns and origins by number, and whether any of them is not there any more."""
        turns: dict[int, Kept] = {}
        origins: dict[int, records.Traced] = {}
        missing: list[tuple[Place, bool]] = []
        for place in own:
            if kept := self._turns.get(_number(place)):
                turns[_number(place)] = kept
            else:
                missing.append((place, True))
        for place in others:
            number = _number(place)
            if traced := self._origins.get(number):
                origins[number] = traced
            elif kept := self._turns.get(number):
                origins[number] = records.Traced(kept.id, kept.tenant, kept.root, origin_of(kept))
            else:
                missing.append((place, False))
        gone = False
        for wanted in batched(missing, READ):
            whole = [place for place, body in wanted if body]
            heads = [place for place, body in wanted if not body]
            read = await send(scripts.READ, "".join(whole), "".join(heads))
            for at, place in enumerate(whole):
                head, body = read[2 * at : 2 * at + 2]
                gone |= head is None or body is None
                if head is not None and body is not None and (kept := self._decoded(records.decode, head, body)):
                    turns[_number(place)] = kept
                    self._turns.put(_number(place), kept, len(head) + len(body))
                if at % DECODED == DECODED - 1:
                    await asyncio.sleep(0)
            for place, head in zip(heads, read[2 * len(whole) :], strict=True):
                gone |= head is None
                if head is not None and (traced := self._decoded(records.decode_head, head)):
                    origins[_number(place)] = traced
                    self._origins.put(_number(place), traced, 1)
        return turns, origins, gone

    def _decoded[T](self, decode: Callable[..., T], *parts: bytes) -> T | None:
        try:
            return decode(*parts)
        except records.Unreadable as error:
            self._skipped(error)
            return None

    def _meant(self, target: Target) -> tuple[str, str]:
        match target:
            case OneTurn(id_):
                return "turn", self._turn(id_)
            case Conversation(tenant, root):
                return "conversation", self._conversation(tenant, root)
            case _:
                return "all", ""

    def _turn(self, id_: str) -> str:
        return self._name("turn", id_)

    def _conversation(self, tenant: str, root: str) -> str:
        return self._name("conversation", tenant, root)

    def _name(self, *parts: str) -> str:
        return self._digest(parts, scripts.NAME)

    def _tenant(self, tenant: str) -> str:
        return self._digest(("tenant", tenant, ""), scripts.TENANT)

    def _marks(self, marks: Iterable[Mark]) -> str:
        # These find candidates; whether one is an answer is asked of the turn itself.
        return "".join(self._digest(mark, scripts.MARK) for mark in marks)

    def _digest(self, parts: Iterable[str], length: int) -> str:
        digest = self._hash.copy()
        digest.update("\0".join(parts).encode("utf-8", "surrogatepass"))
        return urlsafe_b64encode(digest.digest())[:length].decode()


def _places(told: bytes) -> list[Place]:
    """Cut a row of places up."""
    length = scripts.NUMBER + scripts.NAME
    text = told.decode()
    return [text[at : at + length] for at in range(0, len(text), length)]


def _number(place: Place) -> int:
    return int(place[: scripts.NUMBER])
