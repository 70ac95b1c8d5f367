"""The console mitmproxy in a terminal that tests type into and read from. The terminal is tmux's.

`needs_tmux` marks the tests that do not run where there is no tmux. Every wait is bounded.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pytest

from proxy import free_port, without_proxies

#: Seconds that any wait takes at most; the program's start may take more.
PATIENCE = 10.0
STARTUP = 30.0

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux on PATH: apt install tmux")

# A screen that is all the program's, and the last one of a program that ended.
_SETTINGS = """
set -g status off
set -g remain-on-exit on
set -gq remain-on-exit-format ""
set -g default-terminal screen-256color
set -s escape-time 0
"""


class Console:
    """mitmproxy in a terminal of its own, its proxy on 127.0.0.1. Use it as a context manager.

    `words` are further command-line words, such as `-s FILE`; `size` is the terminal's width and height. Raises
    AssertionError with what is on the screen if the program does not start.
    """

    def __init__(self, *words: str | Path, size: tuple[int, int] = (160, 50)) -> None:
        self.words = [str(word) for word in words]
        self.size = size
        self.port = 0
        self._env = {name: value for name, value in without_proxies().items() if name not in ("TMUX", "TMUX_PANE")}
        self._env |= {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}
        self._folder: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The proxy's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The program's process."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def __enter__(self) -> Console:
        self._folder = Path(tempfile.mkdtemp(prefix="console-"))
        try:
            self._start(self._folder)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, *keys: str) -> None:
        """Press keys, each by tmux's name for it: "Enter", "Escape", "Down", "BTab", "C-c", "q"."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type the characters of a text."""
        self._tmux("send-keys", "-l", "--", text)

    def screen(self) -> str:
        """The lines that are on the screen, without the blanks at their ends."""
        return self._tmux("capture-pane", "-p")

    def wait_for(self, what: str | Callable[[str], object], patience: float = PATIENCE) -> str:
        """Wait until a text is on the screen, or until the screen is as a function says; returns the screen."""
        end = time.monotonic() + patience
        while True:
            screen = self.screen()
            if what in screen if isinstance(what, str) else what(screen):
                return screen
            dead = self._dead()
            if dead or time.monotonic() > end:
                reason = "mitmproxy ended" if dead else f"not so within {patience:g} s"
                raise AssertionError(f"{reason}; on the screen is:\n{self.screen()}")
            time.sleep(0.02)

    def close(self) -> None:
        """End the program, by force if it does not end in time, and the terminal."""
        server = self._server
        if server is not None:
            # Without a session there is no program, and nothing to end but the terminal.
            with contextlib.suppress(subprocess.CalledProcessError, subprocess.TimeoutExpired):
                self._end()
            server.terminate()
            try:
                server.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(PATIENCE)
            self._server = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _start(self, folder: Path) -> None:
        self.port = free_port()
        (folder / "tmux.conf").write_text(_SETTINGS)
        # Not as a daemon, which nobody could wait for.
        words = ["tmux", "-D", "-u", "-S", str(folder / "socket"), "-f", str(folder / "tmux.conf")]
        self._server = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=self._env)
        _until(self._answers, "tmux does not start")
        width, height = self.size
        program = [str(Path(sys.executable).parent / "mitmproxy"), "--listen-host", "127.0.0.1", "-p", str(self.port)]
        program += ["--set", f"confdir={folder / 'conf'}", *self.words]
        self._tmux("new-session", "-d", "-x", str(width), "-y", str(height), *program)
        self.wait_for(f":{self.port}]", STARTUP)
        _until(self._accepts, "the proxy does not accept connections")

    def _answers(self) -> bool:
        try:
            self._tmux("start-server")
        except subprocess.CalledProcessError:
            return False
        return True

    def _end(self) -> None:
        pid = self.pid
        for how in (signal.SIGTERM, signal.SIGKILL):
            if self._dead():
                return
            os.kill(pid, how)
            with contextlib.suppress(AssertionError):
                _until(self._dead, "it is still there")

    def _dead(self) -> bool:
        """Whether the program ended. The terminal has waited for it then."""
        if self._server is not None:
            # tmux now and then misses the signal that says so.
            self._server.send_signal(signal.SIGCHLD)
        how = self._tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}#{pane_dead_signal}")
        return how.startswith("1") and len(how.split()) == 2

    def _accepts(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def _tmux(self, *words: str) -> str:
        if self._folder is None:
            raise RuntimeError("use the console as a context manager")
        # To tmux, a semicolon at a word's end separates commands.
        words = tuple(f"{word[:-1]}\\;" if word.endswith(";") else word for word in words)
        command = ["tmux", "-N", "-u", "-S", str(self._folder / "socket"), *words]
        done = subprocess.run(
            command, check=True, capture_output=True, encoding="utf-8", env=self._env, timeout=PATIENCE
        )
        return done.stdout


def _until(what: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            raise AssertionError(otherwise)
        time.sleep(0.02)
