"""Codex over its WebSocket: what it tells there is captured, and completed where its history has lost state."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agents.judging import well, whole
from agents.socket_front import FRAMES, SocketSite
from agents.stage import Stage
from agents.test_codex import MODELS, play, run


@pytest.fixture(autouse=True)
def front(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.stage._SecureSite", SocketSite)


@pytest.mark.parametrize("model", MODELS)
def test_it_works_over_its_socket_and_its_frames_arrive_as_sent(model: str, tmp_path: Path) -> None:
    actor = play(model)
    with Stage(actor, tmp_path) as stage:
        well(run(stage, model), "Seven trees, seven birds.")
        whole(actor)
        log = stage.proxy.log()
    assert len([frame for frame in FRAMES if frame["type"] == "response.create"]) >= 4
    assert log.count("captured 1, restored 0") == 3
    assert "fault in" not in log


def test_a_resumed_session_whose_reasoning_was_lost_is_completed_in_its_frames(tmp_path: Path) -> None:
    """Its own file of the session loses the reasoning, as gateways lose it: the frames that it sends then have none."""
    actor = play("gpt-5.5")
    with Stage(actor, tmp_path) as stage:
        well(run(stage, "gpt-5.5"), "Seven trees, seven birds.")
        for path in (stage.home / ".codex" / "sessions").rglob("*.jsonl"):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            kept = [line for line in lines if (line.get("payload") or {}).get("type") != "reasoning"]
            assert len(kept) < len(lines)
            path.write_text("".join(json.dumps(line) + "\n" for line in kept))
        well(run(stage, "gpt-5.5", 1), "Three oaks.")
        whole(actor)
        log = stage.proxy.log()
    assert re.search(r"restored [1-9]", log)
    assert not actor.refusals
