"""A Redis or Valkey server of the test's own: on loopback and a free port, without persistence, and of bounded life."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import pytest

from databases import Databases
from proxy import free_port

#: Seconds that a server may take to begin and to end, and that it lives at most.
PATIENCE = 10.0
LIFE = 900

PROGRAM = next(filter(None, map(shutil.which, ("redis-server", "valkey-server"))), None)

#: For tests that need one.
needs_server = pytest.mark.skipif(PROGRAM is None, reason="neither redis-server nor valkey-server is installed")


class RedisServer:
    """A server; use it as a context manager. `words` are further words for it. It forgets all when it is stopped."""

    def __init__(self, *words: str) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="strict-redis-"))
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = Databases()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def database(self, folder: Path) -> str:
        """The URL of a database for a test that has this folder: empty, when it is asked for first."""
        number, is_new = self._databases.of(folder)
        if is_new:
            assert b"+OK" in self.say(f"SELECT {number}", "FLUSHDB")
        return f"redis://127.0.0.1:{self.port}/{number}"

    def start(self) -> None:
        assert PROGRAM is not None
        words = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        words += ["--dir", str(self.folder), "--pidfile", str(self.folder / "pid"), "--daemonize", "no"]
        life = ["timeout", str(LIFE)] if shutil.which("timeout") else []
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*life, PROGRAM, *words, *self._words], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if time.monotonic() > until or self._process.poll() is not None:
                log_text = (self.folder / "log").read_text("utf-8", "replace")
                self.stop(kill=True)
                raise RuntimeError(f"the server does not answer:\n{log_text}")
            time.sleep(0.01)

    def stop(self, *, kill: bool = False) -> None:
        """End it: SIGTERM, or SIGKILL if `kill`."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError, ValueError):
            self._signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.terminate()  # which `timeout` passes on
            process.wait(PATIENCE)

    def hang(self) -> None:
        """Have it answer nobody, its connections as they are."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def say(self, *commands: str) -> bytes:
        """Send commands on a connection of its own; what came back, undivided."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as sock:
            sock.sendall("".join(f"{command}\r\n" for command in (*commands, "QUIT")).encode())
            return b"".join(iter(lambda: sock.recv(65536), b""))

    def __enter__(self) -> RedisServer:
        try:
            self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.go_on()
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            said = self.say("PING")
        except OSError:
            return False
        return b"LOADING" not in said and said != b""

    def _signal(self, number: signal.Signals) -> None:
        os.kill(int((self.folder / "pid").read_text()), number)
