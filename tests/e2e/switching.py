"""Conversations that change hands behind a real proxy: a client, an upstream that answers and summarises, the proxy."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from e2e.kit import ADDON, AMPLE, BACKSTAGE, HERE, backstage, client
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy

TAG = "[handover summary]"
SUMMARY = "- Task: count the trees.\n- Done: SUMMARY-4711."
JSON = {"content-type": "application/json"}
SUMMARY_KEY = "sk-of-the-summariser"

#: What every request for a summary says, and no conversation here does.
_ASKS = b"You prepare a handover"

Answering = Callable[[Request, Line], None]


def handing(*words: str | Path, store: str = "memory:") -> Proxy:
    """A mitmdump with the addon, for which no history is too short."""
    scripts = [word for script in (BACKSTAGE, ADDON, HERE / "telemetry_addon.py") for word in ("-s", script)]
    options = [f"thoughtkeep_store={store}", "thoughtkeep_handover_min_tokens=0"]
    told = [word for option in options for word in ("--set", option)]
    return Proxy(*told, *scripts, *words, env={"SUMMARY_KEY": SUMMARY_KEY})


@dataclass(frozen=True)
class Shape:
    """A wire format at its smallest: its path for a model, and how a conversation and an answer are written."""

    path: str
    body: Callable[[str, Sequence[tuple[str, str]]], dict[str, Any]]
    answer: Callable[[str], dict[str, Any]]
    key: str


def _chat(model: str, said: Sequence[tuple[str, str]]) -> dict[str, Any]:
    messages = [{"role": who, "content": text} for who, text in said]
    return {"model": model, "messages": messages}


def _messages(model: str, said: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {**_chat(model, said), "max_tokens": 100}


def _gemini(model: str, said: Sequence[tuple[str, str]]) -> dict[str, Any]:
    roles = {"user": "user", "assistant": "model"}
    return {"contents": [{"role": roles[who], "parts": [{"text": text}]} for who, text in said]}


def _responses(model: str, said: Sequence[tuple[str, str]]) -> dict[str, Any]:
    kinds = {"user": "input_text", "assistant": "output_text"}
    items = [{"type": "message", "role": who, "content": [{"type": kinds[who], "text": text}]} for who, text in said]
    return {"model": model, "input": items}


SHAPES = {
    "chat": Shape(
        "/v1/chat/completions",
        _chat,
        lambda text: {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
        },
        "messages",
    ),
    "messages": Shape(
        "/v1/messages",
        _messages,
        lambda text: {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
        },
        "messages",
    ),
    "gemini": Shape(
        "/v1beta/models/{model}:generateContent",
        _gemini,
        lambda text: {
            "candidates": [
                {"index": 0, "content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
            ]
        },
        "contents",
    ),
    "responses": Shape(
        "/v1/responses",
        _responses,
        lambda text: {
            "status": "completed",
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
            ],
        },
        "input",
    ),
}


class Board:
    """An upstream that answers conversations and summarises. `summarise` may be set to anything else."""

    def __init__(self, shape: str = "chat") -> None:
        self.shape = SHAPES[shape]
        self.summaries: list[Request] = []
        self.turns: list[Request] = []
        self.summarise: Answering = self.answer_with(SUMMARY)
        self._lock = threading.Lock()

    def answer_with(self, text: str) -> Answering:
        """An answer of these words."""
        return self.raw(json.dumps(self.shape.answer(text)).encode())

    @staticmethod
    def raw(body: bytes, status: str = "200 OK", kind: str = "application/json") -> Answering:
        """An answer of these bytes."""
        return lambda request, line: line.answer(body, {"content-type": kind}, status)

    def hold(self) -> threading.Event:
        """Keep summaries waiting until the event is set."""
        go, answer = threading.Event(), self.summarise

        def held(request: Request, line: Line) -> None:
            go.wait(2 * AMPLE)
            answer(request, line)

        self.summarise = held
        return go

    def script(self, request: Request, line: Line) -> None:
        """See Upstream."""
        asks = _ASKS in request.body
        with self._lock:
            (self.summaries if asks else self.turns).append(request)
            count = len(self.turns)
        if asks:
            self.summarise(request, line)
        else:
            line.answer(json.dumps(self.shape.answer(f"Answer {count}.")).encode(), JSON)


@contextmanager
def impatient(proxy: Proxy) -> Iterator[None]:
    """For a while summaries are waited for one second only."""
    backstage(proxy, thoughtkeep_handover_timeout=1)
    try:
        yield
    finally:
        backstage(proxy, thoughtkeep_handover_timeout=20)


@dataclass
class Session:
    """One client's conversation, told in full each time. Its words are its own."""

    proxy: Proxy
    base: str
    shape: Shape = SHAPES["chat"]
    user: str = ""
    key: str = "sk-client"
    direct: bool = False
    said: list[tuple[str, str]] = field(default_factory=list)
    name: str = field(default_factory=lambda: uuid4().hex)

    def body(self, model: str) -> bytes:
        return json.dumps(self.shape.body(model, self.said)).encode()

    def ask(self, model: str, *, patience: float = 20, **headers: str) -> httpx.Response:
        """Send the conversation as it is. With `direct` the proxy itself is the server (reverse mode)."""
        url = self.base + self.shape.path.format(model=model)
        told = {"authorization": f"Bearer {self.key}", "x-test-name": self.name, **JSON, **headers}
        made = httpx.Client(trust_env=False) if self.direct else client(self.proxy, self.user)
        with made as asking:
            return asking.post(url, content=self.body(model), headers=told, timeout=patience)

    def turn(self, model: str, words: str = "", **headers: str) -> httpx.Response:
        """The user says something, the model answers."""
        self.said.append(("user", words or f"Question {len(self.said)} of {self.name}."))
        response = self.ask(model, **headers)
        assert response.status_code == 200
        self.said.append(("assistant", text_of(response)))
        return response

    def telemetry(self) -> dict[str, Any]:
        """What the newest flow's metadata says of handovers."""
        lines = [line.partition("TELEMETRY ")[2] for line in self.proxy.log().splitlines() if "TELEMETRY" in line]
        told: list[dict[str, Any]] = [each for each in map(json.loads, lines) if each.pop("name") == self.name]
        return told[-1]


def text_of(response: httpx.Response) -> str:
    """The words of an answer, in whatever format."""
    found: list[str] = []

    def walk(value: Any) -> None:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key in ("text", "content") and isinstance(inner, str):
                found.append(inner)
            elif isinstance(inner, dict | list):
                walk(inner)

    walk(response.json())
    return "".join(found)


def told(request: Request, key: str = "messages") -> list[str]:
    """The text of each message of a request, to the byte."""
    text = request.body.decode()
    at = text.index("[", text.index(f'"{key}"')) + 1
    found = []
    decoder = json.JSONDecoder()
    while text[at] != "]":
        if text[at] in " ,\n":
            at += 1
            continue
        end = decoder.raw_decode(text, at)[1]
        found.append(text[at:end])
        at = end
    return found


def warnings(proxy: Proxy, since: int = 0) -> list[str]:
    """The lines of the log that say that there is no summary."""
    return [line for line in proxy.log()[since:].splitlines() if "no summary" in line]


__all__ = ["SUMMARY", "TAG", "Board", "Session", "Upstream", "handing", "text_of", "told", "warnings"]
