"""What the rows are played on: a proxy with thoughtkeep and a bare one, a client that notes each byte it gets.

`Scene` plays one exchange of a conversation through a proxy, and tells the upstream how far the client has come: what
is broken off is broken off behind bytes that have arrived, not somewhere in a buffer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from e2e.kit import AMPLE, Talk, goes_on, keeper
from e2e.raw import Wire, posted
from e2e.steady import DONE, JSON
from e2e.upstream import PATIENCE, Line, Request, Upstream
from proxy import Proxy

HERE = Path(__file__).parent
#: Words that no log may have, whatever happens.
_UNWANTED = ("Traceback", "thoughtkeep: fault in", "never retrieved", "never awaited")


def keeping(path: Path, *words: str | Path, before: tuple[Path, ...] = ()) -> Proxy:
    """A mitmdump with thoughtkeep, whose store is this file; `before` are scripts that are loaded ahead of it."""
    return keeper(*words, store=f"sqlite:///{path}", before=before)


def bare() -> Proxy:
    """A mitmdump without thoughtkeep, which passes streams on as they come."""
    return Proxy("-s", HERE / "passing_addon.py")


class Watch:
    """A proxy's log from now on."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self._size = len(proxy.log())

    @property
    def log(self) -> str:
        return self.proxy.log()[self._size :]

    def assert_unharmed(self) -> None:
        """Nothing went wrong inside, and a conversation that begins now is served and restored."""
        assert goes_on(self.proxy)
        log = self.log
        assert [words for words in _UNWANTED if words in log] == []


@dataclass(frozen=True)
class Heard:
    """What a client got: the head as it was, the body without its framing, and whether that came to its end."""

    head: bytes
    body: bytes
    whole: bool


def understood(data: bytes, over: bool) -> Heard:
    """What these bytes say; `over` is whether the connection ended behind them."""
    head, border, rest = data.partition(b"\r\n\r\n")
    if not border:
        return Heard(data, b"", False)
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    if fields.get(b"transfer-encoding") == b"chunked":
        body, whole = _dechunked(rest)
        return Heard(head, body, whole)
    length = fields.get(b"content-length")
    return Heard(head, rest, over if length is None else len(rest) >= int(length))


def _dechunked(data: bytes) -> tuple[bytes, bool]:
    """The body as far as it goes, and whether its last chunk is there."""
    body = b""
    while b"\r\n" in data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return body, data == b"\r\n"
        body += data[:length]
        data = data[length + 2 :]
    return body, False


class Scene:
    """One exchange at a time between a client, a proxy and an upstream; see above.

    The upstream answers with `part` while there is one, which gets the scene and the line; else as the talk goes.
    """

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.part: Callable[[Scene, Line], None] | None = None
        self.upstream = Upstream(self._answer)
        self.left: list[bool] = []
        self.late = False  # whether something that was sent did not reach the client in time
        self._heard = Heard(b"", b"", False)
        self._change = threading.Condition()

    def __enter__(self) -> Scene:
        self.upstream.__enter__()
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self.upstream.__exit__(None, None, None)
        assert kind is not None or not self.late

    @property
    def sent(self) -> list[bytes]:
        """The bodies of the requests that reached the upstream."""
        return [request.body for request in self.upstream.requests]

    @property
    def url(self) -> str:
        return self.upstream.url + self.talk.path

    def _answer(self, request: Request, line: Line) -> None:
        if self.part is not None:
            self.part(self, line)
        elif b"tool_call_id" in request.body:
            line.answer(DONE, JSON)
        else:
            self.talk.answer(request, line)

    def ask(self, proxy: Proxy, body: bytes) -> Heard:
        """What a client gets for a request that it sends whole, and then says no more."""
        with Wire(proxy) as wire:
            wire.send(self.post(body))
            return self.listen(wire)

    def post(self, body: bytes) -> bytes:
        return posted(self.url, body, self.talk.headers)

    def listen(self, wire: Wire, words: bytes = b"") -> Heard:
        """What arrives: all of it, or up to these words. TimeoutError where nothing more comes in time."""
        data, over, heard = b"", False, Heard(b"", b"", False)
        while not (over or heard.whole or (words and words in heard.body)):
            try:
                more = wire.sock.recv(65536)
            except ConnectionResetError:
                more = b""
            data, over = data + more, not more
            heard = understood(data, over)
            with self._change:
                self._heard = heard
                self._change.notify_all()
        return heard

    def wait_for_body(self, words: bytes) -> None:
        """For the upstream's part: wait until the client has got a body that ends like this."""
        self._wait(lambda: self._heard.body.endswith(words))

    def wait_for_head(self) -> None:
        """For the upstream's part: wait until the client has got the head of an answer."""
        self._wait(lambda: bool(self._heard.head))

    def wait_until_left(self, line: Line) -> None:
        """For the upstream's part: hold the connection until the proxy leaves it, and note whether it did."""
        self.left.append(line.wait_until_left())

    def _wait(self, what: Callable[[], bool]) -> None:
        with self._change:
            self.late |= not self._change.wait_for(what, min(AMPLE, PATIENCE))


def begun(proxy: Proxy, stack: ExitStack, size: int = 0) -> Scene:
    """A conversation that got its first answer, whose state has so many bytes."""
    talk = Talk()
    talk.thought += "x" * size
    scene = stack.enter_context(Scene(talk))
    assert scene.ask(proxy, talk.first).body == b"".join(talk.stream)
    return scene


def assert_goes_on(scene: Scene, proxy: Proxy, restored: bool) -> None:
    """The client goes on from the answer: its state is put back, or not one byte of its request is changed."""
    scene.part = None
    assert scene.ask(proxy, scene.talk.second).body == DONE
    if restored:
        assert scene.talk.restored(scene.sent[-1])
    else:
        assert scene.sent[-1] == scene.talk.second


def assert_begins_anew(scene: Scene, proxy: Proxy) -> None:
    """The client asks the same again, is served byte for byte, goes on, and its state is put back."""
    scene.part = None
    heard = scene.ask(proxy, scene.talk.first)
    assert heard.body == (b"".join(scene.talk.stream) if scene.talk.streamed else scene.talk.plain)
    assert scene.sent[-1] == scene.talk.first
    assert_goes_on(scene, proxy, restored=True)
