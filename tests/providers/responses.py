"""OpenAI's Responses shape without storage: reading a list of items, envelopes and events.

A dialect says which items an answer consists of, and what is demanded of those that come back.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from providers.dialect import Dialect, Mode, Reply, compact, halves
from providers.ledger import Ledger
from providers.refusal import Refusal
from providers.scenario import Past, Said, Step, ToolCall

CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}

#: What an item of each kind may hold, and what it must.
_KEYS: Mapping[str, frozenset[str]] = {
    "message": frozenset(("type", "id", "role", "content", "status", "phase")),
    "reasoning": frozenset(("type", "id", "summary", "content", "encrypted_content", "status")),
    "function_call": frozenset(("type", "id", "call_id", "name", "namespace", "arguments", "status")),
    "custom_tool_call": frozenset(("type", "id", "call_id", "name", "namespace", "input", "status")),
    "function_call_output": frozenset(("type", "id", "call_id", "output", "status")),
    "custom_tool_call_output": frozenset(("type", "id", "call_id", "output", "status")),
}
_DEMANDED: Mapping[str, tuple[str, ...]] = {
    "message": ("role", "content"),
    "reasoning": (),
    "function_call": ("call_id", "name", "arguments"),
    "custom_tool_call": ("call_id", "name", "input"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call_output": ("call_id", "output"),
}
#: How the id of an item of each kind begins. That of a user's message is not looked at.
PREFIXES: Mapping[str, str] = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}


@dataclass(frozen=True)
class Item:
    """One item of an answer: as it is added to a stream, as it is when done, and as the whole response tells it."""

    added: dict[str, Any]
    done: dict[str, Any]
    whole: dict[str, Any]


class ResponsesDialect(Dialect):
    """Reading, envelopes and framing. A stream has its `event:` lines unless the request asks for no obfuscation."""

    path: ClassVar[str] = "/v1/responses"

    @abstractmethod
    def items(self, step: Step, ledger: Ledger, body: Mapping[str, Any]) -> list[Item]:
        """Say `step` in items; what is issued goes into the ledger."""

    def mode_of(self, path: str, query: str, body: Mapping[str, Any]) -> Mode | None:
        if path != self.path:
            return None
        streamed = bool(body.get("stream"))
        found = [mode for mode in self.modes.values() if mode.streamed == streamed]
        found.sort(key=lambda mode: mode.extra.get("stream_options") != body.get("stream_options"))
        return found[0]

    def read(self, body: Mapping[str, Any]) -> Past:
        if not isinstance(body.get("model"), str):
            raise Refusal("shape", "Missing required parameter: 'model'.", code="missing_required_parameter")
        if body.get("previous_response_id"):
            raise Refusal("shape", f"Previous response with id '{body['previous_response_id']}' not found.")
        if not body.get("input"):
            raise Refusal("shape", "Missing required parameter: 'input'.", code="missing_required_parameter")
        return read_items(items_of(body))

    def reply(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Reply:
        items = self.items(step, ledger, body)
        response: dict[str, Any] = {
            "id": f"resp_{ledger.mint()[12:44].translate(_NO_SIGNS)}",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "model": self.model,
            "output": [item.whole for item in items],
            "parallel_tool_calls": True,
            "store": False,
            "usage": {"input_tokens": 40, "output_tokens": 50, "total_tokens": 90},
        }
        if not mode.streamed:
            return Reply("application/json", (compact(response),))
        plainly = (body.get("stream_options") or {}).get("include_obfuscation") is False
        pieces = []
        for number, event in enumerate(_events(response, items)):
            event["sequence_number"] = number
            if "delta" in event and not plainly:
                event["obfuscation"] = ledger.mint()[12 : 12 + 16 - len(event["delta"]) % 16]
            name = b"" if plainly else b"event: " + str(event["type"]).encode() + b"\n"
            pieces.append(name + b"data: " + compact(event) + b"\n\n")
        return Reply("text/event-stream; charset=utf-8", tuple(pieces))


_NO_SIGNS = str.maketrans("+/=", "xyz")


def letters(ledger: Ledger, count: int) -> str:
    """Fresh letters and digits, as many as asked for (at most 64)."""
    return ledger.mint()[12 : 12 + count].translate(_NO_SIGNS)


def items_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The items of a request; a string is one message of the user."""
    found = body["input"]
    return [{"role": "user", "content": found}] if isinstance(found, str) else list(found)


def kind_of(item: Mapping[str, Any]) -> str:
    """An item's type. It may be left out of a message."""
    return str(item.get("type", "message"))


def text_of(content: Any) -> str:
    """The words of a content: a string, or a list of parts."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def call_of(item: Mapping[str, Any]) -> ToolCall:
    """The call that an item is. The input of a custom tool is plain text; the one of this scenario is JSON."""
    raw = item["arguments"] if kind_of(item) == "function_call" else item["input"]
    try:
        args = json.loads(raw)
    except (TypeError, ValueError):
        args = None
    if not isinstance(args, dict):
        raise Refusal("shape", "Invalid 'arguments' of a call: expected the JSON text of an object.")
    return ToolCall(str(item["name"]), args)


def anchor_of(item: Mapping[str, Any]) -> str:
    """What an item of the model is known by, with or without its id: its call, or its words."""
    if kind_of(item) in CALLS:
        return call_of(item).key
    return f"text:{text_of(item['content'])}" if kind_of(item) == "message" else ""


def is_said(item: Mapping[str, Any]) -> bool:
    """Whether an item is the model's."""
    kind = kind_of(item)
    return kind == "reasoning" or kind in CALLS or (kind == "message" and item.get("role") == "assistant")


def read_items(items: Sequence[Any]) -> Past:
    """Read a list of items, and check that every output has its call before it and every call its output behind it.

    Items of the model in a row are one answer. Raises Refusal.
    """
    said: list[Said] = []
    results: list[tuple[ToolCall, Any]] = []
    pending: dict[str, tuple[str, ToolCall]] = {}
    user_turns = turn_start = 0
    run = False
    for place, item in enumerate(items):
        _check_keys(place, item)
        if is_said(item):
            calls: tuple[tuple[ToolCall, dict[str, Any]], ...] = ()
            if kind_of(item) in CALLS:
                calls = ((call_of(item), item),)
                pending[item["call_id"]] = (kind_of(item), calls[0][0])
            text = text_of(item["content"]) if kind_of(item) == "message" else ""
            last = said.pop() if run else Said(place, {"items": []}, (), "", False)
            raw = {"items": [*last.raw["items"], item]}
            said.append(Said(last.place, raw, last.calls + calls, last.text + text, False))
            run = True
            continue
        run = False
        if kind_of(item) in _OUTPUTS:
            results.append(_take(item, pending))
        elif item.get("role") == "user":
            user_turns += 1
            turn_start = place
            results.clear()
    for call_id, (kind, _) in pending.items():
        raise Refusal("pairing", f"No tool output found for {kind.replace('_', ' ')} {call_id}.")
    if not user_turns:
        raise Refusal("shape", "The request holds no user message.")
    current = [Said(m.place, m.raw, m.calls, m.text, m.place > turn_start) for m in said]
    return Past(tuple(current), user_turns, tuple(results))


def _check_keys(place: int, item: Any) -> None:
    if not isinstance(item, Mapping):
        raise Refusal("shape", f"Invalid type for 'input[{place}]': expected an object.")
    kind = kind_of(item)
    if kind not in _KEYS:
        raise Refusal("shape", f"Invalid value: '{kind}' at 'input[{place}].type'.", code="invalid_value")
    for key in _DEMANDED[kind]:
        if not isinstance(item.get(key), str | list):
            text = f"Missing required parameter: 'input[{place}].{key}'."
            raise Refusal("shape", text, code="missing_required_parameter")
    if odd := sorted(set(item) - _KEYS[kind]):
        raise Refusal("shape", f"Unknown parameter: 'input[{place}].{odd[0]}'.", code="unknown_parameter")
    if item.get("id") is not None and is_said(item) and not str(item["id"]).startswith(f"{PREFIXES[kind]}_"):
        text = f"Invalid 'input[{place}].id': '{item['id']}'. Expected an ID that begins with '{PREFIXES[kind]}'."
        raise Refusal("shape", text, code="invalid_value")


def _take(item: Mapping[str, Any], pending: dict[str, tuple[str, ToolCall]]) -> tuple[ToolCall, Any]:
    """The call that an output belongs to, off the list. Raises Refusal."""
    kind, call = pending.get(item["call_id"], ("", None))
    if call is None or kind != _OUTPUTS[kind_of(item)]:
        name = kind_of(item).replace("_", " ")
        raise Refusal("pairing", f"No tool call found for {name} with call_id {item['call_id']}.")
    del pending[item["call_id"]]
    return call, text_of(item["output"])


def _events(response: Mapping[str, Any], items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """The events of a streamed answer, without their numbers."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item.done["id"]}
        yield {"type": "response.output_item.added", "output_index": index, "item": item.added}
        yield from _deltas(item.done, at)
        yield {"type": "response.output_item.done", "output_index": index, "item": item.done}
    yield {"type": "response.completed", "response": response}


def _deltas(done: Mapping[str, Any], at: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = done["type"]
    if kind == "reasoning":
        for number, part in enumerate(done["summary"]):
            here = {**at, "summary_index": number}
            empty = {**part, "text": ""}
            yield {"type": "response.reasoning_summary_part.added", **here, "part": empty}
            for piece in halves(part["text"]):
                yield {"type": "response.reasoning_summary_text.delta", **here, "delta": piece}
            yield {"type": "response.reasoning_summary_text.done", **here, "text": part["text"]}
            yield {"type": "response.reasoning_summary_part.done", **here, "part": part}
    elif kind == "message":
        for number, part in enumerate(done["content"]):
            here = {**at, "content_index": number}
            yield {"type": "response.content_part.added", **here, "part": {**part, "text": ""}}
            for piece in halves(part["text"]):
                yield {"type": "response.output_text.delta", **here, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.done", **here, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **here, "part": part}
    else:
        name, key = (
            ("function_call_arguments", "arguments") if kind == "function_call" else ("custom_tool_call_input", "input")
        )
        for piece in halves(done[key]):
            yield {"type": f"response.{name}.delta", **at, "delta": piece}
        yield {"type": f"response.{name}.done", **at, key: done[key]}
