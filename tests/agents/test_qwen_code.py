"""Qwen Code, before DeepSeek, whose field it keeps, and before OpenRouter, whose field it does not know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.judging import by, chained, handed_over, not_handed_over, refused, well, whole
from agents.stage import Actor, Run, Stage, ToolCall, Turn, agent, unchanged
from providers import PROVIDERS

BASES = {"api.deepseek.com": "https://api.deepseek.com", "openrouter.ai": "https://openrouter.ai/api/v1"}
OTHERS = {
    "deepseek": "deepseek-v4-flash",
    "openrouter-gemini": "google/gemini-3-flash-preview",
    "openrouter-claude": "anthropic/claude-opus-4.6",
}
ROUTED = ("openrouter-gemini", "openrouter-claude")
#: How each version names the argument of its tool that reads files.
PATHS = {"qwen-code": "absolute_path", "qwen-code-newest": "file_path"}


def play(provider: str, qwen: str = "qwen-code") -> Actor:
    def shell(command: str) -> ToolCall:
        return ToolCall("run_shell_command", {"command": command, "is_background": False, "description": "A look."})

    read = ToolCall("read_file", {PATHS[qwen]: "{work}/birds.txt"})
    script = [
        Turn("Count the trees and the birds.", [[shell("cat trees.txt")], [read]], "Seven trees, seven birds."),
        Turn("And the oaks?", [[shell("head trees.txt")]], "Three oaks."),
        # Behind a turn without tools it looks for what is worth remembering.
        Turn("And the robins?", [], "Two robins."),
        Turn("And the wrens?", [], "Five wrens."),
    ]
    return Actor(PROVIDERS[provider], script, main=lambda body: not remembers(body))


def remembers(body: Mapping[str, Any]) -> bool:
    """Whether this is the side call that looks for what is worth remembering, over the whole history."""
    return "memory extraction" in json.dumps(body["messages"][0])


def run(stage: Stage, model: str, number: int = 0, qwen: str = "qwen-code") -> Run:
    """Have it do the turn of that number: the first in a new session, the others in the newest."""
    actor = stage.actors[0]
    words = ["--auth-type", "openai", "--yolo", *(["--continue"] if number else []), "-m", model, "-p"]
    env = {"OPENAI_API_KEY": "sk-made-up", "OPENAI_BASE_URL": BASES[actor.dialect.host]}
    return stage.run(agent(qwen), *words, actor.script[number].prompt, env=env)


def test_before_deepseek_it_keeps_its_state_and_every_request_arrives_as_sent(tmp_path: Path) -> None:
    actor = play("deepseek")
    with Stage(actor, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        well(run(stage, actor.dialect.model), "Seven trees, seven birds.")
        well(run(stage, actor.dialect.model, 2), "Two robins.")
        assert len(actor.exchanges) >= 4
        assert [remembers(json.loads(each.body)) for each in actor.side] == [True]
        whole(actor)
        unchanged(stage, actor)
        not_handed_over(stage, actor)


def test_behind_a_gateway_that_drops_the_field_it_fails(tmp_path: Path) -> None:
    actor = play("deepseek")
    with Stage(actor, tmp_path, keep=False, lossy=True) as stage:
        refused(actor, run(stage, actor.dialect.model))
    assert "must be passed back" in str(actor.refusals[0])


def test_behind_such_a_gateway_it_ends_well_with_thoughtkeep(tmp_path: Path) -> None:
    actor = play("deepseek")
    with Stage(actor, tmp_path, lossy=True) as stage:
        well(run(stage, actor.dialect.model), "Seven trees, seven birds.")
        whole(actor)


@pytest.mark.parametrize("provider", ROUTED)
def test_before_openrouter_it_loses_its_state_and_fails(provider: str, tmp_path: Path) -> None:
    actor = play(provider)
    with Stage(actor, tmp_path, keep=False) as stage:
        refused(actor, run(stage, actor.dialect.model))


@pytest.mark.parametrize(
    ("provider", "qwen"), [*((each, "qwen-code") for each in ROUTED), (ROUTED[0], "qwen-code-newest")]
)
def test_before_openrouter_it_ends_well_with_thoughtkeep(provider: str, qwen: str, tmp_path: Path) -> None:
    actor = play(provider, qwen)
    with Stage(actor, tmp_path) as stage:
        well(run(stage, actor.dialect.model, qwen=qwen), "Seven trees, seven birds.")
        whole(actor)
        assert not actor.summaries


@pytest.mark.parametrize("provider", ["deepseek", ROUTED[0]])
def test_another_model_gets_one_handover_and_a_stable_prefix(provider: str, tmp_path: Path) -> None:
    actor, other = play(provider), OTHERS[provider]
    with Stage(actor, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        well(run(stage, actor.dialect.model), "Seven trees, seven birds.")
        for number, words in ((1, "Three oaks."), (2, "Two robins."), (3, "Five wrens.")):
            well(run(stage, other, number), words)
        asked = handed_over(stage, actor, other, "messages", actor.script[0].prompt)
        assert len(asked) >= 4
        chained(asked, "messages")
        whole(actor)
        assert [remembers(json.loads(each.body)) for each in actor.side] == [True, True]


@pytest.mark.parametrize("provider", ["deepseek", ROUTED[0]])
def test_the_newest_version_gets_one_handover_that_stays(provider: str, tmp_path: Path) -> None:
    """It puts the date before the user's newest words, and takes it out of there when it resumes the session.

    DeepSeek gets both as one string, OpenRouter in blocks.
    """
    qwen = "qwen-code-newest"
    actor, other = play(provider, qwen), OTHERS[provider]
    with Stage(actor, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        well(run(stage, actor.dialect.model, qwen=qwen), "Seven trees, seven birds.")
        well(run(stage, other, 1, qwen), "Three oaks.")
        chained(by(actor, other), "messages")
        well(run(stage, other, 2, qwen), "Two robins.")
        handed_over(stage, actor, other, "messages", actor.script[0].prompt)
        whole(actor)
