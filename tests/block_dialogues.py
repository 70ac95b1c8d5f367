"""The naive agent in the two shapes whose answers are lists: Anthropic's Messages and OpenAI's Responses.

Like all of its dialogues they keep text and calls, in their order, and drop what they do not know. Of a Responses item
they keep the id too, as many clients do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dialogue import TOOLS, Answer, BadAnswer, Call, Dialogue, arguments_of


class MessagesDialogue(Dialogue):
    """Anthropic's Messages. Vertex AI names the model in the path."""

    def body(self, streamed: bool) -> dict[str, Any]:
        declared = [{"name": t.name, "description": t.description, "input_schema": dict(t.parameters)} for t in TOOLS]
        body: dict[str, Any] = {"model": self.model} if self.model else {}
        body |= {"system": "You are a helpful assistant.", "messages": self.history, "tools": declared}
        return {**body, "stream": streamed, **self.extra}

    def ask(self, words: str) -> None:
        self.history.append({"role": "user", "content": words})

    def take(self, payloads: Sequence[Mapping[str, Any]], streamed: bool) -> Answer:
        blocks = self.kept(self.streamed_blocks(payloads) if streamed else self.plain_blocks(payloads[0]))
        if not blocks:
            raise BadAnswer("the answer holds neither text nor calls")
        self.history.append({"role": "assistant", "content": blocks})
        calls = [Call(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
        return Answer("".join(block["text"] for block in blocks if block["type"] == "text"), tuple(calls))

    def give(self, results: Sequence[tuple[Call, dict[str, Any]]]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(result)} for call, result in results
        ]
        self.history.append({"role": "user", "content": blocks})

    def finished(self, payload: Mapping[str, Any]) -> bool:
        return payload.get("type") == "message_stop"

    def kept(self, blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What the agent keeps of an answer's blocks."""
        kept: list[dict[str, Any]] = []
        for block in blocks:
            if block["type"] == "text":
                kept.append({"type": "text", "text": block["text"]})
            elif block["type"] == "tool_use":
                kept.append({key: block[key] for key in ("type", "id", "name", "input")})
        return kept

    def plain_blocks(self, payload: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The blocks of a plain answer."""
        if not isinstance(payload.get("content"), list):
            raise BadAnswer(json.dumps(payload))
        return [dict(block) for block in payload["content"]]

    def streamed_blocks(self, payloads: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The blocks of a streamed answer, with the texts and arguments that their deltas brought."""
        blocks: dict[int, dict[str, Any]] = {}
        pieces: dict[int, str] = {}
        for payload in payloads:
            if payload["type"] == "error":
                raise BadAnswer(json.dumps(payload))
            if payload["type"] == "content_block_start":
                blocks[payload["index"]] = dict(payload["content_block"])
            elif payload["type"] == "content_block_delta":
                delta, index = payload["delta"], payload["index"]
                pieces[index] = pieces.get(index, "") + (delta.get("text") or delta.get("partial_json") or "")
        for index, block in blocks.items():
            if block["type"] == "text":
                block["text"] += pieces.get(index, "")
            elif block["type"] == "tool_use":
                block["input"] = arguments_of(pieces.get(index, ""))
        return [blocks[index] for index in sorted(blocks)]


class ResponsesDialogue(Dialogue):
    """OpenAI's Responses without storage: the history is one flat list of items."""

    #: Tools that take plain text instead of JSON.
    custom: tuple[str, ...] = ()

    def body(self, streamed: bool) -> dict[str, Any]:
        declared = [
            {"type": "custom", "name": t.name, "description": t.description}
            if t.name in self.custom
            else {"type": "function", "name": t.name, "description": t.description, "parameters": dict(t.parameters)}
            for t in TOOLS
        ]
        return {
            "model": self.model,
            "instructions": "You are a helpful assistant.",
            "input": self.history,
            "tools": declared,
            "store": False,
            "stream": streamed,
            **self.extra,
        }

    def ask(self, words: str) -> None:
        self.history.append({"role": "user", "content": words})

    def take(self, payloads: Sequence[Mapping[str, Any]], streamed: bool) -> Answer:
        items = self.kept(self.streamed_items(payloads) if streamed else self.plain_items(payloads[0]))
        if not items:
            raise BadAnswer("the answer holds neither text nor calls")
        self.history += items
        texts = [part["text"] for item in items if item["type"] == "message" for part in item["content"]]
        calls = [
            Call(item["call_id"], item["name"], arguments_of(item.get("arguments", item.get("input", ""))))
            for item in items
            if item["type"] in ("function_call", "custom_tool_call")
        ]
        return Answer("".join(texts), tuple(calls))

    def give(self, results: Sequence[tuple[Call, dict[str, Any]]]) -> None:
        for call, result in results:
            kind = "custom_tool_call" if call.name in self.custom else "function_call"
            self.history.append({"type": f"{kind}_output", "call_id": call.id, "output": json.dumps(result)})

    def finished(self, payload: Mapping[str, Any]) -> bool:
        return payload.get("type") == "response.completed"

    def kept(self, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What the agent keeps of an answer's items: of messages and calls what it knows, with their ids."""
        kept: list[dict[str, Any]] = []
        for item in items:
            if item["type"] == "message":
                parts = [{"type": "output_text", "text": p["text"]} for p in item["content"] if "text" in p]
                kept.append({"type": "message", "id": item["id"], "role": "assistant", "content": parts})
            elif item["type"] in ("function_call", "custom_tool_call"):
                known = ("type", "id", "call_id", "name", "arguments", "input")
                kept.append({key: item[key] for key in known if key in item})
        return kept

    def plain_items(self, payload: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The items of a plain answer."""
        if not isinstance(payload.get("output"), list):
            raise BadAnswer(json.dumps(payload))
        return [dict(item) for item in payload["output"]]

    def streamed_items(self, payloads: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The items of a streamed answer, each as it was when it was done."""
        items: dict[int, dict[str, Any]] = {}
        for payload in payloads:
            if payload["type"] in ("error", "response.failed"):
                raise BadAnswer(json.dumps(payload))
            if payload["type"] == "response.output_item.done":
                items[payload["output_index"]] = dict(payload["item"])
        return [items[index] for index in sorted(items)]


class CustomToolDialogue(ResponsesDialogue):
    """The same with a custom tool among the declared ones, whose input is plain text. Here it holds JSON, unasked."""

    custom = ("get_time",)
