"""OpenAI's Responses as Codex speaks it, for the stage: what it adds to the documented shape, and nothing more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.stage import Actor, Side, Turn
from providers import Dialect, Reply
from providers.ledger import Ledger
from providers.reasoning import OpenAIResponses
from providers.refusal import Refusal
from providers.responses import Item
from providers.scenario import Step

#: What Codex writes on each of its items beside the documented keys.
PASSED_ON = "internal_chat_message_metadata_passthrough"


class CodexActor(Actor):
    """The strict provider of Responses, with Codex's own additions.

    Newer models get their tools in an item of the input, `additional_tools`, grouped in namespaces, and have one tool,
    `exec`, that takes the text of a program; in a script that text is the argument `source`. Before a session goes on
    with a model of another kind, the old one is asked to compact it: such a request ends on `compaction_trigger`, and
    is answered with one sealed item, which stands for the history from then on.
    """

    def __init__(self, dialect: Dialect, script: Sequence[Turn]) -> None:
        self.compactions: list[str] = []
        super().__init__(dialect, script, side=self._compacted)

    def _turn_of(self, body: Mapping[str, Any]) -> tuple[Turn, int] | None:
        return None if _compacts(body) else super()._turn_of(_documented(body))

    def _play(self, dialect: Any, body: dict[str, Any], mode: Any, turn: Turn, place: int) -> tuple[Reply, int]:
        for item in body["input"]:
            if item.get("type") == "compaction" and item.get("encrypted_content") not in self.compactions:
                raise Refusal("corrupt", "The encrypted content of a compaction could not be verified.")
        return super()._play(dialect, _documented(body), mode, turn, place)

    def _compacted(self, came: Side) -> tuple[int, str, bytes] | None:
        body = json.loads(came.body) if came.method == "POST" else {}
        if not _compacts(body):
            return None
        self.compactions.append(f"gAAAAA{self.ledger.mint()}")
        item = {"type": "compaction", "id": "cmp_1", "encrypted_content": self.compactions[-1]}
        usage = {"input_tokens": 40, "output_tokens": 50, "total_tokens": 90}
        whole = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]
        told = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return 200, "text/event-stream", told.encode()


def _compacts(body: Mapping[str, Any]) -> bool:
    items = body.get("input")
    return isinstance(items, list) and bool(items) and items[-1].get("type") == "compaction_trigger"


class CodexResponses(OpenAIResponses):
    """Answers whose custom calls are programs."""

    model = "gpt-5.5"

    def items(self, step: Step, ledger: Ledger, body: Mapping[str, Any]) -> list[Item]:
        told = super().items(step, ledger, _documented(body))
        return [Item(_programmed(item.added), _programmed(item.done), _programmed(item.whole)) for item in told]


def _programmed(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item with the text of its program in place of an object that holds it."""
    given = item.get("input")
    return {**item, "input": json.loads(given)["source"]} if given else dict(item)


def _documented(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request without Codex's additions, its items in their places."""
    tools = list(body.get("tools") or ())
    items = []
    for item in body["input"] if isinstance(body.get("input"), list) else ():
        item = {key: value for key, value in item.items() if key != PASSED_ON}
        if item.get("type") in ("additional_tools", "compaction"):
            tools += item.get("tools") or ()
            item = {"type": "message", "role": "developer", "content": ""}
        elif item.get("type") == "custom_tool_call" and not item["input"].startswith("{"):
            item["input"] = json.dumps({"source": item["input"]})
        items.append(item)
    flat = [each for tool in tools for each in (tool["tools"] if tool.get("type") == "namespace" else [tool])]
    return {**body, "tools": flat, **({"input": items} if items else {})}
