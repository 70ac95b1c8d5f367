"""A faithful client: the naive dialogues, but every field of an answer goes back where it stood.

Only tests of the strict providers use it: it shows that a client which keeps everything is refused nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentloop import Outcome, run
from dialogues import (
    Answer,
    CallDeltas,
    ChatDialogue,
    CodeAssistDialogue,
    CustomToolDialogue,
    Dialogue,
    GeminiDialogue,
    MessagesDialogue,
    ResponsesDialogue,
)
from providers import TASKS, Provider


class EchoChat(ChatDialogue):
    """Keeps `reasoning_details`, `reasoning_content` and every unknown key of a tool call."""

    def take(self, payloads: Sequence[Mapping[str, Any]], streamed: bool) -> Answer:
        answer = super().take(payloads, streamed)
        message = self.history[-1]
        if not streamed:
            message.update(payloads[0]["choices"][0]["message"])
            return answer
        message.update(merged_fields(payloads))
        for call, extras in zip(message.get("tool_calls", ()), call_extras(payloads), strict=True):
            call.update(extras)
        return answer


class EchoGemini(GeminiDialogue):
    """Keeps every part as it came, one answer in one content."""

    def take(self, payloads: Sequence[Mapping[str, Any]], streamed: bool) -> Answer:
        answer = super().take(payloads, streamed)
        self.history[-1]["parts"] = [dict(part) for part in self.parts(payloads) if part != {"text": ""}]
        return answer


class EchoCodeAssist(CodeAssistDialogue, EchoGemini):
    """The same inside Code Assist's wrapper."""


class EchoMessages(MessagesDialogue):
    """Keeps every block as it came, thinking in its place."""

    def kept(self, blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [dict(block) for block in blocks]

    def streamed_blocks(self, payloads: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        blocks = super().streamed_blocks(payloads)
        for payload in payloads:
            if payload["type"] == "content_block_delta":
                for key in payload["delta"].keys() & {"thinking", "signature"}:
                    blocks[payload["index"]][key] += payload["delta"][key]
        return blocks


class EchoResponses(ResponsesDialogue):
    """Keeps every item as it was when it was done."""

    def kept(self, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [dict(item) for item in items]


class EchoCustomTool(EchoResponses, CustomToolDialogue):
    """The same with a custom tool."""


ECHOES: Mapping[str, type[Dialogue]] = {
    "chat": EchoChat,
    "gemini": EchoGemini,
    "code-assist": EchoCodeAssist,
    "messages": EchoMessages,
    "responses": EchoResponses,
    "responses-custom": EchoCustomTool,
}


def call_extras(payloads: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The keys of each streamed call that the naive client does not know."""
    deltas = CallDeltas()
    extras: dict[int, dict[str, Any]] = {}
    for raw in (raw for delta in _deltas(payloads) for raw in delta.get("tool_calls") or ()):
        call = deltas.add(raw)
        unknown = {key: value for key, value in raw.items() if key not in ("index", "id", "type", "function")}
        extras.setdefault(id(call), {}).update(unknown)
    return list(extras.values())


def merged_fields(payloads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The message fields put together from deltas: text fields joined, entries of an array merged by type and index.

    The last signature that is not empty wins; `data` is never joined (openrouter.ai "Reasoning tokens").
    """
    words: str | None = None
    entries: list[dict[str, Any]] = []
    for delta in _deltas(payloads):
        if delta.get("reasoning_content") is not None:
            words = (words or "") + delta["reasoning_content"]
        for piece in delta.get("reasoning_details") or ():
            last = entries[-1] if entries else {}
            same = piece["type"] == last.get("type") != "reasoning.encrypted" and piece["index"] == last.get("index")
            if not same:
                entries.append(dict(piece))
                continue
            if "text" in piece:
                last["text"] = last.get("text", "") + piece["text"]
            last["signature"] = piece.get("signature") or last.get("signature")
    fields: dict[str, Any] = {} if words is None else {"reasoning_content": words}
    if entries:
        fields["reasoning_details"] = entries
    return fields


def _deltas(payloads: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [choice["delta"] for payload in payloads for choice in payload.get("choices") or ()]


#: A change to the history before request number `at`; it is given the messages that hold calls.
Tamper = Callable[[str, list[dict[str, Any]]], None]
#: The same, given the whole history.
Change = Callable[[list[dict[str, Any]]], None]


def play(
    provider: Provider,
    mode: str,
    kinds: dict[str, type[Dialogue]] | Any = ECHOES,
    tamper: Tamper | None = None,
    at: int = 2,
    tasks: Sequence[str] = TASKS,
    change: Change | None = None,
    extra: Mapping[str, Any] | None = None,
    **options: Any,
) -> Outcome:
    """Run the scenario against a provider, changing the history before request `at` where a tamper or change is given.

    `extra` are further keys of every request's body.
    """
    dialect = provider.dialect
    how = dialect.modes[mode]
    dialogue = kinds[dialect.shape](
        dialect.model if how.model_in_body else None, {**dialect.extra_of(mode), **(extra or {})}
    )
    if tamper is not None:
        spoil(dialogue, lambda history: tamper(dialect.name, [m for m in history if calls_of(m)]), at)
    if change is not None:
        spoil(dialogue, change, at)
    options = {"headers": dialect.headers, "timeout": 5.0, **options}
    return run(dialogue, provider.url(mode), tasks, streamed=how.streamed, **options)


def spoil(dialogue: Dialogue, change: Change, at: int) -> None:
    build, built = dialogue.body, iter(range(1, 99))

    def body(streamed: bool) -> dict[str, Any]:
        if next(built) == at:
            change(dialogue.history)
        return build(streamed)

    dialogue.body = body  # type: ignore[method-assign]


def calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message's calls: parts in Gemini's shape, tool calls in the chat shape, blocks, or an item that is one."""
    parts = [part for part in message.get("parts", ()) if "functionCall" in part]
    content = message.get("content")
    parts += [b for b in content if b.get("type") == "tool_use"] if isinstance(content, list) else []
    if message.get("type") in ("function_call", "custom_tool_call"):
        parts.append(message)
    return parts or list(message.get("tool_calls", ()))
