"""The request for a summary behind a real proxy: once a switch, in every mode, and whatever the proxy's options are."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from e2e.kit import wait_for
from e2e.switching import SHAPES, SUMMARY, TAG, Board, Session, handing, impatient, told, warnings
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with handing() as running:
        yield running


def switched(session: Session, board: Board) -> list[Request]:
    """Two turns of one model, then two of another: what went upstream. Asserts what holds of every switch."""
    for model in ("model-a", "model-a", "model-b", "model-b"):
        session.turn(model)
    assert len(board.summaries) == 1
    assert len(board.turns) == 4
    assert all(request.header("host") for request in [*board.turns, *board.summaries])
    third, fourth = (told(request, board.shape.key) for request in board.turns[2:])
    assert len(third) == 1
    assert TAG in third[0]
    assert "SUMMARY-4711" in third[0]
    assert third[0].count(session.said[4][1]) == 1
    assert fourth[:1] == third
    assert len(fourth) == 3
    return board.turns


@pytest.mark.parametrize("shape", SHAPES)
def test_a_switch_asks_once_and_keeps_the_prefix(shape: str, proxy: Proxy) -> None:
    board = Board(shape)
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url, board.shape)
        switched(session, board)
        (asked,) = board.summaries
        assert asked.target == board.shape.path.format(model="model-b")
        text = asked.body.decode()
        assert session.said[0][1] in text
        assert session.said[4][1] not in text
        assert asked.header("authorization") == "Bearer sk-client"
        assert asked.header("x-test-name") is None
        assert session.telemetry()["handover_reused"] is True


def test_in_reverse_mode_the_summary_is_asked_of_the_same_upstream() -> None:
    board = Board()
    with (
        Upstream(board.script) as upstream,
        handing("--mode", f"reverse:{upstream.url}") as proxy,
    ):
        switched(Session(proxy, proxy.url, direct=True), board)
        host = board.turns[0].header("host")
        assert [request.header("host") for request in board.summaries] == [host]


def test_in_upstream_mode_the_summary_goes_through_the_upstream_proxy() -> None:
    board = Board()
    with (
        Upstream(board.script) as parent,
        handing("--mode", f"upstream:{parent.url}") as proxy,
    ):
        switched(Session(proxy, "http://provider.invalid:8000"), board)
        targets = {request.target for request in [*board.turns, *board.summaries]}
        assert targets == {"http://provider.invalid:8000/v1/chat/completions"}
        assert board.summaries[0].header("host") == "provider.invalid:8000"


def test_behind_proxy_authentication_the_summary_needs_none_and_tells_none() -> None:
    board = Board()
    with Upstream(board.script) as upstream, handing("--proxyauth", "alice:secret") as proxy:
        switched(Session(proxy, upstream.url, user="alice:secret"), board)
        assert board.summaries[0].header("proxy-authorization") is None
        assert Session(proxy, upstream.url).ask("model-a").status_code == 407


def test_an_intercept_filter_does_not_stop_the_summary() -> None:
    """The filter matches requests for summaries: a client's own that looks like one is held."""
    board = Board()
    with Upstream(board.script) as upstream, handing("--set", "intercept=~bq You.prepare.a.handover") as proxy:
        switched(Session(proxy, upstream.url), board)
        look_alike = Session(proxy, upstream.url, said=[("user", "You prepare a handover, do you?")])
        with pytest.raises(httpx.ReadTimeout):
            look_alike.ask("model-a", patience=0.5)
        assert len(board.summaries) == 1


def test_a_summary_that_somebody_holds_back_is_given_up_in_time_and_never_sent(proxy: Proxy) -> None:
    board = Board()
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        with impatient(proxy):
            before = len(proxy.log())
            session.turn("model-b", **{"x-test-pause": "yes"})
        assert TAG not in board.turns[1].body.decode()
        assert len(warnings(proxy, before)) == 1
        assert board.summaries == []
        session.turn("model-c")  # nothing of it is left behind
        assert TAG in board.turns[2].body.decode()
        assert len(board.summaries) == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_where_large_bodies_are_streamed_the_summary_is_not(chunked: bool) -> None:
    """Question and answer are both over the bound, the conversation is below it."""
    board = Board()
    long = SUMMARY + " It goes on." * 400
    answer = json.dumps(board.shape.answer(long)).encode()

    def summarise(request: Request, line: Line) -> None:
        if not chunked:
            return line.answer(answer, {"content-type": "application/json"})
        line.begin({"content-type": "application/json", "transfer-encoding": "chunked"})
        for start in range(0, len(answer), 500):
            line.chunk(answer[start : start + 500])
        return line.chunk(b"")

    board.summarise = summarise
    with Upstream(board.script) as upstream, handing("--set", "stream_large_bodies=1000") as proxy:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.turn("model-b")
        assert len(board.summaries[0].body) > 1000
        assert "It goes on." in board.turns[1].body.decode()


def test_a_summariser_that_is_slow_delays_nobody_else(proxy: Proxy) -> None:
    board = Board()
    go = board.hold()
    with Upstream(board.script) as upstream:
        session, other = Session(proxy, upstream.url), Session(proxy, upstream.url)
        session.turn("model-a")
        waiting = threading.Thread(target=session.turn, args=("model-b",))
        waiting.start()
        try:
            wait_for(lambda: board.summaries)
            other.turn("model-a")
            other.turn("model-a")
            assert not go.is_set()
            assert len(board.turns) == 3
        finally:
            go.set()
            waiting.join()
        assert TAG in board.turns[3].body.decode()


def test_requests_that_want_the_same_summary_share_it(proxy: Proxy) -> None:
    board = Board()
    go = board.hold()
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.said.append(("user", "And now?"))
        before = len(proxy.log())
        threads = [threading.Thread(target=session.ask, args=("model-b",)) for _ in range(5)]
        for thread in threads:
            thread.start()
        wait_for(lambda: proxy.log()[before:].count("thoughtkeep: start") == 5)
        go.set()
        for thread in threads:
            thread.join()
        assert len(board.summaries) == 1
        assert len({request.body for request in board.turns[1:]}) == 1
        assert len(board.turns) == 6
        assert TAG in board.turns[1].body.decode()


def test_a_client_that_leaves_does_not_take_the_summary_from_others(proxy: Proxy) -> None:
    board = Board()
    go = board.hold()
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.said.append(("user", "And now?"))
        raw = session.body("model-b")
        head = (
            f"POST {upstream.url}/v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{upstream.port}\r\n"
            f"Authorization: Bearer sk-client\r\nContent-Length: {len(raw)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", proxy.port)) as leaving:
            leaving.sendall(head.encode() + raw)
            wait_for(lambda: board.summaries)
        before = len(proxy.log())
        waiting = threading.Thread(target=session.ask, args=("model-b",))
        waiting.start()
        wait_for(lambda: "thoughtkeep: start" in proxy.log()[before:])
        go.set()
        waiting.join()
        assert len(board.summaries) == 1
        assert TAG in board.turns[-1].body.decode()


def test_after_a_restart_the_summary_is_what_it_was(tmp_path_factory: pytest.TempPathFactory) -> None:
    board = Board()
    store = f"sqlite:///{tmp_path_factory.mktemp('store')}/state.sqlite3"
    with Upstream(board.script) as upstream, handing(store=store) as proxy:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.turn("model-b")
        proxy.restart(kill=True)
        session.turn("model-b")
        proxy.restart()
        session.turn("model-b")
        assert len(board.summaries) == 1
        prefix = told(board.turns[1])
        assert TAG in prefix[0]
        assert [told(request)[:1] for request in board.turns[2:]] == [prefix] * 2
