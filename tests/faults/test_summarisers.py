"""A summariser that says nothing: who waits for it goes on with the full history, and nobody else waits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.kit import AMPLE, goes_on, wait_for
from e2e.switching import TAG, Answering, Board, Session, handing, impatient, text_of
from e2e.upstream import Line, Request, Upstream
from faults.row import Row, table
from faults.stage import Watch
from proxy import Proxy


@dataclass(frozen=True)
class Silence(Row):
    """What the summariser says before it says nothing more."""

    begins: Answering


def _begin(request: Request, line: Line) -> None:
    line.stream([b'data: {"choices": [{"index": 0, "delta": {"content": "Half a su"}}]}\n\n'], end=False)


def _drip(request: Request, line: Line) -> None:
    line.begin({"content-type": "application/json", "content-length": "1000"})


_CLIENT = "the upstream's own bytes within the timeout, for its full history"
_OTHERS = "others are served and restored meanwhile"

ROWS = [
    Silence("summary-hangs", "a summariser that says nothing", _CLIENT, _OTHERS, lambda request, line: None),
    Silence("summary-stops", "a summariser that stops in mid-stream", _CLIENT, _OTHERS, _begin),
    Silence("summary-no-body", "a summariser that says no more than its head", _CLIENT, _OTHERS, _drip),
]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("summaries")
    with handing(store=f"sqlite:///{folder}/state.sqlite3") as running:
        yield running


@table(ROWS)
def test_a_summariser_that_hangs(row: Silence, proxy: Proxy) -> None:
    watch, board = Watch(proxy), Board()
    left: list[bool] = []

    def hang(request: Request, line: Line) -> None:
        row.begins(request, line)
        left.append(line.wait_until_left())

    board.summarise = hang
    with impatient(proxy), Upstream(board.script) as upstream, ThreadPoolExecutor(1) as pool:
        session = Session(proxy, upstream.url)
        session.turn("model-a")
        session.said.append(("user", "And now?"))
        asked = pool.submit(session.ask, "model-b")
        wait_for(lambda: board.summaries)
        assert goes_on(proxy)
        assert not asked.done()
        assert text_of(asked.result(2 * AMPLE)) == "Answer 2."
        assert board.turns[1].body == session.body("model-b")
        assert TAG not in board.turns[1].body.decode()
        assert watch.log.count("no summary") == 1
        wait_for(lambda: left)
        assert left == [True]
    watch.assert_unharmed()
