"""DeepSeek in thinking mode: plain `reasoning_content`, demanded on every answer with calls.

api-docs.deepseek.com "Thinking mode", and public reports of both texts. The real service is not known to compare the
words; this server does, so that invented or swapped words are noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from providers.chat import ChatDialect, Message, function_of
from providers.dialect import Mode, halves
from providers.ledger import Ledger
from providers.refusal import Refusal, encode, openai_body
from providers.scenario import Past, Step

REFUSED = "The `reasoning_content` in the thinking mode must be passed back to the API."


class DeepSeek(ChatDialect):
    """api.deepseek.com `/chat/completions`, a V4 model."""

    name = "deepseek"
    host = "api.deepseek.com"
    model = "deepseek-v4-pro"
    kind = "reasoning_content"
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode("/chat/completions", streamed=False),
        "streamed": Mode("/chat/completions", streamed=True),
    }
    extra: ClassVar[Mapping[str, Any]] = {"thinking": {"type": "enabled"}}
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer sk-made-up"}
    usage = "finish"
    comments = ("keep-alive",)

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        if not thinks(body):
            return 0
        for said in past.said:
            anchor = "|".join(call.key for call, _ in said.calls) or f"text:{said.text}"
            expected = ledger.expected(self.kind, anchor)
            words = said.raw.get("reasoning_content")
            if words is None:
                if said.calls:
                    raise Refusal("missing", REFUSED)
                continue
            # "" stands for an answer that another model made, and is taken on plain words.
            if words == "" and (expected is None or not said.calls):
                continue
            if ledger.judge(self.kind, anchor, words)[0] != "own":
                raise Refusal("corrupt", REFUSED)
        return 0

    def message(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Message:
        calls: list[dict[str, Any]] = [
            {
                "index": index,
                "id": f"call_{index:02d}_{ledger.mint()[12:36].translate(_NO_SIGNS)}",
                "type": "function",
                "function": function_of(call),
            }
            for index, call in enumerate(step.calls)
        ]
        plain: dict[str, Any] = {"role": "assistant", "content": step.text}
        deltas: list[dict[str, Any]] = []
        if thinks(body):
            # A tag makes the words unique, so that another answer's words are noticed.
            words = f"{step.reasoning}\n\n(Note to myself: {ledger.mint()[12:24]} — done.)"
            anchor = "|".join(call.key for call in step.calls) or f"text:{step.text}"
            ledger.enter(self.kind, anchor, words, demanded=bool(calls))
            plain["reasoning_content"] = words
            deltas.append({"role": "assistant", "content": None, "reasoning_content": ""})
            deltas += [{"content": None, "reasoning_content": piece} for piece in halves(words)]
        else:
            deltas.append({"role": "assistant", "content": ""})
        deltas += [{"content": piece, "reasoning_content": None} for piece in halves(step.text) if piece]
        for call in calls:
            # The first delta of a call names it with empty arguments; the arguments follow in pieces.
            deltas.append({"tool_calls": [{**call, "function": {"name": call["function"]["name"], "arguments": ""}}]})
            for piece in halves(call["function"]["arguments"]):
                deltas.append({"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]})
        if calls:
            plain["tool_calls"] = calls
        finish = "tool_calls" if calls else "stop"
        return Message(plain, [*deltas, {"content": "", "reasoning_content": None}], finish)

    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        return encode(openai_body(refusal))


_NO_SIGNS = str.maketrans("+/=", "xyz")


def thinks(body: Mapping[str, Any]) -> bool:
    """Whether the request has thinking on, which it is unless it says otherwise."""
    thinking = body.get("thinking")
    return not isinstance(thinking, Mapping) or thinking.get("type") != "disabled"
