"""opencode, unchanged: `opencode run`, its own tools, its own sessions, with models of several providers."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agents.stage import Actor, Run, Stage, ToolCall, Turn, agent, headed, unchanged
from providers import PROVIDERS

TREES = Turn(
    "Count the trees in trees.txt.",
    [
        [ToolCall("read", {"filePath": "{work}/trees.txt"})],
        [ToolCall("bash", {"command": "wc -l trees.txt", "description": "Count lines"})],
    ],
    "There are SEVEN-TREES.",
)
BIRDS = Turn(
    "And how many birds are there?",
    [
        [ToolCall("read", {"filePath": "{work}/birds.txt"}), ToolCall("read", {"filePath": "{work}/trees.txt"})],
        [ToolCall("bash", {"command": "wc -l birds.txt", "description": "Count lines"})],
    ],
    "There are SEVEN-BIRDS.",
)
BOTH = Turn(
    "And both together?",
    [[ToolCall("bash", {"command": "cat trees.txt birds.txt", "description": "Show all"})]],
    "There are FOURTEEN.",
)
ENV = {
    "ANTHROPIC_API_KEY": "sk-ant-made-up",
    "OPENROUTER_API_KEY": "sk-or-made-up",
    "DEEPSEEK_API_KEY": "sk-made-up",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_PURE": "1",
}
THINKING: dict[str, Any] = {"options": {"thinking": {"type": "enabled", "budgetTokens": 2048}}}
CONFIGURATION: dict[str, Any] = {
    "$schema": "https://opencode.ai/config.json",
    "autoupdate": False,
    "share": "disabled",
    "permission": {"*": "allow"},
    "provider": {
        "anthropic": {"models": {"claude-sonnet-4-6": THINKING, "claude-opus-4-5": THINKING}},
        "openrouter": {
            "models": {
                "google/gemini-3-pro-preview": {},
                "anthropic/claude-sonnet-4.6": {"options": {"reasoning": {"max_tokens": 2048}}},
            }
        },
        "deepseek": {
            "models": {
                "deepseek-v4-pro": {
                    "name": "DeepSeek V4",
                    "tool_call": True,
                    "reasoning": True,
                    "interleaved": {"field": "reasoning_content"},
                }
            }
        },
    },
}
MODELS = {
    "anthropic": "anthropic/claude-sonnet-4-6",
    "openrouter-gemini": "openrouter/google/gemini-3-pro-preview",
    "openrouter-claude": "openrouter/anthropic/claude-sonnet-4.6",
    "deepseek": "deepseek/deepseek-v4-pro",
}


def ask(stage: Stage, turn: Turn, model: str, *words: str, timeout: float = 60.0) -> Run:
    folder = stage.home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "opencode.json").write_text(json.dumps(CONFIGURATION))
    told = ("run", "--model", model, *words, turn.prompt)
    return stage.run(agent("opencode"), *told, env=ENV, timeout=timeout)


def assert_done(run: Run, turn: Turn) -> None:
    assert run.status == 0, run
    assert turn.text in run.out, run


@pytest.mark.parametrize("name", ["anthropic", "openrouter-claude", "deepseek"])
def test_it_keeps_its_state_and_nothing_is_changed(tmp_path: Path, name: str) -> None:
    actor = Actor(PROVIDERS[name], [TREES])
    with Stage(actor, tmp_path) as stage:
        assert_done(ask(stage, TREES, MODELS[name]), TREES)
        assert [(each.status, len(each.restored)) for each in actor.exchanges] == [(200, 0), (200, 1), (200, 2)]
        unchanged(stage, actor)


def test_what_it_loses_of_reasoning_details_itself_is_put_back(tmp_path: Path) -> None:
    # It keeps the signature of a Gemini model, and drops the entry with the words before it.
    actor = Actor(PROVIDERS["openrouter-gemini"], [TREES])
    with Stage(actor, tmp_path) as stage:
        assert_done(ask(stage, TREES, MODELS["openrouter-gemini"]), TREES)
        assert [(each.status, len(each.restored)) for each in actor.exchanges] == [(200, 0), (200, 1), (200, 2)]
        sent = [json.loads(each.body) for each in stage.sent if b'"tool_call_id"' in each.body]
    for before, exchange in zip(sent, actor.exchanges[1:], strict=True):
        after = json.loads(exchange.body)
        for message in (message for body in (before, after) for message in body["messages"]):
            message.pop("reasoning_details", None)
        assert after == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("anthropic", "Expected `thinking` or `redacted_thinking`"),
        ("deepseek", "must be passed back to the API"),
        ("openrouter-gemini", ""),  # it tries again and again, and says nothing
    ],
)
def test_behind_a_gateway_that_drops_state_it_fails(tmp_path: Path, name: str, words: str) -> None:
    actor = Actor(PROVIDERS[name], [TREES])
    with Stage(actor, tmp_path, keep=False, lossy=True) as stage:
        run = ask(stage, TREES, MODELS[name], timeout=60.0 if words else 15.0)
    assert TREES.text not in run.out
    assert run.status != 0
    assert words in run.out + run.err
    assert {refusal.kind for refusal in actor.refusals} == {"missing"}


@pytest.mark.parametrize("name", ["anthropic", "deepseek", "openrouter-gemini", "openrouter-claude"])
def test_behind_a_gateway_that_drops_state_it_gets_it_back(tmp_path: Path, name: str) -> None:
    actor = Actor(PROVIDERS[name], [TREES, BIRDS])
    with Stage(actor, tmp_path, lossy=True) as stage:
        assert_done(ask(stage, TREES, MODELS[name]), TREES)
        assert_done(ask(stage, BIRDS, MODELS[name], "--continue"), BIRDS)
    assert not actor.refusals
    assert [len(each.restored) for each in actor.exchanges] == [0, 1, 2, 3, 4, 5]
    assert all(record.returned == record.due for record in actor.issued)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("anthropic/claude-sonnet-4-6", "anthropic/claude-opus-4-5"),
        ("anthropic/claude-sonnet-4-6", "deepseek/deepseek-v4-pro"),
        ("openrouter/google/gemini-3-pro-preview", "anthropic/claude-sonnet-4-6"),
    ],
)
def test_another_model_gets_the_conversation_handed_over_once(tmp_path: Path, first: str, second: str) -> None:
    names = {"anthropic": "anthropic", "deepseek": "deepseek", "openrouter": "openrouter-gemini"}
    script = [TREES, BIRDS, BOTH]
    actors = {each: Actor(PROVIDERS[names[each]], script) for each in {m.split("/")[0] for m in (first, second)}}
    with Stage([*actors.values()], tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        assert_done(ask(stage, TREES, first), TREES)
        assert_done(ask(stage, BIRDS, second, "--continue"), BIRDS)
        assert_done(ask(stage, BOTH, second, "--continue"), BOTH)
    assert not [refusal for actor in actors.values() for refusal in actor.refusals]
    assert [len(actor.summaries) for actor in actors.values()].count(0) == len(actors) - 1
    taking = actors[second.split("/")[0]]
    assert len(taking.summaries) == 1
    # Its request for a title leads to none.
    assert [side for actor in actors.values() for side in actor.side if b"title" in side.body]
    model = second.partition("/")[2]
    bodies = [json.loads(each.body) for each in taking.exchanges if json.loads(each.body)["model"] == model]
    assert len(bodies) == 5
    for before, body in pairwise(bodies):
        assert headed(body, before)
    last = json.dumps(bodies[-1]["messages"])
    assert last.count("SUMMARY-4711") == 1
    assert TREES.text not in last
