"""Whatever goes wrong with a summary behind a real proxy: the client's own request goes, and one line says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from e2e.kit import wait_for
from e2e.switching import SUMMARY, TAG, Board, Session, handing, impatient, warnings
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy

Answering = Callable[[Request, Line], None]


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with handing() as running:
        yield running


def whole(message: dict[str, Any], reason: str = "stop", **more: Any) -> Answering:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    return Board.raw(json.dumps({"choices": [choice], **more}).encode())


def streamed(*events: dict[str, Any] | str, end: bool = True) -> Answering:
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    pieces = [f"data: {text}\n\n".encode() for text in texts]
    return lambda request, line: line.stream(pieces, end=end)


def delta(text: str, reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


def cut_off(request: Request, line: Line) -> None:
    line.begin({"content-type": "application/json", "content-length": "1000"})
    line.send(b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Half a su')


CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}

#: What the summariser does, and a word of the reason in the log.
FAILURES: dict[str, tuple[Answering, str]] = {
    "no credit": (Board.raw(b'{"error":{"message":"no credit"}}', "402 Payment Required"), "status 402"),
    "not found": (Board.raw(b"not found", "404 Not Found", "text/plain"), "status 404"),
    "too many requests": (Board.raw(b'{"error":{"message":"slow down"}}', "429 Too Many Requests"), "status 429"),
    "a fault": (Board.raw(b"<html>oops</html>", "500 Internal Server Error", "text/html"), "status 500"),
    "overloaded, with a summary below it": (
        Board.raw(json.dumps(Board().shape.answer(SUMMARY)).encode(), "529 Overloaded"),
        "status 529",
    ),
    "hanging up": (lambda request, line: None, "no answer"),
    "hanging up in the answer": (cut_off, "no answer"),
    "hanging up in a stream": (streamed(delta("Half a su"), end=False), "no answer"),
    "an empty text": (whole({"content": ""}), "empty"),
    "a text that was cut": (whole({"content": "Half a su"}, "length"), "ended by length"),
    "a tool call": (whole({"content": None, "tool_calls": [CALL]}, "tool_calls"), "tool call"),
    "a refusal": (whole({"content": None, "refusal": "I can't."}), "refusal"),
    "a filter": (whole({"content": "Half a su"}, "content_filter"), "ended by content_filter"),
    "an error inside a 200": (Board.raw(b'{"error":{"message":"overloaded"}}'), "error in the answer"),
    "a part, then an error": (streamed(delta("Half a su"), {"error": {"message": "gone"}}, "[DONE]"), "error"),
    "a stream without its end": (streamed(delta("Half a su")), "cut off"),
    "a web page": (Board.raw(b"<html>Log in</html>", kind="text/html"), "unreadable"),
    "no JSON": (Board.raw(b"{not json"), "unreadable"),
    "nothing": (Board.raw(b""), "unreadable"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_where_no_summary_can_be_had_the_clients_bytes_go_and_one_line_says_why(name: str, proxy: Proxy) -> None:
    answering, reason = FAILURES[name]
    board = Board()
    board.summarise = answering
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        before = len(proxy.log())
        session.said.append(("user", "SECRET-WORDS, and now?"))
        assert session.ask("model-b").status_code == 200
        assert board.turns[1].body == session.body("model-b")
        assert len(board.summaries) == 1
        (line,) = warnings(proxy, before)
        assert reason in line
        assert session.telemetry()["handover_fallback_to_full_history"] is True
        # The same again, at once: it is not tried again.
        assert session.ask("model-b").status_code == 200
        assert board.turns[2].body == session.body("model-b")
        assert len(board.summaries) == 1
        told = proxy.log()[before:]
        assert "SECRET-WORDS" not in told
        assert "Half a su" not in told
        assert "Traceback" not in told


def test_a_summariser_that_says_nothing_is_left_when_its_time_is_up(proxy: Proxy) -> None:
    board = Board()
    left: list[bool] = []
    board.summarise = lambda request, line: left.append(line.wait_until_left())
    with impatient(proxy), Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        before = len(proxy.log())
        session.turn("model-b")
        assert TAG not in board.turns[1].body.decode()
        (line,) = warnings(proxy, before)
        assert "no answer within 1 s" in line
        wait_for(lambda: left)
        assert left == [True]


def test_a_summariser_that_stops_in_mid_answer_is_left_when_its_time_is_up(proxy: Proxy) -> None:
    board = Board()
    left: list[bool] = []

    def stop(request: Request, line: Line) -> None:
        line.stream([b"data: " + json.dumps(delta("Half a su")).encode() + b"\n\n"], end=False)
        left.append(line.wait_until_left())

    board.summarise = stop
    with impatient(proxy), Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        before = len(proxy.log())
        session.turn("model-b")
        assert TAG not in board.turns[1].body.decode()
        assert len(warnings(proxy, before)) == 1
        wait_for(lambda: left)
        assert left == [True]


def test_an_answer_without_an_end_in_size_is_given_up(proxy: Proxy) -> None:
    """Four megabytes are enough for every summary."""
    board = Board()
    board.summarise = Board.raw(json.dumps(board.shape.answer("x" * 4_100_000)).encode())
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        before = len(proxy.log())
        session.turn("model-b")
        assert TAG not in board.turns[1].body.decode()
        assert len(warnings(proxy, before)) == 1


def test_after_a_failed_summary_another_model_gets_one(proxy: Proxy) -> None:
    board = Board()
    good, board.summarise = board.summarise, Board.raw(b"", "503 Service Unavailable")
    with Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.turn("model-b")
        board.summarise = good
        session.turn("model-b")
        session.turn("model-c")
        texts = [request.body.decode() for request in board.turns]
        assert [TAG in text for text in texts] == [False, False, False, True]
