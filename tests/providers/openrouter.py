"""OpenRouter: `reasoning_details`, an array that has to come back whole.

openrouter.ai guides "Reasoning tokens": the entire run of an answer goes back unmodified and in order. Stream order and
merging are as seen in recorded traffic.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from providers.chat import ChatDialect, Message, function_of
from providers.dialect import Mode, halves
from providers.ledger import SKIP_VALUES, Issued, Ledger, canonical, skip_value
from providers.refusal import Refusal, encode, google_body, openrouter_body
from providers.scenario import Past, Said, Step
from providers.signatures import missing_on_gemini

PATH = "/api/v1/chat/completions"


class OpenRouter(ChatDialect):
    """What OpenRouter does whichever vendor is behind it."""

    host = "openrouter.ai"
    kind = "reasoning_details"
    modes: ClassVar[Mapping[str, Mode]] = {"plain": Mode(PATH, streamed=False), "streamed": Mode(PATH, streamed=True)}
    extra: ClassVar[Mapping[str, Any]] = {"reasoning": {"effort": "medium"}}
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer sk-or-made-up"}
    usage = "behind"
    comments = ("OPENROUTER PROCESSING", "OPENROUTER PROCESSING")
    vendor: ClassVar[str]

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        skipped = 0
        for said in past.said:
            anchor = anchor_of(said)
            expected = ledger.expected(self.kind, anchor)
            details = said.raw.get("reasoning_details")
            if not details:
                if said.current and said.calls:
                    raise self.missing(said)
            elif self.is_skip(said, details):
                skipped += 1
            elif ledger.judge(self.kind, anchor, self.settled(said, details))[0] != "own":
                raise self.wrong(said, details, expected)
        return skipped

    @abstractmethod
    def missing(self, said: Said) -> Refusal:
        """The refusal of an answer with calls whose array is not there."""

    @abstractmethod
    def wrong(self, said: Said, details: Any, expected: Issued | None) -> Refusal:
        """The refusal of an array that is not the one that was issued."""

    def is_skip(self, said: Said, details: Any) -> bool:
        """Whether the array is the documented stand-in for an answer without state."""
        return False

    def settled(self, said: Said, details: Any) -> Any:
        """The array in the form it was written down in."""
        return details

    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        return encode(openrouter_body(refusal, self.vendor))

    def calls(self, step: Step, ledger: Ledger) -> list[dict[str, Any]]:
        """The `tool_calls` of an answer, with ids of the form OpenRouter makes."""
        return [
            {
                "id": f"tool_{call.name}_{ledger.mint()[12:32].translate(_NO_SIGNS)}",
                "type": "function",
                "function": function_of(call),
            }
            for call in step.calls
        ]


class OpenRouterGemini(OpenRouter):
    """Gemini behind OpenRouter: one `reasoning.encrypted` an answer, under the first call's id."""

    name = "openrouter-gemini"
    model = "google/gemini-3-pro-preview"
    vendor = "Google AI Studio"
    form: ClassVar[str] = "google-gemini-v1"

    def missing(self, said: Said) -> Refusal:
        upstream = google_body(Refusal("missing", missing_on_gemini(said.calls[0][0].name, said.place)))
        return Refusal(
            "missing",
            "Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our "
            "docs: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens. Upstream error: "
            + json.dumps(upstream),
        )

    def wrong(self, said: Said, details: Any, expected: Issued | None) -> Refusal:
        return Refusal("corrupt", json.dumps(google_body(Refusal("corrupt", "Corrupted thought signature."))))

    def is_skip(self, said: Said, details: Any) -> bool:
        # Gemini takes one entry with the skip value, under the first call's id.
        if not isinstance(details, list) or len(details) != 1 or not said.calls:
            return False
        entry = details[0]
        return skip_value(entry.get("data")) in SKIP_VALUES and entry.get("id") == said.calls[0][1].get("id")

    def settled(self, said: Said, details: Any) -> Any:
        # An id that is not the present first call's fails; the id itself is the client's to choose.
        first = said.calls[0][1].get("id") if said.calls else None
        return _without_ids(details, first)

    def message(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Message:
        if not step.calls:
            signed = {"type": "reasoning.text", "signature": ledger.mint(), "format": self.form, "index": 0}
            ledger.enter(self.kind, f"text:{step.text}", [signed], demanded=False)
            first, second = halves(step.text)
            deltas: list[dict[str, Any]] = [
                {"role": "assistant", "content": first},
                {"role": "assistant", "content": second},
                {"role": "assistant", "content": "", "reasoning": None, "reasoning_details": [signed]},
                {"role": "assistant", "content": ""},
            ]
            plain = {"role": "assistant", "content": step.text, "refusal": None, "reasoning_details": [signed]}
            return Message(plain, deltas, "stop")
        calls = self.calls(step, ledger)
        text = {"type": "reasoning.text", "text": step.reasoning, "format": self.form, "index": 0}
        sealed = {
            "type": "reasoning.encrypted",
            "data": ledger.mint(long=len(step.calls) > 1),
            "id": calls[0]["id"],
            "format": self.form,
            "index": 0,
        }
        anchor = "|".join(call.key for call in step.calls)
        ledger.enter(self.kind, anchor, _without_ids([text, sealed], calls[0]["id"]), demanded=True)
        deltas = [_thinking({**text, "text": piece}) for piece in halves(step.reasoning)]
        deltas.append({"role": "assistant", "content": "", "reasoning": None, "reasoning_details": [sealed]})
        deltas += [
            {"role": "assistant", "content": None, "tool_calls": [{"index": i, **call}]} for i, call in enumerate(calls)
        ]
        plain = {
            "role": "assistant",
            "content": "",
            "refusal": None,
            "reasoning": step.reasoning,
            "tool_calls": calls,
            "reasoning_details": [text, sealed],
        }
        return Message(plain, [*deltas, {"role": "assistant", "content": ""}], "tool_calls")


class OpenRouterClaude(OpenRouter):
    """Claude behind OpenRouter: signed `reasoning.text`, sometimes with a redacted entry behind it.

    The texts are Anthropic's (platform.claude.com "Extended thinking").
    """

    name = "openrouter-claude"
    model = "anthropic/claude-sonnet-4.6"
    vendor = "Anthropic"
    form: ClassVar[str] = "anthropic-claude-v1"

    def missing(self, said: Said) -> Refusal:
        if said.raw.get("reasoning"):
            return self._raw("missing", f"messages.{said.place}.content.0: Invalid `signature` in `thinking` block")
        return self._raw(
            "missing",
            f"messages.{said.place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. "
            "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
            "lastmost set of `tool_use` and `tool_result` blocks).",
        )

    def wrong(self, said: Said, details: Any, expected: Issued | None) -> Refusal:
        known = [canonical(entry) for entry in expected.value] if expected is not None else []
        sent = [canonical(entry) for entry in details] if isinstance(details, list) else []
        if sent and all(entry in known for entry in sent):
            return self._raw(
                "corrupt",
                f"messages.{said.place}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
                "message cannot be modified. These blocks must remain as they were in the original response.",
            )
        odd = next((index for index, entry in enumerate(sent) if entry not in known), 0)
        return self._raw("corrupt", f"messages.{said.place}.content.{odd}: Invalid `signature` in `thinking` block")

    @staticmethod
    def _raw(kind: str, text: str) -> Refusal:
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
        return Refusal(kind, json.dumps(error))

    def message(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Message:
        text = {"type": "reasoning.text", "text": step.reasoning, "signature": ledger.mint(long=len(step.calls) > 1)}
        details: list[dict[str, Any]] = [{**text, "format": self.form, "index": 0}]
        if len(step.calls) == 1:
            sealed = {"type": "reasoning.encrypted", "data": ledger.mint(), "format": self.form, "index": 1}
            details.append(sealed)
        anchor = "|".join(call.key for call in step.calls) or f"text:{step.text}"
        ledger.enter(self.kind, anchor, details, demanded=bool(step.calls))
        # An empty array, an empty start, the text in pieces, then the signature with no `text` key at all.
        head = {"type": "reasoning.text", "format": self.form, "index": 0}
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", "reasoning_details": []}]
        deltas.append(_thinking({**head, "text": "", "signature": ""}))
        deltas += [_thinking({**head, "text": piece}) for piece in halves(step.reasoning)]
        deltas.append(_silent([{**head, "signature": text["signature"]}]))
        deltas += [_silent([entry]) for entry in details[1:]]
        deltas += [{**_silent([]), "content": piece} for piece in halves(step.text) if piece]
        calls = self.calls(step, ledger)
        for index, call in enumerate(calls):
            first, second = halves(call["function"]["arguments"])
            opening = {**call, "index": index, "function": {**call["function"], "arguments": first}}
            deltas.append({**_silent([]), "tool_calls": [opening]})
            rest = {"index": index, "type": "function", "function": {"arguments": second}}
            deltas.append({**_silent([]), "tool_calls": [rest]})
        plain: dict[str, Any] = {"role": "assistant", "content": step.text, "refusal": None}
        plain |= {"reasoning": step.reasoning, "reasoning_details": details}
        if calls:
            plain["tool_calls"] = calls
        return Message(plain, [*deltas, _silent([])], "tool_calls" if calls else "stop")


_NO_SIGNS = str.maketrans("+/=", "xyz")


def anchor_of(said: Said) -> str:
    """What an answer's array is kept under: its calls, or its words where there are none."""
    return "|".join(call.key for call, _ in said.calls) or f"text:{said.text}"


def _thinking(entry: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "reasoning": entry["text"], "reasoning_details": [entry]}


def _silent(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "reasoning": None, "reasoning_details": entries}


def _without_ids(details: Any, first_call: Any) -> Any:
    """Take the id off each encrypted entry that names the answer's first call; leave any other id to be noticed."""
    if not isinstance(details, list):
        return details
    return [
        {key: value for key, value in entry.items() if key != "id"}
        if isinstance(entry, Mapping) and entry.get("type") == "reasoning.encrypted" and entry.get("id") == first_call
        else entry
        for entry in details
    ]
