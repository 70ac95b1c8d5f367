"""The laboratory: plays exchanges through the core as the adapter does, in this process and without a network.

A scenario is data: what a client asked, what the provider answered, what a lossy client asks next, and what must go
upstream then. It names no module of the core, so that one table serves every test that is made of it.
"""

import asyncio
import gzip
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

from thoughtkeep import identity, splice
from thoughtkeep.answer import Answer
from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import Endpoint
from thoughtkeep.jsontext import loads
from thoughtkeep.keep import keep
from thoughtkeep.plan import decide
from thoughtkeep.profiles import Profile, binds_thinking, group_of, profile_for
from thoughtkeep.replay import keys_of
from thoughtkeep.turns import Ask, Json, Kept, Owner, Plan, Turn
from thoughtkeep_store import MemoryStore

type Headers = Mapping[str, str]

CREDENTIAL: Headers = {"authorization": "Bearer key-of-the-first-client"}
OTHER_CREDENTIAL: Headers = {"x-api-key": "key-of-another-client"}


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer on the wire. `ends` is false where it never reaches its semantic end."""

    body: bytes
    content_type: str = "text/event-stream"
    encoding: str = ""
    ends: bool = True

    def gzipped(self) -> "Reply":
        return replace(self, body=gzip.compress(self.body), encoding="gzip")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer; `url` where it is another than the scenario's."""

    request: Json
    reply: Reply
    url: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Exchanges, the next request of a client that lost something, and what must go upstream (None: the same bytes).

    `missed` are the reasons for which state that was due stays away. `rule` is the sentence that it stands for. With
    `skip` Google's stand-in may take the place of a signature that nobody has.
    """

    rule: str
    url: str
    exchanges: tuple[Exchange, ...]
    request: Json
    expected: Json | None
    missed: tuple[str, ...] = ()
    next_url: str = ""
    skip: bool = False
    headers: Headers = field(default_factory=lambda: dict(CREDENTIAL))

    @property
    def sent(self) -> Json:
        """What must go upstream."""
        return self.request if self.expected is None else self.expected

    @property
    def target(self) -> str:
        """Where the next request goes."""
        return self.next_url or self.url


@dataclass(frozen=True, slots=True)
class Said:
    """An assistant answer within a dialogue: on the wire, as the client tells it, as it must go upstream.

    `told` and `whole` are the messages from this answer up to the next thing said, one or several.
    """

    reply: Reply
    told: Sequence[Json]
    whole: Sequence[Json]


def dialogue(
    rule: str, url: str, frame: Callable[[list[Json]], Json], *steps: Json | Said, missed: tuple[str, ...] = ()
) -> Scenario:
    """A scenario in which one client talks on and on: each answer is asked for with all that was told before it."""
    told: list[Json] = []
    whole: list[Json] = []
    exchanges = []
    for step in steps:
        if isinstance(step, Said):
            exchanges.append(Exchange(frame(list(told)), step.reply))
            told += step.told
            whole += step.whole
        else:
            told.append(step)
            whole.append(step)
    expected = None if told == whole else frame(whole)
    return Scenario(rule, url, tuple(exchanges), frame(told), expected, missed)


# -- answers on the wire ----------------------------------------------------------------------------------------------


def sse(events: Iterable[Json | str], *, line: str = "\n", ends: bool = True) -> Reply:
    """Server-sent events: JSON values, or text as it stands (`[DONE]`); a text with a colon in front is a comment."""
    lines = []
    for event in events:
        text = event if isinstance(event, str) else compact(event)
        lines.append(f"{text}{line * 2}" if text.startswith(":") else f"data: {text}{line * 2}")
    return Reply("".join(lines).encode(), ends=ends)


def plain(answer: Json, *, ends: bool = True) -> Reply:
    """A JSON answer in one piece, or an array of them."""
    return Reply(json.dumps(answer, indent=1).encode(), "application/json; charset=utf-8", ends=ends)


def compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- the adapter's part -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as planned: what the core knows of it, and the bytes that go upstream."""

    endpoint: Endpoint
    profile: Profile
    group: str
    tenant: str
    ask: Ask
    trail: identity.Trail
    plan: Plan
    sent: bytes

    @property
    def missed(self) -> tuple[str, ...]:
        return tuple(missed.reason for missed in self.plan.missed)


class Lab:
    """A store, a clock, and the way that every request and every answer takes."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.store = MemoryStore(ttl=1e9, max_bytes=1 << 30, clock=lambda: self.now)
        self._count = 0

    def ask(self, url: str, headers: Headers, body: bytes, *, skip: bool = False) -> Asked:
        """A request of a client: read, looked up, planned, edited."""
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 443
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        value = loads(body)
        endpoint = recognise("POST", path, value)
        assert endpoint is not None, f"{path} is no endpoint"
        key, form, profile, group = self.store.key, endpoint.format, profile_for(host), group_of(host, port)
        ask = form.read(value, endpoint)
        frames = form.frames(key, value, ask) if binds_thinking(ask.model) else ()
        trail = identity.trail(key, ask, frames)
        query = dict(parse_qsl(parts.query))
        tenant = identity.tenant(key, headers, query, client="192.0.2.1", host=host)
        facts = asyncio.run(self.store.fetch(keys_of(tenant, ask, trail)))
        plan = decide(key, ask, trail, facts, form, profile, group, skip=skip)
        sent = splice.apply(body, plan.edits) if plan.edits else body
        return Asked(endpoint, profile, group, tenant, ask, trail, plan, sent)

    def answer(self, asked: Asked, reply: Reply, cuts: Sequence[int] = ()) -> list[Kept]:
        """An answer on its way to the client, cut at these places; returns what the store has of it."""
        self._count += 1
        self.now += 1
        answer = read(asked, reply, cuts)
        owner = Owner(asked.group, asked.ask.model, answer.served, answer.upstream)
        turns = [turn for turn in answer.turns() if turn.complete or turn.has_state]
        exchange = f"exchange{self._count}"
        plan, tenant = asked.plan, asked.tenant
        kept = keep(self.store.key, exchange, tenant, owner, asked.ask, asked.trail, turns, self.now, plan.since)
        for one in kept:
            self.store.put(one)
        return kept

    def play(self, scenario: Scenario, write: Callable[[Json], bytes] | None = None) -> None:
        """All exchanges of a scenario, their requests written by `write`."""
        for exchange in scenario.exchanges:
            body = (write or written)(exchange.request)
            asked = self.ask(exchange.url or scenario.url, scenario.headers, body)
            self.answer(asked, exchange.reply)


def fresh(asked: Asked, reply: Reply) -> Answer:
    """The capture of an answer to this request, before its first byte."""
    form = asked.endpoint.format
    return Answer(form.assembler(asked.profile), form.ends, reply.content_type, reply.encoding)


def read(asked: Asked, reply: Reply, cuts: Sequence[int] = ()) -> Answer:
    """The capture of a whole answer, fed in the pieces between the cuts."""
    answer = fresh(asked, reply)
    for piece in pieces(reply.body, cuts):
        answer.feed(piece)
    answer.close()
    assert not answer.stopped
    return answer


def pieces(body: bytes, cuts: Sequence[int]) -> list[bytes]:
    """The body cut at these places, empty pieces included."""
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    return [body[start:stop] for start, stop in pairwise(places)]


def outcome(answer: Answer) -> tuple[list[Turn], str, str, int, bool, bool]:
    """All that an answer tells."""
    return answer.turns(), answer.served, answer.upstream, answer.tokens, answer.ended, answer.failed


# -- requests as bytes ------------------------------------------------------------------------------------------------


def written(value: Json) -> bytes:
    """A request as most clients write it."""
    return json.dumps(value).encode()


# What JSON can say and no parser gives back the same: digits past 64 bits, trailing zeros, an overflow, a lone
# surrogate, escapes where none are needed, a key twice.
ODD = '"odd" : [12345678901234567890123, 1.10, 1e400, -0, "\\ud83d", "\\u0061\\/"], "odd":{ "twice":1,"twice" : 2 }'


def oddly(value: Json) -> str:
    """The same request in spellings that no serializer chooses, with `ODD` in every message that no assistant said."""
    if isinstance(value, dict):
        odd = "role" in value and value["role"] not in ("assistant", "model")
        members = [ODD] * odd + [f"{_escaped(key)} :{oddly(inner)}" for key, inner in value.items()]
        return "{\n " + " ,\t".join(members) + "}"
    if isinstance(value, list):
        return "[ " + ",\r\n".join(map(oddly, value)) + " ]"
    return _escaped(value) if isinstance(value, str) else json.dumps(value)


def _escaped(text: str) -> str:
    return '"' + "".join(f"\\u{ord(c):04X}" for c in text[:1] if ord(c) < 0x10000) + json.dumps(text[1:])[1:]


def without_odd(value: Json) -> Json:
    """A parsed request without the members that `oddly` put in."""
    if isinstance(value, dict):
        return {key: without_odd(inner) for key, inner in value.items() if key != "odd"}
    return [without_odd(inner) for inner in value] if isinstance(value, list) else value


def untouched(asked: Asked, request: Json) -> list[str]:
    """The messages of a request that its plan leaves alone, as `oddly` writes them."""
    edited = {
        path[: path.index(step) + 1]
        for edit in asked.plan.edits
        for path in (edit.at, edit.source)
        for step in path
        if isinstance(step, int)
    }
    return [oddly(inner) for path, inner in _messages(request, ()) if path not in edited]


def _messages(value: Json, at: tuple[str | int, ...]) -> Iterable[tuple[tuple[str | int, ...], Json]]:
    for key, inner in value.items():
        if isinstance(inner, list) and re.fullmatch("messages|contents|input", key):
            yield from (((*at, key, number), message) for number, message in enumerate(inner))
        elif isinstance(inner, dict) and key == "request":
            yield from _messages(inner, (*at, key))
