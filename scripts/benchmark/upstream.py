"""The upstream, in a process of its own: `upstream.py FILE` serves the answers in FILE and prints its port.

A request names its answer (`x-bench-answer`) and how it is to come (`x-bench-pace`):

- `burst`: all events at once, each in an HTTP chunk of its own, as servers send them, in writes of 64 kB;
- `joined`: the same in HTTP chunks of 64 kB, as some gateways send them;
- `receipt`: one by one, each when a byte came on standard input, by which the client says that it is ready;
- `first`: the first event alone, the rest behind it.

Every answer tells in `x-bench-state` how many turns' state its request held, and in `x-bench-at` when all of it was
here, by the clock that all processes of a machine share. The end of standard input ends it.
"""

import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

if __package__:
    from benchmark.traffic import STATE
else:
    from traffic import STATE

WRITE = 65_536


class Answers:
    """The answers by name, encoded once."""

    def __init__(self, file: Path) -> None:
        found = json.loads(file.read_text("utf-8"))
        self._kinds = {name: kind.encode() for name, (kind, _) in found.items()}
        self._chunks = {name: [chunk.encode() for chunk in chunks] for name, (_, chunks) in found.items()}

    def head(self, name: str, state: int, arrived: int) -> bytes:
        """The head of an answer to a request that was here at `arrived`, in nanoseconds."""
        length = b"Transfer-Encoding: chunked"
        if b"event-stream" not in self._kinds[name]:
            length = b"Content-Length: %d" % sum(map(len, self._chunks[name]))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\nx-bench-state: %d\r\nx-bench-at: %d\r\n\r\n"
        return head % (self._kinds[name], length, state, arrived)

    def writes(self, name: str, pace: str) -> Iterator[bytes]:
        """What is written at once, for a pace."""
        chunks = self._chunks[name]
        if b"event-stream" not in self._kinds[name]:
            yield b"".join(chunks)
            return
        if pace == "joined":
            chunks = list(_cut(b"".join(chunks)))
        framed = [b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks] + [b"0\r\n\r\n"]
        if pace == "receipt":
            yield from framed
        elif pace == "first":
            yield from (framed[0], b"".join(framed[1:]))
        else:
            yield from _cut(b"".join(framed))


def _cut(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), WRITE):
        yield data[start : start + WRITE]


def serve(connection: socket.socket, answers: Answers) -> None:
    """Answer the request of a connection, and close it.

    mitmproxy does not use a redirected connection again, and keeps five open at most. Closing is not told in the head:
    it would close the client's connection as well.
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb", buffering=1 << 20) as reader:
        headers = {}
        while (line := reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if not headers:
            return
        body = reader.read(int(headers["content-length"]))
        arrived = time.monotonic_ns()
        name, pace = headers["x-bench-answer"], headers["x-bench-pace"]
        connection.sendall(answers.head(name, body.count(STATE), arrived))
        for piece in answers.writes(name, pace):
            if pace == "receipt":
                os.read(0, 1)
            connection.sendall(piece)


def main() -> None:
    """Serve until standard input ends."""
    answers = Answers(Path(sys.argv[1]))
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(0, 0)  # its end only: the bytes are for the answers
    while True:
        for number, _ in poll.poll():
            if number != listener.fileno():
                os._exit(0)
            threading.Thread(target=serve, args=(listener.accept()[0], answers), daemon=True).start()


if __name__ == "__main__":
    main()
