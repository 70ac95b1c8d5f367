"""Faults at run time: what an error of SQLite means for the store, and that each is told once.

Here and nowhere else: which error is a lock that passes, which one says that the file is damaged, and which sentence
goes to the log.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from threading import Lock


class Fault(StrEnum):
    """What went wrong, by what it means."""

    LOCKED = "locked"  # another connection holds the file: passes
    FAILED = "failed"  # writing failed (disk full, I/O error, read-only): may pass
    HAMPERED = "hampered"  # the like while reading or tidying up
    DAMAGED = "damaged"  # the file is not what we wrote: stays
    RECORD = "record"  # one record cannot be read or written
    FULL = "full"  # turns that were not durable yet had to go
    LEFT = "left"  # what was to be forgotten could not be deleted
    AWAY = "away"  # the server cannot be reached, or lets nobody in: may pass


# https://sqlite.org/rescode.html, primary codes. Errors without a code come from Python's module, not from SQLite.
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}


def classify(error: Exception) -> Fault:
    """Return what an error means that SQLite or its Python module raised."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        primary = code & 0xFF
        return Fault.LOCKED if primary in _LOCKED else Fault.DAMAGED if primary in _DAMAGED else Fault.FAILED
    return Fault.DAMAGED if type(error) is sqlite3.DatabaseError else Fault.FAILED


class Faults:
    """Tells each kind of fault once, until it has passed. May be used by several threads."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told: set[Fault] = set()
        self._lock = Lock()

    def tell(self, fault: Fault, sentence: str) -> None:
        """Tell the fault, if it is new."""
        with self._lock:
            if fault in self._told:
                return
            self._told.add(fault)
        with suppress(Exception):  # a log that fails is no reason for a store to fail
            self._tell(sentence)

    def passed(self, *faults: Fault, sentence: str = "") -> None:
        """The faults are over: the next of their kind is told again. The sentence says so, if one had been told."""
        with self._lock:
            told = not self._told.isdisjoint(faults)
            self._told.difference_update(faults)
        if told and sentence:
            with suppress(Exception):  # likewise
                self._tell(sentence)
