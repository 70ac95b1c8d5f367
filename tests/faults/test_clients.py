"""Clients that leave: the upstream sees what mitmproxy alone shows it, and who comes again is served and restored."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from e2e.kit import Talk, wait_for
from e2e.raw import Wire
from e2e.upstream import Line
from faults.row import Row, table
from faults.stage import Scene, Watch, assert_begins_anew, assert_goes_on
from proxy import Proxy

_SERVED = "come again, it gets the upstream's own bytes"


@dataclass(frozen=True)
class Leaving(Row):
    """The client leaves in the middle of a part of its request; or it got `pieces` of the stream (None: no head).

    `reaches` is whether its request reaches the upstream, `ended` whether it got the last event.
    """

    leaves: Callable[[Wire], None]
    within: Literal["head", "body", ""] = ""
    pieces: int | None = None

    @property
    def ended(self) -> bool:
        return self.pieces == 5

    @property
    def reaches(self) -> bool:
        return not self.within

    def answer(self, scene: Scene, line: Line) -> None:
        if self.pieces is not None:
            line.stream(scene.talk.stream[: self.pieces], end=False)
        scene.wait_until_left(line)

    def play(self, scene: Scene, proxy: Proxy) -> None:
        """Ask, leave, and wait until the proxy has noticed."""
        watch, left = Watch(proxy), len(scene.left)
        data = scene.post(scene.talk.first)
        border = data.index(b"\r\n\r\n") + 4
        cut = {"head": border // 2, "body": (border + len(data)) // 2, "": len(data)}[self.within]
        with Wire(proxy) as wire:
            wire.send(data[:cut])
            if self.pieces:
                scene.listen(wire, scene.talk.stream[self.pieces - 1])
            elif self.reaches:
                wait_for(lambda: len(scene.sent) > left)
            else:
                wait_for(lambda: "client connect" in watch.log)
            self.leaves(wire)
        wait_for(lambda: "client disconnect" in watch.log)
        if self.reaches:
            wait_for(lambda: len(scene.left) > left)


_ENDS = {"closes": ("closes the connection", Wire.close), "resets": ("resets the connection", Wire.reset)}

_PHASES: dict[str, tuple[str, str, dict[str, object]]] = {
    "in-head": ("in the head of its request", "the second answer is restored", {"within": "head"}),
    "in-body": ("in the body of its request", "the second answer is restored", {"within": "body"}),
    "before-answer": ("before the head of the answer", "the second answer is restored", {}),
    "in-stream": ("in mid-stream", "the second answer is restored", {"pieces": 2}),
    "before-end": ("before the terminal event", "the second answer is restored", {"pieces": 3}),
    "after-end": ("behind the last event", "the first answer is restored", {"pieces": 5}),
}


def _rows() -> Iterator[Leaving]:
    for end, (words, leaves) in _ENDS.items():
        for phase, (when, kept, how) in _PHASES.items():
            yield Leaving(f"client-{end}-{phase}", f"the client {words} {when}", _SERVED, kept, leaves, **how)  # type: ignore[arg-type]


@table(_rows())
def test_a_client_that_leaves(row: Leaving, kept: Proxy, alone: Proxy) -> None:
    watch = Watch(kept)
    with Scene(Talk()) as scene:
        scene.part = row.answer
        for proxy in (alone, kept):
            row.play(scene, proxy)
        assert scene.sent == [scene.talk.first] * (2 * row.reaches)
        assert scene.left == [True] * (2 * row.reaches)
        if row.ended:
            assert_goes_on(scene, kept, restored=True)
        assert_begins_anew(scene, kept)
    watch.assert_unharmed()


HALF = Row(
    "client-half-closes",
    "the client closes its half of the connection behind its request",
    "what mitmproxy alone passes on, to the byte",
    "come again, its answer is restored",
)


@table([HALF])
def test_a_client_that_says_no_more(row: Row, kept: Proxy, alone: Proxy) -> None:
    watch = Watch(kept)
    with Scene(Talk()) as scene:
        heard = []
        for proxy in (alone, kept):
            with Wire(proxy) as wire:
                wire.send(scene.post(scene.talk.first))
                wire.sock.shutdown(socket.SHUT_WR)
                heard.append(scene.listen(wire))
        assert heard[0] == heard[1]
        assert_begins_anew(scene, kept)
    watch.assert_unharmed()
