"""Anthropic's rules for thinking blocks.

platform.claude.com "Thinking" and "Preserved thinking": within a tool-use turn the blocks of an answer go back
complete, unmodified, and in their order among its other blocks. Answers of earlier turns may go without; a block that
is there has to be right. What is kept of an answer is its `layout`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from providers.ledger import Issued, Ledger, canonical
from providers.messages import THOUGHTS, blocks_of
from providers.refusal import Refusal
from providers.scenario import Past, Said

#: The field that the state travels in.
KIND = "content[].thinking"
#: The kind under which each block's signature or data is written down by itself.
_BLOCK = "block"


def asked(body: Mapping[str, Any]) -> str:
    """How the request asks for thinking: `enabled`, `adaptive`, or `disabled`, which is what saying nothing means."""
    setting = body.get("thinking")
    if setting is None:
        return "disabled"
    kind = setting.get("type") if isinstance(setting, Mapping) else None
    if kind not in ("enabled", "adaptive", "disabled"):
        raise Refusal("shape", "thinking.type: Input should be 'disabled', 'enabled' or 'adaptive'")
    if kind == "enabled":
        budget = setting.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1024:
            raise Refusal("shape", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if budget >= body["max_tokens"]:
            raise Refusal("shape", "`max_tokens` must be greater than `thinking.budget_tokens`.")
    return str(kind)


def layout(blocks: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What of an answer has to come back: its thinking blocks whole, and where they stand among the others.

    A call stands for itself by name and arguments, a text by its words; ids are the client's business.
    """
    return [
        dict(block)
        if block["type"] in THOUGHTS
        else f"call:{block['name']}({canonical(block['input'])})"
        if block["type"] == "tool_use"
        else f"text:{''.join(block['text'].split())}"
        for block in blocks
    ]


def enter(ledger: Ledger, blocks: Sequence[Mapping[str, Any]], *, demanded: bool, origin: Any) -> None:
    """Write down the thinking of one answer."""
    whole = layout(blocks)
    record = ledger.enter(KIND, _anchor(whole), whole, demanded=demanded, origin=origin)
    for block in blocks:
        if block["type"] in THOUGHTS:
            ledger.equal(Issued(_BLOCK, "", dict(block), demanded, origin=record), _mark(block))


def issued_as(ledger: Ledger, block: Mapping[str, Any]) -> tuple[Issued, Mapping[str, Any]] | None:
    """The answer that a thinking block was issued with, and the block as issued; None for a stranger."""
    found = ledger.find(_BLOCK, _mark(block))
    return (found.origin, found.value) if found is not None else None


def check(past: Past, ledger: Ledger, body: Mapping[str, Any]) -> None:
    """Check the thinking of a whole history. Raises Refusal."""
    how = asked(body)
    if how == "disabled":
        _check_off(past)
        return
    if how == "enabled":
        _check_starts(past)
    for said in past.said:
        _check_answer(said, ledger)


def _check_off(past: Past) -> None:
    """Without thinking the newest answer must be without, too; what is older is ignored."""
    last = past.said[-1] if past.said else None
    for number, block in enumerate(blocks_of(last.raw["content"]) if last else ()):
        if last and block["type"] in THOUGHTS:
            raise Refusal(
                "shape",
                f"messages.{last.place}.content.{number}: When thinking is disabled, an `assistant` message in the "
                f"final position cannot contain `{block['type']}`. To use thinking blocks, enable `thinking` in your "
                "request.",
            )


def _check_starts(past: Past) -> None:
    """Thinking with a budget: each answer with calls of the current turn starts with a thinking block."""
    for said in past.said:
        first = blocks_of(said.raw["content"])[0]["type"]
        if said.current and said.calls and first not in THOUGHTS:
            raise Refusal(
                "missing",
                f"messages.{said.place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block "
                "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include "
                "thinking blocks from previous turns. To avoid this requirement, disable `thinking`.",
            )


def _check_answer(said: Said, ledger: Ledger) -> None:
    blocks = blocks_of(said.raw["content"])
    sent = _settled(blocks, ledger)
    anchor = _anchor(sent)
    thoughts = [number for number, block in enumerate(blocks) if block["type"] in THOUGHTS]
    owners: list[Issued] = []
    for number in thoughts:
        known = issued_as(ledger, blocks[number])
        if known is None:
            raise wrong_signature(said.place, number, blocks[number])
        owners.append(known[0])
    own = owners[0] if owners and owners[0].anchor == anchor else None
    if own is None:
        ledger.expected(KIND, anchor)
    else:
        own.due += 1
        if _same(sent, own.value):
            ledger.judge(KIND, anchor, own.value)
            return
    if not said.current:
        issued = [canonical(entry) for entry in own.value] if own is not None else []
        for number in thoughts:
            if canonical(sent[number]) not in issued:
                raise wrong_signature(said.place, number, blocks[number])
    elif thoughts or (said.calls and _was_thought(anchor, ledger)):
        raise Refusal(
            "corrupt" if thoughts else "missing",
            f"messages.{said.place}.content.{thoughts[0] if thoughts else 0}: `thinking` or `redacted_thinking` blocks "
            "in the latest assistant message cannot be modified. These blocks must remain as they were in the original "
            "response.",
        )


def wrong_signature(place: int, number: int, block: Mapping[str, Any], reason: str = "") -> Refusal:
    """The refusal of one block that is not what was issued."""
    field = "signature" if block["type"] == "thinking" else "data"
    return Refusal(
        "corrupt",
        f"messages.{place}.content.{number}: Invalid `{field}` in `{block['type']}` block{reason}",
    )


def _mark(block: Mapping[str, Any]) -> str:
    return str(block["signature"] if block["type"] == "thinking" else block["data"])


def _settled(blocks: Sequence[Mapping[str, Any]], ledger: Ledger) -> list[Any]:
    """The layout that was sent; words that were put into an omitted block are not looked at."""
    settled: list[Mapping[str, Any]] = []
    for block in blocks:
        known = issued_as(ledger, block) if block["type"] == "thinking" else None
        settled.append({**block, "thinking": ""} if known and not known[1]["thinking"] else block)
    return layout(settled)


def _anchor(whole: Sequence[Any]) -> str:
    """What an answer is known by: its calls, or its words where there are none."""
    calls = [entry for entry in whole if isinstance(entry, str) and entry.startswith("call:")]
    return "|".join(calls) or "".join(entry for entry in whole if isinstance(entry, str))


def _same(sent: Sequence[Any], issued: Sequence[Any]) -> bool:
    """Whether two layouts are the same. Where the texts are not, they do not count as places."""
    if _texts(sent) != _texts(issued):
        sent, issued = [[e for e in whole if not _is_text(e)] for whole in (sent, issued)]
    return canonical(list(sent)) == canonical(list(issued))


def _texts(whole: Sequence[Any]) -> list[Any]:
    return sorted(entry for entry in whole if _is_text(entry))


def _is_text(entry: Any) -> bool:
    return isinstance(entry, str) and entry.startswith("text:")


def _was_thought(anchor: str, ledger: Ledger) -> bool:
    """Whether any of these calls was issued with thinking, in whatever company."""
    calls = set(anchor.split("|"))
    return any(record.kind == KIND and calls & set(record.anchor.split("|")) for record in ledger.issued)
