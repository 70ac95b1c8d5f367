"""From a path to an open SQLite file of ours, or Unusable: and then the file is as it was.

Here and nowhere else: what is looked at before the first byte is written. An existing file is read through a read-only
connection first, which takes no locks and leaves no files beside it where no other connection has put some. Files are
never opened by anything but SQLite: closing a descriptor would drop the locks of this process's other connections
(https://sqlite.org/howtocorrupt.html, 2.2).
"""

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from . import schema
from .base import Unusable
from .faults import Fault, classify

# Seconds that a statement waits for a lock.
BUSY_TIMEOUT = 0.05

# Seconds that opening goes on trying: two proxies that start together both want to make the file.
PATIENCE = 0.4

# Bytes up to which the structure of the whole file is checked on opening (some 50 ms); damage in a larger one is met
# at run time.
CHECKED = 64 * 1024 * 1024

# Bytes of pages that are kept in memory: the index of marks is read and written all over.
PAGES = 16 * 1024 * 1024

# Bytes to which the write-ahead log is cut back after it grew.
JOURNAL_LIMIT = 16 * 1024 * 1024


class Refused(Exception):
    """The file is not one to work with; the message says why."""


class Damaged(Refused):
    """The file is damaged, as far as it can be seen alone."""


def open_file(path: Path) -> tuple[sqlite3.Connection, bytes]:
    """Open the file, made first if need be. Returns a connection in autocommit mode, and the key that lives in it.

    The connection may be used by any one thread at a time. Raises Unusable.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return _open(path)
        except sqlite3.Error as error:
            # What is no damage may pass: another proxy is making the file, or closing it.
            if classify(error) is Fault.DAMAGED or time.monotonic() > until:
                raise _unusable(path, _reason(error)) from error
        except (Refused, schema.Newer) as error:
            raise _unusable(path, str(error)) from error
        except OSError as error:
            raise _unusable(path, error.strerror or type(error).__name__) from error
        time.sleep(BUSY_TIMEOUT / 2)


def _open(path: Path) -> tuple[sqlite3.Connection, bytes]:
    if os.path.isdir(path):
        raise Refused("it is a directory")
    _make(path)
    empty = not path.stat().st_size
    if not empty:
        _inspect(path)
    connection = _connect(path, "mode=rw")
    try:
        return connection, _settle(connection, empty)
    except BaseException:
        leave_alone(connection)
        connection.close()
        raise


def leave_alone(connection: sqlite3.Connection) -> None:
    """Have the connection close without carrying the write-ahead log over into the file."""
    with suppress(sqlite3.Error):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)


def _make(path: Path) -> None:
    """Make the file, empty and private, where there is none. SQLite gives the files beside it the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _inspect(path: Path) -> None:
    """Check an existing file without writing. Raises Refused, Newer, or the error of SQLite."""
    # The file itself, whatever a log says: another application's log is none of our business.
    with closing(_connect(path, "mode=ro&immutable=1")) as connection:
        try:
            _require_ours(connection)
            if not _accompanied(path):
                _require_whole(connection, path)
                _require_sound(connection, path)
        except (Damaged, sqlite3.DatabaseError) as error:
            # A commit or checkpoint that was cut short or is under way: the file beside has what this one lacks.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            if code & 0xFF != sqlite3.SQLITE_CORRUPT or not _accompanied(path):
                raise
    # With a journal only a connection that may write can read what was before; _settle looks again.
    if _beside(path, "-wal").exists() and not _beside(path, "-journal").exists():
        with closing(_connect(path, "mode=ro")) as connection:
            _require_ours(connection)
            _require_sound(connection, path)


def _accompanied(path: Path) -> bool:
    """Whether the file alone is not all there is."""
    return _beside(path, "-wal").exists() or _beside(path, "-journal").exists()


def _require_ours(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:
        raise Refused("it belongs to another application")
    schema.require_known(schema.version_of(connection))


def _require_whole(connection: sqlite3.Connection, path: Path) -> None:
    """SQLite reads a last page that is cut off as if zeros followed."""
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if pages * size > path.stat().st_size:
        raise Damaged("it is damaged (its end is missing)")


def _require_sound(connection: sqlite3.Connection, path: Path) -> None:
    if len(_key(connection)) != 32:
        raise Damaged("it is damaged (its key is missing)")
    if path.stat().st_size <= CHECKED and (said := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise Damaged(f"it is damaged ({said})")


def _settle(connection: sqlite3.Connection, empty: bool) -> bytes:
    """Bring the file to the present schema and set the connection up. Returns the key."""
    connection.execute("PRAGMA synchronous = NORMAL")
    # For all that is ever deleted, also turns that are replaced or pruned: nobody could have them forgotten later.
    connection.execute("PRAGMA secure_delete = ON").fetchone()
    if empty:
        # Must come before anything is read, and writes a page: inside the transaction, or other openers would see
        # a file that doesn't tell whose it is.
        connection.execute("BEGIN")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    else:
        # Asks for the lock even if nothing is to be done: a file that cannot be written is found out now.
        connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        _require_ours(connection)
    before = schema.upgrade(connection)
    if not before:
        connection.execute("INSERT INTO meta VALUES ('key', ?)", (os.urandom(32),))
    key = _key(connection)
    connection.execute("COMMIT")
    # Only now: the first version of a file is whole in the file itself, where it tells whose it is.
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if before != len(schema.MIGRATIONS):
        connection.execute("PRAGMA wal_checkpoint").fetchone()  # likewise every later version
    connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_LIMIT}").fetchone()
    connection.execute(f"PRAGMA cache_size = -{PAGES // 1024}")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")  # damaged pages show sooner
    return key


def _key(connection: sqlite3.Connection) -> bytes:
    row = connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
    return bytes(row[0]) if row else b""


def _connect(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
    )


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _reason(error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return "it is not a SQLite database"
    if classify(error) is Fault.LOCKED:
        return "another program holds it locked"
    return f"it is damaged or cannot be used ({error})"


def _unusable(path: Path, reason: str) -> Unusable:
    return Unusable(f"{path} cannot be used as a store: {reason}; it is left alone")
