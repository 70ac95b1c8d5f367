"""A server on loopback that answers as Redis does, and fails as the test says: for tests that need no real server.

What it stores and what its scripts do is fakeredis' work; here are the connections, and the faults of a network.
"""

import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from fakeredis import FakeServer, FakeStrictRedis
from redis.exceptions import RedisError

from databases import Databases

# Seconds that a reply is held back at most.
PATIENCE = 15.0


class FakeRedis:
    """The server; use it as a context manager. The attributes are its faults, and may be changed at any time.

    `refusal` is an error that scripts are answered with whose text has `only` in it, `garbage` bytes that are sent for
    a reply, `password` what is demanded. `scripts` counts those that were run.
    """

    def __init__(self) -> None:
        self.refusal = ""
        self.only = ""
        self.garbage = b""
        self.password = ""
        self.scripts = 0
        self.port = 0
        self._server = FakeServer()
        self._go = threading.Event()
        self._go.set()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._connections: set[socket.socket] = set()
        self._databases = Databases()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def database(self, folder: Path) -> str:
        """The URL of a database for a test that has this folder: empty, when it is asked for first."""
        number, is_new = self._databases.of(folder)
        if is_new:
            FakeStrictRedis(server=self._server, db=number).flushdb()
        return f"redis://127.0.0.1:{self.port}/{number}"

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening, and hang up on everybody. What is stored stays, unless it is forgotten."""
        if self._listener:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.hang_up()

    def hang_up(self) -> None:
        for connection in tuple(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def forget(self) -> None:
        """Have it be empty, as after a restart without persistence."""
        FakeStrictRedis(server=self._server).flushall()

    def hang(self) -> None:
        self._go.clear()

    def go_on(self) -> None:
        self._go.set()

    def __enter__(self) -> "FakeRedis":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.go_on()
        self.stop()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._connections.add(connection)
        if self._listener is None:  # it was stopped in this moment
            connection.close()
        pool = FakeStrictRedis(server=self._server, protocol=2).connection_pool
        inside = pool.get_connection()
        known = False
        with connection, suppress(OSError, ValueError), connection.makefile("rb") as file:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while command := _read(file):
                if command[0].upper() == b"AUTH":
                    known = command[-1].decode() == self.password
                    reply = b"+OK\r\n" if known else b"-WRONGPASS invalid username-password pair\r\n"
                elif self.password and not known:
                    reply = b"-NOAUTH Authentication required.\r\n"
                else:
                    reply = self._reply(inside, command)
                self._go.wait(PATIENCE)
                connection.sendall(reply)
        self._connections.discard(connection)
        pool.disconnect()

    def _reply(self, inside: Any, command: list[bytes]) -> bytes:
        is_script = command[0].upper() == b"EVAL"
        if is_script and self.garbage:
            return self.garbage
        if is_script and self.refusal and self.only.encode() in command[1]:
            return f"-{self.refusal}\r\n".encode()
        with self._lock:
            self.scripts += is_script
            try:
                inside.send_command(*command)
                return _written(inside.read_response())
            except RedisError as error:
                return f"-ERR {error}\r\n".encode()


def _read(file: Any) -> list[bytes]:
    count = file.readline()
    command = []
    for _ in range(int(count[1:] or 0)):
        size = int(file.readline()[1:])
        command.append(file.read(size + 2)[:-2])
    return command


def _written(value: Any) -> bytes:
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(_written, value))
    data = value if isinstance(value, bytes) else str(value).encode()
    return b"$%d\r\n%s\r\n" % (len(data), data)
