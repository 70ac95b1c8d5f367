"""A proxy that is killed: every turn whose last byte reached a client is known when the proxy is back."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from e2e.kit import AMPLE, Talk, wait_for
from e2e.raw import Wire, posted
from e2e.steady import DONE, JSON, answered
from e2e.upstream import Line, Request, Upstream
from faults.row import Row, table
from faults.stage import HERE, Heard, Scene, Watch, assert_begins_anew, keeping, understood
from proxy import Proxy

#: Clients that ask at the same time.
_CLIENTS = 8


class Crowd:
    """Clients that begin one conversation after the other through a proxy, and an upstream that answers all of them.

    `owed` are the conversations whose client got the last byte of its answer.
    """

    def __init__(self, proxy: Proxy, seed: int) -> None:
        self.proxy = proxy
        self.chance = random.Random(seed)
        self.owed: list[Talk] = []
        self._talks: dict[str, Talk] = {}
        self._over = threading.Event()
        self._first = threading.Event()
        self.upstream = Upstream(self._answer)

    def _answer(self, request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return line.answer(DONE, JSON)
        talk = self._talks.get(request.body.partition(b"words of ")[2][:32].decode())
        if talk is not None:  # else the proxy was killed in the middle of the request
            talk.answer(request, line)
        return None

    def _ask(self, talk: Talk, body: bytes) -> Heard:
        """What the client got until the end, or until the connection broke."""
        data = b""
        with suppress(OSError), Wire(self.proxy) as wire:
            wire.send(posted(self.upstream.url + talk.path, body, talk.headers))
            while not understood(data, over=False).whole and (more := wire.sock.recv(65536)):
                data += more
        return understood(data, over=False)

    def _client(self, kill: bool) -> None:
        while not self._over.is_set():
            talk = Talk(streamed=self.chance.random() < 0.7)
            self._talks[talk.name] = talk
            heard = self._ask(talk, talk.first)
            if heard.whole and heard.body == answered(talk):
                self.owed.append(talk)
                if kill and not self._first.is_set():
                    self._first.set()
                    self.proxy.stop(kill=True)
                    self._over.set()

    def run_until_killed(self, *, behind_a_byte: bool) -> None:
        """Have all clients ask until the proxy is killed: at some moment, or by the first that got its last byte."""
        asking = [threading.Thread(target=self._client, args=(behind_a_byte,)) for _ in range(_CLIENTS)]
        for thread in asking:
            thread.start()
        if not behind_a_byte:
            count = self.chance.randrange(5, 60)
            wait_for(lambda: len(self.owed) >= count)
            time.sleep(self.chance.uniform(0, 0.02))
            self.proxy.stop(kill=True)
            self._over.set()
        for thread in asking:
            thread.join(2 * AMPLE)
        assert not any(thread.is_alive() for thread in asking)

    def lost(self) -> list[Talk]:
        """The conversations that are owed and get nothing back when they go on."""
        found = []
        for talk in self.owed:
            assert self._ask(talk, talk.second).body == DONE
            if not talk.restored(self.upstream.requests[-1].body):
                found.append(talk)
        return found


@pytest.fixture(scope="module")
def durable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy whose disk is slow."""
    path = tmp_path_factory.mktemp("kills") / "state.sqlite3"
    with keeping(path, before=(HERE / "slow_disk_addon.py",)) as running:
        yield running


@dataclass(frozen=True)
class Kill(Row):
    """By `seed`; `behind_a_byte` is whether it comes right when one client has got its last byte."""

    seed: int
    behind_a_byte: bool


_CLIENT = "up to then the upstream's own bytes, and so again when the proxy is back"
_KEPT = "every turn whose last byte reached a client is restored"

ROWS = [
    *(
        Kill(f"kill-load-{seed}", f"kill -9 at a random moment under load ({seed})", _CLIENT, _KEPT, seed, False)
        for seed in (1, 2, 3)
    ),
    *(
        Kill(f"kill-byte-{seed}", f"kill -9 right behind a last byte, slow disk ({seed})", _CLIENT, _KEPT, seed, True)
        for seed in (4, 5, 6)
    ),
]


@table(ROWS)
def test_a_proxy_that_is_killed(row: Kill, durable: Proxy) -> None:
    watch = Watch(durable)
    crowd = Crowd(durable, row.seed)
    with crowd.upstream:
        crowd.run_until_killed(behind_a_byte=row.behind_a_byte)
        durable.restart()
        assert crowd.owed
        assert [talk.name for talk in crowd.lost()] == []
    watch.assert_unharmed()


STREAM = Row(
    "kill-stream",
    "kill -9 in mid-stream",
    "what came up to then; asked again, the upstream's own bytes",
    "the second answer is restored, nothing is put back of the first",
)


@table([STREAM])
def test_a_proxy_that_is_killed_in_mid_stream(row: Row, durable: Proxy) -> None:
    watch = Watch(durable)

    def stop(scene: Scene, line: Line) -> None:
        line.stream(scene.talk.stream[:3], end=False)
        scene.wait_until_left(line)

    with Scene(Talk()) as scene:
        scene.part = stop
        with Wire(durable) as wire:
            wire.send(scene.post(scene.talk.first))
            heard = scene.listen(wire, scene.talk.stream[2])
            durable.restart(kill=True)
        assert (heard.body, heard.whole) == (b"".join(scene.talk.stream[:3]), False)
        scene.part = None
        scene.ask(durable, scene.talk.second)
        assert scene.sent[-1] == scene.talk.second
        assert_begins_anew(scene, durable)
    watch.assert_unharmed()
