"""The adapter at a desk: real requests and answers through the addon's hooks, with no proxy, no socket, no provider.

Summaries are asked of a function here instead of a provider; all else is what runs inside mitmdump.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace, TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
from lab import compact
from mitmproxy import http
from mitmproxy.hooks import Hook
from mitmproxy.test import tflow
from tongues import Event, Says, Tongue

from thoughtkeep_mitm import events, flows, handovers, upstream
from thoughtkeep_mitm.control import ControlHeaders
from thoughtkeep_mitm.engine import Engine
from thoughtkeep_mitm.exchanges import Exchanges
from thoughtkeep_mitm.runtime import Runtime
from thoughtkeep_mitm.settings import Settings

type Json = Any

SUMMARY = "- Task: what the user wants, SUMMARY-4711.\n- Done: much of it."


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a summary as it went out."""

    url: str
    headers: dict[str, str]
    body: Json


@dataclass(slots=True)
class Sent:
    """A request as it went upstream, and what was decided about it."""

    body: bytes
    metadata: dict[str, Json]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def reason(self) -> str:
        return str(self.metadata["thoughtkeep_handover_reason"])


class Clock:
    """The time that handovers see."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        return self.now

    monotonic = time


class Others:
    """The other addons of this proxy: they write down what they are told."""

    def __init__(self) -> None:
        self.heard: list[Hook] = []
        names = ("thoughtkeep_captured", "thoughtkeep_injected", "thoughtkeep_handover")
        self.chain = [SimpleNamespace(**dict.fromkeys(names))]  # what they have methods for

    async def trigger_event(self, event: Hook) -> None:
        self.heard.append(event)

    def get(self, name: str) -> None:
        """There are none with a name."""


Summariser = Callable[[Asked], tuple[int, bytes, str]]


class Desk:
    """One proxy's worth of addon. Use it as a context manager. `options` are those of the addon, unprefixed."""

    def __init__(self, **options: Json) -> None:
        fixed = {"store": "memory:", "filter": "", "replay": "on", "ttl_days": 7, "max_store_mb": 64}
        self.runtime = Runtime()
        self.runtime.settings = Settings.model_validate({**fixed, "handover_min_tokens": 0, **options})
        self.summaries: list[Asked] = []
        self.summariser: Summariser | None = None
        self.clock = Clock()
        self.others = Others()
        self._exchanges = Exchanges(Engine(self.runtime))
        self._control = ControlHeaders(self.runtime)
        self._patch = pytest.MonkeyPatch()
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._patch.setattr(upstream, "post", self._post)
        self._patch.setattr(handovers, "time", self.clock)
        self._patch.setattr("thoughtkeep_mitm.engine.time", self.clock)
        master = SimpleNamespace(addons=self.others)
        for module in (events, flows):
            self._patch.setattr(module, "ctx", SimpleNamespace(master=master))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patch.undo()
        self._runner.close()

    # -- exchanges ----------------------------------------------------------------------------------------------------

    def send(self, url: str, headers: dict[str, str], body: Json | bytes) -> Sent:
        """A request that gets no answer."""
        return self._sent(self._asked(url, headers, body))

    def exchange(self, url: str, headers: dict[str, str], body: Json | bytes, answer: Json) -> Sent:
        """A request and its plain answer."""
        flow = self._asked(url, headers, body)
        sent = self._sent(flow)
        flow.response = http.Response.make(200, compact(answer), {"content-type": "application/json"})
        self._exchanges.responseheaders(flow)
        if callable(flow.response.stream):
            flow.response.stream(flow.response.raw_content)
        self._runner.run(self._exchanges.response(flow))
        return sent

    def together(self, url: str, headers: dict[str, str], bodies: Sequence[Json]) -> list[Sent]:
        """Requests that come at the same time."""
        flows = [self._flow(url, headers, body) for body in bodies]

        async def all_of_them() -> None:
            await asyncio.gather(*(self._exchanges.request(flow) for flow in flows))

        self._runner.run(all_of_them())
        return [self._sent(flow) for flow in flows]

    def teach(
        self, tongue: Tongue, events: Sequence[Event], *, last: int = 2, at: int = 0, echoes: bool = False
    ) -> None:
        """Let the maker (`at` 0) or the target (1) say the newest assistant turns of a conversation."""
        url, model, headers = (tongue.maker, tongue.target)[at]
        turns = [number for number, event in enumerate(events) if isinstance(event, Says)]
        for number in turns[-last:]:
            said = events[number]
            assert isinstance(said, Says)
            body = tongue.body(model, events[:number], echoes=echoes)
            self.exchange(url, headers, body, tongue.answer(said))
            self.clock.now += 1

    def switch(self, tongue: Tongue, events: Sequence[Event], *, echoes: bool = False, **keys: Json) -> Sent:
        """The conversation's next request, to the target."""
        url, model, headers = tongue.target
        return self.send(url, headers, tongue.body(model, events, echoes=echoes, **keys))

    @contextmanager
    def failing(self, why: str = "no answer") -> Iterator[None]:
        """The summariser cannot be reached meanwhile."""

        def fail(asked: Asked) -> tuple[int, bytes, str]:
            raise upstream.Failed(why)

        before, self.summariser = self.summariser, fail
        try:
            yield
        finally:
            self.summariser = before

    def answering(self, tongue: Tongue, text: str = SUMMARY) -> None:
        """The summariser answers with this text."""
        answer = compact(tongue.summary(text)).encode()
        self.summariser = lambda asked: (200, answer, "application/json")

    # -- inside -------------------------------------------------------------------------------------------------------

    def _flow(self, url: str, headers: dict[str, str], body: Json | bytes) -> http.HTTPFlow:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = http.Request.make("POST", url, raw, {**headers, "content-type": "application/json"})
        flow = tflow.tflow(req=request)
        flow.live = True
        self._control.requestheaders(flow)
        return flow

    def _asked(self, url: str, headers: dict[str, str], body: Json | bytes) -> http.HTTPFlow:
        flow = self._flow(url, headers, body)
        self._runner.run(self._exchanges.request(flow))
        return flow

    def _sent(self, flow: http.HTTPFlow) -> Sent:
        assert self.runtime.counts["faults"] == 0
        return Sent(flow.request.raw_content or b"", dict(flow.metadata), dict(flow.request.headers))

    async def _post(
        self,
        runtime: Runtime,
        like: http.HTTPFlow,
        url: str,
        headers: http.Headers,
        body: bytes,
        seconds: float,
        **more: Json,
    ) -> http.Response:
        asked = Asked(url, dict(headers), json.loads(body))
        self.summaries.append(asked)
        await asyncio.sleep(0)
        assert self.summariser is not None, f"nobody summarises at {urlsplit(url).path}"
        status, content, kind = self.summariser(asked)
        return http.Response.make(status, content, {"content-type": kind})


def told(body: bytes, key: str) -> list[str]:
    """The text of each message of a request, to the byte."""
    text = body.decode()
    at = text.index("[", text.index(f'"{key}"')) + 1
    found = []
    while (at := len(text) - len(text[at:].lstrip(" ,\r\n\t"))) < len(text) and text[at] != "]":
        end = json.JSONDecoder(strict=False).raw_decode(text, at)[1]
        found.append(text[at:end])
        at = end
    return found
