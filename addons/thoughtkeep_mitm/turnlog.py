"""The turn log: a file that gets one line of JSON for each exchange.

Written by a thread of its own: a disk that hangs holds up no answer. What it can't take in time is dropped, and said
once. The file is readable by its owner alone, and may be moved away at any time (logrotate): the next line begins a new
one.
"""

import json
import logging
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from io import FileIO, TextIOWrapper
from logging.handlers import QueueHandler, QueueListener, WatchedFileHandler
from pathlib import Path
from queue import Queue
from threading import Thread

from thoughtkeep.turns import Json

# Lines that may wait for the disk.
WAITING = 10_000


class TurnLog:
    """Writes records to a file. `warn` is told once of each kind of fault."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._path = ""
        self._queue: _Queue | None = None
        self._listener: QueueListener | None = None

    def open(self, path: str) -> None:
        """Write to another file from now on; empty: to none. Raises ValueError where it cannot be opened."""
        if path == self._path:
            return
        handler = _File(path, self._warn) if path else None
        self.close()
        if handler is not None:
            queue: Queue[logging.LogRecord] = Queue(WAITING)
            self._queue = _Queue(queue, self._warn)
            self._listener = QueueListener(queue, handler)
            self._listener.start()
        self._path = path

    def write(self, record: dict[str, Json]) -> None:
        """Add a line. Does no I/O."""
        if self._queue is not None:
            told = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **record}
            self._queue.handle(logging.makeLogRecord({"msg": json.dumps(told, ensure_ascii=False)}))

    def close(self) -> None:
        """Write what waits, for two seconds at most."""
        listener, self._listener, self._queue, self._path = self._listener, None, None, ""
        if listener is not None:
            ending = Thread(target=_end, args=(listener,), daemon=True)
            ending.start()
            ending.join(2)


def _end(listener: QueueListener) -> None:
    listener.stop()
    for handler in listener.handlers:
        handler.close()


class _Queue(QueueHandler):
    def __init__(self, queue: "Queue[logging.LogRecord]", warn: Callable[[str], None]) -> None:
        super().__init__(queue)
        self._warn, self._told = warn, False

    def handleError(self, record: logging.LogRecord) -> None:
        if not self._told:
            self._told = True
            self._warn("the turn log's disk is too slow, lines are left out")


class _File(WatchedFileHandler):
    def __init__(self, path: str, warn: Callable[[str], None]) -> None:
        self._warn, self._told = warn, False
        try:
            super().__init__(Path(path).expanduser(), encoding="utf-8", errors="backslashreplace")
        except OSError as fault:
            raise ValueError(f"{path} cannot be written: {fault.strerror}") from None

    def _open(self) -> TextIOWrapper:
        # The mode is for a new file; one that is there keeps its own.
        file = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return TextIOWrapper(FileIO(file, "a"), encoding=self.encoding, errors=self.errors, write_through=True)

    def handleError(self, record: logging.LogRecord) -> None:
        if not self._told:
            self._told = True
            fault = sys.exc_info()[1]
            self._warn(f"the turn log cannot be written: {getattr(fault, 'strerror', None) or type(fault).__name__}")
