"""Anthropic's Messages shape: reading a history, and everything it is refused for besides its thinking.

The words of refusals are those of the real service, as public reports quote them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from providers.refusal import Refusal
from providers.scenario import Past, Said, ToolCall

#: The kinds of blocks that hold reasoning state.
THOUGHTS = ("thinking", "redacted_thinking")

#: What a block of each kind may hold. `cache_control` is none of a thinking block's keys.
_KEYS: Mapping[str, frozenset[str]] = {
    "text": frozenset(("type", "text", "citations", "cache_control")),
    "tool_use": frozenset(("type", "id", "name", "input", "caller", "cache_control")),
    "tool_result": frozenset(("type", "tool_use_id", "content", "is_error", "cache_control")),
    "thinking": frozenset(("type", "thinking", "signature")),
    "redacted_thinking": frozenset(("type", "data")),
}
_DEMANDED: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "thinking": ("signature", "thinking"),
    "redacted_thinking": ("data",),
}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "user": ("text", "tool_result"),
    "assistant": ("text", "tool_use", *THOUGHTS),
}
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def read_messages(body: Mapping[str, Any]) -> Past:
    """Read `messages`, and check that every call is answered before the model speaks again. Raises Refusal.

    A turn starts at the newest user message that holds anything but tool results. Messages of the user in a row count
    as one, as they do for the real service.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refusal("shape", "messages: at least one message is required")
    said: list[Said] = []
    results: list[tuple[ToolCall, Any]] = []
    pending: dict[str, ToolCall] = {}
    seen: set[str] = set()
    user_turns = turn_start = 0
    for place, message in enumerate(messages):
        blocks = _blocks_at(place, message)
        role = message["role"]
        if role == "assistant":
            if pending:
                raise _dangling(said[-1].place, list(pending))
            said.append(_read_assistant(place, message, blocks, seen))
            pending = {raw["id"]: call for call, raw in said[-1].calls}
            continue
        for number, block in enumerate(blocks):
            if block["type"] == "tool_result":
                results.append(_take(f"messages.{place}.content.{number}", block, pending))
        if any(block["type"] != "tool_result" for block in blocks):
            user_turns += 1
            turn_start = place
            results.clear()
    if pending:
        raise _dangling(said[-1].place, list(pending))
    if not user_turns:
        raise Refusal("shape", 'messages: first message must use the "user" role')
    current = [Said(m.place, m.raw, m.calls, m.text, m.place > turn_start) for m in said]
    return Past(tuple(current), user_turns, tuple(results))


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a content that was found in order; a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _blocks_at(place: int, message: Any) -> list[dict[str, Any]]:
    """The blocks of one message, each with the keys of its kind and no other. Raises Refusal."""
    if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
        raise Refusal("shape", f"messages.{place}.role: Input should be 'user' or 'assistant'")
    if odd := sorted(set(message) - {"role", "content"}):
        raise Refusal("shape", f"messages.{place}.{odd[0]}: Extra inputs are not permitted")
    content = message.get("content")
    if not isinstance(content, str | list):
        raise Refusal("shape", f"messages.{place}.content: Input should be a valid string or list")
    if not content:
        raise Refusal("shape", f"messages.{place}: all messages must have non-empty content")
    blocks = blocks_of(content)
    for number, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, Mapping) else None
        at = f"messages.{place}.content.{number}"
        if kind not in _ALLOWED[message["role"]]:
            raise Refusal(
                "shape", f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            )
        for key in _DEMANDED[kind]:
            if not isinstance(block.get(key), Mapping if key == "input" else str):
                raise Refusal("shape", f"{at}.{kind}.{key}: Field required")
        if odd := sorted(set(block) - _KEYS[kind]):
            raise Refusal("shape", f"{at}.{kind}.{odd[0]}: Extra inputs are not permitted")
        if kind == "text" and not block["text"]:
            raise Refusal("shape", "messages: text content blocks must be non-empty")
    return blocks


def _read_assistant(place: int, message: Mapping[str, Any], blocks: Sequence[dict[str, Any]], seen: set[str]) -> Said:
    calls: list[tuple[ToolCall, dict[str, Any]]] = []
    for number, block in enumerate(blocks):
        if block["type"] != "tool_use":
            continue
        at = f"messages.{place}.content.{number}"
        if not _ID.fullmatch(block["id"]):
            raise Refusal("shape", f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
        if block["id"] in seen:
            raise Refusal("shape", f"{at}: `tool_use` ids must be unique")
        seen.add(block["id"])
        calls.append((ToolCall(block["name"], block["input"]), block))
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    return Said(place, dict(message), tuple(calls), text, False)


def _take(at: str, block: Mapping[str, Any], pending: dict[str, ToolCall]) -> tuple[ToolCall, Any]:
    """The call that a result belongs to, off the list. Raises Refusal."""
    call = pending.pop(block["tool_use_id"], None)
    if call is None:
        raise Refusal(
            "pairing",
            f"{at}: unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. Each `tool_result` "
            "block must have a corresponding `tool_use` block in the previous message.",
        )
    content = block.get("content") or ""
    text = "".join(part["text"] for part in blocks_of(content) if part["type"] == "text")
    return call, text


def _dangling(place: int, ids: Sequence[str]) -> Refusal:
    return Refusal(
        "pairing",
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    )
