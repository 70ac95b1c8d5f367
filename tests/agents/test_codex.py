"""Codex: over server-sent events, before OpenAI's Responses. It keeps reasoning items itself, ids and all.

Newer models (its default) get their tools in an item of the input and run programs; older ones are asked as documented.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.codex_wire import CodexActor, CodexResponses
from agents.judging import by, chained, handed_over, not_handed_over, refused, well, whole
from agents.stage import Run, Stage, ToolCall, Turn, agent, unchanged

KEY = {"OPENAI_API_KEY": "sk-made-up"}
OPTIONS = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json")
#: A model that takes over from each.
OTHERS = {"gpt-5.5": "gpt-5.4", "gpt-6.2-sol": "gpt-6.2-astra"}
MODELS = tuple(OTHERS)


def look(model: str, command: str) -> ToolCall:
    """A call of the tool that the model has."""
    if model.startswith("gpt-6"):
        return ToolCall(
            "exec", {"source": f'const r = await tools.exec_command({{cmd: "{command}"}}); text(r.output);'}
        )
    return ToolCall("exec_command", {"cmd": command})


def play(model: str, other: str = "") -> CodexActor:
    """The script, with the tool that the model has, and with the other's from the second turn on."""
    other = other or model
    script = [
        Turn(
            "Count the trees and the birds.",
            [[look(model, "cat trees.txt")], [look(model, "cat birds.txt")]],
            "Seven trees, seven birds.",
        ),
        Turn("And the oaks?", [[look(other, "head trees.txt")]], "Three oaks."),
        Turn("And the robins?", [[look(other, "head birds.txt")]], "Two robins."),
    ]
    return CodexActor(CodexResponses(), script)


def run(stage: Stage, model: str, number: int = 0) -> Run:
    """Have it do the turn of that number: the first in a new session, the others in the newest."""
    actor = stage.actors[0]
    again = ("resume", "--last") if number else ()
    return stage.run(agent("codex"), "exec", *again, *OPTIONS, "-m", model, actor.script[number].prompt, env=KEY)


@pytest.mark.parametrize("model", MODELS)
def test_it_keeps_its_state_and_every_request_arrives_as_sent(model: str, tmp_path: Path) -> None:
    actor = play(model)
    with Stage(actor, tmp_path) as stage:
        well(run(stage, model), "Seven trees, seven birds.")
        assert len(actor.exchanges) >= 3
        whole(actor)
        unchanged(stage, actor)
        # It asks for a WebSocket first, once, and goes on by itself where there is none.
        first, *others = [(each.method, each.http) for each in stage.sent if each.host == "api.openai.com"]
        assert first == ("GET", "HTTP/1.1")
        assert set(others) == {("POST", "HTTP/2.0")}


def test_the_upgrade_is_answered_for_the_provider_if_frames_are_not_to_be_read(tmp_path: Path) -> None:
    actor = play("gpt-5.5")
    with Stage(actor, tmp_path, options={"thoughtkeep_websocket": "off"}) as stage:
        well(run(stage, "gpt-5.5"), "Seven trees, seven birds.")
        whole(actor)
        assert {each.method for each in actor.arrived} == {"POST"}
        assert [each.method for each in stage.sent if each.host == "api.openai.com"].count("GET") == 1


@pytest.mark.parametrize("model", MODELS)
def test_behind_a_gateway_that_drops_reasoning_items_it_fails(model: str, tmp_path: Path) -> None:
    actor = play(model)
    with Stage(actor, tmp_path, keep=False, lossy=True, options={"lossy_ids": "true"}) as stage:
        refused(actor, run(stage, model))
    assert "without its required 'reasoning' item" in str(actor.refusals[0])


@pytest.mark.parametrize("ids", ["true", "false"])
@pytest.mark.parametrize("model", MODELS)
def test_behind_such_a_gateway_it_ends_well_with_thoughtkeep(model: str, ids: str, tmp_path: Path) -> None:
    actor = play(model)
    with Stage(actor, tmp_path, lossy=True, options={"lossy_ids": ids}) as stage:
        well(run(stage, model), "Seven trees, seven birds.")
        whole(actor)
        assert not actor.summaries


def test_behind_a_gateway_that_drops_ids_too_it_loses_its_thread_silently(tmp_path: Path) -> None:
    actor = play("gpt-5.5")
    with Stage(actor, tmp_path, keep=False, lossy=True) as stage:
        well(run(stage, "gpt-5.5"), "Seven trees, seven birds.")
    demanded = [record for record in actor.issued if record.demanded]
    assert [record.returned for record in demanded] == [0, 0]
    assert all(record.due for record in demanded)


@pytest.mark.parametrize("model", MODELS)
def test_a_resumed_session_arrives_as_sent(model: str, tmp_path: Path) -> None:
    actor = play(model)
    with Stage(actor, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        well(run(stage, model), "Seven trees, seven birds.")
        well(run(stage, model, 1), "Three oaks.")
        whole(actor)
        unchanged(stage, actor)
        not_handed_over(stage, actor)


@pytest.mark.parametrize("model", MODELS)
def test_another_model_gets_one_handover_and_a_stable_prefix(model: str, tmp_path: Path) -> None:
    actor, other = play(model), OTHERS[model]
    with Stage(actor, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        well(run(stage, model), "Seven trees, seven birds.")
        well(run(stage, other, 1), "Three oaks.")
        well(run(stage, other, 2), "Two robins.")
        asked = handed_over(stage, actor, other, "input", actor.script[0].prompt)
        assert len(asked) >= 4
        chained(asked, "input")
        whole(actor)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_another_kind_gets_what_codex_has_compacted(model: str, tmp_path: Path) -> None:
    """It asks the old model itself for a sealed summary, and shows the new one that and the user's words."""
    other = next(each for each in MODELS if each != model)
    actor = play(model, other)
    with Stage(actor, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        well(run(stage, model), "Seven trees, seven birds.")
        well(run(stage, other, 1), "Three oaks.")
        well(run(stage, other, 2), "Two robins.")
        asked = by(actor, other)
        assert all(actor.compactions[-1].encode() in each.body for each in asked)
        chained(asked, "input")
        not_handed_over(stage, actor)


def test_another_model_still_has_the_instructions_of_the_project(tmp_path: Path) -> None:
    actor = play("gpt-5.5")
    with Stage(actor, tmp_path, options={"thoughtkeep_handover_min_tokens": "0"}) as stage:
        (stage.work / "AGENTS.md").write_text("Call each tree by its name.\n")
        well(run(stage, "gpt-5.5"), "Seven trees, seven birds.")
        well(run(stage, "gpt-5.4", 1), "Three oaks.")
        asked = handed_over(stage, actor, "gpt-5.4", "input", actor.script[0].prompt)
        assert all(b"Call each tree by its name." in each.body for each in asked)
