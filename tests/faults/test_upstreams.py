"""Upstreams that break off: the client is told what mitmproxy alone tells it, and what had ended is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from e2e.kit import Talk
from e2e.upstream import Line
from faults.row import Row, table
from faults.stage import Scene, Watch, assert_begins_anew, assert_goes_on
from proxy import Proxy

_SAME = "what mitmproxy alone passes on, to the byte"
_RESTORED = "the answer had come to its end and is restored"
_NOTHING = "nothing of it is put back; asked again, it is restored"


@dataclass(frozen=True)
class Breaking(Row):
    """The answer goes so far: `pieces` of the stream, `half` of the next one; then `ends`. Without a stream, `head`."""

    ends: Callable[[Scene, Line], None]
    head: bytes | None = None
    pieces: int = 0
    half: bool = False
    over: bool = False
    restored: bool = False

    def answer(self, scene: Scene, line: Line) -> None:
        if self.head is not None:
            line.send(self.head)
            return self.ends(scene, line)
        line.stream([], end=False)
        scene.wait_for_head()
        stream = scene.talk.stream
        pieces = stream[: self.pieces]
        if self.half:
            pieces.append(stream[self.pieces][: len(stream[self.pieces]) // 2])
        for piece in pieces:
            line.chunk(piece)
            scene.wait_for_body(piece)
        if self.over:
            line.chunk(b"")
        return self.ends(scene, line)


def _reset(scene: Scene, line: Line) -> None:
    line.reset()


def _close(scene: Scene, line: Line) -> None:
    """The upstream closes when its part is over."""


def _half_close(scene: Scene, line: Line) -> None:
    line.half_close()
    scene.wait_until_left(line)


_ENDS = {
    "reset": ("resets the connection", _reset),
    "close": ("closes the connection", _close),
    "half-close": ("closes its half of the connection", _half_close),
}

# Of the stream: two pieces of reasoning, a call, the reason of the end, [DONE].
_PHASES: dict[str, tuple[str, dict[str, object]]] = {
    "before-head": ("before the head", {"head": b""}),
    "in-head": ("in the head", {"head": b"HTTP/1.1 200 OK\r\ncontent-ty"}),
    "after-head": ("after the head", {}),
    "in-event": ("in mid-event", {"pieces": 2, "half": True}),
    "between-events": ("between events", {"pieces": 2}),
    "before-end": ("before the terminal event", {"pieces": 3}),
    "after-reason": ("between the terminal event and the end mark", {"pieces": 4, "restored": True}),
    "after-mark": ("behind the end mark, before the end of the body", {"pieces": 5, "restored": True}),
    "after-body": ("behind the end of the body", {"pieces": 5, "over": True, "restored": True}),
}


def _rows() -> Iterator[Breaking]:
    for end, (words, ends) in _ENDS.items():
        for phase, (when, how) in _PHASES.items():
            kept = _RESTORED if how.get("restored") else _NOTHING
            name = f"upstream-{end}-{phase}"
            yield Breaking(name, f"the upstream {words} {when}", _SAME, kept, ends, **how)  # type: ignore[arg-type]


ROWS = list(_rows())


@table(ROWS)
def test_an_upstream_that_breaks_off(row: Breaking, kept: Proxy, alone: Proxy) -> None:
    watch = Watch(kept)
    with Scene(Talk()) as scene:
        scene.part = row.answer
        without = scene.ask(alone, scene.talk.first)
        with_ = scene.ask(kept, scene.talk.first)
        assert with_ == without
        assert scene.sent == [scene.talk.first] * 2
        assert_goes_on(scene, kept, row.restored)
        assert_begins_anew(scene, kept)
    watch.assert_unharmed()
