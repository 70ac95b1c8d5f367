"""Claude Code, unchanged: print mode, its own tools, its own sessions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agents.stage import Actor, Run, Stage, ToolCall, Turn, agent, headed, unchanged
from providers.anthropic import Anthropic, AnthropicBound
from providers.dialect import Mode, Reply
from providers.ledger import Ledger
from providers.scenario import Past, Step

TREES = Turn(
    "Count the trees in trees.txt.",
    [
        [ToolCall("Read", {"file_path": "{work}/trees.txt"})],
        [ToolCall("Bash", {"command": "wc -l trees.txt", "description": "Count lines"})],
    ],
    "There are SEVEN-TREES.",
)
BIRDS = Turn(
    "And how many birds are there?",
    [
        [ToolCall("Read", {"file_path": "{work}/birds.txt"}), ToolCall("Glob", {"pattern": "*.txt"})],
        [ToolCall("Bash", {"command": "wc -l birds.txt", "description": "Count lines"})],
    ],
    "There are SEVEN-BIRDS.",
)
BOTH = Turn(
    "And both together?",
    [[ToolCall("Bash", {"command": "cat trees.txt birds.txt", "description": "Show all"})]],
    "There are FOURTEEN.",
)
KEY = {"ANTHROPIC_API_KEY": "sk-ant-made-up"}


class _Today:
    """What the newest service takes: words of the system between messages, and models to fall back to.

    The first line of Claude Code's system prompt is for billing, differs each time, and is no part of the prompt.
    There is no thinking between parallel calls: Claude Code itself moves calls behind all that is not one.
    """

    keys = Anthropic.keys | {"fallbacks"}

    @staticmethod
    def plain(body: Mapping[str, Any]) -> dict[str, Any]:
        messages = [{**said, "role": "user"} if said.get("role") == "system" else said for said in body["messages"]]
        system = body.get("system")
        if isinstance(system, list):
            system = [block for block in system if not block["text"].startswith("x-anthropic-billing-header")]
        return {**body, "messages": messages, "system": system}

    def read(self, body: Mapping[str, Any]) -> Past:
        return super().read(self.plain(body))  # type: ignore[misc]

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        return super().verify(past, ledger, self.plain(body))  # type: ignore[misc]

    def reply(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Reply:
        return super().reply(step, mode, ledger, self.plain(body))  # type: ignore[misc]

    def _blocks(self, step: Step, ledger: Ledger, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        blocks = super()._blocks(step, ledger, body)  # type: ignore[misc]
        first = next((place for place, block in enumerate(blocks) if block["type"] == "tool_use"), len(blocks))
        return blocks[:first] + [block for block in blocks[first:] if block["type"] == "tool_use"]


class Claude(_Today, Anthropic):
    """The Claude API."""


class BoundClaude(_Today, AnthropicBound):
    """A model that binds its thinking to what stands before it."""


def ask(stage: Stage, turn: Turn, model: str, *words: str) -> Run:
    told = ("-p", turn.prompt, "--model", model, "--allowedTools", "Read,Bash,Glob", *words)
    return stage.run(agent("claude-code"), *told, env=KEY)


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-opus-5", "claude-haiku-4-5"])
def test_it_keeps_its_state_and_nothing_is_changed(tmp_path: Path, model: str) -> None:
    actor = Actor(Claude(), [TREES])
    with Stage(actor, tmp_path) as stage:
        run = ask(stage, TREES, model)
        assert (run.status, run.out.strip()) == (0, TREES.text), run
        assert [each.status for each in actor.exchanges] == [200, 200, 200]
        assert [len(each.restored) for each in actor.exchanges] == [0, 1, 2]
        unchanged(stage, actor)


def test_a_model_that_binds_its_thinking_finds_everything_as_it_was(tmp_path: Path) -> None:
    actor = Actor(BoundClaude(), [TREES, BIRDS])
    with Stage(actor, tmp_path) as stage:
        session = str(uuid4())
        for turn, how in ((TREES, "--session-id"), (BIRDS, "--resume")):
            run = ask(stage, turn, "claude-fable-5-1", how, session)
            assert (run.status, run.out.strip()) == (0, turn.text), run
        assert not actor.refusals
        unchanged(stage, actor)


def test_behind_a_gateway_that_drops_thinking_it_fails(tmp_path: Path) -> None:
    actor = Actor(Claude(), [TREES])
    with Stage(actor, tmp_path, keep=False, lossy=True) as stage:
        run = ask(stage, TREES, "claude-sonnet-4-6")
    assert run.ended
    assert run.status != 0
    assert "API Error: 400" in run.out
    assert TREES.text not in run.out
    assert {refusal.kind for refusal in actor.refusals} == {"missing"}


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-opus-5", "claude-haiku-4-5"])
def test_behind_a_gateway_that_drops_thinking_it_gets_it_back(tmp_path: Path, model: str) -> None:
    restored(tmp_path, Actor(Claude(), [TREES, BIRDS]), model)


def test_behind_a_gateway_a_model_that_binds_its_thinking_gets_it_back(tmp_path: Path) -> None:
    restored(tmp_path, Actor(BoundClaude(), [TREES, BIRDS]), "claude-fable-5-1")


def restored(tmp_path: Path, actor: Actor, model: str) -> None:
    """Two turns behind the gateway; everything that was issued comes back each time."""
    with Stage(actor, tmp_path, lossy=True) as stage:
        session = str(uuid4())
        for turn, how in ((TREES, "--session-id"), (BIRDS, "--resume")):
            run = ask(stage, turn, model, how, session)
            assert (run.status, run.out.strip()) == (0, turn.text), run
    assert not actor.refusals
    assert all(record.returned == record.due for record in actor.issued if record.due)
    assert [len(each.restored) for each in actor.exchanges] == [0, 1, 2, 3, 4, 5]


def switched(tmp_path: Path, actor: Actor, first: str, second: str) -> None:
    """A turn with one model, two with another; the history is handed over once."""
    with Stage(actor, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        session = str(uuid4())
        for turn, model, how in (
            (TREES, first, "--session-id"),
            (BIRDS, second, "--resume"),
            (BOTH, second, "--resume"),
        ):
            run = ask(stage, turn, model, how, session)
            assert (run.status, run.out.strip()) == (0, turn.text), run
        assert len(actor.summaries) == 1, stage.proxy.log()
    models = [json.loads(each.body)["model"] for each in actor.exchanges if each.status == 200]
    assert models == [first] * 3 + [second] * 5


def test_another_model_gets_the_conversation_handed_over_once(tmp_path: Path) -> None:
    actor = Actor(Claude(), [TREES, BIRDS, BOTH])
    switched(tmp_path, actor, "claude-sonnet-4-6", "claude-opus-4-5")
    assert not actor.refusals
    # Titles and the like are asked for, and lead to no summary.
    assert [side for side in actor.side if side.method == "POST"]
    before, *behind = [json.loads(each.body) for each in actor.exchanges][4:]
    for body in behind:
        assert headed(body, before)
        before = body
    told = json.dumps(before["messages"])
    assert told.count("SUMMARY-4711") == 1
    assert BIRDS.prompt in told
    assert TREES.text not in json.dumps(before)


def test_a_model_that_binds_its_thinking_gets_the_same_summary_in_the_same_place(tmp_path: Path) -> None:
    actor = Actor(BoundClaude(), [TREES, BIRDS, BOTH])
    switched(tmp_path, actor, "claude-opus-5", "claude-fable-5-1")
    assert not actor.refusals
