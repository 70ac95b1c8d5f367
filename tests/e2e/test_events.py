"""Events for other addons: what was kept, put back and handed over; no listener can harm the traffic."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.kit import ADDON, HERE, WITNESS, Talk, client, keeper, logged, wait_for, witnessed
from e2e.switching import SHAPES, Board, Session, handing
from e2e.upstream import Upstream
from proxy import Proxy

EXAMPLE = ADDON.parent.parent / "docs" / "example_addon.py"

FAILING = """
import asyncio

class Failing:
    def thoughtkeep_captured(self, flow, captured):
        raise RuntimeError("a listener of somebody else fails")

    async def thoughtkeep_injected(self, flow, injected):
        await asyncio.sleep(60)

addons = [Failing()]
"""


def play(proxy: Proxy, talk: Talk) -> bool:
    """Two requests of a talk; whether the second one was restored."""
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        asking.post(upstream.url + talk.path, content=talk.first)
        asking.post(upstream.url + talk.path, content=talk.second)
        return talk.restored(upstream.requests[1].body)


@pytest.mark.parametrize("streamed", [True, False])
def test_listeners_hear_what_was_kept_and_put_back_whether_they_are_coroutines_or_not(streamed: bool) -> None:
    talk = Talk(streamed=streamed)
    with keeper("-s", WITNESS) as proxy:
        assert play(proxy, talk)
        captured = wait_for(lambda: witnessed(proxy, "captured"))
        injected = wait_for(lambda: witnessed(proxy, "injected"))
    assert [(told["turns"], told["calls"], told["state"], told["complete"]) for told in captured] == [
        (1, [talk.call], 1, True)
    ]
    assert captured[0]["maker"].startswith("model-1 at 127.0.0.1:")
    assert [(told["model"], told["edits"]) for told in injected] == [("model-1", {"message state restored": 1})]
    assert captured[0]["conversation"] == injected[0]["conversation"]
    assert captured[0]["id"] != injected[0]["id"]


def test_listeners_hear_of_a_handover_and_of_its_use_later() -> None:
    with handing("-s", HERE / "witness_addon.py") as proxy, Upstream(Board("chat").script) as upstream:
        session = Session(proxy, upstream.url, SHAPES["chat"])
        session.turn("model-a", "words " * 200)
        session.turn("model-b")
        session.turn("model-b")
        told = wait_for(lambda: len(witnessed(proxy, "handover")) == 2 and witnessed(proxy, "handover"))
    assert [(each["source"], each["target"], each["reused"]) for each in told] == [
        ("model-a", "model-b", False),
        ("model-a", "model-b", True),
    ]
    assert told[0]["tokens_before"] > told[0]["tokens_after"] > 0


def test_a_listener_that_fails_or_hangs_harms_nothing(tmp_path: Path) -> None:
    failing = tmp_path / "failing.py"
    failing.write_text(FAILING)
    with keeper("-s", failing) as proxy:
        assert play(proxy, Talk())
        assert play(proxy, Talk())
        logged(proxy, "a listener of somebody else fails")
        assert "fault in" not in proxy.log()


def test_the_example_addon_says_what_it_hears() -> None:
    with keeper("-s", EXAMPLE) as proxy:
        assert play(proxy, Talk())
        assert "called 1 tools, 1 values kept" in logged(proxy, "example: model-1 at 127.0.0.1")
        assert "1 edits to a request for model-1" in logged(proxy, "example: 1 edits")
