"""Anthropic's Messages in few words: messages as clients write them, answers as servers send them."""

from collections.abc import Callable, Iterable, Sequence

from lab import Reply, Said, compact, plain

from thoughtkeep.turns import Json

MANUAL = {"type": "enabled", "budget_tokens": 2048}
ADAPTIVE = {"type": "adaptive"}


def asking(model: str = "claude-opus-4-6", **more: Json) -> Callable[[list[Json]], Json]:
    """What makes a request of messages; without a model, as Vertex wants it, where that is empty."""
    named = {"model": model} if model else {"anthropic_version": "vertex-2023-10-16"}
    return lambda messages: {**named, "max_tokens": 4096, "stream": True, "messages": messages, **more}


def user(content: Json) -> dict[str, Json]:
    return {"role": "user", "content": content}


def assistant(*blocks: Json) -> dict[str, Json]:
    """An assistant message; a single string is all of its content."""
    told = blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks)
    return {"role": "assistant", "content": told}


def think(words: str = "", signature: str = "", **beside: Json) -> dict[str, Json]:
    return {"type": "thinking", "thinking": words, "signature": signature, **beside}


def redacted(data: str) -> dict[str, Json]:
    return {"type": "redacted_thinking", "data": data}


def text(words: str, **beside: Json) -> dict[str, Json]:
    return {"type": "text", "text": words, **beside}


def use(call_id: str, name: str = "tide", given: Json = None, **beside: Json) -> dict[str, Json]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {}, **beside}


def result(call_id: str, content: Json = "high", **beside: Json) -> dict[str, Json]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **beside}


def results(*blocks: Json) -> dict[str, Json]:
    return user(list(blocks))


def searching(call_id: str) -> tuple[dict[str, Json], dict[str, Json]]:
    """A search that the server made itself, and what it found."""
    found = {"type": "web_search_result", "url": "https://tides.example", "encrypted_content": f"Eo8C{call_id}Zm91bmQ="}
    return (
        {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": "tides"}},
        {"type": "web_search_tool_result", "tool_use_id": call_id, "content": [found]},
    )


# -- answers ----------------------------------------------------------------------------------------------------------

PING = {"type": "ping"}
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
STOP = {"type": "message_stop"}


def start(model: str = "claude-served") -> dict[str, Json]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    return {"type": "message_start", "message": {**message, "usage": {"input_tokens": 7, "output_tokens": 1}}}


def delta(index: int, kind: str, **what: Json) -> dict[str, Json]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **what}}


def opened(index: int, block: Json) -> list[dict[str, Json]]:
    """A block as it streams, up to its stop: its words in two pieces, its signature last."""
    events: list[dict[str, Json]] = []
    empty = dict(block)
    if block["type"] == "thinking":
        empty |= {"thinking": "", "signature": ""}
        events += [delta(index, "thinking_delta", thinking=half) for half in _halves(block["thinking"])]
        if block.get("signature"):
            events.append(delta(index, "signature_delta", signature=block["signature"]))
    elif block["type"] == "text":
        empty["text"] = ""
        events += [delta(index, "text_delta", text=half) for half in _halves(block["text"])]
    elif "input" in block:
        empty["input"] = {}
        halves = ["", *_halves(compact(block["input"]))] if block["input"] else [""]
        events += [delta(index, "input_json_delta", partial_json=half) for half in halves]
    return [{"type": "content_block_start", "index": index, "content_block": empty}, *events]


def block(index: int, whole: Json) -> list[dict[str, Json]]:
    """A whole block as it streams."""
    return [*opened(index, whole), {"type": "content_block_stop", "index": index}]


def _halves(words: str) -> list[str]:
    middle = len(words) // 2
    return [half for half in (words[:middle], words[middle:]) if half]


def ending(reason: str = "tool_use") -> list[dict[str, Json]]:
    usage = {"output_tokens": 21}
    return [{"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}, STOP]


def events(wire: Iterable[Json], *, ends: bool = True) -> Reply:
    """Server-sent events with their names."""
    return Reply("".join(f"event: {e['type']}\ndata: {compact(e)}\n\n" for e in wire).encode(), ends=ends)


def stream(*blocks: Json, model: str = "claude-served") -> Reply:
    """An answer of these blocks, with pings among them."""
    told = [event for index, whole in enumerate(blocks) for event in (PING, *block(index, whole))]
    return events([start(model), *told, *ending()])


def whole(*blocks: Json, **top: Json) -> Reply:
    """A plain answer."""
    usage = {"input_tokens": 7, "output_tokens": 21}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [*blocks], "stop_reason": "tool_use"}
    return plain({**message, "usage": usage, **top})


def say(reply: Reply, told: Json | Sequence[Json], sent: Json | Sequence[Json]) -> Said:
    """An answer, what the client tells of it, what must be sent of it."""
    return Said(reply, told if isinstance(told, list) else [told], sent if isinstance(sent, list) else [sent])


# -- where it goes, and what the tables share -------------------------------------------------------------------------

ANTHROPIC = "https://api.anthropic.com/v1/messages"
_PUBLISHER = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models"
VERTEX = f"{_PUBLISHER}/claude-opus-4-6@20260101:streamRawPredict"
VERTEX_PLAIN = f"{_PUBLISHER}/claude-opus-4-6@20260101:rawPredict"
DATABRICKS = "https://adb-77.4.azuredatabricks.net/serving-endpoints/anthropic/v1/messages"
DEEPSEEK = "https://api.deepseek.com/anthropic/v1/messages"
KIMI = "https://api.kimi.com/coding/v1/messages"
OPENROUTER = "https://openrouter.ai/api/v1/messages"

ASKED = user("When is high tide?")
CLAUDE = asking(thinking=MANUAL)
SIGNED = "EpwBCkgIBxABGAIqQGhpZ2gtdGlkZQ=="
SIGNED2 = "EpwBCkgIBxABGAIqQG5lYXAtdGlkZQ=="
SEALED = "EvAFCkYIBxgCKkCyZWRhY3RlZA=="
SEALED2 = "EvAFCkYIBxgCKkC2c2Vjb25kbHk="
HM = think("Let me look it up.", SIGNED)
AND = think("Now the other one.", SIGNED2)
