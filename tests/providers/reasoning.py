"""OpenAI and xAI by their Responses: encrypted reasoning items, each before the item that it led to.

What is demanded hangs on the items' ids, as public reports of the refusals show; the blob that a stream adds first is
shorter than the one that is done, and the whole response has it encrypted once more, as seen in recorded traffic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from providers.dialect import Mode, Shape, compact
from providers.ledger import Ledger
from providers.refusal import Refusal, encode, responses_body, xai_body
from providers.responses import CALLS, PREFIXES, Item, ResponsesDialect, anchor_of, items_of, kind_of, letters
from providers.scenario import Past, Step, ToolCall

KIND = "input[].encrypted_content"
#: The kind under which a message's `phase` is written down.
PHASE = "phase"


class Reasoning(ResponsesDialect):
    """What the two have in common: how an answer is told in items, and what is issued with it."""

    kind = KIND
    extra: ClassVar[Mapping[str, Any]] = {"include": ["reasoning.encrypted_content"]}
    custom: ClassVar[bool] = False
    phases: ClassVar[bool] = False

    def blob(self, ledger: Ledger, *, long: bool = False) -> str:
        """A fresh piece of encrypted content, in the provider's alphabet."""
        return ledger.mint(long=long)

    def preliminary(self, blob: str, ledger: Ledger) -> dict[str, str]:
        """The keys for the encrypted content that an item has while it is added."""
        return {}

    def items(self, step: Step, ledger: Ledger, body: Mapping[str, Any]) -> list[Item]:
        """Two calls with reasoning before each, and a text; a call behind reasoning; a text before both; words.

        So a reasoning item may lead to a message or to a call, a call may follow another item of its answer, and a
        message may have no reasoning before it.
        """
        declared = {tool.get("name") for tool in body.get("tools") or () if tool.get("type") == "custom"}
        calls = [self._call(call, call.name in declared, ledger) for call in step.calls]
        tools = len(calls)
        if not calls:
            order = [[self._message(step.text, "final_answer", ledger)]]
        elif tools > 1:
            order = [[self._message(f"I look {tools} things up.", "commentary", ledger), *calls[:-1]], calls[-1:]]
        else:
            order = [calls]
        told: list[Item] = []
        if tools == 1 and calls[0]["type"] == "function_call" and calls[0]["name"] == "get_weather":
            told.append(_whole(self._message("Only a moment.", "commentary", ledger)))
        for number, run in enumerate(order):
            words = step.reasoning if number == 0 else ""
            told.append(self._reasoning(words, run, ledger, body, demanded=bool(calls)))
            told += [_whole(item) for item in run]
        return told

    def _reasoning(
        self, words: str, run: Sequence[Mapping[str, Any]], ledger: Ledger, body: Mapping[str, Any], *, demanded: bool
    ) -> Item:
        """The reasoning before a run of items: its id and the next item's are bound to each other."""
        made: dict[str, Any] = {
            "id": f"rs_{letters(ledger, 48)}",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": words}] if words else [],
        }
        if "reasoning.encrypted_content" not in (body.get("include") or ()):
            return _whole(made)
        blob = self.blob(ledger, long=len(run) > 1)
        again = self.blob(ledger, long=True)[: len(blob)]
        origin = {"id": made["id"], "follower": run[0]["id"], "needed_by": [item["id"] for item in run]}
        record = ledger.enter(KIND, anchor_of(run[0]), blob, demanded=demanded, origin=origin)
        ledger.equal(record, again)
        added = {**made, "summary": [], **self.preliminary(blob, ledger)}
        return Item(added, {**made, "encrypted_content": blob}, {**made, "encrypted_content": again})

    def _message(self, text: str, phase: str, ledger: Ledger) -> dict[str, Any]:
        made: dict[str, Any] = {
            "id": f"msg_{letters(ledger, 48)}",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
        }
        if self.phases:
            made["phase"] = phase
            ledger.enter(PHASE, anchor_of(made), phase, demanded=False)
        return made

    def _call(self, call: ToolCall, custom: bool, ledger: Ledger) -> dict[str, Any]:
        kind = "custom_tool_call" if custom and self.custom else "function_call"
        return {
            "id": f"{PREFIXES[kind]}_{letters(ledger, 48)}",
            "type": kind,
            "status": "completed",
            "call_id": f"call_{letters(ledger, 24)}",
            "name": call.name,
            "arguments" if kind == "function_call" else "input": compact(dict(call.args)).decode(),
        }


class OpenAIResponses(Reasoning):
    """api.openai.com `/v1/responses`, nothing stored."""

    name = "openai-responses"
    host = "api.openai.com"
    model = "gpt-5.4"
    shape: ClassVar[Shape] = "responses-custom"
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode(Reasoning.path, streamed=False),
        "streamed": Mode(Reasoning.path, streamed=True),
        "unnamed": Mode(Reasoning.path, streamed=True, extra={"stream_options": {"include_obfuscation": False}}),
    }
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer sk-made-up"}
    custom = True
    phases = True

    def blob(self, ledger: Ledger, *, long: bool = False) -> str:
        return "gAAAAA" + ledger.mint(long=long)[12:].translate(_URL_SAFE)

    def preliminary(self, blob: str, ledger: Ledger) -> dict[str, str]:
        return {"encrypted_content": self.blob(ledger, long=len(blob) > 200)[: len(blob) * 3 // 4]}

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        items = items_of(body)
        _count_due(items, ledger)
        named = [item["id"] for item in items if item.get("id") is not None]
        for found in named:
            if named.count(found) > 1:
                raise Refusal(
                    "corrupt",
                    f"Duplicate item found with id {found}. Remove duplicate items from your input and try again.",
                )
        before: set[str] = set()
        for place, item in enumerate(items):
            found = item.get("id")
            needed = _needed(found, ledger)
            if needed is not None and needed not in before:
                raise Refusal(
                    "missing",
                    f"Item '{found}' of type '{kind_of(item)}' was provided without its required 'reasoning' item: "
                    f"'{needed}'.",
                )
            if kind_of(item) == "reasoning":
                self._check(place, items, ledger, stored=body.get("store") is not False)
            before.add(str(found))
        return 0

    @staticmethod
    def _check(place: int, items: Sequence[Mapping[str, Any]], ledger: Ledger, *, stored: bool) -> None:
        """Check one reasoning item: its summary, its blob, and what stands behind it."""
        item = items[place]
        follower = items[place + 1] if place + 1 < len(items) else {}
        found, blob = item.get("id"), item.get("encrypted_content")
        if not isinstance(item.get("summary"), list):
            text = f"Missing required parameter: 'input[{place}].summary'."
            raise Refusal("shape", text, code="missing_required_parameter")
        if not isinstance(blob, str):
            hint = "" if stored else " Items are not persisted when `store` is set to false. Try again with `store` set"
            hint += "" if stored else " to true, or remove this item from your input."
            raise Refusal("corrupt", f"Item with id '{found}' not found.{hint}", 404)
        record = ledger.find(KIND, blob)
        if record is None or (found is not None and found != record.origin["id"]):
            what = f"for item {found}" if found is not None else f"{blob[:4]}...{blob[-4:]}"
            raise Refusal(
                "corrupt",
                f"The encrypted content {what} could not be verified. Reason: Encrypted content could not be decrypted "
                "or parsed.",
                code="invalid_encrypted_content",
            )
        if found is not None and follower.get("id") != record.origin["follower"]:
            raise Refusal(
                "corrupt", f"Item '{found}' of type 'reasoning' was provided without its required following item."
            )
        ledger.judge(KIND, anchor_of(follower) if follower else "", blob)

    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        return encode(responses_body(refusal))


class XaiResponses(Reasoning):
    """api.x.ai `/v1/responses`: the same shape, but history without its reasoning is taken without a word.

    docs.x.ai "Troubleshooting reasoning"; `summary` has to be there even if it is empty. Ids are not looked at.
    """

    name = "xai-responses"
    host = "api.x.ai"
    model = "grok-4.3"
    shape: ClassVar[Shape] = "responses"
    silent = True
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode(Reasoning.path, streamed=False),
        "streamed": Mode(Reasoning.path, streamed=True),
    }
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer xai-made-up"}

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        items = items_of(body)
        _count_due(items, ledger)
        for item, follower in zip(items, [*items[1:], None], strict=True):
            if kind_of(item) != "reasoning":
                continue
            blob = item.get("encrypted_content")
            if not isinstance(item.get("summary"), list):
                raise Refusal(
                    "shape",
                    "Could not decode the compaction blob. Ensure it is unmodified from the compact response.",
                )
            if blob is not None and ledger.find(KIND, blob) is None:
                raise Refusal(
                    "corrupt",
                    "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified "
                    "encrypted_content from a previous response.",
                )
            if blob is not None and follower is not None:
                ledger.judge(KIND, anchor_of(follower), blob)
        return 0

    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        return encode(xai_body(refusal))


_URL_SAFE = str.maketrans("+/", "-_")


def _whole(item: dict[str, Any]) -> Item:
    """An item without state: nothing of it is preliminary but its content."""
    empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {}
    empty |= {key: "" for key in ("arguments", "input") if key in item}
    empty |= {"status": "in_progress"} if "status" in item else {}
    return Item({**item, **empty}, item, item)


def _count_due(items: Sequence[Mapping[str, Any]], ledger: Ledger) -> None:
    """Count what is due with these items: the reasoning before each, and the phase of each message."""
    for item in items:
        if kind_of(item) in CALLS or (kind_of(item) == "message" and item.get("role") == "assistant"):
            ledger.expected(KIND, anchor_of(item))
            phase = ledger.expected(PHASE, anchor_of(item))
            if phase is not None and item.get("phase") == phase.value:
                phase.returned += 1


def _needed(item_id: Any, ledger: Ledger) -> str | None:
    """The id of the reasoning item that has to stand before the item with this id; None if there is none."""
    for record in ledger.issued:
        if record.kind == KIND and item_id in record.origin["needed_by"]:
            return str(record.origin["id"])
    return None
