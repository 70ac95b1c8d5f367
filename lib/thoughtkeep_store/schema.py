"""The tables of the SQLite file, and how an older file becomes a present one.

The tables hold digests and records only, in no text: keys may hold what SQLite's text cannot (lone surrogates).
A `turn` row is never changed: a turn that is put again gets a new number (AUTOINCREMENT: never used twice), so what was
read by number stays true. `mark` leads from a mark's digest to the newest turns without touching their rows; `marks` in
a turn's row are its digests again, packed, so that they can be taken out without reading the record.
"""

import sqlite3
from collections.abc import Iterator

# "thkp": tells our files from other applications' (https://sqlite.org/pragma.html#pragma_application_id).
APPLICATION_ID = 0x74686B70

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

    CREATE TABLE conversation (
        number INTEGER PRIMARY KEY,
        name BLOB NOT NULL UNIQUE,
        used REAL NOT NULL,
        turns INTEGER NOT NULL,
        bytes INTEGER NOT NULL
    );
    CREATE INDEX conversation_by_use ON conversation (used, bytes, turns);

    CREATE TABLE turn (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        name BLOB NOT NULL UNIQUE,
        conversation INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        made REAL NOT NULL,
        marks BLOB NOT NULL,
        head BLOB NOT NULL,
        body BLOB NOT NULL
    );
    CREATE INDEX turn_by_conversation ON turn (conversation);

    CREATE TABLE mark (
        digest INTEGER NOT NULL,
        made REAL NOT NULL,
        turn INTEGER NOT NULL,
        tenant INTEGER NOT NULL,
        PRIMARY KEY (digest, made, turn)
    ) WITHOUT ROWID;
    """,
)


class Newer(Exception):
    """The file's schema is of a later version than this code knows."""


def version_of(connection: sqlite3.Connection) -> int:
    """Return the schema version of the file; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def require_known(version: int) -> None:
    """Raise Newer if this code does not know the version."""
    if version > len(MIGRATIONS):
        raise Newer(f"its schema version is {version}, and this thoughtkeep knows {len(MIGRATIONS)}")


def upgrade(connection: sqlite3.Connection) -> int:
    """Bring the file to the present version, inside the caller's transaction. Returns the version it had.

    Raises Newer, or the error of SQLite.
    """
    version = version_of(connection)
    require_known(version)
    for script in MIGRATIONS[version:]:
        for statement in _statements(script):
            connection.execute(statement)
    if version != len(MIGRATIONS):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    return version


def _statements(script: str) -> Iterator[str]:
    """Cut a script into statements. `executescript` would commit the transaction that is open."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
