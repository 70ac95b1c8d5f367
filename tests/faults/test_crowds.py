"""A thousand requests of one conversation at a time: each is answered, each is restored, and it comes to an end."""

from __future__ import annotations

import asyncio
import re
import resource
from collections.abc import Iterator
from contextlib import suppress

import pytest

from e2e.kit import Talk
from e2e.raw import posted
from e2e.steady import answered
from faults.row import Row, table
from faults.stage import Heard, Watch, keeping, understood
from proxy import Proxy

COUNT = 1000
#: Seconds that all of them take at most; a proxy that is not stalled takes a tenth of it.
BOUND = 90.0
#: Files that the crowd, its upstream and the proxy between them may have open.
_FILES = 4 * COUNT


ROWS = [
    Row(
        "crowd",
        f"{COUNT} requests of one conversation at a time, half of them streamed",
        "the upstream's own bytes for its own question, each, and all in bounded time",
        "every request is restored",
    )
]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy that may have as many files open as it takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _FILES:
        pytest.skip(f"a process may have {hard} files open, and {_FILES} are needed")
    if soft != resource.RLIM_INFINITY and soft < _FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, hard))
    try:
        with keeping(tmp_path_factory.mktemp("crowd") / "state.sqlite3") as running:
            yield running
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Crowd:
    """Clients and an upstream in one event loop. Of the crowd nobody is answered before all requests are there."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.talk = Talk()
        self.sent: dict[int, bytes] = {}
        self._all = asyncio.Event()
        self._port = 0

    def question(self, number: int) -> bytes:
        """The second request of the talk, with a result that no other client has."""
        self.talk.streamed = bool(number % 2)
        called, result = self.talk.said()
        return self.talk.body(called, {**result, "content": f"blue, says number {number:04}"})

    @staticmethod
    def answer(number: int) -> bytes:
        """The upstream's bytes for that client."""
        other = Talk(streamed=bool(number % 2))
        other.name, other.call, other.thought = "", f"call_{number:04}", f"Reasoning for number {number:04}."
        return answered(other)

    async def run(self) -> list[Heard]:
        """What each client of the crowd got, by number, after the conversation has got its first answer."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=COUNT)
        self._port = server.sockets[0].getsockname()[1]
        try:
            async with asyncio.timeout(BOUND):
                assert (await self._ask(self.talk.first)).body == answered(self.talk)
                return await asyncio.gather(*map(self._client, range(COUNT)))
        finally:
            server.close()

    async def _client(self, number: int) -> Heard:
        await asyncio.sleep(number / COUNT)  # mitmproxy's listener has room for a hundred that it has not accepted
        return await self._ask(self.question(number))

    async def _ask(self, body: bytes) -> Heard:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._proxy.port)
        data = b""
        try:
            url = f"http://127.0.0.1:{self._port}{self.talk.path}"
            writer.write(posted(url, body, self.talk.headers))
            while not understood(data, over=False).whole and (more := await reader.read(65536)):
                data += more
        finally:
            writer.close()
        return understood(data, over=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            answer = answered(self.talk)
            if mark := re.search(rb"says number (\d+)", body):
                number = int(mark[1])
                answer = self.answer(number)
                self.sent[number] = body
                if len(self.sent) == COUNT:
                    self._all.set()
                await self._all.wait()
            kind = "text/event-stream" if answer.startswith(b"data:") else "application/json"
            named = f"content-type: {kind}\r\ncontent-length: {len(answer)}\r\nconnection: close"
            writer.write(f"HTTP/1.1 200 OK\r\n{named}\r\n\r\n".encode() + answer)
            await writer.drain()
        writer.close()


@table(ROWS)
def test_a_crowd(row: Row, wide: Proxy) -> None:
    watch, crowd = Watch(wide), Crowd(wide)
    heard = asyncio.run(crowd.run())
    assert [number for number in range(COUNT) if heard[number].body != crowd.answer(number)] == []
    assert [number for number in range(COUNT) if not crowd.talk.restored(crowd.sent[number])] == []
    watch.assert_unharmed()
