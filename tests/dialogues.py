"""The naive agent's side of a conversation: what it keeps of an answer, and how it builds the next request.

One `Dialogue` a wire shape. None of them knows a field for reasoning state; `agentloop` drives them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from block_dialogues import CustomToolDialogue, MessagesDialogue, ResponsesDialogue
from dialogue import TOOLS, Answer, BadAnswer, Call, Dialogue, Tool, arguments_of

__all__ = [
    "DIALOGUES",
    "TOOLS",
    "Answer",
    "BadAnswer",
    "Call",
    "CallDeltas",
    "ChatDialogue",
    "CodeAssistDialogue",
    "CustomToolDialogue",
    "Dialogue",
    "GeminiDialogue",
    "MessagesDialogue",
    "ResponsesDialogue",
    "Tool",
]


class ChatDialogue(Dialogue):
    """OpenAI chat completions."""

    def body(self, streamed: bool) -> dict[str, Any]:
        declared = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
            }
            for t in TOOLS
        ]
        body: dict[str, Any] = {"model": self.model} if self.model else {}
        return {**body, "messages": self.history, "tools": declared, "stream": streamed, **self.extra}

    def ask(self, words: str) -> None:
        if not self.history:
            self.history.append({"role": "system", "content": "You are a helpful assistant."})
        self.history.append({"role": "user", "content": words})

    def take(self, payloads: Sequence[Mapping[str, Any]], streamed: bool) -> Answer:
        answer = self._streamed(payloads) if streamed else self._plain(payloads[0])
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.arguments)}}
                for c in answer.calls
            ]
        self.history.append(message)
        return answer

    def give(self, results: Sequence[tuple[Call, dict[str, Any]]]) -> None:
        for call, result in results:
            self.history.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})

    def _plain(self, payload: Mapping[str, Any]) -> Answer:
        try:
            message = payload["choices"][0]["message"]
        except (KeyError, IndexError, TypeError) as error:
            raise BadAnswer(json.dumps(payload)) from error
        calls = [
            Call(raw.get("id"), raw["function"]["name"], arguments_of(raw["function"].get("arguments") or ""))
            for raw in message.get("tool_calls") or ()
        ]
        return Answer(_text(message.get("content")), tuple(calls))

    def _streamed(self, payloads: Sequence[Mapping[str, Any]]) -> Answer:
        text, calls = "", CallDeltas()
        for payload in payloads:
            if payload.get("error"):
                raise BadAnswer(json.dumps(payload["error"]))
            for choice in payload.get("choices") or ():
                delta = choice.get("delta") or {}
                text += _text(delta.get("content"))
                for raw in delta.get("tool_calls") or ():
                    calls.add(raw)
        return Answer(text, calls.finished())


@dataclass
class CallDeltas:
    """Tool calls put together from stream deltas.

    Google's compatibility endpoint sends no `index`; there, and where an index is used twice, a delta with an id or a
    name of its own starts a new call, and any other continues the last one.
    """

    calls: list[dict[str, Any]] = field(default_factory=list)
    _by_index: dict[int, dict[str, Any]] = field(default_factory=dict)

    def add(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Add one delta and return the call it went to, as `{id, name, arguments}`."""
        function = raw.get("function") or {}
        index = raw.get("index")
        known = self._by_index.get(index) if index is not None else (self.calls[-1] if self.calls else None)
        if known is None or self._another(known, raw.get("id"), function.get("name")):
            known = {"id": None, "name": "", "arguments": ""}
            self.calls.append(known)
        if index is not None:
            self._by_index[index] = known
        known["id"] = raw.get("id") or known["id"]
        known["name"] = function.get("name") or known["name"]
        known["arguments"] += function.get("arguments") or ""
        return known

    @staticmethod
    def _another(known: Mapping[str, Any], call_id: str | None, name: str | None) -> bool:
        if not call_id and not name:
            return False
        if call_id and known["id"] and call_id != known["id"]:
            return True
        # The same id and a name again: a new call if the last one's arguments are complete.
        return bool(name and known["name"]) and _complete(known["arguments"])

    def finished(self) -> tuple[Call, ...]:
        return tuple(Call(call["id"], call["name"], arguments_of(call["arguments"])) for call in self.calls)


class GeminiDialogue(Dialogue):
    """Gemini's own shape. The model's name is in the path."""

    def body(self, streamed: bool) -> dict[str, Any]:
        declared = [{"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in TOOLS]
        system = {"parts": [{"text": "You are a helpful assistant."}]}
        return {
            "systemInstruction": system,
            "contents": self.history,
            "tools": [{"functionDeclarations": declared}],
            **self.extra,
        }

    def ask(self, words: str) -> None:
        self.history.append({"role": "user", "parts": [{"text": words}]})

    def take(self, payloads: Sequence[Mapping[str, Any]], streamed: bool) -> Answer:
        text, calls = "", []
        for part in self.parts(payloads):
            if "functionCall" in part:
                function = part["functionCall"]
                calls.append(Call(function.get("id"), function["name"], function.get("args") or {}))
            elif not part.get("thought"):
                text += part.get("text") or ""
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        for call in calls:
            named = {"id": call.id} if call.id else {}
            parts.append({"functionCall": {**named, "name": call.name, "args": dict(call.arguments)}})
        if not parts:
            raise BadAnswer("the answer holds neither text nor calls")
        self.history.append({"role": "model", "parts": parts})
        return Answer(text, tuple(calls))

    def give(self, results: Sequence[tuple[Call, dict[str, Any]]]) -> None:
        parts: list[dict[str, Any]] = []
        for call, result in results:
            named = {"id": call.id} if call.id else {}
            parts.append({"functionResponse": {**named, "name": call.name, "response": {"output": result}}})
        self.history.append({"role": "user", "parts": parts})

    def parts(self, payloads: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """All parts of an answer, in order. Raises BadAnswer if an object is an error."""
        for payload in payloads:
            response = self.unwrap(payload)
            if response.get("error"):
                raise BadAnswer(json.dumps(response["error"]))
            for candidate in response.get("candidates") or ():
                yield from (candidate.get("content") or {}).get("parts") or ()

    def unwrap(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        return payload

    def finished(self, payload: Mapping[str, Any]) -> bool:
        return any(candidate.get("finishReason") for candidate in self.unwrap(payload).get("candidates") or ())


class CodeAssistDialogue(GeminiDialogue):
    """The same inside Code Assist's wrapper."""

    def body(self, streamed: bool) -> dict[str, Any]:
        return {
            "model": self.model,
            "project": "demo-project",
            "user_prompt_id": "prompt-1",
            "request": {**super().body(streamed), "session_id": "session-1"},
        }

    def unwrap(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        response = payload.get("response", payload)
        return response if isinstance(response, Mapping) else {}


DIALOGUES: Mapping[str, type[Dialogue]] = {
    "chat": ChatDialogue,
    "gemini": GeminiDialogue,
    "code-assist": CodeAssistDialogue,
    "messages": MessagesDialogue,
    "responses": ResponsesDialogue,
    "responses-custom": CustomToolDialogue,
}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
    return content if isinstance(content, str) else ""


def _complete(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
