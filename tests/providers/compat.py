"""Gemini behind the chat shape: Google's two compatibility endpoints, and Databricks.

The signature rides on the first tool call of an answer; only its place differs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from providers.chat import ChatDialect, Message, function_of
from providers.dialect import Mode, halves
from providers.gemini import MISPLACED, UNPAIRED
from providers.ledger import SKIP_VALUES, Ledger
from providers.refusal import Refusal, databricks_body, encode, google_body
from providers.scenario import Past, Step, ToolCall
from providers.signatures import SignatureRule, missing_on_gemini, missing_on_vertex


class SignedCalls(ChatDialect):
    """Common to the three: the first call of an answer is signed, by `sign`, and read back by `signature`."""

    rule: ClassVar[SignatureRule]

    @abstractmethod
    def sign(self, call: dict[str, Any], signature: str) -> None:
        """Put the signature on a call's JSON object."""

    @abstractmethod
    def signature(self, call: Mapping[str, Any]) -> Any:
        """Find the signature on a call's JSON object; None if it is not in its place."""

    @abstractmethod
    def call_id(self, call: ToolCall, ledger: Ledger) -> str:
        """The id that the provider gives a call."""

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        return self.rule.check(past, ledger, self.signature)

    def calls(self, step: Step, ledger: Ledger) -> list[dict[str, Any]]:
        """The `tool_calls` of an answer, the first one signed."""
        made: list[dict[str, Any]] = []
        for ordinal, call in enumerate(step.calls):
            made.append({"id": self.call_id(call, ledger), "type": "function", "function": function_of(call)})
            if ordinal == 0:
                signature = ledger.mint(long=len(step.calls) > 1)
                ledger.enter(self.kind, call.key, signature, demanded=True)
                self.sign(made[0], signature)
        return made


class GoogleCompat(SignedCalls):
    """The Gemini API's `/v1beta/openai/chat/completions`.

    `extra_content.google.thought_signature` on the call; a streamed call comes whole in one delta, without `index`, and
    parallel calls each in a chunk of their own. Errors are a JSON array.
    """

    name = "google-compat"
    host = "generativelanguage.googleapis.com"
    model = "gemini-3-flash-preview"
    kind = "extra_content.google.thought_signature"
    vendor: ClassVar[str] = "google"
    path: ClassVar[str] = "/v1beta/openai/chat/completions"
    modes: ClassVar[Mapping[str, Mode]] = {"plain": Mode(path, streamed=False), "streamed": Mode(path, streamed=True)}
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer AIza-made-up"}
    unpaired = (UNPAIRED, MISPLACED)
    rule = SignatureRule(kind, missing_on_gemini, "Corrupted thought signature.", SKIP_VALUES)

    def sign(self, call: dict[str, Any], signature: str) -> None:
        call["extra_content"] = {self.vendor: {"thought_signature": signature}}

    def signature(self, call: Mapping[str, Any]) -> Any:
        extra = call.get("extra_content")
        vendor = extra.get(self.vendor) if isinstance(extra, Mapping) else None
        return vendor.get("thought_signature") if isinstance(vendor, Mapping) else None

    def call_id(self, call: ToolCall, ledger: Ledger) -> str:
        return f"function-call-{int.from_bytes(ledger.mint()[12:20].encode()) % 10**19:019d}"

    def message(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Message:
        if not step.calls:
            first, second = halves(step.text)
            pieces = [{"role": "assistant", "content": first}, {"content": second}, {"role": "assistant"}]
            return Message({"role": "assistant", "content": step.text}, pieces, "stop")
        calls = self.calls(step, ledger)
        # No `content` at all beside calls, as recorded. A stream of calls has been seen to finish with "stop".
        deltas: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": [call]} for call in calls]
        return Message(
            {"role": "assistant", "tool_calls": calls},
            [*deltas, {"role": "assistant"}],
            "stop" if mode.streamed else "tool_calls",
        )

    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        return encode([google_body(refusal)])


class VertexCompat(GoogleCompat):
    """Vertex AI's `…/endpoints/openapi/chat/completions`: the same under `extra_content.vertex`.

    Known from the earendil-works/pi client.
    """

    name = "vertex-compat"
    host = "aiplatform.googleapis.com"
    model = "google/gemini-3-pro-preview"
    kind = "extra_content.vertex.thought_signature"
    vendor = "vertex"
    path = "/v1/projects/demo/locations/global/endpoints/openapi/chat/completions"
    modes: ClassVar[Mapping[str, Mode]] = {"plain": Mode(path, streamed=False), "streamed": Mode(path, streamed=True)}
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer ya29.made-up"}
    rule = SignatureRule(
        kind,
        missing_on_vertex,
        "Unable to submit request because Thought signature is not valid..",
        SKIP_VALUES[1:],
    )


class Databricks(SignedCalls):
    """Databricks' MLflow gateway and its older serving endpoint, with a Gemini model behind them.

    `thoughtSignature` is a sibling of `function`, and a call's id is the function's name, so that parallel calls of one
    function share an id (known from the block/buzz client). `content` may be a list of blocks.
    """

    name = "databricks"
    host = "dbc-demo.cloud.databricks.com"
    model = "databricks-gemini-3-pro"
    kind = "tool_calls[].thoughtSignature"
    gateway: ClassVar[str] = "/ai-gateway/mlflow/v1/chat/completions"
    serving: ClassVar[str] = f"/serving-endpoints/{model}/invocations"
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode(gateway, streamed=False),
        "streamed": Mode(gateway, streamed=True),
        "invocations": Mode(serving, streamed=False, model_in_body=False),
        "invocations-streamed": Mode(serving, streamed=True, model_in_body=False),
    }
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer dapi-made-up"}
    rule = SignatureRule(kind, missing_on_gemini, "Corrupted thought signature.", SKIP_VALUES)

    def sign(self, call: dict[str, Any], signature: str) -> None:
        call["thoughtSignature"] = signature

    def signature(self, call: Mapping[str, Any]) -> Any:
        return call.get("thoughtSignature")

    def call_id(self, call: ToolCall, ledger: Ledger) -> str:
        return call.name

    def read(self, body: Mapping[str, Any]) -> Past:
        # The serving endpoint is named by its path; its body has no `model`.
        return self.read_messages(body)

    def message(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Message:
        thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": step.reasoning}]}
        opening: dict[str, Any] = {"role": "assistant", "content": [thought]}
        if not step.calls:
            pieces = [{"content": [{"type": "text", "text": piece}]} for piece in halves(step.text)]
            plain = {"role": "assistant", "content": [thought, {"type": "text", "text": step.text}]}
            return Message(plain, [opening, *pieces, {"content": ""}], "stop")
        calls = self.calls(step, ledger)
        deltas = [{"content": None, "tool_calls": [{"index": i, **call}]} for i, call in enumerate(calls)]
        plain = {"role": "assistant", "content": [thought], "tool_calls": calls}
        return Message(plain, [opening, *deltas, {"content": ""}], "tool_calls")

    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        return encode(databricks_body(refusal))
