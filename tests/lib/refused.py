"""A request that was refused, and what rescue makes of it: what the tests of rescue share."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from scenarios import chat_words as chat
from scenarios import gemini_words as gemini

from thoughtkeep import splice
from thoughtkeep.endpoint import recognise
from thoughtkeep.profiles import Profile, profile_for
from thoughtkeep.rescue.fault import Fault, FaultKind
from thoughtkeep.rescue.repair import repair
from thoughtkeep.turns import Ask, Json

KEY = b"k" * 32
SKIP = "skip_thought_signature_validator"

MESSAGES = "https://api.anthropic.com/v1/messages"
RESPONSES = "https://api.openai.com/v1/responses"
NATIVE = gemini.PLAIN
OLD_NATIVE = NATIVE.replace("gemini-3-pro-preview", "gemini-2.5-pro")

SIGNED = "EvAB+/+/c2lnbmF0dXJlLW9uZQ=="
OTHER = "EvAC+/+/c2lnbmF0dXJlLXR3bw=="


@dataclass(frozen=True, slots=True)
class Mended:
    """A request after its repair: its JSON, and the marks of what was taken out."""

    body: Json
    marks: tuple[str, ...]


def read(url: str, body: Json) -> tuple[Ask, Profile]:
    """A request as the rescue reads it."""
    parts = urlsplit(url)
    endpoint = recognise("POST", parts.path, body)
    assert endpoint is not None
    return endpoint.format.read(body, endpoint), profile_for(parts.hostname or "")


def mended(
    url: str,
    body: Json,
    kind: FaultKind,
    named: Sequence[str] = (),
    only: Sequence[str] | None = None,
    *,
    skip: bool = True,
) -> Mended:
    """What becomes of a request that was refused with this fault."""
    ask, profile = read(url, body)
    found = repair(KEY, ask, profile, Fault(kind, tuple(named)), only, skip=skip)
    raw = json.dumps(body).encode()
    return Mended(json.loads(splice.apply(raw, found.edits)) if found.edits else body, found.marks)


# -- conversations ----------------------------------------------------------------------------------------------------


def talk(model: str, *messages: Json, **more: Json) -> Json:
    """A chat request of the first user words, then these messages."""
    return chat.asking(model, **more)([chat.ASKED, *messages])


def signed(call_id: str, signature: Json = None, space: str = "google") -> Json:
    """A call of the chat shape, with Google's signature or without any."""
    beside: dict[str, Json] = {"extra_content": {space: {"thought_signature": signature}}} if signature else {}
    return chat.call(call_id, **beside)


def entry(call_id: str, data: str = SKIP) -> Json:
    """A signature as OpenRouter has it; without `data` its stand-in."""
    return {"type": "reasoning.encrypted", "data": data, "id": call_id, "format": "google-gemini-v1", "index": 0}


def thinking(text: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


def use(name: str, call_id: str) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"at": call_id}}


def answer(call_id: str, *more: Json) -> Json:
    """The user's message with the result of a call, and with more blocks if any."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "4"}, *more]}


def claude(*messages: Json, **more: Json) -> Json:
    """A request to Anthropic, thinking with a budget."""
    asked = {"role": "user", "content": "How cold?"}
    return {
        "model": "claude-sonnet-4-6",
        "max_tokens": 4096,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "messages": [asked, *messages],
        **more,
    }


def said(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def items(*listed: Json, **more: Json) -> Json:
    """A request in OpenAI's Responses shape: the first user words, then these items."""
    return {"model": "gpt-5.1", "input": [{"role": "user", "content": "How cold?"}, *listed], "store": False, **more}


def reasoning(ref: str, blob: str = "") -> Json:
    return {"type": "reasoning", "id": ref, "summary": [], **({"encrypted_content": blob} if blob else {})}


def function(ref: str, call_id: str) -> Json:
    named = {"id": ref} if ref else {}
    return {"type": "function_call", **named, "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": "1"}
