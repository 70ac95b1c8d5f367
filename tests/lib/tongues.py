"""One conversation in every format: what a client asks and what a provider answers, told in neutral events.

A conversation is a list of events (see `spoken`). A `Tongue` writes the request that a
client makes of it, and the answer that a provider gives, with the reasoning state that this format has.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spoken import Call, Developer, Document, Event, Image, Results, Says, System, User

type Json = Any


@dataclass(frozen=True)
class Tongue:
    """A format, two models that speak it at hosts of their own, and how requests and answers are written.

    `maker` and `target` are (URL, model, header with the credential): state of the first is foreign to the second.
    """

    name: str
    maker: tuple[str, str, dict[str, str]]
    target: tuple[str, str, dict[str, str]]

    #: The key of the list of messages, and of the object that it stands in (empty for the top).
    list_key = "messages"
    inner = ""

    def body(self, model: str, events: Sequence[Event], *, echoes: bool = False, **keys: Json) -> dict[str, Json]:
        """A streaming request. With `echoes` the client sends the state that it was given back."""
        raise NotImplementedError

    def answer(self, said: Says) -> Json:
        """A plain answer."""
        raise NotImplementedError

    def stream(self, said: Says) -> list[Json | str]:
        """The same as events of a stream."""
        raise NotImplementedError

    def messages(self, body: Json) -> list[Json]:
        found: list[Json] = (body[self.inner] if self.inner else body)[self.list_key]
        return found

    def summary(self, text: str) -> Json:
        """The answer of a summariser."""
        return self.answer(Says(text))


TOOLS = ("read", "look", "run", "edit")


class Chat(Tongue):
    """Chat completions, with `reasoning_details`."""

    def body(self, model: str, events: Sequence[Event], *, echoes: bool = False, **keys: Json) -> dict[str, Json]:
        parameters = {"type": "object", "properties": {}}
        tools = [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in TOOLS]
        messages = [message for event in events for message in self._told(event, echoes)]
        return {"model": model, "messages": messages, "tools": tools, "stream": True, **keys}

    def _told(self, event: Event, echoes: bool) -> Iterator[Json]:
        match event:
            case System(text):
                yield {"role": "system", "content": text}
            case Developer(text):
                yield {"role": "developer", "content": text}
            case User():
                lone = len(event.parts) == 1 and isinstance(event.parts[0], str)
                yield {"role": "user", "content": event.parts[0] if lone else [self._part(p) for p in event.parts]}
            case Says():
                yield self._message(event, echoes)
            case Results():
                for call_id, text in event.results:
                    yield {"role": "tool", "tool_call_id": call_id, "content": text}
                for words in event.words:
                    yield {"role": "user", "content": words}

    def _message(self, said: Says, echoes: bool) -> Json:
        message: dict[str, Json] = {"role": "assistant", "content": said.text or ("" if said.calls else None)}
        if said.calls:
            message["tool_calls"] = [self._call(call) for call in said.calls]
        if echoes and said.state:
            message["reasoning_details"] = self._details(said)
        return message

    @staticmethod
    def _call(call: Call) -> Json:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.args)}}

    @staticmethod
    def _details(said: Says) -> Json:
        entry = {"type": "reasoning.text", "text": said.prose, "signature": said.state, "format": "anthropic-claude-v1"}
        return [{**entry, "index": 0}]

    @staticmethod
    def _part(part: str | Image | Document) -> Json:
        match part:
            case Image(data):
                return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
            case Document(data):
                return {
                    "type": "file",
                    "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"},
                }
        return {"type": "text", "text": part}

    def answer(self, said: Says) -> Json:
        message = self._message(said, True)
        reason = "tool_calls" if said.calls else "stop"
        return {"id": "gen-1", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}

    def stream(self, said: Says) -> list[Json | str]:
        message = self._message(said, True)
        calls = [{"index": n, **call} for n, call in enumerate(message.pop("tool_calls", []))]
        text = message.pop("content") or ""
        deltas = [message, {"content": text[: len(text) // 2]}, {"content": text[len(text) // 2 :]}]
        deltas += [{"tool_calls": [call]} for call in calls]
        events: list[Json | str] = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        reason = "tool_calls" if calls else "stop"
        return [*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}, "[DONE]"]


class Messages(Tongue):
    """Anthropic's Messages, with signed thinking."""

    def body(self, model: str, events: Sequence[Event], *, echoes: bool = False, **keys: Json) -> dict[str, Json]:
        systems = [{"type": "text", "text": e.text} for e in events if isinstance(e, System | Developer)]
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in TOOLS]
        messages = [message for event in events for message in self._told(event, echoes)]
        head = {"model": model, "max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000}}
        return {**head, "messages": messages, "system": systems, "tools": tools, "stream": True, **keys}

    def _told(self, event: Event, echoes: bool) -> Iterator[Json]:
        match event:
            case User():
                lone = len(event.parts) == 1 and isinstance(event.parts[0], str)
                yield {"role": "user", "content": event.parts[0] if lone else [self._part(p) for p in event.parts]}
            case Says():
                yield {"role": "assistant", "content": self._blocks(event, echoes)}
            case Results():
                blocks: list[Json] = [
                    {"type": "tool_result", "tool_use_id": call_id, "content": text} for call_id, text in event.results
                ]
                yield {"role": "user", "content": blocks + [self._part(words) for words in event.words]}

    @staticmethod
    def _blocks(said: Says, echoes: bool) -> list[Json]:
        blocks: list[Json] = []
        if echoes and said.state:
            blocks.append({"type": "thinking", "thinking": said.prose, "signature": said.state})
        if said.text:
            blocks.append({"type": "text", "text": said.text})
        blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.args)} for c in said.calls]
        return blocks

    @staticmethod
    def _part(part: str | Image | Document) -> Json:
        match part:
            case Image(data):
                return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
            case Document(data):
                source = {"type": "base64", "media_type": "application/pdf", "data": data}
                return {"type": "document", "source": source}
        return {"type": "text", "text": part}

    def answer(self, said: Says) -> Json:
        reason = "tool_use" if said.calls else "end_turn"
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "some"}
        return {**head, "content": self._blocks(said, True), "stop_reason": reason, "stop_sequence": None}

    def stream(self, said: Says) -> list[Json | str]:
        plain = self.answer(said)
        events: list[Json | str] = [{"type": "message_start", "message": {**plain, "content": [], "stop_reason": None}}]
        for number, block in enumerate(plain["content"]):
            events += list(self._streamed(number, block))
        delta = {"stop_reason": plain["stop_reason"]}
        return [*events, {"type": "message_delta", "delta": delta}, {"type": "message_stop"}]

    @staticmethod
    def _streamed(number: int, block: dict[str, Json]) -> Iterator[Json]:
        def delta(kind: str, **value: Json) -> Json:
            return {"type": "content_block_delta", "index": number, "delta": {"type": kind, **value}}

        empty = {key: "" if key in ("text", "thinking", "signature") else value for key, value in block.items()}
        if "input" in empty:
            empty["input"] = {}
        yield {"type": "content_block_start", "index": number, "content_block": empty}
        if block["type"] == "thinking":
            yield delta("thinking_delta", thinking=block["thinking"])
            yield delta("signature_delta", signature=block["signature"])
        elif block["type"] == "text":
            yield delta("text_delta", text=block["text"])
        else:
            yield delta("input_json_delta", partial_json=json.dumps(block["input"]))
        yield {"type": "content_block_stop", "index": number}


class Gemini(Tongue):
    """generateContent, with thought signatures; a call has no id here."""

    list_key = "contents"

    def body(self, model: str, events: Sequence[Event], *, echoes: bool = False, **keys: Json) -> dict[str, Json]:
        systems = [{"text": event.text} for event in events if isinstance(event, System | Developer)]
        tools = [{"functionDeclarations": [{"name": name} for name in TOOLS]}]
        names = {call.id: call.name for event in events if isinstance(event, Says) for call in event.calls}
        contents = [content for event in events for content in self._told(event, echoes, names)]
        return {"contents": contents, "systemInstruction": {"parts": systems}, "tools": tools, **keys}

    def _told(self, event: Event, echoes: bool, names: dict[str, str]) -> Iterator[Json]:
        match event:
            case User():
                yield {"role": "user", "parts": [self._part(part) for part in event.parts]}
            case Says():
                yield {"role": "model", "parts": self._parts(event, echoes)}
            case Results():
                parts: list[Json] = [
                    {"functionResponse": {"name": names[call_id], "response": {"output": text}}}
                    for call_id, text in event.results
                ]
                yield {"role": "user", "parts": parts + [{"text": words} for words in event.words]}

    @staticmethod
    def _parts(said: Says, echoes: bool) -> list[Json]:
        parts: list[Json] = [{"text": said.text}] if said.text else []
        parts += [{"functionCall": {"name": call.name, "args": dict(call.args)}} for call in said.calls]
        if echoes and said.state:
            parts[bool(said.text) if said.calls else 0]["thoughtSignature"] = said.state
        return parts

    @staticmethod
    def _part(part: str | Image | Document) -> Json:
        match part:
            case Image(data):
                return {"inlineData": {"mimeType": "image/png", "data": data}}
            case Document(data):
                return {"inlineData": {"mimeType": "application/pdf", "data": data}}
        return {"text": part}

    def answer(self, said: Says) -> Json:
        content = {"role": "model", "parts": self._parts(said, True)}
        return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}]}

    def stream(self, said: Says) -> list[Json | str]:
        parts = self._parts(said, True)
        chunks: list[Json | str] = [
            {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]} for part in parts
        ]
        end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}
        return [*chunks, {"candidates": [end]}]


class CodeAssist(Gemini):
    """The same in Code Assist's wrapper."""

    inner = "request"

    def body(self, model: str, events: Sequence[Event], *, echoes: bool = False, **keys: Json) -> dict[str, Json]:
        inner = super().body(model, events, echoes=echoes, **keys)
        return {"model": model, "project": "p-1", "user_prompt_id": "u-1", "request": {**inner, "session_id": "s"}}

    def answer(self, said: Says) -> Json:
        return {"response": super().answer(said), "traceId": "t"}

    def stream(self, said: Says) -> list[Json | str]:
        return [{"response": event, "traceId": "t"} for event in super().stream(said)]


class Responses(Tongue):
    """OpenAI's Responses, with encrypted reasoning items."""

    list_key = "input"

    def body(self, model: str, events: Sequence[Event], *, echoes: bool = False, **keys: Json) -> dict[str, Json]:
        instructions = "\n".join(event.text for event in events if isinstance(event, System))
        tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in TOOLS]
        items = [item for event in events for item in self._told(event, echoes)]
        tail = {"tools": tools, "store": False, "include": ["reasoning.encrypted_content"], "stream": True}
        return {"model": model, "input": items, "instructions": instructions, **tail, **keys}

    def _told(self, event: Event, echoes: bool) -> Iterator[Json]:
        match event:
            case Developer(text):
                part = {"type": "input_text", "text": text}
                yield {"type": "message", "role": "developer", "content": [part]}
            case User():
                yield {"type": "message", "role": "user", "content": [self._part(part) for part in event.parts]}
            case Says():
                yield from self._items(event, echoes)
            case Results():
                for call_id, text in event.results:
                    yield {"type": "function_call_output", "call_id": call_id, "output": text}
                for words in event.words:
                    yield {"type": "message", "role": "user", "content": words}

    @staticmethod
    def _items(said: Says, echoes: bool) -> Iterator[Json]:
        if echoes and said.state:
            yield {"type": "reasoning", "id": f"rs_{said.state[:8]}", "summary": [], "encrypted_content": said.state}
        if said.text:
            part = {"type": "output_text", "text": said.text, "annotations": []}
            yield {"type": "message", "role": "assistant", "content": [part]}
        for call in said.calls:
            arguments = json.dumps(call.args)
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}

    @staticmethod
    def _part(part: str | Image | Document) -> Json:
        match part:
            case Image(data):
                return {"type": "input_image", "image_url": f"data:image/png;base64,{data}"}
            case Document(data):
                return {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"}
        return {"type": "input_text", "text": part}

    def answer(self, said: Says) -> Json:
        return {"id": "resp_1", "object": "response", "status": "completed", "output": list(self._items(said, True))}

    def stream(self, said: Says) -> list[Json | str]:
        items = list(self._items(said, True))
        done = [{"type": "response.output_item.done", "output_index": n, "item": i} for n, i in enumerate(items)]
        response = {"id": "resp_1", "status": "completed", "output": items}
        return [*done, {"type": "response.completed", "response": response}]


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


_ROUTER = "https://openrouter.ai/api/v1/chat/completions"
_STUDIO = "https://generativelanguage.googleapis.com/v1beta/models/{}:streamGenerateContent?alt=sse"
_ASSIST = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"

CHAT = Chat(
    "chat",
    (_ROUTER, "anthropic/claude-sonnet-4.5", _bearer("sk-or-one")),
    (_ROUTER, "google/gemini-3-pro-preview", _bearer("sk-or-one")),
)
MESSAGES = Messages(
    "messages",
    ("https://api.deepseek.com/anthropic/v1/messages", "deepseek-v4", {"x-api-key": "sk-deepseek"}),
    ("https://api.anthropic.com/v1/messages", "claude-sonnet-4-5", {"x-api-key": "sk-ant-one"}),
)
GEMINI = Gemini(
    "gemini",
    (_STUDIO.format("gemma-thinking"), "gemma-thinking", {"x-goog-api-key": "AIza-one"}),
    (_STUDIO.format("gemini-3-pro-preview"), "gemini-3-pro-preview", {"x-goog-api-key": "AIza-one"}),
)
CODE_ASSIST = CodeAssist(
    "code assist",
    (_ASSIST, "claude-opus-4-6-thinking", {**_bearer("ya29.one"), "user-agent": "cli"}),
    (_ASSIST, "gemini-3-pro", {**_bearer("ya29.two"), "user-agent": "cli"}),
)
RESPONSES = Responses(
    "responses",
    ("https://api.openai.com/v1/responses", "gpt-5.2", _bearer("sk-openai")),
    ("https://api.x.ai/v1/responses", "grok-4", _bearer("xai-one")),
)

TONGUES: tuple[Tongue, ...] = (CHAT, MESSAGES, GEMINI, CODE_ASSIST, RESPONSES)
