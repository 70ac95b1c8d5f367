"""A real mitmdump or mitmweb in a process of its own, for tests and the demo."""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal

#: Seconds that the program may take to listen.
STARTUP = 30.0
#: Seconds after that in which it may still end by itself.
_SETTLING = 0.2
_DOOMED = re.compile(r"Errors? logged during startup|error in script")
_LISTENS = re.compile(r"(?<!Web server )listening at [^\s]*?:(\d+)")
_WEB_LISTENS = re.compile(r"Web server listening at ")


class ProxyFailed(Exception):
    """The program ended or did not listen in time. The message ends with the tail of its log."""


class Proxy:
    """mitmdump on 127.0.0.1 and a free port, with its own configuration folder. Use it as a context manager.

    `words` are further command-line words, such as `-s FILE` or `--set NAME=VALUE`; `env` is added to the environment,
    from which proxy variables are taken out. With `program="mitmweb"` it is mitmweb, whose page is at `web_url`.
    Raises ProxyFailed on entering.
    """

    def __init__(
        self,
        *words: str | Path,
        env: Mapping[str, str] | None = None,
        startup: float = STARTUP,
        program: Literal["mitmdump", "mitmweb"] = "mitmdump",
    ) -> None:
        self.words = [str(word) for word in words]
        self.port = 0
        self._env = without_proxies() | {"PYTHONUNBUFFERED": "1", **(env or {})}
        self._startup = startup
        self._program = program
        self._web_port = free_port() if program == "mitmweb" else 0
        self._token = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def web_url(self) -> str:
        """Where mitmweb's page is, with the token that opens it."""
        if not self._web_port:
            raise RuntimeError(f"{self._program} has no page")
        return f"http://127.0.0.1:{self._web_port}/?token={self._token}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError(f"{self._program} does not run")
        return self._process.pid

    @property
    def folder(self) -> Path:
        """Its temporary folder: the log, and `conf`, mitmproxy's configuration."""
        if self._folder is None:
            raise RuntimeError("use the proxy as a context manager")
        return self._folder

    def log(self) -> str:
        """All that the program has written so far, over all its starts."""
        if self._folder is None:
            return ""
        return (self._folder / "log").read_text("utf-8", "replace")

    def __enter__(self) -> Proxy:
        self._folder = Path(tempfile.mkdtemp(prefix="strict-proxy-"))
        (self._folder / "log").touch()
        try:
            self._start()
        except BaseException:
            self._clean()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clean()

    def restart(self, *, kill: bool = False) -> None:
        """Stop the program, by SIGKILL if `kill`, and start it again on the same port."""
        self.stop(kill=kill)
        self._start()

    def stop(self, *, kill: bool = False) -> None:
        """End the process: SIGTERM, and SIGKILL if `kill` or if it is still there after five seconds."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)

    def _start(self) -> None:
        before = len(self.log())
        # The script beside the interpreter: the one of the same environment, wherever PATH points.
        command = [str(Path(sys.executable).parent / self._program), "--listen-host", "127.0.0.1", "-p", str(self.port)]
        command += ["--set", f"confdir={self.folder / 'conf'}"]
        if self._web_port:
            command += ["--no-web-open-browser", "--web-host", "127.0.0.1", "--web-port", str(self._web_port)]
            command += ["--set", f"web_password={self._token}"]
        command += self.words
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self._env
            )
        deadline = time.monotonic() + self._startup
        while (found := self._listens(before)) is None and self._process.poll() is None:
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        # It listens first and ends then, if an addon logged an error while it was loaded.
        if found is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_SETTLING)
            if _DOOMED.search(self.log(), before):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(5)
        ended = self._process.poll()
        if found is None or ended is not None:
            self.stop(kill=True)
            reason = f"ended with status {ended}" if ended is not None else f"did not listen in {self._startup:g} s"
            tail = "\n".join(self.log()[before:].splitlines()[-15:])
            raise ProxyFailed(f"{self._program} {reason}; the end of its log:\n{tail}")
        self.port = int(found[1])

    def _listens(self, start: int) -> re.Match[str] | None:
        """The log's word of the proxy's port, once all that should listen does."""
        log = self.log()
        if self._web_port and not _WEB_LISTENS.search(log, start):
            return None
        return _LISTENS.search(log, start)

    def _clean(self) -> None:
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def without_proxies() -> dict[str, str]:
    """This process's environment without the variables that would send a program to a proxy."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, for programs that cannot choose one themselves."""
    # Not one of those that systems give out by themselves: another process could be given it before it is used.
    for port in random.sample(range(20000, 30000), 100):
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")
