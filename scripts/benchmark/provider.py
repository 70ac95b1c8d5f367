"""An upstream that keeps connections open, as providers do: `provider.py FILE` serves the answers in FILE.

It is a process of its own and prints its port. A request may name its answer (`x-bench-answer`); gateways that drop the
header get the one called `default`. The first event of a stream comes alone, the rest right behind it. Every answer
tells in `x-bench-state` how many turns' state its request held. The end of standard input ends it.
"""

import json
import os
import re
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

if __package__:
    from benchmark.upstream import Answers
else:
    from upstream import Answers

#: The answer to requests that name none.
DEFAULT = "default"

#: The state of a turn: reasoning of some length, since some gateways put a space where it is missing.
_STATE = re.compile(rb'"reasoning_content": ?"[^"]{20}')


def serve(connection: socket.socket, answers: Answers) -> None:
    """Answer the requests of a connection, until its client closes it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb", buffering=1 << 20) as reader:
        while reader.readline():
            headers = {}
            while (line := reader.readline()) not in (b"\r\n", b""):
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.lower()] = value.strip()
            body = reader.read(int(headers.get("content-length", 0)))
            name = headers.get("x-bench-answer", DEFAULT)
            pieces = answers.writes(name, "first")
            connection.sendall(answers.head(name, len(_STATE.findall(body)), time.monotonic_ns()) + next(pieces))
            for piece in pieces:
                connection.sendall(piece)


def _quietly(connection: socket.socket, answers: Answers) -> None:
    with suppress(OSError):  # of a client that is ended in the middle
        serve(connection, answers)


def main() -> None:
    """Serve until standard input ends."""
    answers = Answers(Path(sys.argv[1]))
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    threading.Thread(target=_accept, args=(listener, answers), daemon=True).start()
    print(json.dumps(listener.getsockname()[1]), flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


def _accept(listener: socket.socket, answers: Answers) -> None:
    while True:
        threading.Thread(target=_quietly, args=(listener.accept()[0], answers), daemon=True).start()


if __name__ == "__main__":
    main()
