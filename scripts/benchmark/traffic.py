"""What the benchmark sends: requests of agents and answers of providers, as like the real ones as their cost demands.

Everything comes from one seed, so that two runs send the same bytes.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

type Json = Any

CHAT = ("api.deepseek.com", "/v1/chat/completions")
ENTRIES = ("openrouter.ai", "/api/v1/chat/completions")
GEMINI = (
    "generativelanguage.googleapis.com",
    "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
)

#: What of its state a client sends back.
type Echo = Literal["all", "all but last", "none"]

#: The key whose presence in a request shows that a turn's state is there.
STATE = b'"reasoning_content"'

_WORDS = (
    "the of and to in a is that for it as was with be by on not he this are or his from at which but have an had they "
    "function returns value error parse buffer index module import stream request config session handler token cache "
    "test assert result branch commit file path line class method argument string number object array thread lock"
).split()


@dataclass(frozen=True)
class Answer:
    """An answer as the upstream sends it: `chunks` is what it writes at once, or waits before."""

    kind: str
    chunks: tuple[str, ...]


@dataclass(frozen=True)
class Talk:
    """A conversation of an agent that has gone on for some turns.

    `turns` are the messages of the assistant, `bodies` the requests behind the last of them, by what they echo.
    `plays` are the requests that led to each turn, short of what the turns' place does not depend on.
    """

    name: str
    turns: Sequence[dict[str, Json]]
    bodies: dict[Echo, bytes] = field(default_factory=dict)
    plays: Sequence[bytes] = ()


def request(host: str, path: str, body: bytes, answer: str, pace: str = "burst", extra: str = "") -> bytes:
    """A request to a proxy. `answer` and `pace` tell the upstream what to send, and how."""
    head = (
        f"POST http://{host}{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer sk-bench-0123456789abcdef\r\nAccept: */*\r\nUser-Agent: bench\r\n"
        f"x-bench-answer: {answer}\r\nx-bench-pace: {pace}\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def question(shape: str, text: str) -> bytes:
    """A short request for a stream, in chat completions' shape or Gemini's."""
    if shape == "gemini":
        return compact({"contents": [{"role": "user", "parts": [{"text": text}]}]}).encode()
    model = "google/gemini-3-pro-preview" if shape == "entries" else "deepseek-reasoner"
    return compact({"model": model, "stream": True, "messages": [{"role": "user", "content": text}]}).encode()


# -- streams ----------------------------------------------------------------------------------------------------------


def chat_stream(events: int) -> Answer:
    """Reasoning, text, a tool call in pieces, then finish reason, usage and end mark."""
    rng = random.Random(events)
    head = {
        "id": "7c0a4f5e-1b7d-4a55-9d3c-2f6f8f0a1b2c",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "deepseek-reasoner",
    }

    def event(delta: Json, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event({**head, "choices": [choice]})

    sent = [event({"role": "assistant", "content": None, "reasoning_content": ""})]
    body = events - 5
    reasons, arguments = body * 4 // 10, body // 50
    for number in range(body):
        if number < reasons:
            sent.append(event({"content": None, "reasoning_content": " " + rng.choice(_WORDS)}))
        elif number < body - arguments:
            sent.append(event({"content": " " + rng.choice(_WORDS)}))
        elif number == body - arguments:
            call = {"index": 0, "id": "call_00_bench", "type": "function", "function": {"name": "edit"}}
            call["function"] = {"name": "edit", "arguments": '{"path":"a.py","text":"'}
            sent.append(event({"tool_calls": [call]}))
        else:
            piece = {"index": 0, "function": {"arguments": rng.choice(_WORDS) + " "}}
            sent.append(event({"tool_calls": [piece]}))
    sent.append(event({"tool_calls": [{"index": 0, "function": {"arguments": '"}'}}]}))
    sent.append(event({"content": ""}, "tool_calls"))
    usage = {"prompt_tokens": 900, "completion_tokens": body, "total_tokens": 900 + body}
    sent.append(_event({**head, "choices": [], "usage": usage}))
    sent.append("data: [DONE]\n\n")
    return Answer("text/event-stream; charset=utf-8", tuple(sent))


def entries_stream(events: int) -> Answer:
    """OpenRouter: a comment, reasoning as prose and as pieces of `reasoning_details`, text, ciphertext."""
    rng = random.Random(events)
    head = {
        "id": "gen-1790000000-3qZzJ7Xn5wq2",
        "provider": "Google AI Studio",
        "model": "google/gemini-3-pro-preview",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
    }

    def event(delta: Json, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": {"role": "assistant", "content": "", **delta}, "finish_reason": finish}
        return _event({**head, "choices": [choice]})

    body = events - 5
    sent = [": OPENROUTER PROCESSING\n\n"]
    for number in range(body):
        word = " " + rng.choice(_WORDS)
        if number < body * 6 // 10:
            detail = {"type": "reasoning.text", "text": word, "format": "google-gemini-v1", "index": 0}
            sent.append(event({"reasoning": word, "reasoning_details": [detail]}))
        else:
            sent.append(event({"content": word}))
    closing = {"type": "reasoning.encrypted", "data": _opaque(rng, 1200), "format": "google-gemini-v1", "index": 1}
    sent.append(event({"reasoning_details": [closing]}))
    sent.append(event({}, "stop"))
    usage = {"prompt_tokens": 900, "completion_tokens": body, "total_tokens": 900 + body}
    sent.append(_event({**head, "choices": [{"index": 0, "delta": {"content": ""}}], "usage": usage}))
    sent.append("data: [DONE]\n\n")
    return Answer("text/event-stream", tuple(sent))


def gemini_stream(events: int) -> Answer:
    """Google's chunks: thoughts, text, a signed call, the finish reason with the last."""
    rng = random.Random(events)
    sent = []
    for number in range(events):
        candidate: Json = {"content": {"parts": [{"text": " " + rng.choice(_WORDS)}], "role": "model"}, "index": 0}
        if number < events * 4 // 10:
            candidate["content"]["parts"][0]["thought"] = True
        if number == events - 1:
            call = {"functionCall": {"name": "edit", "args": {"path": "a.py"}}, "thoughtSignature": _opaque(rng, 1200)}
            candidate["content"]["parts"] = [call]
            candidate["finishReason"] = "STOP"
        usage = {"promptTokenCount": 900, "candidatesTokenCount": number, "totalTokenCount": 900 + number}
        chunk = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro-preview"}
        sent.append(f"data: {compact({**chunk, 'responseId': 'kD0saYqFLb2Xx'})}\r\n\r\n")
    return Answer("text/event-stream", tuple(sent))


def plain_answer(message: Json, finish: str = "stop") -> Answer:
    """A chat completion that comes at once."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    head = {"id": "bench", "object": "chat.completion", "created": 1_790_000_000, "model": "deepseek-reasoner"}
    usage = {"prompt_tokens": 900, "completion_tokens": 90, "total_tokens": 990}
    return Answer("application/json", (compact({**head, "choices": [choice], "usage": usage}),))


# -- conversations ----------------------------------------------------------------------------------------------------


def talk(name: str, turns: int, result_bytes: int, preamble_bytes: int, streamed: bool = False) -> Talk:
    """A conversation of an agent: calls and results, now and then a final text and another wish of the user.

    `preamble_bytes` is what system prompt and tools take, `result_bytes` what a tool result takes.
    """
    rng = random.Random(name)
    said = [_turn(rng, name, number, turns) for number in range(turns)]
    results = [_code(rng, result_bytes) for _ in range(turns)]
    wish = f"Please find out why the tests of {name} fail, and mend it. " + _prose(rng, 300)
    top = {"model": "deepseek-reasoner", "stream": streamed, "thinking": {"type": "enabled"}, "max_tokens": 32_000}
    tools = _tools(rng, preamble_bytes * 6 // 10)
    start = [{"role": "system", "content": _prose(rng, preamble_bytes * 4 // 10)}, {"role": "user", "content": wish}]
    made = Talk(name, said)
    for echo in ("all", "all but last", "none"):
        messages = list(start)
        for number, message in enumerate(said):
            whole = echo == "all" or (echo == "all but last" and number < turns - 1)
            messages += [message if whole else _bare(message), *_behind(message, results[number])]
        made.bodies[echo] = compact({**top, "messages": messages, "tools": tools}).encode()
    messages, plays = start[1:], []
    for message in said:
        plays.append(compact({**top, "stream": False, "messages": messages}).encode())
        messages = [*messages, _bare(message), *_behind(message, "done")]
    return Talk(name, said, made.bodies, plays)


def _turn(rng: random.Random, name: str, number: int, turns: int) -> dict[str, Json]:
    """What the assistant says: mostly a call or two, every tenth time a text. The last turn is a call."""
    message: dict[str, Json] = {
        "role": "assistant",
        "content": _prose(rng, 120) if number % 3 == 0 else "",
        "reasoning_content": _prose(rng, rng.randint(200, 900)),
    }
    if number % 10 == 9 and number < turns - 1:
        return {**message, "content": _prose(rng, 600)}
    message["tool_calls"] = []
    for place in range(1 + (number % 4 == 3)):
        arguments = {"path": f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}.py", "offset": number, "limit": 200}
        if number % 5 == 2:
            arguments |= {"old": _code(rng, 200), "new": _code(rng, 260)}
        function = {"name": "edit" if "old" in arguments else "read_file", "arguments": json.dumps(arguments)}
        call = {"index": place, "id": f"call_{place:02}_{name}{number:04}", "type": "function", "function": function}
        message["tool_calls"].append(call)
    return message


def _bare(message: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def _behind(message: dict[str, Json], result: str) -> Iterator[dict[str, Json]]:
    calls = message.get("tool_calls", ())
    for call in calls:
        yield {"role": "tool", "tool_call_id": call["id"], "content": result[: len(result) // len(calls)]}
    if not calls:
        yield {"role": "user", "content": "Good. Now do the same for the next module."}


def _tools(rng: random.Random, size: int) -> list[Json]:
    names = ("read_file", "edit", "bash", "grep", "glob", "web_fetch", "todo", "task")
    parameters = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
    return [
        {"type": "function", "function": {"name": n, "description": _prose(rng, size // 8), "parameters": parameters}}
        for n in names
    ]


# -- words ------------------------------------------------------------------------------------------------------------


def compact(value: Json) -> str:
    """JSON as providers and clients send it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _event(value: Json) -> str:
    return f"data: {compact(value)}\n\n"


def _prose(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(_WORDS, k=size // 6 + 1))


def _code(rng: random.Random, size: int) -> str:
    """Numbered lines with indents and quotes, as tools give them."""
    lines, length = [], 0
    while length < size:
        indent = " " * (4 * rng.randint(0, 3))
        lines.append(f'{len(lines) + 1:6}\t{indent}{" ".join(rng.choices(_WORDS, k=5))} = "{rng.choice(_WORDS)}"')
        length += len(lines[-1]) + 1
    return "\n".join(lines)[:size]


def _opaque(rng: random.Random, size: int) -> str:
    return "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=size))
