"""llm, unchanged: prompts with tools, conversations that go on, models of a plugin and of a configuration file."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from agents.stage import Actor, Run, Stage, ToolCall, Turn, agent, headed, unchanged
from providers import PROVIDERS

TOOLS = """
def read_file(path: str) -> str:
    "Read a file."
    with open(path) as file:
        return file.read()

def count_lines(path: str) -> str:
    "Count the lines of a file."
    with open(path) as file:
        return str(len(file.readlines()))
"""
TREES = Turn(
    "Count the trees in trees.txt.",
    [[ToolCall("read_file", {"path": "trees.txt"})], [ToolCall("count_lines", {"path": "trees.txt"})]],
    "There are SEVEN-TREES.",
)
BIRDS = Turn(
    "And how many birds are there?",
    [
        [ToolCall("read_file", {"path": "birds.txt"}), ToolCall("read_file", {"path": "trees.txt"})],
        [ToolCall("count_lines", {"path": "birds.txt"})],
    ],
    "There are SEVEN-BIRDS.",
)
BOTH = Turn("And both together?", [[ToolCall("count_lines", {"path": "./birds.txt"})]], "There are FOURTEEN.")

ENV = {"ANTHROPIC_API_KEY": "sk-ant-made-up", "OPENAI_API_KEY": "sk-made-up"}
#: Models that speak OpenAI's chat completions, as llm's documentation adds them.
MODELS = """
- model_id: thinker
  model_name: deepseek-v4-pro
  api_base: https://api.deepseek.com
  api_key_name: openai
  supports_tools: true
- model_id: router
  model_name: google/gemini-3-pro-preview
  api_base: https://openrouter.ai/api/v1
  api_key_name: openai
  supports_tools: true
"""
CLAUDE = ("-m", "claude-sonnet-4.6", "-o", "thinking", "1")
OPUS = ("-m", "claude-opus-4.6", "-o", "thinking", "1")
WAYS = {"anthropic": CLAUDE, "deepseek": ("-m", "thinker"), "openrouter-gemini": ("-m", "router")}


def ask(stage: Stage, turn: Turn, *words: str) -> Run:
    folder = stage.home / ".config" / "io.datasette.llm"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "extra-openai-models.yaml").write_text(MODELS)
    (stage.work / "tools.py").write_text(TOOLS)
    return stage.run(agent("llm"), "prompt", *words, "--functions", "tools.py", turn.prompt, env=ENV)


def assert_done(run: Run, turn: Turn) -> None:
    assert run.status == 0, run
    assert turn.text in run.out, run


def test_it_keeps_thinking_and_nothing_is_changed(tmp_path: Path) -> None:
    actor = Actor(PROVIDERS["anthropic"], [TREES, BIRDS])
    with Stage(actor, tmp_path) as stage:
        assert_done(ask(stage, TREES, *CLAUDE), TREES)
        assert_done(ask(stage, BIRDS, "-c", *CLAUDE), BIRDS)
        assert [len(each.restored) for each in actor.exchanges] == [0, 1, 2, 3, 4, 5]
        unchanged(stage, actor)


@pytest.mark.parametrize("name", ["deepseek", "openrouter-gemini"])
def test_it_fails_where_it_drops_state_itself(tmp_path: Path, name: str) -> None:
    actor = Actor(PROVIDERS[name], [TREES])
    with Stage(actor, tmp_path, keep=False) as stage:
        run = ask(stage, TREES, *WAYS[name])
    assert run.ended
    assert run.status != 0
    assert "400" in run.err
    assert TREES.text not in run.out
    assert [refusal.kind for refusal in actor.refusals] == ["missing"]


@pytest.mark.parametrize("how", [(), ("--no-stream",)], ids=["streamed", "plain"])
@pytest.mark.parametrize("name", ["deepseek", "openrouter-gemini"])
def test_it_goes_on_where_it_drops_state_itself(tmp_path: Path, name: str, how: tuple[str, ...]) -> None:
    actor = Actor(PROVIDERS[name], [TREES, BIRDS])
    with Stage(actor, tmp_path) as stage:
        assert_done(ask(stage, TREES, *WAYS[name], *how), TREES)
        assert_done(ask(stage, BIRDS, "-c", *WAYS[name], *how), BIRDS)
    assert not actor.refusals
    assert [len(each.restored) for each in actor.exchanges] == [0, 1, 2, 3, 4, 5]
    assert all(record.returned == record.due for record in actor.issued)


def test_behind_a_gateway_that_drops_thinking_it_fails(tmp_path: Path) -> None:
    actor = Actor(PROVIDERS["anthropic"], [TREES])
    with Stage(actor, tmp_path, keep=False, lossy=True) as stage:
        run = ask(stage, TREES, *CLAUDE)
    assert run.ended
    assert run.status != 0
    assert "`thinking` or `redacted_thinking` blocks" in run.err
    assert [refusal.kind for refusal in actor.refusals] == ["missing"]


def test_behind_a_gateway_that_drops_thinking_it_gets_it_back(tmp_path: Path) -> None:
    actor = Actor(PROVIDERS["anthropic"], [TREES, BIRDS])
    with Stage(actor, tmp_path, lossy=True) as stage:
        assert_done(ask(stage, TREES, *CLAUDE), TREES)
        assert_done(ask(stage, BIRDS, "-c", *CLAUDE), BIRDS)
    assert not actor.refusals
    assert [len(each.restored) for each in actor.exchanges] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("names", "first", "second"),
    [
        (["anthropic"], CLAUDE, OPUS),
        (["deepseek", "openrouter-gemini"], WAYS["deepseek"], WAYS["openrouter-gemini"]),
        (["deepseek", "anthropic"], WAYS["deepseek"], CLAUDE),
    ],
    ids=["same-provider", "same-format", "other-format"],
)
def test_another_model_gets_the_conversation_handed_over_once(
    tmp_path: Path, names: list[str], first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    actors = [Actor(PROVIDERS[name], [TREES, BIRDS, BOTH]) for name in names]
    with Stage(actors, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        assert_done(ask(stage, TREES, *first), TREES)
        assert_done(ask(stage, BIRDS, "-c", *second), BIRDS)
        assert_done(ask(stage, BOTH, "-c", *second), BOTH)
        log = stage.proxy.log()
    assert not [refusal for actor in actors for refusal in actor.refusals]
    assert sum(len(actor.summaries) for actor in actors) == len(actors[-1].summaries) == 1
    bodies = [json.loads(each.body) for each in actors[-1].exchanges][-5:]
    assert len({body["model"] for body in bodies}) == 1
    for before, body in pairwise(bodies):
        assert headed(body, before)
    last = json.dumps(bodies[-1]["messages"])
    assert last.count("SUMMARY-4711") == 1, log
    assert TREES.text not in last
