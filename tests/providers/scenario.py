"""The little play that every strict provider acts: which step comes next, given what the request holds.

The step is decided from the request's own history alone. A server that remembered the conversation could not tell
a client that lost its history from one that kept it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: What the user says, one entry a turn. The second turn shows whether state survives behind a finished turn.
TASKS: tuple[str, ...] = (
    "What is the weather in Paris and in Rome, and what time is it in the warmer of the two?",
    "And what is the weather in Oslo?",
)


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool. `args` is the parsed object, so two spellings of the same JSON are the same call."""

    name: str
    args: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Name and arguments as one canonical string: what a signature is issued for."""
        return f"{self.name}({json.dumps(self.args, sort_keys=True, ensure_ascii=False, separators=(',', ':'))})"


@dataclass(frozen=True)
class Said:
    """One message of the model as the client sent it back.

    `place` is its position in the request's list of messages, `raw` the message itself, `calls` its calls beside the
    JSON object each of them came as, `text` its visible text, `current` whether it belongs to the turn that the newest
    words of the user opened.
    """

    place: int
    raw: dict[str, Any]
    calls: tuple[tuple[ToolCall, dict[str, Any]], ...]
    text: str
    current: bool


@dataclass(frozen=True)
class Past:
    """A request's history, whatever its wire format. `results` are those of the current turn, in order."""

    said: tuple[Said, ...]
    user_turns: int
    results: tuple[tuple[ToolCall, Any], ...]

    @property
    def steps(self) -> int:
        """How many answers with calls the current turn holds."""
        return sum(1 for message in self.said if message.current and message.calls)


@dataclass(frozen=True)
class Step:
    """What the model does next: it thinks, and then either calls tools or speaks."""

    reasoning: str
    text: str = ""
    calls: tuple[ToolCall, ...] = field(default=())


def next_step(past: Past) -> Step:
    """Return the model's next step. Two parallel calls, then a call that needs their results, then words."""
    if past.user_turns <= 1:
        return _first_turn(past)
    if past.steps == 0:
        return Step("Only Oslo this time; one look is enough.", calls=(_weather("Oslo"),))
    degrees = _degrees(past.results)
    return Step("That settles it.", f"It is {degrees.get('Oslo', '?')} degrees in Oslo.")


def _first_turn(past: Past) -> Step:
    if past.steps == 0:
        return Step("I need both cities, so I ask for both at once.", calls=(_weather("Paris"), _weather("Rome")))
    degrees = _degrees(past.results)
    warmer = max(degrees, key=lambda city: degrees[city], default="Paris")
    if past.steps == 1:
        return Step(f"{warmer} is the warmer one — now its clock.", calls=(ToolCall("get_time", {"city": warmer}),))
    times = [_field(result, "time") for call, result in past.results if call.name == "get_time"]
    return Step(
        "I have everything.",
        f"Paris {degrees.get('Paris', '?')} degrees, Rome {degrees.get('Rome', '?')} degrees; "
        f"in {warmer} it is {times[-1] if times else '?'}.",
    )


def _weather(city: str) -> ToolCall:
    return ToolCall("get_weather", {"city": city, "unit": "celsius"})


def _degrees(results: Sequence[tuple[ToolCall, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for call, result in results:
        value = _field(result, "degrees")
        if call.name == "get_weather" and isinstance(value, int | float):
            found[str(call.args.get("city"))] = value
    return found


def _field(result: Any, name: str) -> Any:
    """Read one field of a tool's result, which may be an object, JSON text, or an object inside `result`/`output`."""
    if isinstance(result, str):
        try:
            result = json.loads(result)
        except ValueError:
            return None
    if not isinstance(result, Mapping):
        return None
    if name in result:
        return result[name]
    for wrapper in ("result", "output", "content"):
        if wrapper in result:
            return _field(result[wrapper], name)
    return None
