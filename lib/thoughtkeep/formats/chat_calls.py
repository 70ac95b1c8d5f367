"""Tool calls on their way: which call a delta of a stream belongs to, and what they add up to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from thoughtkeep.jsontext import is_whole
from thoughtkeep.turns import Json


@dataclass(slots=True, eq=False)
class OpenCall:
    """A tool call on its way. `number` is its place among the calls of its choice."""

    number: int
    value: dict[str, Json] = field(default_factory=dict)
    inner: dict[str, Json] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments so far are complete JSON."""
        text = "".join(self.arguments)
        return bool(text) and is_whole(text)

    def grow(self, piece: Mapping[str, Json]) -> None:
        """Add a delta."""
        for key, value in piece.items():
            if key in ("function", "custom") and isinstance(value, dict):
                self.value.setdefault(key, self.inner)
                for name, inner in value.items():
                    if name in ("arguments", "input") and isinstance(inner, str):
                        self.arguments.append(inner)
                    elif inner not in (None, "") or name not in self.inner:
                        self.inner[name] = inner
            elif isinstance(value, dict) and isinstance(have := self.value.get(key), dict):
                self.value[key] = {**have, **value}
            elif value not in (None, "") or key not in self.value:
                self.value[key] = value

    def told(self) -> dict[str, Json]:
        """The call as a plain answer would tell it."""
        value = {key: inner for key, inner in self.value.items() if inner is not None}
        kind = "function" if "function" in value or "custom" not in value else "custom"  # Snowflake sends both
        name = "input" if kind == "custom" else "arguments"
        spoken = {} if name in self.inner and not self.arguments else {name: "".join(self.arguments)}
        return {**value, kind: {**self.inner, **spoken}}


class OpenCalls:
    """The tool calls of one choice of an answer."""

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []
        self._slots: dict[int, OpenCall] = {}

    def take(self, piece: Mapping[str, Json], *, whole: bool) -> OpenCall:
        """Add a delta, or a call of a plain answer (`whole`), to the call that it belongs to; returns that."""
        call = None if whole else self._slot(piece)
        if call is None:
            call = OpenCall(len(self.calls))
            self.calls.append(call)
        index = piece.get("index")
        if isinstance(index, int):
            self._slots[index] = call
        call.grow(piece)
        return call

    def _slot(self, piece: Mapping[str, Json]) -> OpenCall | None:
        """The call that a delta continues, None for a new one.

        Found by `index`, never by the place in the array. Some servers leave the index out, others send 0 for all: then
        a name begins a call, unless the call before it still waits for the rest of its arguments.
        """
        index = piece.get("index")
        call = self._slots.get(index) if isinstance(index, int) else self._named(piece.get("id"))
        inner = piece.get("function") or piece.get("custom")
        if call is None or not isinstance(inner, dict) or not inner.get("name"):
            return call
        other_id = bool(piece.get("id")) and piece["id"] != call.value.get("id")
        other = other_id or inner["name"] != call.inner.get("name")
        if not isinstance(index, int) and other_id:
            return None
        waits = not call.is_whole and (bool("".join(call.arguments)) or not other)
        says = other or bool(inner.get("arguments") or inner.get("input"))  # some repeat id and name in every delta
        return call if waits or not says else None

    def _named(self, call_id: Json) -> OpenCall | None:
        """The newest call of this id; where none has it, the newest of all."""
        newest = self.calls[-1] if self.calls else None
        return next((call for call in reversed(self.calls) if call_id and call.value.get("id") == call_id), newest)
