"""Whether a request is one that its provider would take, told without any of the code under test.

`faults` returns what a strict server would refuse, in words; an empty list is a good request.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

type Json = Any

#: What call ids look like, by format, where the strictest provider of it checks.
IDS = {"chat": r".{1,40}", "messages": r"[a-zA-Z0-9_-]{1,64}", "responses": r".{1,64}"}


def faults(form: str, body: Json, *, starts_with_model: bool = False) -> list[str]:
    """What is wrong with a request of a format (`code assist` is Gemini's, wrapped).

    `starts_with_model` allows a first message of the model, which some clients ask for.
    """
    if form == "code assist":
        return [f"no {key}" for key in ("model", "project", "request") if not body.get(key)] + faults(
            "gemini", body["request"], starts_with_model=starts_with_model
        )
    check = {"chat": _chat, "messages": _messages, "gemini": _gemini, "responses": _responses}[form]
    found = list(check(body))
    if not starts_with_model:
        found += list(_first(form, body))
    return found


def cache_marks(value: Json) -> int:
    """How many cache marks a request has, anywhere."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(cache_marks(inner) for inner in value.values())
    return sum(cache_marks(inner) for inner in value) if isinstance(value, list) else 0


def _first(form: str, body: Json) -> Iterator[str]:
    listed = body.get({"gemini": "contents", "responses": "input"}.get(form, "messages")) or []
    spoken = [m for m in listed if m.get("role") not in ("system", "developer")]
    if spoken and spoken[0].get("role") != "user":
        yield "does not begin with the user"


def _ids(form: str, ids: Sequence[Json]) -> Iterator[str]:
    for each in ids:
        if not isinstance(each, str) or not re.fullmatch(IDS[form], each):
            yield f"illegal id {each!r}"
    if len(set(ids)) != len(ids):
        yield f"an id twice: {ids}"


def _chat(body: Json) -> Iterator[str]:
    messages = body.get("messages")
    if not messages:
        yield "no messages"
        return
    open_: list[str] = []
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        where = f"message {number} ({role})"
        if role == "tool":
            if message.get("tool_call_id") not in open_:
                yield f"{where}: a result without its call"
            else:
                open_.remove(message["tool_call_id"])
            continue
        if open_:
            yield f"{where}: calls without results before it: {open_}"
            open_ = []
        if role == "assistant":
            calls = message.get("tool_calls")
            if calls is not None and not calls:
                yield f"{where}: an empty list of calls"
            open_ = [call.get("id") for call in calls or ()]
            yield from _ids("chat", open_)
            if not calls and _is_empty(content):
                yield f"{where}: says nothing"
            if not set(message) <= {"role", "content", "tool_calls"}:
                yield f"{where}: has {sorted(set(message) - {'role', 'content', 'tool_calls'})}"
        elif role in ("system", "developer", "user"):
            if _is_empty(content):
                yield f"{where}: is empty"
        else:
            yield f"{where}: no such role"
    if open_:
        yield f"calls without results at the end: {open_}"
    if messages[-1].get("role") == "assistant":
        yield "ends on the assistant"


def _is_empty(content: Json) -> bool:
    if isinstance(content, str):
        return not content.strip()
    if not isinstance(content, list) or not content:
        return True
    return any(part.get("type") in ("text", "input_text") and not part["text"].strip() for part in content)


def _messages(body: Json) -> Iterator[str]:
    messages = body.get("messages")
    if not messages:
        yield "no messages"
        return
    if not isinstance(body.get("max_tokens"), int):
        yield "no max_tokens"
    seen: list[str] = []
    open_: list[str] = []
    before = ""
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        where = f"message {number} ({role})"
        if role not in ("user", "assistant"):
            yield f"{where}: no such role"
        if role == before:
            yield f"{where}: the same role twice"
        before = role
        if _is_empty(content):
            yield f"{where}: is empty"
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        results = [block for block in blocks if block["type"] == "tool_result"]
        if results != blocks[: len(results)]:
            yield f"{where}: results do not stand first"
        if sorted(block["tool_use_id"] for block in results) != sorted(open_):
            yield f"{where}: results of {[block['tool_use_id'] for block in results]} for calls {open_}"
        open_ = [block["id"] for block in blocks if block["type"] == "tool_use"]
        seen += open_
        if role == "user" and any(block["type"] in ("tool_use", "thinking", "redacted_thinking") for block in blocks):
            yield f"{where}: the user thinks or calls"
        if any(block["type"] == "thinking" and not block.get("signature") for block in blocks):
            yield f"{where}: unsigned thinking"
    yield from _ids("messages", seen)
    if open_:
        yield f"calls without results at the end: {open_}"
    if before == "assistant":
        yield "ends on the assistant"
    if cache_marks(body) > 4:
        yield "more than four cache marks"


_PART = ("text", "inlineData", "functionCall", "functionResponse", "fileData")


def _gemini(body: Json) -> Iterator[str]:
    contents = body.get("contents")
    if not contents:
        yield "no contents"
        return
    open_: list[str] = []
    before = ""
    for number, content in enumerate(contents):
        role, parts = content.get("role"), content.get("parts") or []
        where = f"content {number} ({role})"
        if role not in ("user", "model"):
            yield f"{where}: no such role"
        if role == before:
            yield f"{where}: the same role twice"
        before = role
        if not parts:
            yield f"{where}: is empty"
        for part in parts:
            if sum(key in part for key in _PART) != 1:
                yield f"{where}: a part of {sorted(part)}"
            if part.get("text") is not None and not part["text"].strip():
                yield f"{where}: an empty text"
            if (role == "model" and "functionResponse" in part) or (role == "user" and "functionCall" in part):
                yield f"{where}: a part of the other side"
        named = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
        if named != open_:
            yield f"{where}: results of {named} for calls {open_}"
        open_ = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
    if open_:
        yield f"calls without results at the end: {open_}"
    if before == "model":
        yield "ends on the model"


def _responses(body: Json) -> Iterator[str]:
    items = body.get("input")
    if not items:
        yield "no input"
        return
    called: list[str] = []
    answered: list[str] = []
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        where = f"item {number} ({kind})"
        if kind == "message":
            if item.get("role") not in ("user", "assistant", "system", "developer"):
                yield f"{where}: no such role"
            if _is_empty(item.get("content")):
                yield f"{where}: is empty"
        elif kind == "function_call":
            called.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in called:
                yield f"{where}: a result without its call"
            answered.append(item["call_id"])
        elif kind == "reasoning":
            following = items[number + 1] if number + 1 < len(items) else {}
            if not (following.get("type") == "function_call" or following.get("role") == "assistant"):
                yield f"{where}: reasoning that nothing follows"
        else:
            yield f"{where}: no such item"
    yield from _ids("responses", called)
    if sorted(called) != sorted(answered):
        yield f"calls {called}, results {answered}"
    if items[-1].get("role") == "assistant" or items[-1].get("type") in ("function_call", "reasoning"):
        yield "ends on the assistant"
