"""aider, unchanged: it asks without tools and keeps the words of an answer alone.

No provider refuses plain words that have lost their reasoning, so there is nothing that fails without thoughtkeep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agents.stage import Actor, Run, Stage, Turn, agent, headed
from providers import PROVIDERS, Dialect
from providers.deepseek import DeepSeek
from providers.dialect import Mode

TREES = Turn("How many trees are in trees.txt?", [], "There are SEVEN-TREES.")
BIRDS = Turn("And how many birds are there?", [], "There are SEVEN-BIRDS.")
BOTH = Turn("And both together?", [], "There are FOURTEEN.")

ENV = {"ANTHROPIC_API_KEY": "sk-ant-made-up", "DEEPSEEK_API_KEY": "sk-made-up"}
#: It works by itself, changes no file, commits nothing, and asks nobody for news.
QUIETLY = (
    "--edit-format ask --yes-always --no-auto-commits --no-gitignore --map-tokens 0 --no-pretty --no-fancy-input "
    "--analytics-disable --no-check-update --no-show-release-notes --no-show-model-warnings --no-detect-urls "
    "--no-suggest-shell-commands"
).split()
SONNET = "anthropic/claude-sonnet-4-5"
V4 = "deepseek/deepseek-v4-pro"


class Beta(DeepSeek):
    """The same service, at the path that aider's library takes."""

    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode("/beta/chat/completions", streamed=False),
        "streamed": Mode("/beta/chat/completions", streamed=True),
    }


def talk(stage: Stage, model: str, said: Sequence[str], *words: str) -> Run:
    return stage.run(agent("aider"), "--model", model, *QUIETLY, *words, env=ENV, stdin="\n".join([*said, "/exit", ""]))


def assert_done(run: Run, *turns: Turn) -> None:
    assert run.status == 0, run
    assert run.ended
    for turn in turns:
        assert turn.text in run.out, run


def bare(body: bytes) -> Any:
    """A request without the reasoning in it."""
    told = json.loads(body)
    for message in told["messages"]:
        message.pop("reasoning_content", None)
        if isinstance(message["content"], list):
            message["content"] = [block for block in message["content"] if block["type"] != "thinking"]
    return told


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
@pytest.mark.parametrize(
    ("dialect", "model", "words"),
    [
        (Beta(), V4, ()),
        (PROVIDERS["anthropic"], SONNET, ("--thinking-tokens", "2k")),
    ],
    ids=["deepseek", "anthropic"],
)
def test_the_reasoning_that_it_drops_is_put_back_and_nothing_else_is_changed(
    tmp_path: Path, dialect: Dialect, model: str, words: Sequence[str], how: str
) -> None:
    actor = Actor(dialect, [TREES, BIRDS, BOTH])
    with Stage(actor, tmp_path) as stage:
        run = talk(stage, model, [TREES.prompt, BIRDS.prompt, BOTH.prompt], how, *words)
        sent = [each.body for each in stage.sent if each.host == dialect.host]
    assert_done(run, TREES, BIRDS, BOTH)
    assert not actor.refusals
    assert [len(each.restored) for each in actor.exchanges] == [0, 1, 2]
    assert len(sent) == 3
    assert sent[0] == actor.exchanges[0].body
    for before, after in zip(sent, actor.exchanges, strict=True):
        assert b"Now I can answer" not in before
        assert bare(before) == bare(after.body)


def test_another_model_gets_the_conversation_handed_over_once(tmp_path: Path) -> None:
    script = [TREES, BIRDS, BOTH]
    thinker, other = Actor(Beta(), script), Actor(PROVIDERS["anthropic"], script)
    with Stage([thinker, other], tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        run = talk(stage, V4, [TREES.prompt, f"/model {SONNET}", BIRDS.prompt, BOTH.prompt])
    assert_done(run, TREES, BIRDS, BOTH)
    assert (len(thinker.exchanges), len(other.exchanges)) == (1, 2)
    assert (len(thinker.summaries), len(other.summaries)) == (0, 1)
    before, body = [json.loads(each.body) for each in other.exchanges]
    assert "SUMMARY-4711" in json.dumps(before["messages"][0])
    assert TREES.text not in json.dumps(body)
    assert BIRDS.text in json.dumps(body)
    # aider ends its newest message with two line ends, and takes them off later.
    assert headed(json.loads(json.dumps(body).replace(BIRDS.prompt, f"{BIRDS.prompt}\\n\\n")), before)
