"""generateContent in few words: contents as clients write them, answers as Google sends them."""

from collections.abc import Callable, Sequence

from lab import Reply, Said, plain, sse

from thoughtkeep.turns import Json


def asking(**more: Json) -> Callable[[list[Json]], Json]:
    """What makes a request of contents."""
    return lambda contents: {"contents": contents, "tools": [{"functionDeclarations": [{"name": "tide"}]}], **more}


def wrapped(model: str) -> Callable[[list[Json]], Json]:
    """What makes a request of contents for Code Assist."""
    return lambda contents: {
        "model": model,
        "project": "p-1",
        "user_prompt_id": "u-1",
        "request": {"contents": contents, "session_id": "s-1"},
    }


def user(text: str) -> Json:
    return {"role": "user", "parts": [{"text": text}]}


def model(*parts: Json) -> dict[str, Json]:
    return {"role": "model", "parts": list(parts)}


def call(name: str, args: Json = None, call_id: str = "", **beside: Json) -> dict[str, Json]:
    """A part with a call; further keys stand beside it."""
    inner = {"name": name, "args": {} if args is None else args, **({"id": call_id} if call_id else {})}
    return {"functionCall": inner, **beside}


def result(name: str, value: Json = "high", call_id: str = "") -> dict[str, Json]:
    """A part with a result."""
    inner = {"name": name, "response": {"output": value}, **({"id": call_id} if call_id else {})}
    return {"functionResponse": inner}


def results(*parts: Json) -> dict[str, Json]:
    return {"role": "user", "parts": list(parts)}


def chunk(*parts: Json, finish: str | None = None, **beside: Json) -> dict[str, Json]:
    """One event of a stream."""
    candidate: dict[str, Json] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 11, "totalTokenCount": 22, "trafficType": "ON_DEMAND"},
        "modelVersion": "gemini-served",
        **beside,
    }


def stream(*chunks: Json, ends: bool = True) -> Reply:
    """Server-sent events; Google's lines end with CRLF, and nothing marks the end."""
    return sse(chunks, line="\r\n", ends=ends)


def array(*chunks: Json) -> Reply:
    """The stream without `alt=sse`."""
    return plain(list(chunks))


def whole(*parts: Json) -> Reply:
    """A plain answer."""
    return plain(chunk(*parts, finish="STOP"))


def say(reply: Reply, told: Json | Sequence[Json], sent: Json | Sequence[Json]) -> Said:
    """An answer, what the client tells of it, what must be sent of it."""
    return Said(reply, told if isinstance(told, list) else [told], sent if isinstance(sent, list) else [sent])


def fragment(*partial: Json, **beside: Json) -> dict[str, Json]:
    """A piece of a call whose arguments stream."""
    return {"functionCall": {"partialArgs": list(partial), "willContinue": True}, **beside}


# -- where it goes, and what the tables share -------------------------------------------------------------------------

NATIVE = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
ARRAY = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent"
PLAIN = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:generateContent?key=AIza-1"
VERTEX = (
    "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/"
    "gemini-3-pro-preview:streamGenerateContent?alt=sse"
)
CODE_ASSIST = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"

ASKED = user("When is high tide?")
BREST, DOVER = {"at": "Brest"}, {"at": "Dover"}
# Both alphabets of base64 spell these differently.
SIGNED = {"thoughtSignature": "EvAB+/+/c2lnbmF0dXJlLW9uZQ=="}
SIGNED2 = {"thoughtSignature": "EvAC+/+/c2lnbmF0dXJlLXR3bw=="}
SNAKE = {"thought_signature": SIGNED["thoughtSignature"]}
ASKING = asking()
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUg=="}}
SIGNED_CALL = (chunk(call("tide", BREST, **SIGNED)), chunk({"text": ""}, finish="STOP"))
