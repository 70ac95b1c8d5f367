"""OpenAI's Responses in few words: items as clients write them, answers as servers send them."""

from collections.abc import Callable, Iterable, Sequence

from lab import Reply, Said, compact, plain

from thoughtkeep.turns import Json

ARGUMENTS = '{"at":"Brest"}'


def asking(model: str = "gpt-5.2", **more: Json) -> Callable[[Json], Json]:
    """What makes a request of items."""
    return lambda items: {"model": model, "stream": True, "store": False, "input": items, **more}


def user(content: Json) -> dict[str, Json]:
    return {"type": "message", "role": "user", "content": content}


def reason(ref: str = "", blob: str = "", **beside: Json) -> dict[str, Json]:
    """A reasoning item; without what is empty."""
    named = {"id": ref} if ref else {}
    sealed = {"encrypted_content": blob} if blob else {}
    return {"type": "reasoning", **named, "summary": [], **sealed, **beside}


def call(call_id: str, name: str = "tide", ref: str = "", **beside: Json) -> dict[str, Json]:
    named = {"id": ref} if ref else {}
    return {"type": "function_call", **named, "call_id": call_id, "name": name, "arguments": ARGUMENTS, **beside}


def output(call_id: str, value: Json = "high", kind: str = "function_call_output") -> dict[str, Json]:
    return {"type": kind, "call_id": call_id, "output": value}


def message(words: str, ref: str = "", **beside: Json) -> dict[str, Json]:
    named = {"id": ref} if ref else {}
    return {
        "type": "message",
        **named,
        "role": "assistant",
        "content": [{"type": "output_text", "text": words, "annotations": []}],
        **beside,
    }


def without(item: Json, *keys: str) -> dict[str, Json]:
    return {key: value for key, value in item.items() if key not in keys}


# -- answers ----------------------------------------------------------------------------------------------------------


def response(status: str, *items: Json, **beside: Json) -> dict[str, Json]:
    usage = {"input_tokens": 7, "output_tokens": 21, "total_tokens": 28}
    return {"id": "resp_1", "object": "response", "status": status, "model": "served", "output": [*items], **beside} | (
        {"usage": usage} if status == "completed" else {"usage": None}
    )


def created() -> list[dict[str, Json]]:
    going = response("in_progress")
    return [{"type": f"response.{state}", "response": going} for state in ("created", "in_progress")]


def added(index: int, item: Json) -> dict[str, Json]:
    """An item announced: its blob is another, shorter one."""
    early = dict(item)
    if blob := item.get("encrypted_content"):
        early["encrypted_content"] = PRELIMINARY + blob[:4]
    return {"type": "response.output_item.added", "output_index": index, "item": early}


def done(index: int, item: Json) -> list[dict[str, Json]]:
    """An item as it streams."""
    delta = {"type": "response.output_text.delta", "output_index": index, "delta": "…", "obfuscation": "xyzzy"}
    return [added(index, item), delta, {"type": "response.output_item.done", "output_index": index, "item": item}]


def ended(*items: Json, kind: str = "completed", **beside: Json) -> dict[str, Json]:
    return {"type": f"response.{kind}", "response": response(kind, *items, **beside)}


def resealed(item: Json) -> dict[str, Json]:
    """An item as `response.completed` tells it: its blob made anew."""
    return (
        {**item, "encrypted_content": f"{RESEALED}{item['encrypted_content']}"} if "encrypted_content" in item else item
    )


def events(wire: Iterable[Json], *, ends: bool = True) -> Reply:
    """Server-sent events with their names."""
    return Reply("".join(f"event: {e['type']}\ndata: {compact(e)}\n\n" for e in wire).encode(), ends=ends)


def streaming(*items: Json) -> list[Json]:
    """The events of an answer of these items, but for its end."""
    return [*created(), *(event for index, item in enumerate(items) for event in done(index, item))]


def stream(*items: Json) -> Reply:
    """An answer of these items."""
    return events([*streaming(*items), ended(*map(resealed, items))])


def whole(*items: Json, status: str = "completed", ends: bool = True) -> Reply:
    """A plain answer."""
    return plain(response(status, *items), ends=ends)


def say(reply: Reply, told: Json | Sequence[Json], sent: Json | Sequence[Json]) -> Said:
    """An answer, what the client tells of it, what must be sent of it."""
    return Said(reply, told if isinstance(told, list) else [told], sent if isinstance(sent, list) else [sent])


# -- where it goes, and what the tables share -------------------------------------------------------------------------

OPENAI = "https://api.openai.com/v1/responses"
AZURE = "https://acme.openai.azure.com/openai/v1/responses?api-version=preview"
CODEX = "https://chatgpt.com/backend-api/codex/responses"
XAI = "https://api.x.ai/v1/responses"
DEEPSEEK = "https://api.deepseek.com/v1/responses"
OPENROUTER = "https://openrouter.ai/api/v1/responses"
UNKNOWN = "https://gateway.example/v1/responses"

PRELIMINARY = "gAAAAABearly"
RESEALED = "gAAAAABanew"
BLOB = "gAAAAABpaGlnaC10aWRlLW9uZS1oaWdoLXRpZGUtb25l"
BLOB2 = "gAAAAABpbmVhcC10aWRlLXR3by1uZWFwLXRpZGUtdHdv"

ASKED = user("When is high tide?")
GPT = asking()
HM = reason("rs_1", BLOB)
AND = reason("rs_2", BLOB2)
