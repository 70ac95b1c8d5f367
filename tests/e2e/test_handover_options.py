"""The options and headers that steer handovers, what is told of them, and a long session that changes hands thrice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from e2e.kit import backstage
from e2e.switching import SHAPES, SUMMARY_KEY, TAG, Board, Session, handing, told
from e2e.upstream import Upstream
from proxy import Proxy

DEFAULTS: dict[str, Any] = {
    "thoughtkeep_handover": "auto",
    "thoughtkeep_handover_min_tokens": 0,
    "thoughtkeep_handover_model": "",
    "thoughtkeep_handover_url": "",
    "thoughtkeep_handover_key_env": "",
    "thoughtkeep_summary_role": "user",
}


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with handing() as running:
        yield running


@contextmanager
def options(proxy: Proxy, **values: Any) -> Iterator[None]:
    """The proxy with these options, the prefix left out."""
    assert backstage(proxy, **{f"thoughtkeep_{name}": value for name, value in values.items()}).status_code == 200
    try:
        yield
    finally:
        backstage(proxy, **DEFAULTS)


def test_where_handovers_are_off_the_history_goes_as_it_is(proxy: Proxy) -> None:
    board = Board()
    with Upstream(board.script) as upstream, options(proxy, handover="off"):
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.said.append(("user", "And now?"))
        session.ask("model-b")
        assert board.turns[1].body == session.body("model-b")
        assert board.summaries == []
        assert session.telemetry()["thoughtkeep_handover_reason"] == "off"


@pytest.mark.parametrize(("words", "reason"), [(100, "below_min_tokens"), (900, "switch")])
def test_histories_that_are_short_go_as_they_are(words: int, reason: str, proxy: Proxy) -> None:
    board = Board()
    with Upstream(board.script) as upstream, options(proxy, handover_min_tokens=1000):
        session = Session(proxy, upstream.url)
        session.turn("model-a", "word " * words)
        session.turn("model-b", "long question " * 1000)
        assert session.telemetry()["thoughtkeep_handover_reason"] == reason
        assert (TAG in board.turns[1].body.decode()) == (reason == "switch")


@pytest.mark.parametrize(
    ("option", "model"), [("small-1", "small-1"), ("model-x*=other, model-*=small-2", "small-2"), ("x=y", "model-b")]
)
def test_the_summarisers_name_is_an_option(option: str, model: str, proxy: Proxy) -> None:
    board = Board()
    with Upstream(board.script) as upstream, options(proxy, handover_model=option):
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.turn("model-b")
        (asked,) = board.summaries
        assert json.loads(asked.body)["model"] == model
        assert json.loads(board.turns[1].body)["model"] == "model-b"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_summariser_elsewhere_gets_its_own_key_and_never_the_clients(shape: str, proxy: Proxy) -> None:
    """In whatever format it speaks; the conversation itself is in chat's."""
    board, other = Board(), Board(shape)
    with Upstream(board.script) as upstream, Upstream(other.script) as elsewhere:
        url = elsewhere.url + SHAPES[shape].path.format(model="any")
        with options(proxy, handover_url=url, handover_key_env="SUMMARY_KEY", handover_model="small-1"):
            session = Session(proxy, upstream.url, key="sk-of-the-client")
            session.turn("model-a", **{"x-api-key": "sk-of-the-client", "user-agent": "agent sk-of-the-client"})
            session.turn("model-b", **{"x-api-key": "sk-of-the-client", "user-agent": "agent sk-of-the-client"})
        assert TAG in board.turns[1].body.decode()
        assert board.summaries == []
        (asked,) = other.summaries
        sent = asked.head + asked.body
        assert b"sk-of-the-client" not in sent
        assert sent.count(SUMMARY_KEY.encode()) == 1
        assert SUMMARY_KEY.encode() not in b"".join(turn.head + turn.body for turn in board.turns)


def test_a_summary_may_stand_in_a_message_of_the_assistant(proxy: Proxy) -> None:
    board = Board()
    with Upstream(board.script) as upstream, options(proxy, summary_role="assistant"):
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.turn("model-b")
        first, second = json.loads(board.turns[1].body)["messages"]
        assert (first["role"], TAG in first["content"]) == ("assistant", True)
        assert second == {"role": "user", "content": session.said[2][1]}


def test_a_client_may_ask_for_no_handover_and_the_header_goes_no_further(proxy: Proxy) -> None:
    board = Board()
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.said.append(("user", "And now?"))
        session.ask("model-b", **{"X-Thoughtkeep-Handover": "skip"})
        assert board.turns[1].body == session.body("model-b")
        assert b"thoughtkeep" not in board.turns[1].head.lower()
        assert session.telemetry()["thoughtkeep_handover_reason"] == "skipped"
        session.ask("model-b")
        assert TAG in board.turns[2].body.decode()


def test_a_router_may_say_who_made_a_history_that_the_proxy_has_not_seen(proxy: Proxy) -> None:
    board = Board()
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url, said=[("user", "One."), ("assistant", "1."), ("user", "Two.")])
        session.said[0] = ("user", f"One of {session.name}.")
        session.ask("model-b")
        session.ask("model-b", **{"x-thoughtkeep-switch-from": "model-a"})
        texts = [turn.body.decode() for turn in board.turns]
        assert [TAG in text for text in texts] == [False, True]
        assert b"thoughtkeep" not in b"".join(turn.head.lower() for turn in [*board.turns, *board.summaries])


def test_a_flows_metadata_tells_what_was_done(proxy: Proxy) -> None:
    board = Board()
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        told_of = []
        for model in ("model-a", "model-a", "model-b", "model-b"):
            session.turn(model, "word " * 400)
            told_of.append(session.telemetry())
        assert [each["thoughtkeep_handover_reason"] for each in told_of] == [
            "no_prior_turn",
            "same_model",
            "switch",
            "handover_reused",
        ]
        flags = [tuple(each[f"handover_{name}"] for name in ("invoked", "reused")) for each in told_of]
        assert flags == [(False, False), (False, False), (True, False), (False, True)]
        assert not [each for each in told_of if each["handover_fallback_to_full_history"]]
        switch, reused = told_of[2:]
        assert 1000 <= switch["thoughtkeep_tokens_before"] <= 1100  # two questions of 2000 characters, two answers
        assert reused["thoughtkeep_tokens_before"] == switch["thoughtkeep_tokens_before"]
        assert 0 < switch["thoughtkeep_tokens_after"] < 50
        assert isinstance(switch["thoughtkeep_summary_ms"], int)


# -- a long session ---------------------------------------------------------------------------------------------------

HANDS = ("model-a", "model-b", "model-c", "model-d")
TURNS = 40


@pytest.mark.parametrize("shape", SHAPES)
def test_in_a_session_of_forty_turns_and_three_switches_every_prefix_holds(shape: str, proxy: Proxy) -> None:
    board = Board(shape)
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url, board.shape)
        models = [HANDS[turn * len(HANDS) // TURNS] for turn in range(TURNS)]
        for turn, model in enumerate(models):
            session.turn(model, f"Question {turn} of {session.name}: " + "how many trees? " * 20)
    assert len(board.turns) == TURNS
    assert len(board.summaries) == len(HANDS) - 1
    sent = [told(request, board.shape.key) for request in board.turns]
    for turn in range(1, TURNS):
        switch = models[turn] != models[turn - 1]
        stands_still = sent[turn][: len(sent[turn - 1])] == sent[turn - 1]
        assert stands_still != switch, turn
        assert (TAG in sent[turn][0]) == (turn >= TURNS // len(HANDS))
    assert [len(each) for each in sent] == [1 + 2 * (turn % (TURNS // len(HANDS))) for turn in range(TURNS)]
