"""Chat completions in few words: messages as clients write them, answers as servers send them."""

from collections.abc import Callable, Sequence

from lab import Reply, Said, plain, sse
from thoughtkeep.turns import Json

DONE = "[DONE]"
ARGUMENTS = '{"city":"Oslo","days":2}'


def asking(model: str, **more: Json) -> Callable[[list[Json]], Json]:
    """What makes a request of messages."""
    return lambda messages: {"model": model, "stream": True, "messages": messages, **more}


def user(text: Json) -> Json:
    return {"role": "user", "content": text}


def tool(call_id: str, text: str = "4 degrees") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def call(call_id: str, name: str = "forecast", arguments: str = ARGUMENTS, **beside: Json) -> dict[str, Json]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **beside}


def assistant(content: Json = None, *calls: Json, **keys: Json) -> dict[str, Json]:
    """An assistant message; keys of its own stand behind the calls."""
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **keys}


def chunk(finish: str | None = None, index: int = 0, **delta: Json) -> dict[str, Json]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "served-by-1",
        "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
    }


def usage(total: int = 30) -> dict[str, Json]:
    return {"id": "chatcmpl-1", "choices": [], "usage": {"total_tokens": total}}


def calling(*calls: Json, index: bool = True) -> list[dict[str, Json]]:
    """One chunk a call, each call whole."""
    numbered = [{"index": n, **each} if index else each for n, each in enumerate(calls)]
    return [chunk(tool_calls=[each]) for each in numbered]


def stream(*chunks: Json, finish: str = "stop", done: bool = True) -> Reply:
    """Chunks, the one that ends the answer, and the mark."""
    return sse([*chunks, chunk(finish), *([DONE] if done else [])])


def whole(message: Json, finish: Json = "stop", **top: Json) -> Reply:
    """A plain answer."""
    return plain({"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **top})


def say(reply: Reply, told: Json | Sequence[Json], sent: Json | Sequence[Json]) -> Said:
    """An answer, what the client tells of it, what must be sent of it."""
    return Said(reply, told if isinstance(told, list) else [told], sent if isinstance(sent, list) else [sent])
