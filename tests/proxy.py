"""A real mitmdump in a process of its own, for tests and the demo."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

#: Seconds that mitmdump may take to listen.
STARTUP = 30.0
#: Seconds after that in which it may still end by itself.
_SETTLING = 0.2
_DOOMED = re.compile(r"Errors? logged during startup|error in script")
_LISTENS = re.compile(r"listening at [^\s]*?:(\d+)")


class ProxyFailed(Exception):
    """mitmdump ended or did not listen in time. The message ends with the tail of its log."""


class Proxy:
    """mitmdump on 127.0.0.1 and a free port, with its own configuration folder. Use it as a context manager.

    `words` are further command-line words, such as `-s FILE` or `--set NAME=VALUE`; `env` is added to the environment,
    from which proxy variables are taken out. Raises ProxyFailed on entering.
    """

    def __init__(self, *words: str | Path, env: Mapping[str, str] | None = None, startup: float = STARTUP) -> None:
        self.words = [str(word) for word in words]
        self.port = 0
        self._env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        self._env |= {"PYTHONUNBUFFERED": "1", **(env or {})}
        self._startup = startup
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("mitmdump does not run")
        return self._process.pid

    @property
    def folder(self) -> Path:
        """Its temporary folder: the log, and `conf`, mitmproxy's configuration."""
        if self._folder is None:
            raise RuntimeError("use the proxy as a context manager")
        return self._folder

    def log(self) -> str:
        """All that mitmdump has written so far, over all its starts."""
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
        """Stop mitmdump, by SIGKILL if `kill`, and start it again on the same port."""
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
        command = [str(Path(sys.executable).parent / "mitmdump"), "--listen-host", "127.0.0.1", "-p", str(self.port)]
        command += ["--set", f"confdir={self.folder / 'conf'}", *self.words]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self._env
            )
        deadline = time.monotonic() + self._startup
        while (found := _LISTENS.search(self.log(), before)) is None and self._process.poll() is None:
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        # mitmdump listens first and ends then, if an addon logged an error while it was loaded.
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
            raise ProxyFailed(f"mitmdump {reason}; the end of its log:\n{tail}")
        self.port = int(found[1])

    def _clean(self) -> None:
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
