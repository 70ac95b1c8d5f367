"""A helper of the benchmark in a process of its own, so that what it does takes no time from who measures."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import ProxyHandler, build_opener

#: Seconds for an answer.
PATIENCE = 60.0

_FOLDER = Path(__file__).resolve().parent


class Service:
    """A script of this folder, which says its port on its first line and ends with its standard input.

    Use it as a context manager.
    """

    def __init__(self, script: str, *words: str | Path) -> None:
        command = [sys.executable, str(_FOLDER / script), *map(str, words)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin
        assert self._process.stdout
        self._out = self._process.stdout
        self._in = self._process.stdin.fileno()
        try:
            self.port = int(self.told())
        except BaseException:
            self.__exit__(None, None, None)
            raise

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> Any:
        """What it answers to a GET, as JSON."""
        with build_opener(ProxyHandler({})).open(self.url + path, timeout=PATIENCE) as response:
            return json.load(response)

    def told(self) -> Any:
        """The next line that it says, as JSON. Raises OSError if it ended without one."""
        line = self._out.readline()
        if not line:
            raise OSError("a helper process of the benchmark ended by itself")
        return json.loads(line)

    def tell(self, line: str) -> None:
        """Send it a line."""
        os.write(self._in, line.encode() + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
