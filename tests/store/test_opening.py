"""Files that a store must not work with raise Unusable, and are as they were afterwards."""

import hashlib
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from thoughtkeep_store import Unusable, opening, schema

from .kit import LIB, Backend, found, kept, keys, run


def filled(file: Backend) -> None:
    """Make a file with some turns, closed."""

    async def scenario():
        async with file.open() as store:
            for n in range(200):
                store.put(kept(f"t{n}", lineage=f"l{n}", text="x" * 2000))
            await store.flush()

    run(scenario())


def digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def edited(file: Backend, at: int, data: bytes) -> None:
    filled(file)
    content = bytearray(file.path.read_bytes())
    content[at : at + len(data)] = data
    file.path.write_bytes(content)


def sql(file: Backend, *statements: str) -> None:
    with closing(sqlite3.connect(file.path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def newer(file: Backend) -> None:
    filled(file)
    sql(file, f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")


def foreign(file: Backend) -> None:
    sql(file, "PRAGMA journal_mode = WAL", "CREATE TABLE notes (x)")


def foreign_of_our_version(file: Backend) -> None:
    sql(file, "CREATE TABLE notes (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 1")


def foreign_with_journal(file: Backend) -> None:
    sql(file, "CREATE TABLE notes (x)")
    file.path.with_name(file.path.name + "-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))


def truncated(file: Backend) -> None:
    filled(file)
    os.truncate(file.path, file.path.stat().st_size // 2)


def short_by_a_byte(file: Backend) -> None:
    filled(file)
    os.truncate(file.path, file.path.stat().st_size - 1)


def without_key(file: Backend) -> None:
    filled(file)
    sql(file, "DELETE FROM meta")


def without_tables(file: Backend) -> None:
    sql(file, f"PRAGMA application_id = {schema.APPLICATION_ID}", "PRAGMA user_version = 1", "CREATE TABLE x (x)")


def broken_row_count(file: Backend) -> None:
    filled(file)
    sql(file, "PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'mark'")


unusable: dict[str, tuple[Callable[[Backend], object], str]] = {
    "a newer version": (newer, "its schema version is 2, and this thoughtkeep knows 1"),
    "a text file": (lambda file: file.path.write_text("notes\n" * 1000), "not a SQLite database"),
    "a short text file": (lambda file: file.path.write_text("x"), "another application"),
    "zeros": (lambda file: file.path.write_bytes(bytes(8192)), "not a SQLite database"),
    "another application's": (foreign, "another application"),
    "another application's, numbered": (foreign_of_our_version, "another application"),
    "another application's, with a journal": (foreign_with_journal, "another application"),
    "cut in half": (truncated, "damaged"),
    "cut by a byte": (short_by_a_byte, "its end is missing"),
    "garbage within": (lambda file: edited(file, 8 * 4096, b"\xaa" * 65536), "damaged"),
    "garbage in the first page": (lambda file: edited(file, 100, b"\xaa" * 3000), "damaged"),
    "no key": (without_key, "its key is missing"),
    "no tables": (without_tables, "damaged"),
    "an index where a table was": (broken_row_count, "damaged"),
    "a folder": (lambda file: file.path.mkdir(), "a directory"),
}


@pytest.mark.parametrize("case", unusable)
def test_an_unusable_file_is_left_as_it_was(file: Backend, case):
    make, reason = unusable[case]
    make(file)
    before = digests(file.folder)
    with pytest.raises(Unusable, match=reason) as caught:
        file.open_file()
    assert str(caught.value).startswith(f"{file.path} cannot be used as a store: ")
    assert str(caught.value).endswith("; it is left alone")
    assert digests(file.folder) == before


@contextmanager
def held(file: Backend, *statements: str) -> Iterator[None]:
    """Have another connection do something and keep the file open."""
    with closing(sqlite3.connect(file.path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
        yield


@pytest.mark.parametrize(
    "statements",
    [
        ("BEGIN EXCLUSIVE",),
        ("BEGIN IMMEDIATE", "DELETE FROM turn"),
        ("PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE"),
        ("PRAGMA journal_mode = DELETE", "PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "DELETE FROM turn"),
    ],
)
def test_a_file_that_is_held_locked_is_unusable_and_as_it_was(file: Backend, statements):
    filled(file)
    with held(file, *statements):
        log = file.path.with_name(file.path.name + "-wal")
        before = file.path.read_bytes(), log.read_bytes() if log.exists() else b"", sorted(file.folder.iterdir())
        with pytest.raises(Unusable, match="another program holds it locked"):
            file.open_file()
        after = file.path.read_bytes(), log.read_bytes() if log.exists() else b"", sorted(file.folder.iterdir())
        assert after == before
    assert run(turns_of(file)) == 200


async def turns_of(file: Backend) -> int:
    async with file.open() as store:
        return (await store.stats()).turns


def test_a_newer_version_that_is_still_in_the_log_is_seen(file: Backend):
    filled(file)
    with held(file, f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}"):
        log = file.path.with_name(file.path.name + "-wal")
        before = file.path.read_bytes(), log.read_bytes()
        with pytest.raises(Unusable, match="its schema version is"):
            file.open_file()
        assert (file.path.read_bytes(), log.read_bytes()) == before


def test_another_applications_file_that_is_in_use_is_left_alone(file: Backend):
    foreign(file)
    with held(file, "INSERT INTO notes VALUES (1)"):
        before = digests(file.folder)
        with pytest.raises(Unusable, match="another application"):
            file.open_file()
        assert digests(file.folder) == before


def test_tables_that_another_application_makes_in_an_empty_file_meanwhile_are_left_alone(file: Backend, monkeypatch):
    monkeypatch.setattr(opening, "_inspect", lambda path: None)
    sql(file, "CREATE TABLE notes (x)")
    before = digests(file.folder)
    with pytest.raises(Unusable, match="another application"):
        file.open_file()
    assert digests(file.folder) == before


def test_a_folder_that_cannot_be_made_or_written_is_unusable(tmp_path):
    (tmp_path / "plain").write_text("x")
    for below in ("store.sqlite3", "deep/er/store.sqlite3"):
        with pytest.raises(Unusable, match="left alone"):
            Backend("sqlite", tmp_path / "plain" / below).open_file()
    assert (tmp_path / "plain").read_text() == "x"


def test_a_path_that_cannot_be_opened_is_unusable(file: Backend):
    file.path.symlink_to(file.path)
    with pytest.raises(Unusable, match="left alone"):
        file.open_file()


def test_the_file_and_those_beside_it_are_private_whatever_the_umask(file: Backend):
    async def scenario():
        async with Backend("sqlite", file.folder / "made").open() as store:
            store.put(kept())
            await store.flush()
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (file.folder / "made").iterdir()}
            assert modes == dict.fromkeys(("store.sqlite3", "store.sqlite3-shm", "store.sqlite3-wal"), 0o600)
            assert stat.S_IMODE((file.folder / "made").stat().st_mode) == 0o700

    before = os.umask(0)
    try:
        run(scenario())
    finally:
        os.umask(before)


def test_an_empty_file_becomes_a_store(file: Backend):
    file.path.touch()
    filled(file)
    assert run(turns_of(file)) == 200


def test_pages_can_be_given_back_and_are_not_at_each_commit(file: Backend):
    for _ in range(2):
        connection, _ = opening.open_file(file.path)
        with closing(connection):
            assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    with closing(sqlite3.connect(file.path)) as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)


def test_the_key_stays(file: Backend):
    async def scenario():
        async with file.open() as store:
            first = store.key
        async with file.open() as store:
            assert store.key == first

    run(scenario())


def test_processes_that_make_the_same_file_at_once_share_its_key(file: Backend):
    script = (
        "import asyncio, sys, time; from pathlib import Path; from thoughtkeep_store import SqliteStore\n"
        "sys.stdin.readline()\n"
        "store = SqliteStore(Path(sys.argv[1]), ttl=1e6, max_bytes=10**9, clock=time.time, on_fault=print)\n"
        "print(store.key.hex(), flush=True)\n"
        "asyncio.run(store.close())\n"
    )
    command = [sys.executable, "-c", script, str(file.path)]
    started = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": LIB}
        )
        for _ in range(4)
    ]
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = {process.communicate(timeout=15)[0] for process in started}
    assert len(printed) == 1
    assert len(printed.pop().strip()) == 64


def test_an_older_file_is_brought_up_to_date_and_says_so_in_the_file_itself(file: Backend, monkeypatch):
    filled(file)
    second = """
    CREATE TABLE lesson (name TEXT PRIMARY KEY);
    CREATE TRIGGER noted AFTER INSERT ON lesson BEGIN
        UPDATE meta SET value = value WHERE name = 'key';
    END;
    INSERT INTO lesson VALUES ('learnt');
    """
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, second))

    async def scenario():
        async with file.open() as store:
            assert await found(store, "l7") == ["t7"]
            assert int.from_bytes(file.path.read_bytes()[60:64], "big") == 2

    for _ in range(2):
        run(scenario())
        with closing(sqlite3.connect(file.path)) as connection:
            assert connection.execute("SELECT * FROM lesson").fetchall() == [("learnt",)]
    monkeypatch.undo()
    with pytest.raises(Unusable, match="its schema version is 2"):
        file.open_file()


def test_a_migration_that_fails_leaves_the_file_as_it_was(file: Backend, monkeypatch):
    filled(file)
    before = file.path.read_bytes()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE lesson (x);\nNONSENSE;\n"))
    with pytest.raises(Unusable, match="syntax error"):
        file.open_file()
    monkeypatch.undo()
    assert file.path.read_bytes() == before
    assert run(turns_of(file)) == 200


def test_making_the_file_may_be_cut_short_at_any_write(file: Backend):
    """What a killed process leaves: an empty file, or a first page and the journal that undoes it."""
    filled(file)
    file.path.write_bytes(file.path.read_bytes()[:4096])
    # Magic, no records, a nonce, zero pages before, sector and page size: https://sqlite.org/fileformat.html#the_rollback_journal
    header = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(12) + (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    file.path.with_name(file.path.name + "-journal").write_bytes(header.ljust(512, b"\0"))
    assert run(turns_of(file)) == 0
    filled(file)
    assert run(turns_of(file)) == 200


def test_a_checkpoint_may_be_cut_short(file: Backend):
    async def scenario():
        async with file.open() as store:
            for n in range(200):
                store.put(kept(f"t{n}", lineage=f"l{n}", text="x" * 2000))
            await store.flush()
            content, log = file.path.read_bytes(), file.path.with_name(file.path.name + "-wal").read_bytes()
        copy = Backend("sqlite", file.folder / "copy")
        copy.folder.mkdir()
        whole = file.path.read_bytes()
        # The first page was carried over, and tells of pages that only the log has.
        copy.path.write_bytes(whole[:4096] + content[4096:])
        copy.path.with_name(copy.path.name + "-wal").write_bytes(log)
        async with copy.open() as store:
            assert len((await store.fetch(keys(*(f"l{n}" for n in range(200))))).turns) == 200

    run(scenario())
