"""Requests and answers on their way through the core, as the adapter carries them: no loop, no network, no clock."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fuzz.promises import hold, told
from thoughtkeep import identity, splice
from thoughtkeep.answer import Answer
from thoughtkeep.bodies import Bodies
from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import Endpoint
from thoughtkeep.jsontext import NotJson, loads
from thoughtkeep.keep import keep
from thoughtkeep.plan import decide
from thoughtkeep.profiles import Profile, binds_thinking, group_of, profile_for
from thoughtkeep.readings import Readings
from thoughtkeep.replay import keys_of
from thoughtkeep.turns import Ask, Owner, Path, Plan
from thoughtkeep_store import MemoryStore

type Json = Any

#: Where requests may go, by a name: each profile that a format knows a rule for, and a host that no profile names.
PLACES = {
    "chat": "https://gateway.example/v1/chat/completions",
    "openrouter": "https://openrouter.ai/api/v1/chat/completions",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "databricks": "https://one.cloud.databricks.com/serving-endpoints/some-model/invocations",
    "deepseek": "https://api.deepseek.com/chat/completions",
    "minimax": "https://api.minimax.io/v1/chat/completions",
    "mistral": "https://api.mistral.ai/v1/chat/completions",
    "groq": "https://api.groq.com/openai/v1/chat/completions",
    "copilot": "https://api.githubcopilot.com/chat/completions",
    "openai": "https://api.openai.com/v1/chat/completions",
    "studio": "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent",
    "vertex": "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-2.5-pro:generateContent",
    "assist": "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent",
    "messages": "https://gateway.example/v1/messages",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "vertex-claude": "https://aiplatform.googleapis.com/v1/publishers/anthropic/models/claude-opus-4-6:rawPredict",
    "deepseek-messages": "https://api.deepseek.com/anthropic/v1/messages",
    "responses": "https://gateway.example/v1/responses",
    "openai-responses": "https://api.openai.com/v1/responses",
    "xai-responses": "https://api.x.ai/v1/responses",
}

#: A line of its own between the parts of an input.
BORDER = b"\n---\n"


class Unread(Exception):
    """The input is none: a name that nobody has, no JSON, no request."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A request, read."""

    endpoint: Endpoint
    profile: Profile
    group: str
    body: bytes
    json: Json
    ask: Ask

    @property
    def listed(self) -> Path:
        """Where its messages stand."""
        name = {"gemini": "contents", "responses": "input"}.get(self.ask.format, "messages")
        return (name,) if name in self.json else ("request", name)


@dataclass(frozen=True, slots=True)
class Planned:
    """A request with what was decided about it, and the bytes that go upstream."""

    heard: Heard
    trail: identity.Trail
    plan: Plan
    sent: bytes


def place(name: bytes) -> str:
    """The URL of a name. Raises Unread."""
    try:
        return PLACES[name.decode()]
    except (KeyError, UnicodeDecodeError):
        raise Unread("no such place") from None


def hear(url: str, body: bytes) -> Heard:
    """Read a request. Raises Unread where the adapter would let it pass unread."""
    parts = urlsplit(url)
    try:
        value = loads(body)
    except NotJson:
        raise Unread("no JSON") from None
    endpoint = recognise("POST", parts.path, value)
    if endpoint is None:
        raise Unread("no request")
    host = parts.hostname or ""
    ask = endpoint.format.read(value, endpoint)
    return Heard(endpoint, profile_for(host), group_of(host, 443), body, value, ask)


class Wire:
    """One client's traffic, with a store in memory."""

    key = b"a key that is the same each time"
    tenant = "tenant"

    def __init__(self) -> None:
        self.store = MemoryStore(ttl=1e9, max_bytes=1 << 30, clock=lambda: 1e6)
        self._bodies = Bodies(worth=1)
        self._readings = Readings()
        self._count = 0

    def ask(self, url: str, body: bytes, *, skip: bool = False, start: int = 0) -> Planned:
        """A request: read, looked up, planned, edited. Raises Unread.

        Requests of one conversation are read as the adapter reads them too, each only where it is new.
        """
        heard = hear(url, body)
        form, ask = heard.endpoint.format, heard.ask
        frames = form.frames(self.key, heard.json, ask) if binds_thinking(ask.model) else ()
        trail = identity.trail(self.key, ask, frames)
        parsed = self._bodies.parse(self.tenant, body)
        hold(told(parsed.json) == told(heard.json), "a body says something else where it begins as earlier ones")
        again = self._readings.read(self.key, self.tenant, heard.endpoint, parsed.json, len(body))
        hold(told(again) == told((ask, trail)), "a request is read otherwise where it goes on from earlier ones")
        facts = _at_once(self.store.fetch(keys_of(self.tenant, ask, trail)))
        plan = decide(self.key, ask, trail, facts, form, heard.profile, heard.group, skip=skip, start=start)
        sent = splice.apply(body, plan.edits) if plan.edits else body
        at, _ = form.history(heard.json)
        if plan.edits:
            hold(splice.apply(body, plan.edits, parsed.outline(at)) == sent, "an outline changes what edits make")
        self._bodies.remember(self.tenant, parsed, at)
        return Planned(heard, trail, plan, sent)

    def answer(self, asked: Planned, body: bytes) -> None:
        """The answer to a request: put together, and kept."""
        heard = asked.heard
        form = heard.endpoint.format
        kind = "application/json" if body.lstrip().startswith((b"{", b"[")) else "text/event-stream"
        answer = Answer(form.assembler(heard.profile), form.ends, kind, "")
        answer.feed(body)
        answer.close()
        self._count += 1
        owner = Owner(heard.group, heard.ask.model, answer.served, answer.upstream)
        turns = [turn for turn in answer.turns() if turn.complete or turn.has_state]
        name = f"exchange{self._count}"
        made = 1e6 + self._count
        kept = keep(self.key, name, self.tenant, owner, heard.ask, asked.trail, turns, made, asked.plan.since)
        for one in kept:
            self.store.put(one)


def _at_once[T](work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("a store in memory waits for something")
