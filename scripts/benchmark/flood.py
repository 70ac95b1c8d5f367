"""An upstream of answers that are too large: `flood.py`, in a process of its own, prints its port.

`POST …` with `x-bench-flood: NAME` gets the answer of that name; with `x-bench-together: N` none gets beyond its half
before N have come so far. `GET /NAME` tells an answer's size and digest, as JSON. Nothing large is in memory at once
but what is compressed. The end of standard input ends it.
"""

import json
import os
import socket
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MB = 1_000_000

#: Bytes of the large answers, of the long line, and the numbers of tiny and of parallel events.
LARGE, LINE = 1_050 * MB, 50 * MB
TINY, PARALLEL = 1_000_000, 1_000

#: The same for a quick run.
QUICK = {"large": 100 * MB, "line": LINE, "tiny": 50_000}

_BLOCK = 65_536
_ALL = b'data: {"id":"f","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{'
_HEAD = _ALL + b'"role":"assistant"}}]}\n\n'
_BEFORE = _ALL + b'"content":"'
_BEHIND = b'"},"finish_reason":null}]}\n\n'
_END = _ALL + b'},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
_WORDS = b"All work and no play makes a long answer. "


def event(text: bytes) -> bytes:
    """An event with so much text."""
    return _BEFORE + text + _BEHIND


def _words(size: int) -> bytes:
    return (_WORDS * (size // len(_WORDS) + 1))[:size]


class Floods:
    """The answers by name: pieces, each of which is to be an HTTP chunk of its own, and the content coding."""

    def __init__(self, quick: bool) -> None:
        self._sizes = QUICK if quick else {"large": LARGE, "line": LINE, "tiny": TINY}

    def pieces(self, name: str) -> Iterator[bytes]:
        """What is sent."""
        base, _, coding = name.partition("+")
        if coding:
            return iter(self._packed(base, coding))
        return getattr(self, f"_{base}")()

    def _large(self) -> Iterator[bytes]:
        one = event(_words(_BLOCK))
        yield _HEAD
        for _ in range(self._sizes["large"] // len(one)):
            yield one
        yield _END

    def _comments(self) -> Iterator[bytes]:
        """Nothing but comments, which hold nothing that could be kept."""
        one = b": still thinking\n\n" * (_BLOCK // 18)
        yield _HEAD
        for _ in range(self._sizes["large"] // len(one)):
            yield one
        yield _END

    def _line(self) -> Iterator[bytes]:
        yield _HEAD
        yield _BEFORE
        one = _words(_BLOCK)
        for _ in range(self._sizes["line"] // _BLOCK):
            yield one
        yield _BEHIND
        yield _END

    def _tiny(self) -> Iterator[bytes]:
        one = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
        yield _HEAD
        for _ in range(self._sizes["tiny"]):
            yield one
        yield _END

    def _parallel(self) -> Iterator[bytes]:
        yield _HEAD
        for number in range(PARALLEL):
            yield event(b" some word %d" % number)
        yield _END

    @cache  # noqa: B019 - one object lives as long as the process
    def _packed(self, base: str, coding: str) -> list[bytes]:
        packed = b"".join(_compressed(self.pieces(base), coding))
        return [packed[start : start + _BLOCK] for start in range(0, len(packed), _BLOCK)]

    @cache  # noqa: B019 - likewise
    def told(self, name: str) -> Mapping[str, object]:
        """Size and digest of an answer."""
        size, digest = 0, sha256()
        for piece in self.pieces(name):
            size += len(piece)
            digest.update(piece)
        return {"size": size, "sha256": digest.hexdigest()}


def _compressed(pieces: Iterator[bytes], coding: str) -> Iterator[bytes]:
    if coding == "gzip":
        packer = zlib.compressobj(6, wbits=zlib.MAX_WBITS | 16)
        yield from (packer.compress(piece) for piece in pieces)
        yield packer.flush()
    elif coding == "br":
        brotli_packer = brotli.Compressor(quality=5)
        yield from (brotli_packer.process(piece) for piece in pieces)
        yield brotli_packer.finish()
    else:
        zstd_packer = zstd.ZstdCompressor(level=3)
        yield from (zstd_packer.compress(piece) for piece in pieces)
        yield zstd_packer.flush()


class Meeting:
    """Where streams wait until enough are there."""

    def __init__(self) -> None:
        self._all = threading.Condition()
        self._here = 0

    def wait(self, number: int) -> None:
        """Wait for so many, this one counted."""
        with self._all:
            self._here += 1
            if self._here >= number:
                self._here = 0
                self._all.notify_all()
            else:
                self._all.wait(60)


def serve(connection: socket.socket, floods: Floods, meeting: Meeting) -> None:
    """Answer one request, and close."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb") as reader, suppress(OSError):
        method, path, _ = reader.readline().decode("latin-1").split()
        headers = {}
        while (line := reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        reader.read(int(headers.get("content-length", 0)))
        if method == "GET":
            body = json.dumps(floods.told(path[1:])).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            return
        name, together = headers.get("x-bench-flood", "parallel"), int(headers.get("x-bench-together", 0))
        coding = name.partition("+")[2]
        told = f"Content-Encoding: {coding}\r\n" if coding else ""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{told}Transfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        waiting = bytearray()
        for number, piece in enumerate(floods.pieces(name)):
            waiting += b"%x\r\n%s\r\n" % (len(piece), piece)
            if len(waiting) >= _BLOCK or (together and number == PARALLEL // 2):
                connection.sendall(waiting)
                waiting.clear()
            if together and number == PARALLEL // 2:
                meeting.wait(together)
        connection.sendall(waiting + b"0\r\n\r\n")


def _accept(listener: socket.socket, floods: Floods) -> None:
    meeting = Meeting()
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], floods, meeting), daemon=True).start()


def main() -> None:
    """Serve until standard input ends."""
    floods = Floods("quick" in sys.argv[1:])
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    threading.Thread(target=_accept, args=(listener, floods), daemon=True).start()
    print(json.dumps(listener.getsockname()[1]), flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
