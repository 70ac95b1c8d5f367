"""What fuzzing begins with: small conversations in every format, made up here."""

import json
from collections.abc import Iterable
from typing import Any

from fuzz.wire import BORDER

type Json = Any

STATE = "c3RhdGUgdGhhdCBub2JvZHkgcmVhZHM="
OTHER = "YW5vdGhlciBvcGFxdWUgdmFsdWUgaGVyZQ=="
PNG = "iVBORw0KGgo="


def text(value: Json) -> bytes:
    """A value as most clients write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def stream(*events: Json, end: bytes = b"") -> bytes:
    """Events as a stream."""
    return b"".join(b"data: " + text(event) + b"\n\n" for event in events) + end


def joined(*parts: bytes) -> bytes:
    """The parts of an input."""
    return BORDER.join(parts)


# -- requests, by the names of their places ---------------------------------------------------------------------------

_USER, _NEXT, _SUNNY = {"role": "user", "content": "What is the weather?"}, "And tomorrow?", "It is sunny."
_ARGS = {"city": "Oslo", "days": [1, 2]}


def _chat_call(number: int, **more: Json) -> Json:
    function = {"name": "look", "arguments": json.dumps(_ARGS)}
    return {"id": f"call_{number}", "type": "function", "function": function, **more}


def _chat(model: str, *messages: Json, **more: Json) -> Json:
    return {"model": model, "messages": [{"role": "system", "content": "Be brief."}, _USER, *messages], **more}


_DETAILS = [
    {"type": "reasoning.text", "text": "Let me look.", "signature": STATE, "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": OTHER, "id": "call_1", "format": "google-gemini-v1", "index": 1},
]
_RESULTS = [{"role": "tool", "tool_call_id": f"call_{n}", "content": f"{n}0 degrees"} for n in (1, 2)]
_CALLS = {"role": "assistant", "content": "I look.", "tool_calls": [_chat_call(1), _chat_call(2)]}
_SPLIT = [
    {"role": "assistant", "content": "I look.", "tool_calls": [_chat_call(1)]},
    _RESULTS[0],
    {"role": "assistant", "content": None, "tool_calls": [_chat_call(2)]},
    _RESULTS[1],
]
_PICTURE = {
    "role": "user",
    "content": [
        {"type": "text", "text": _NEXT},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ],
}


def _delta(reason: str | None = None, number: int = 0, **delta: Json) -> Json:
    return {"model": "m", "choices": [{"index": number, "delta": delta, "finish_reason": reason}]}


def _plain(reason: str = "tool_calls", **message: Json) -> Json:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}]}


_SIGNED = [
    _chat_call(1, extra_content={"google": {"thought_signature": STATE}}),
    _chat_call(2, thoughtSignature=OTHER),
]
_TAGGED = "<think>Let me see.</think>\n" + _SUNNY
_BLOCKS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}], "signature": STATE},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I see.", "signature": OTHER}]},
    {"type": "text", "text": _SUNNY},
]
_DONE = b"data: [DONE]\n\n"

#: Answers of chat completions, by name.
CHAT_ANSWERS: dict[str, bytes] = {
    "details": stream(
        {"provider": "Google", **_delta(role="assistant", reasoning="Let me", reasoning_details=_DETAILS[:1])},
        _delta(content="I look.", reasoning_details=_DETAILS[1:]),
        _delta(tool_calls=[{"index": 0, **_chat_call(1)}]),
        _delta(tool_calls=[{"index": 1, "id": "call_2", "function": {"name": "look", "arguments": '{"city":"Oslo",'}}]),
        _delta(tool_calls=[{"index": 1, "function": {"arguments": '"days":[1,2]}'}}]),
        _delta("tool_calls"),
        {"choices": [], "usage": {"total_tokens": 47}},
        end=_DONE,
    ),
    "plain": text(_plain(content="I look.", tool_calls=_SIGNED, reasoning_content="Let me look.")),
    "signed": stream(*[_delta(tool_calls=[{"index": 0, **call}]) for call in _SIGNED], _delta("stop"), end=_DONE),
    "tags": stream(_delta(content=_TAGGED[:20]), _delta("stop", content=_TAGGED[20:])),
    "blocks": stream(*[_delta(content=[block]) for block in _BLOCKS], _delta("stop", content="")),
    "opaque": stream(
        _delta(reasoning_text="Let me ", unknown="a", cot_id="x"),
        _delta(reasoning_text="see.", unknown="b"),
        _delta(reasoning_opaque=STATE),
        _delta("stop", number=1, content=_SUNNY),
    ),
    "grows": stream(_delta(reasoning_content="Let"), _delta(reasoning_content="Let me"), _delta("stop", content="x")),
    "fails": stream(_delta(content="x"), {"error": {"message": "overloaded"}, "choices": []}),
}

_PARTS = [
    {"text": "Let me see.", "thought": True},
    {"text": "I look.", "thoughtSignature": OTHER},
    {"functionCall": {"name": "look", "args": _ARGS, "id": "c1"}, "thoughtSignature": STATE},
    {"functionCall": {"name": "look", "args": {}}},
    {"text": "", "thoughtSignature": STATE},
]


def _contents(*contents: Json, **more: Json) -> Json:
    return {"contents": [{"role": "user", "parts": [{"text": "What is the weather?"}]}, *contents], **more}


def _candidate(*parts: Json, **more: Json) -> Json:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": list(parts)}, **more}]}


def _bare(parts: Iterable[Json]) -> list[Json]:
    kept = [{key: value for key, value in part.items() if key != "thoughtSignature"} for part in parts]
    return [part for part in kept if not part.get("thought") and part.get("text") != ""]


_GEMINI_RESULTS = {
    "role": "user",
    "parts": [{"functionResponse": {"name": "look", "response": {"output": n}}} for n in ("10", "20")],
}
_PARTIAL = [{"jsonPath": "$.city", "stringValue": "Os"}, {"jsonPath": "$.days[0]", "numberValue": 1}]
GEMINI_ANSWERS: dict[str, bytes] = {
    "parts": stream(*map(_candidate, _PARTS), {**_candidate(finishReason="STOP"), "modelVersion": "gemini-3"}),
    "array": b"[" + b"\n,\r\n".join(text(_candidate(part)) for part in _PARTS) + b"]",
    "plain": text({**_candidate(*_PARTS, finishReason="STOP"), "usageMetadata": {"totalTokenCount": 9}}),
    "partial": stream(
        _candidate({"functionCall": {"name": "look", "willContinue": True}, "thoughtSignature": STATE}),
        _candidate({"functionCall": {"partialArgs": _PARTIAL, "willContinue": True}}),
        _candidate({"functionCall": {}}, finishReason="STOP"),
    ),
    "wrapped": stream({"response": _candidate(*_PARTS, finishReason="STOP"), "traceId": "t"}),
}

_THINKING = [
    {"type": "thinking", "thinking": "Let me look.", "signature": STATE},
    {"type": "redacted_thinking", "data": OTHER},
]
_USES = [{"type": "tool_use", "id": f"toolu_{n}", "name": "look", "input": _ARGS} for n in (1, 2)]
_SAID = [{"type": "text", "text": "I look."}, *_USES]
_USED = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"{n}0"} for n in (1, 2)],
}


def _messages(model: str, *messages: Json, **more: Json) -> Json:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    return {"model": model, "max_tokens": 100, "thinking": thinking, "messages": [_USER, *messages], **more}


def _block(number: int, block: Json, *deltas: Json) -> list[Json]:
    start = {"type": "content_block_start", "index": number, "content_block": block}
    told = [{"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas]
    return [start, *told, {"type": "content_block_stop", "index": number}]


MESSAGES_ANSWERS: dict[str, bytes] = {
    "stream": stream(
        {"type": "message_start", "message": {"model": "claude", "usage": {"input_tokens": 3}}},
        *_block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Let me look."},
            {"type": "signature_delta", "signature": STATE},
        ),
        *_block(1, {"type": "redacted_thinking", "data": OTHER}),
        *_block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look."}),
        *_block(
            3,
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": json.dumps(_ARGS)[:9]},
            {"type": "input_json_delta", "partial_json": json.dumps(_ARGS)[9:]},
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ),
    "plain": text({"type": "message", "content": [*_THINKING, *_SAID], "stop_reason": "tool_use"}),
    "fails": stream({"type": "message_start", "message": {}}, {"type": "error", "error": {"type": "overloaded"}}),
}

_REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": STATE}
_FUNCTIONS = [
    {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": "look", "arguments": json.dumps(_ARGS)}
    for n in (1, 2)
]
_TOLD = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "I look."}],
}
_OUTPUTS = [{"type": "function_call_output", "call_id": f"call_{n}", "output": f"{n}0"} for n in (1, 2)]
_ASKED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is the weather?"}]}


def _input(*items: Json, **more: Json) -> Json:
    return {"model": "gpt-5", "input": [_ASKED, *items], "store": False, **more}


def _item(number: int, item: Json) -> Json:
    return {"type": "response.output_item.done", "output_index": number, "item": item}


_OUTPUT = [_REASONING, _TOLD, *_FUNCTIONS]
RESPONSES_ANSWERS: dict[str, bytes] = {
    "stream": stream(
        {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5"}},
        *[_item(number, item) for number, item in enumerate(_OUTPUT)],
        {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": _OUTPUT}},
    ),
    "plain": text({"id": "resp_1", "status": "completed", "output": _OUTPUT, "usage": {"total_tokens": 3}}),
    "fails": stream({"type": "response.failed", "response": {"status": "failed"}}),
}

# What a client that loses everything sends next, and one that brings all of it, by the places that take it.
_ROUTER, _GEMINI3 = "anthropic/claude-sonnet-4.5", "google/gemini-3-pro"
_LATER: dict[str, list[tuple[Json, Json]]] = {
    "openrouter": [
        (_chat(_ROUTER), _chat(_ROUTER, _CALLS, *_RESULTS)),
        (_chat(_GEMINI3), _chat(_GEMINI3, *_SPLIT, _PICTURE)),
        (_chat(_ROUTER), _chat(_ROUTER, {**_CALLS, "reasoning_details": _DETAILS}, *_RESULTS, _PICTURE)),
    ],
    "chat": [(_chat("m"), _chat("m", {"role": "assistant", "content": _SUNNY, "unknown": "a"}, _PICTURE))],
    "studio": [
        (_contents(), _contents({"role": "model", "parts": _bare(_PARTS)}, _GEMINI_RESULTS)),
        (_contents(), _contents({"role": "model", "parts": _PARTS}, _GEMINI_RESULTS)),
    ],
    "assist": [
        (
            {"model": "gemini-3-pro", "request": _contents()},
            {"model": "gemini-3-pro", "request": _contents({"role": "model", "parts": _bare(_PARTS)}, _GEMINI_RESULTS)},
        ),
    ],
    "anthropic": [
        (_messages("claude-opus-4-6"), _messages("claude-opus-4-6", {"role": "assistant", "content": _SAID}, _USED)),
        (
            _messages("claude-fable-5-1"),
            _messages("claude-fable-5-1", {"role": "assistant", "content": [*_THINKING, *_SAID]}, _USED),
        ),
    ],
    "openai-responses": [
        (_input(), _input(_TOLD, *_FUNCTIONS, *_OUTPUTS)),
        (_input(), _input(_FUNCTIONS[0], _OUTPUTS[0], _FUNCTIONS[1], _OUTPUTS[1], {**_ASKED, "content": _NEXT})),
        (_input(), _input(*_OUTPUT, *_OUTPUTS)),
    ],
}

# The places that speak alike, and what they answer.
_KIN: dict[str, tuple[str, dict[str, bytes]]] = {
    **dict.fromkeys(("google", "databricks", "deepseek", "minimax", "mistral"), ("openrouter", CHAT_ANSWERS)),
    **dict.fromkeys(("groq", "copilot", "openai", "openrouter"), ("openrouter", CHAT_ANSWERS)),
    "chat": ("chat", CHAT_ANSWERS),
    **dict.fromkeys(("studio", "vertex"), ("studio", GEMINI_ANSWERS)),
    "assist": ("assist", GEMINI_ANSWERS),
    **dict.fromkeys(("messages", "anthropic", "vertex-claude", "deepseek-messages"), ("anthropic", MESSAGES_ANSWERS)),
    **dict.fromkeys(("responses", "openai-responses", "xai-responses"), ("openai-responses", RESPONSES_ANSWERS)),
}

#: Words of refusals, as the providers' documentation and public reports have them, by the places that say them.
REFUSALS = {
    "openrouter": [
        "Corrupted thought signature",
        "Gemini models require OpenRouter reasoning details to be preserved",
        "The reasoning_content in the thinking mode must be passed back to the API",
        "property 'reasoning_details' is unsupported",
    ],
    "studio": ["Function call is missing a thought_signature in functionCall parts", "Corrupted thought signature"],
    "anthropic": [
        "messages.1.content.0: expected `thinking` or `redacted_thinking`, but found `tool_use`",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ],
    "openai-responses": [
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'",
        "The encrypted content for item rs_1 could not be verified",
    ],
}


def answer_seeds() -> dict[str, bytes]:
    """Each answer at each place that may give it; for the first place that does, each event told many times too."""
    found: dict[str, bytes] = {}
    known: set[str] = set()
    for place, (like, answers) in _KIN.items():
        for name, body in answers.items():
            found[f"{place} {name}"] = place.encode() + b"\n" + body
            if like not in known and b"\n\n" in body:
                found[f"{place} {name} run"] = place.encode() + b"\n" + _run(body)
        known.add(like)
    return found


def _run(body: bytes) -> bytes:
    """Each event of a stream thirty times."""
    return b"".join((event + b"\n\n") * 30 for event in body.removesuffix(b"\n\n").split(b"\n\n"))


# What JSON can say and no parser gives back the same.
_ODD = b'"odd":[12345678901234567890123,1.10,-0,"\\u0061\\/"],"odd":{"twice":1,"twice" : 2}, '


def request_seeds() -> dict[str, bytes]:
    """Each answer at each place, and what clients make of it; the same where the provider changes."""
    found: dict[str, bytes] = {}
    for place, (like, answers) in _KIN.items():
        for number, (first, later) in enumerate(_LATER[like]):
            for name, body in answers.items():
                found[f"{place} {name} {number}"] = joined(place.encode(), text(first), body, text(later))
        twice = text(later).replace(b'"type":', _ODD + b'"type":')
        for key in (b'"role":', b'"tool_calls":', b'"parts":', b'"functionCall":', b'"content":', b'"input":'):
            twice = twice.replace(key, key + b"[0]," + key)
        found[f"{place} odd"] = joined(place.encode(), text(first), body, twice)
    for there in ("mistral", "openai", "google", "copilot"):
        first, later = _LATER["openrouter"][2]
        parts = text(first), CHAT_ANSWERS["details"], text({**later, "model": "gpt-5"})
        found[f"to {there}"] = joined(f"openrouter {there}".encode(), *parts)
    first, later = _LATER["anthropic"][1]
    parts = text({**first, "model": "deepseek-v4"}), MESSAGES_ANSWERS["stream"], text(later)
    found["to anthropic"] = joined(b"deepseek-messages anthropic", *parts)
    return found


def refusal_seeds() -> dict[str, bytes]:
    """Each request with each refusal that its place knows."""
    return {
        f"{place} {number} {which}": joined(place.encode(), text(later), text({"error": {"message": words}}))
        for place, refusals in REFUSALS.items()
        for number, (_, later) in enumerate(_LATER[place])
        for which, words in enumerate(refusals)
    }


def handover_seeds() -> dict[str, bytes]:
    """Each request as it is, and one in which more is said."""
    return {
        f"{place} {number}": joined(place.encode(), text(later))
        for place in _LATER
        for number, (_, later) in enumerate(_LATER[place])
    }


def frame_seeds() -> dict[str, bytes]:
    """A conversation of two requests, one with streams of their own, one that was warmed up."""

    def asked(*items: Json, **more: Json) -> bytes:
        return b">" + text({"type": "response.create", "model": "gpt-5", "input": list(items), **more})

    def told(name: str, **more: Json) -> list[bytes]:
        ends = [{"type": f"response.{kind}", "response": {"id": name}, **more} for kind in ("created", "completed")]
        items = [{**_item(number, item), **more} for number, item in enumerate(_OUTPUT)]
        return [b"<" + text(event) for event in (ends[0], *items, ends[1])]

    goes_on = asked(*_OUTPUTS, {**_ASKED, "content": _NEXT}, previous_response_id="r1")
    streams = [asked(_ASKED, stream_id="s1"), *told("r1", stream_id="s1")]
    return {
        "goes on": b"\n".join([asked(_ASKED), *told("r1"), goes_on]),
        "warm": b"\n".join([asked(generate=False), b'<{"type":"response.completed","response":{"id":"r1"}}', goes_on]),
        "streams": b"\n".join([*streams, asked(*_OUTPUTS, previous_response_id="r1", stream_id="s2")]),
        "fails": b"\n".join([asked(_ASKED), b'<{"type":"error","error":{"message":"no"}}', asked("again")]),
    }
