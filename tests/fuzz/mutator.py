"""How inputs are changed: mostly as what they are, lines that hold JSON, so that the change gets past the parsers.

The bytes that libFuzzer changes by itself are rarely JSON any more. Here a line is parsed, its value changed somewhere,
and written again in some spelling; or lines are dropped, doubled and carried elsewhere.
"""

import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any

type Json = Any

#: What stands before the JSON of a line.
_PREFIX = re.compile(rb"(?:data: ?|[<>])?")

_ODD: tuple[Json, ...] = (
    *(None, True, False, 0, 1, -1, 2, 1.0, 1.5, 2**53 + 1, 2**70, float("inf"), float("nan")),
    *("", " ", "x", ".", "{}", "[1", "null", "\ud83d", "\x00", "\u2028"),
    *("<think>x</think>y", "<system-reminder>x</system-reminder>"),
    *([], {}, [[]], [{}], [None]),
)
_WORDS = (
    "user assistant model system developer tool function text thinking reasoning tool_use tool_result completed "
    "redacted_thinking function_call function_call_output message item_reference compaction stop error disabled "
    "enabled refusal skip_thought_signature_validator reasoning.text reasoning.encrypted reasoning.summary "
    "google-gemini-v1 gemini-3-pro gemini-2.5-pro claude-fable-5-1 claude-sonnet-4.5 gpt-5 deepseek-v4 "
    "c3RhdGUgdGhhdCBub2JvZHkgcmVhZHM"
).split()
_KEYS = (
    "role content parts text type thought thoughtSignature thought_signature functionCall function_call args id name "
    "arguments functionResponse response willContinue partialArgs jsonPath stringValue tool_calls tool_call_id custom "
    "function input index extra_content google reasoning reasoning_content reasoning_details thinking_blocks thinking "
    "signature data summary format encrypted_content refusal delta message finish_reason finishReason choices error "
    "candidates usage total_tokens model provider output item output_index status call_id tool_use_id content_block "
    "stop_reason partial_json opaque previous_response_id conversation stream_id n only tools cache_control"
).split()

_SPELLINGS: tuple[dict[str, Json], ...] = (
    {"separators": (",", ":"), "ensure_ascii": False},
    {"separators": (",", ":")},
    {},
    {"separators": (" ,\t", " : ")},
)


class Mutator:
    """Changes inputs. `names` are the first lines that mean something; subtrees of the `seeds` are put elsewhere."""

    def __init__(self, seeds: Iterable[bytes], names: Iterable[bytes], mutate: Callable[[bytes, int], bytes]) -> None:
        self._names = list(names)
        self._mutate = mutate
        pool: dict[str, Json] = {}
        for data in seeds:
            for line in data.split(b"\n"):
                value = _parsed(line[_behind(line) :])
                pool |= {json.dumps(inner): inner for _, inner in _places([value])}
        self._pool = [value for words, value in pool.items() if len(words) <= 600]

    def __call__(self, data: bytes, longest: int, seed: int) -> bytes:
        """The data changed, of `longest` bytes at most; the same for the same seed."""
        chance = random.Random(seed)
        if chance.random() < 0.1:
            return self._mutate(data, longest)
        lines = data.split(b"\n")
        try:
            for _ in range(chance.choice((1, 1, 2, 3))):
                self._line(chance, lines)
        except RecursionError:  # nested too deep to be changed here, which is no finding
            return self._mutate(data, longest)
        return b"\n".join(lines)[:longest]

    def _line(self, chance: random.Random, lines: list[bytes]) -> None:
        way, at = chance.random(), chance.randrange(len(lines))
        if way < 0.05 and self._names:
            lines[0] = chance.choice(self._names)
        elif way < 0.1:
            lines.insert(chance.randrange(len(lines) + 1), lines[at])
        elif way < 0.13 and len(lines) > 1:
            del lines[at]
        elif way < 0.16:
            lines.insert(chance.randrange(len(lines) + 1), lines.pop(at))
        elif way < 0.18:
            lines[at : at + 1] = lines[at : at + 2] * chance.choice((2, 10, 100))
        else:
            told = [number for number, line in enumerate(lines) if line[_behind(line) :].startswith((b"{", b"["))]
            at = chance.choice(told) if told else at
            lines[at] = self._changed(chance, lines[at])

    def _changed(self, chance: random.Random, line: bytes) -> bytes:
        begin = _behind(line)
        value = _parsed(line[begin:])
        if value is None or chance.random() < 0.05:
            return self._mutate(line, len(line) + 20) if line else line
        held = [value]
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            self._value(chance, held)
        try:
            told = json.dumps(held[0], **chance.choice(_SPELLINGS))
        except (ValueError, RecursionError):
            return line
        if chance.random() < 0.5:
            told = told.replace("Infinity", "1e400")
        if chance.random() < 0.05:  # a key twice
            key = json.dumps(chance.choice(_KEYS)) + ":"
            told = told.replace(key, f"{key}[0],{key}", 1)
        return line[:begin] + told.encode("utf-8", "replace")

    def _value(self, chance: random.Random, held: list[Json]) -> None:
        """Change something within the one value that is held."""
        (inside, key), value = chance.choice(_places(held))
        match chance.randrange(10):
            case 0:
                inside[key] = _copy(chance.choice(_ODD))  # what stands there may be changed itself
            case 1:
                inside[key] = chance.choice(_WORDS)
            case 2 | 3 if self._pool:
                inside[key] = _copy(chance.choice(self._pool))
            case 4 if isinstance(inside, dict) or len(inside) > 1:
                del inside[key]
            case 5 if isinstance(inside, list) and inside is not held:
                count = chance.choice((1, 1, 2, 50, 500)) if len(json.dumps(value)) < 50 else 1
                inside[key:key] = [_copy(value) for _ in range(count)]
            case 6 if isinstance(inside, dict):
                inside[chance.choice(_KEYS)] = inside.pop(key)
            case 7 if isinstance(value, str) and value:
                cut = chance.randrange(len(value))
                inside[key] = chance.choice((value[:cut], value[cut:], value + value, value[:cut] + " " + value[cut:]))
            case 8:
                if isinstance(value, dict):
                    value[chance.choice(_KEYS)] = _copy(chance.choice(self._pool or list(_ODD)))
                elif isinstance(value, list):
                    value.insert(chance.randrange(len(value) + 1), _copy(chance.choice(self._pool or list(_ODD))))
                else:
                    for _ in range(chance.choice((1, 1, 3, 300))):
                        value = [value] if chance.random() < 0.5 else {chance.choice(_KEYS): value}
                    inside[key] = value
            case _:
                (other, there), elsewhere = chance.choice(_places(held))
                if other is not held and inside is not held:
                    inside[key], other[there] = _copy(elsewhere), _copy(value)


def _behind(line: bytes) -> int:
    found = _PREFIX.match(line)
    return found.end() if found else 0


def _parsed(text: bytes) -> Json:
    """The value of a text; None where it is none, or nested too deep to be changed."""
    try:
        value = json.loads(text)
        json.dumps(value)
    except (ValueError, RecursionError):
        return None
    return value


def _places(held: list[Json]) -> list[tuple[tuple[Any, Any], Json]]:
    """Every value within, each with what it stands in and under which key."""
    found: list[tuple[tuple[Any, Any], Json]] = []
    stack: list[Any] = [held]
    while stack and len(found) < 5000:
        inside = stack.pop()
        for key, value in inside.items() if isinstance(inside, dict) else enumerate(inside):
            found.append(((inside, key), value))
            if isinstance(value, (dict, list)):
                stack.append(value)
    return found


def _copy(value: Json) -> Json:
    """A value that shares nothing with the one that it was made from."""
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value
