"""Gemini's own shape: the Gemini API, and Code Assist's wrapper around it.

Sources: ai.google.dev "Thought Signatures" and "Function calling"; order of stream events as seen in recorded traffic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from providers.dialect import Dialect, Mode, Reply, Shape, compact, halves
from providers.ledger import SKIP_VALUES, Ledger
from providers.refusal import Refusal, encode, google_body
from providers.scenario import Past, Said, Step, ToolCall
from providers.signatures import SignatureRule, missing_on_gemini, missing_on_vertex

UNPAIRED = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
MISPLACED = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)


class Gemini(Dialect):
    """generativelanguage.googleapis.com. Calls carry no id here, so results pair by name and order."""

    name = "gemini"
    host = "generativelanguage.googleapis.com"
    model = "gemini-3-pro-preview"
    shape: ClassVar[Shape] = "gemini"
    kind = "thoughtSignature"
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode(f"/v1beta/models/{model}:generateContent", streamed=False, model_in_body=False),
        "streamed": Mode(f"/v1beta/models/{model}:streamGenerateContent?alt=sse", streamed=True, model_in_body=False),
        "array": Mode(f"/v1beta/models/{model}:streamGenerateContent", streamed=True, model_in_body=False, array=True),
    }
    extra: ClassVar[Mapping[str, Any]] = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
    headers: ClassVar[Mapping[str, str]] = {"x-goog-api-key": "AIza-made-up"}
    ids = False
    rule = SignatureRule(kind, missing_on_gemini, "Corrupted thought signature.", SKIP_VALUES)
    paths = re.compile(r"/v1(?:beta|alpha)?/models/[^/:]+:(generateContent|streamGenerateContent)")

    def mode_of(self, path: str, query: str, body: Mapping[str, Any]) -> Mode | None:
        found = self.paths.fullmatch(path)
        if found is None:
            return None
        if found[1] == "generateContent":
            return self.modes["plain"]
        return self.modes["streamed" if "alt=sse" in query.split("&") else "array"]

    def read(self, body: Mapping[str, Any]) -> Past:
        contents = body.get("contents")
        if not isinstance(contents, list) or not contents:
            raise Refusal("shape", "* GenerateContentRequest.contents: contents is not specified\n")
        return read_contents(contents)

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        skipped = self.rule.check(past, ledger, self._signature)
        for said in past.said:
            if said.calls:
                continue
            anchor = f"text:{said.text}"
            ledger.expected(self.kind, anchor)
            # Not demanded on words, but a value that is there has to be the one of these words.
            for part in said.raw["parts"]:
                value = either(part, "thoughtSignature", "thought_signature")
                if value is not None:
                    skipped += self.rule.accept(ledger, anchor, value)
        return skipped

    @staticmethod
    def _signature(part: Mapping[str, Any]) -> Any:
        value = either(part, "thoughtSignature", "thought_signature")
        inside = either(either(part, "functionCall", "function_call"), "thoughtSignature", "thought_signature")
        if value is not None and inside is not None:
            raise Refusal("shape", 'Invalid JSON payload received. Unknown name "thoughtSignature": Cannot find field.')
        return value

    def reply(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Reply:
        thoughts = self._wants_thoughts(body)
        if not mode.streamed:
            return Reply("application/json; charset=UTF-8", (compact(self._plain(step, ledger, thoughts)),))
        events = [compact(self.wrap(event)) for event in self._events(step, ledger, thoughts)]
        if mode.array:
            framed = [b"[" + events[0], *(b",\r\n" + event for event in events[1:]), b"]\n"]
            return Reply("application/json; charset=UTF-8", tuple(framed))
        return Reply("text/event-stream", tuple(b"data: " + event + b"\r\n\r\n" for event in events))

    def wrap(self, response: dict[str, Any]) -> dict[str, Any]:
        """Put one response object into the surface's envelope."""
        return response

    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        body = google_body(refusal)
        return encode([body] if mode is not None and mode.array else body)

    @staticmethod
    def _wants_thoughts(body: Mapping[str, Any]) -> bool:
        config = body.get("generationConfig") or {}
        return bool((config.get("thinkingConfig") or {}).get("includeThoughts"))

    def _call_parts(self, step: Step, ledger: Ledger) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for ordinal, call in enumerate(step.calls):
            function: dict[str, Any] = {"name": call.name, "args": dict(call.args)}
            if self.ids:
                function["id"] = f"call-{ledger.mint()[12:28].translate(_NO_SIGNS)}"
            part: dict[str, Any] = {"functionCall": function}
            if ordinal == 0:
                part["thoughtSignature"] = ledger.mint(long=len(step.calls) > 1)
                ledger.enter(self.kind, call.key, part["thoughtSignature"], demanded=True)
            parts.append(part)
        return parts

    def _text_signature(self, step: Step, ledger: Ledger) -> str:
        value = ledger.mint()
        ledger.enter(self.kind, f"text:{step.text}", value, demanded=False)
        return value

    def _plain(self, step: Step, ledger: Ledger, thoughts: bool) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": step.reasoning, "thought": True}] if thoughts else []
        if step.text:
            parts.append({"text": step.text, "thoughtSignature": self._text_signature(step, ledger)})
        parts.extend(self._call_parts(step, ledger))
        return self.wrap(self._response(parts, "STOP", bool(step.calls)))

    def _events(self, step: Step, ledger: Ledger, thoughts: bool) -> list[dict[str, Any]]:
        events = [self._response([{"text": step.reasoning, "thought": True}])] if thoughts else []
        if step.text:
            events += [self._response([{"text": piece}]) for piece in halves(step.text)]
            last = {"text": "", "thoughtSignature": self._text_signature(step, ledger)}
            return [*events, self._response([last], "STOP")]
        # Each call sits in an event of its own, at parts[0]: its position in the event is no identity.
        events += [self._response([part]) for part in self._call_parts(step, ledger)]
        return [*events, self._response([{"text": ""}], "STOP", True)]

    def _response(self, parts: list[dict[str, Any]], finish: str | None = None, called: bool = False) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
            if called:
                candidate["finishMessage"] = "Model generated function call(s)."
        usage = {"promptTokenCount": 40, "candidatesTokenCount": 12, "totalTokenCount": 90, "thoughtsTokenCount": 38}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": self.model, "responseId": "r-1"}


class CodeAssist(Gemini):
    """cloudcode-pa.googleapis.com: requests are `{model, project, request:{contents…}}`, answers `{response, traceId}`.

    The envelope is known from gemini-cli's converter; its error texts are Vertex AI's.
    """

    name = "code-assist"
    host = "cloudcode-pa.googleapis.com"
    shape = "code-assist"
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode("/v1internal:generateContent", streamed=False),
        "streamed": Mode("/v1internal:streamGenerateContent?alt=sse", streamed=True),
    }
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer ya29.made-up"}
    ids = True
    rule = SignatureRule(
        Gemini.kind,
        missing_on_vertex,
        "Unable to submit request because Thought signature is not valid..",
        SKIP_VALUES[1:],
    )
    paths = re.compile(r"/v1internal:(generateContent|streamGenerateContent)")

    def read(self, body: Mapping[str, Any]) -> Past:
        for key in ("model", "project", "request"):
            if not body.get(key):
                raise Refusal("shape", f"Request contains an invalid argument: {key} is required.")
        return super().read(body["request"])

    def reply(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Reply:
        return super().reply(step, mode, ledger, body["request"])

    def wrap(self, response: dict[str, Any]) -> dict[str, Any]:
        return {"response": response, "traceId": "7f3a9c0d1e2b4a58"}


_NO_SIGNS = str.maketrans("+/=", "xyz")


def either(value: Any, camel: str, snake: str) -> Any:
    """Read a field under Google's JSON spelling or under the proto one; its servers take both."""
    if not isinstance(value, Mapping):
        return None
    return value.get(camel, value.get(snake))


def read_contents(contents: list[Any]) -> Past:
    """Read `contents` and check that every call is answered, right behind it, by as many results.

    A turn starts at the newest user content that holds no result. Raises Refusal.
    """
    said: list[Said] = []
    results: list[tuple[ToolCall, Any]] = []
    pending: list[tuple[ToolCall, str | None]] = []
    user_turns = turn_start = 0
    for place, content in enumerate(contents):
        parts = content.get("parts") if isinstance(content, Mapping) else None
        if not isinstance(parts, list) or not parts:
            raise Refusal(
                "shape", f"* GenerateContentRequest.contents[{place}].parts: contents.parts must not be empty."
            )
        if content.get("role") == "model":
            if pending or place == 0:
                raise Refusal("pairing", UNPAIRED if pending else MISPLACED)
            message = _read_model(place, dict(content))
            if message.calls and contents[place - 1].get("role") == "model":
                raise Refusal("pairing", MISPLACED)
            pending = [(call, either(raw, "functionCall", "function_call").get("id")) for call, raw in message.calls]
            said.append(message)
            continue
        answers = [found for part in parts if (found := either(part, "functionResponse", "function_response"))]
        if answers:
            results.extend(_take(answer, pending) for answer in answers)
            continue
        if pending:
            raise Refusal("pairing", UNPAIRED)
        user_turns += 1
        turn_start = place
        results.clear()
    if pending:
        raise Refusal("pairing", UNPAIRED)
    if not user_turns:
        raise Refusal("shape", "Please ensure that the request holds a user turn.")
    current = [Said(m.place, m.raw, m.calls, m.text, m.place > turn_start) for m in said]
    return Past(tuple(current), user_turns, tuple(results))


def _read_model(place: int, content: dict[str, Any]) -> Said:
    calls: list[tuple[ToolCall, dict[str, Any]]] = []
    texts: list[str] = []
    for part in content["parts"]:
        if either(part, "functionResponse", "function_response") is not None:
            raise Refusal("pairing", MISPLACED)
        function = either(part, "functionCall", "function_call")
        if function is not None:
            calls.append((ToolCall(str(function.get("name")), function.get("args") or {}), part))
        elif isinstance(part.get("text"), str) and not part.get("thought"):
            texts.append(part["text"])
    return Said(place, content, tuple(calls), "".join(texts), False)


def _take(answer: Mapping[str, Any], pending: list[tuple[ToolCall, str | None]]) -> tuple[ToolCall, Any]:
    """Take the call that a result belongs to off the list: by id where both have one, else by name and order."""
    for index, (call, call_id) in enumerate(pending):
        if answer.get("id") and call_id:
            if answer["id"] != call_id:
                continue
        elif answer.get("name") != call.name:
            continue
        del pending[index]
        return call, answer.get("response")
    raise Refusal("pairing", UNPAIRED)
