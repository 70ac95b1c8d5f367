"""OpenAI's chat completions shape, as far as all strict providers of it agree.

A dialect says what a message holds and in which deltas it is streamed; envelopes, framing and reading are here.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from providers.dialect import Dialect, Mode, Reply, compact
from providers.ledger import Ledger
from providers.refusal import Refusal
from providers.scenario import Past, Said, Step, ToolCall

DANGLING = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "(insufficient tool messages following tool_calls message)"
)
ORPHAN = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"


@dataclass(frozen=True)
class Message:
    """One answer: the message of a plain answer, the deltas of a streamed one, and its finish reason."""

    plain: dict[str, Any]
    deltas: Sequence[dict[str, Any]]
    finish: str


class ChatDialect(Dialect):
    """Reading, envelopes and framing of the chat shape.

    `usage` says where a stream reports tokens: in the chunk that finishes, in a chunk behind it whose choice has no
    finish reason (OpenRouter), or nowhere. `comments` are event-stream comments sent before any data.
    """

    shape = "chat"
    unpaired: ClassVar[tuple[str, str]] = (DANGLING, ORPHAN)
    usage: ClassVar[Literal["finish", "behind", "none"]] = "none"
    comments: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def message(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Message:
        """Say `step` in this dialect; what is issued goes into the ledger."""

    def mode_of(self, path: str, query: str, body: Mapping[str, Any]) -> Mode | None:
        streamed = bool(body.get("stream"))
        for mode in self.modes.values():
            if mode.path == path and mode.streamed == streamed:
                return mode
        return None

    def read(self, body: Mapping[str, Any]) -> Past:
        if not isinstance(body.get("model"), str):
            raise Refusal("shape", "Missing required parameter: 'model'.")
        return self.read_messages(body)

    def read_messages(self, body: Mapping[str, Any]) -> Past:
        """Read `messages` and check that every call is answered right behind it. Raises Refusal."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refusal("shape", "Missing required parameter: 'messages'.")
        return read_messages(messages, *self.unpaired)

    def reply(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Reply:
        message = self.message(step, mode, ledger, body)
        tokens = {"prompt_tokens": 40, "completion_tokens": 50, "total_tokens": 90}
        head = {"id": f"chat-{ledger.mint()[12:20]}", "created": 1_790_000_000, "model": self.model}
        if not mode.streamed:
            choice = {"index": 0, "message": message.plain, "finish_reason": message.finish, "logprobs": None}
            plain = {**head, "object": "chat.completion", "choices": [choice], "usage": tokens}
            return Reply("application/json", (compact(plain),))
        chunks = [self._chunk(head, delta) for delta in message.deltas[:-1]]
        chunks.append(self._chunk(head, message.deltas[-1], message.finish))
        if self.usage == "finish":
            chunks[-1]["usage"] = tokens
        elif self.usage == "behind":
            chunks.append({**self._chunk(head, {"role": "assistant", "content": ""}), "usage": tokens})
        events = [f": {comment}\n\n".encode() for comment in self.comments]
        events += [b"data: " + compact(chunk) + b"\n\n" for chunk in chunks]
        return Reply("text/event-stream; charset=utf-8", (*events, b"data: [DONE]\n\n"))

    @staticmethod
    def _chunk(head: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**head, "object": "chat.completion.chunk", "choices": [choice]}


def function_of(call: ToolCall) -> dict[str, str]:
    """The `function` object of a call: its arguments are JSON text."""
    return {"name": call.name, "arguments": json.dumps(call.args, ensure_ascii=False)}


def text_of(content: Any) -> str:
    """The visible text of a message's content: a string, null, or a list of blocks. Raises Refusal for all else."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(block, Mapping) for block in content):
        raise Refusal("shape", "Invalid type for 'messages[].content': expected a string or a list of blocks.")
    texts = [block.get("text") for block in content if block.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise Refusal("shape", "Invalid type for 'messages[].content[].text': expected a string.")
    return "".join(texts)


def read_messages(messages: Sequence[Any], dangling: str, orphan: str) -> Past:
    """Read a list of chat messages. Google's examples call the assistant `model`, so both names are read.

    Results pair by id; where calls share an id they pair in order. A message's place is counted as the vendor behind
    the endpoint sees it: system messages are none, and a run of results is one. Raises Refusal.
    """
    said: list[Said] = []
    results: list[tuple[ToolCall, Any]] = []
    pending: list[tuple[ToolCall, Any]] = []
    user_turns = turn_start = 0
    place, before = -1, None
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in ("system", "developer") and not (role == before == "tool"):
            place += 1
        before = role
        if role == "tool":
            results.append(_take(message, pending, orphan))
            continue
        if pending:
            raise Refusal("pairing", dangling)
        if role in ("assistant", "model"):
            calls = tuple(_read_call(raw) for raw in message.get("tool_calls") or ())
            pending = [(call, raw.get("id")) for call, raw in calls]
            said.append(Said(place, dict(message), calls, text_of(message.get("content")), False))
        elif role == "user":
            user_turns += 1
            turn_start = place
            results.clear()
        elif role not in ("system", "developer"):
            raise Refusal("shape", f"Invalid value: {role!r} at messages[{index}].role.")
    if pending:
        raise Refusal("pairing", dangling)
    if not user_turns:
        raise Refusal("shape", "The request holds no user message.")
    current = [Said(m.place, m.raw, m.calls, m.text, m.place > turn_start) for m in said]
    return Past(tuple(current), user_turns, tuple(results))


def _read_call(raw: Any) -> tuple[ToolCall, dict[str, Any]]:
    function = raw.get("function") if isinstance(raw, Mapping) else None
    if not isinstance(function, Mapping):
        raise Refusal("shape", "Missing required parameter: 'tool_calls[].function'.")
    try:
        args = json.loads(function.get("arguments") or "{}")
    except (TypeError, ValueError):
        args = None
    if not isinstance(args, dict):
        raise Refusal("shape", "Invalid 'tool_calls[].function.arguments': expected the JSON text of an object.")
    return ToolCall(str(function.get("name")), args), dict(raw)


def _take(message: Mapping[str, Any], pending: list[tuple[ToolCall, Any]], orphan: str) -> tuple[ToolCall, Any]:
    for index, (call, call_id) in enumerate(pending):
        if message.get("tool_call_id") == call_id:
            del pending[index]
            content = message.get("content")
            return call, content if isinstance(content, str) else text_of(content)
    raise Refusal("pairing", orphan)
