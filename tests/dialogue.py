"""What every dialogue of the naive agent consists of, and the tools that the agent has."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_WEATHER = {"Paris": 18, "Rome": 24, "Oslo": 7}
_CLOCK = {"Paris": "14:30", "Rome": "14:30", "Oslo": "14:30"}


@dataclass(frozen=True)
class Tool:
    """A tool the agent runs itself: `run` takes the call's arguments and returns a JSON object."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Mapping[str, Any]], dict[str, Any]]


def _schema(**properties: str) -> dict[str, Any]:
    fields = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": fields, "required": ["city"]}


TOOLS: tuple[Tool, ...] = (
    Tool(
        "get_weather",
        "The weather of a city now.",
        _schema(city="string", unit="string"),
        lambda args: {"city": args["city"], "degrees": _WEATHER.get(str(args["city"]), 0), "unit": "celsius"},
    ),
    Tool(
        "get_time",
        "The local time of a city now.",
        _schema(city="string"),
        lambda args: {"city": args["city"], "time": _CLOCK.get(str(args["city"]), "00:00")},
    ),
)


@dataclass(frozen=True)
class Call:
    """A tool call as the agent understands it. `id` is None where the provider gave none."""

    id: str | None
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """All that the agent keeps of an answer."""

    text: str
    calls: tuple[Call, ...] = ()


class BadAnswer(Exception):
    """An answer that no client could read, or an error inside a 200."""


class Dialogue(ABC):
    """A conversation in one wire shape: the history the agent keeps, and how to read answers into it."""

    def __init__(self, model: str | None, extra: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self.extra = dict(extra or {})
        self.history: list[dict[str, Any]] = []

    @abstractmethod
    def body(self, streamed: bool) -> dict[str, Any]:
        """The next request's body."""

    @abstractmethod
    def ask(self, words: str) -> None:
        """Append the user's words."""

    @abstractmethod
    def take(self, payloads: Sequence[Mapping[str, Any]], streamed: bool) -> Answer:
        """Read an answer's JSON objects (one, or one an event) and append what was kept. Raises BadAnswer."""

    @abstractmethod
    def give(self, results: Sequence[tuple[Call, dict[str, Any]]]) -> None:
        """Append the results of an answer's calls."""

    def finished(self, payload: Mapping[str, Any]) -> bool:
        """Whether this event of a stream is the answer's last by its own account; a `[DONE]` always is."""
        return False


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of a call from their JSON text. Raises BadAnswer."""
    try:
        parsed = json.loads(text or "{}")
    except ValueError as error:
        raise BadAnswer(f"the arguments of a call are no JSON: {text!r}") from error
    if not isinstance(parsed, dict):
        raise BadAnswer(f"the arguments of a call are no object: {text!r}")
    return parsed
