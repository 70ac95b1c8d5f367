"""Faults at run time: no caller sees an exception, one line tells of them, and nothing that memory has is lost."""

import asyncio
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import replace

import pytest

from thoughtkeep_mitm.engine import FETCH_SECONDS
from thoughtkeep_store import faults, opening, sqlite, waiting
from thoughtkeep_store.faults import Fault, classify

from .kit import Backend, breaks, found, kept, run, settled


async def no_turn_waits(store):
    return (await store.stats()).pending == 0


ERRORS = [
    sqlite3.OperationalError("database or disk is full"),
    sqlite3.OperationalError("disk I/O error"),
    sqlite3.OperationalError("attempt to write a readonly database"),
    sqlite3.ProgrammingError("something that nobody thought of"),
    MemoryError(),
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
@pytest.mark.parametrize("only", ["", "COMMIT", "BEGIN IMMEDIATE", "INSERT INTO turn"])
def test_turns_wait_in_memory_until_the_fault_has_passed(file: Backend, monkeypatch, error, only):
    monkeypatch.setattr(sqlite, "RETRY_FAILED", 0.02)

    async def scenario():
        async with file.open() as store:
            broken = breaks(store, error, only)
            for n in range(100):
                store.put(kept(f"t{n}", lineage=f"l{n}"))
                store.touch([f"t{n}"])
            await store.flush()
            every = [f"l{n}" for n in range(100)]
            assert len(await found(store, *every)) == 100
            assert (await store.stats()).pending == 100
            await asyncio.sleep(0.1)
            told = [fault for fault in file.faults if "turns wait in memory" in fault]
            assert told == [f"{store.name}: {str(error) or 'MemoryError'}; turns wait in memory until this has passed"]
            broken.error = None
            await settled(store, no_turn_waits)
            assert len(await found(store, *every)) == 100
            broken.error = error
            store.put(kept("late"))
            await store.flush()
            assert len([fault for fault in file.faults if "turns wait in memory" in fault]) == 2
            broken.error = None
        async with file.open() as store:
            assert len(await found(store, "lineage", *every)) == 101

    run(scenario())


def test_a_full_disk_loses_nothing(file: Backend):
    async def scenario():
        async with file.open() as store:
            connection = store._database.connection
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages + 5}")
            for n in range(20):
                store.put(kept(f"t{n}", lineage=f"l{n}", text="x" * 5000))
            await store.flush()
            assert len(await found(store, *(f"l{n}" for n in range(20)))) == 20
            assert file.faults == [
                f"{store.name}: database or disk is full; turns wait in memory until this has passed"
            ]
            connection.execute("PRAGMA max_page_count = 100000")
            await store.flush()
            assert (await store.stats()).pending == 0

    run(scenario())


def test_a_fault_while_reading_leaves_what_memory_has(file: Backend):
    async def scenario():
        async with file.open() as store:
            store.put(kept("written"))
            await store.flush()
            broken = breaks(store, sqlite3.OperationalError("disk I/O error"), "group_concat")
            for _ in range(3):
                assert await found(store, "lineage") == []
                store.put(kept("written", lineage="l"))
                await store.flush()
            assert len(file.faults) == 1
            assert "what it holds may be missed" in file.faults[0]
            broken.error = None
            assert await found(store, "l") == ["written"]

    run(scenario())


def test_a_fault_while_tidying_up_is_told_once(file: Backend):
    async def scenario():
        async with file.open() as store:
            breaks(store, sqlite3.OperationalError("disk I/O error"), "freelist_count")
            for n in range(3):
                file.clock.now += 100
                store.put(kept(f"t{n}"))
                await store.flush()
                await store.stats()
            assert len(file.faults) == 1

    run(scenario())


def test_a_damaged_page_ends_the_work_on_the_file(file: Backend):
    async def scenario():
        store = file.open_file()
        store.put(kept("before"))
        await store.flush()
        broken = breaks(store, sqlite3.DatabaseError("database disk image is malformed"), "INSERT INTO turn")
        store.put(kept("after"))
        await store.flush()
        broken.error = None
        before = file.path.read_bytes()
        for n in range(3):
            store.put(kept(f"late{n}"))
            store.touch(["before"])
            await store.flush()
        assert sorted(await found(store, "lineage")) == ["after", "late0", "late1", "late2"]
        stats = await store.stats()
        assert (stats.turns, stats.conversations, stats.pending) == (4, 1, 4)
        await store.close()
        assert file.path.read_bytes() == before
        (told,) = file.faults
        assert told.startswith(f"{store.name}: database disk image is malformed; it is left alone")

    run(scenario())


def test_damage_that_is_met_at_run_time_is_one(file: Backend, monkeypatch):
    async def scenario():
        async with file.open() as store:
            for n in range(300):
                store.put(kept(f"t{n}", lineage=f"l{n}", text="x" * 3000))
        content = bytearray(file.path.read_bytes())
        content[20 * 4096 :] = b"\xaa" * (len(content) - 20 * 4096)
        file.path.write_bytes(content)
        monkeypatch.setattr(opening, "CHECKED", 0)
        async with file.open() as store:
            store.put(kept("mine", lineage="l1"))
            for _ in range(2):
                assert "mine" in await found(store, *(f"l{n}" for n in range(300)))
        assert len(file.faults) == 1
        assert "left alone" in file.faults[0]
        assert file.path.read_bytes() == bytes(content)

    run(scenario())


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_deleted_or_replaced_is_told_once_and_memory_goes_on(file: Backend, replaced):
    async def scenario():
        async with file.open() as store:
            store.put(kept("before"))
            await store.flush()
            file.path.unlink()
            if replaced:
                file.path.write_text("another")
            for n in range(3):
                store.put(kept(f"t{n}"))
                await store.flush()
            assert sorted(await found(store, "lineage")) == ["t0", "t1", "t2"]
        assert len(file.faults) == 1
        assert "the file was deleted or replaced" in file.faults[0]
        if replaced:
            assert file.path.read_text() == "another"
        else:
            async with file.open() as store:
                assert await found(store, "lineage") == []

    run(scenario())


def test_a_lock_holds_nobody_and_what_waited_is_written_when_it_is_gone(file: Backend):
    async def scenario():
        async with file.open() as store:
            with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
                for n in range(50):
                    before = time.perf_counter()
                    store.put(kept(f"t{n}", lineage=f"l{n}"))
                    store.touch([f"t{n}"])
                    assert time.perf_counter() - before < 0.05
                assert len(await found(store, *(f"l{n}" for n in range(50)))) == 50
                assert (await store.stats()).pending == 50
                flushing = asyncio.ensure_future(store.flush())
                await asyncio.sleep(0.2)
                assert not flushing.done()
                other.execute("ROLLBACK")
                await flushing
            assert (await store.stats()).pending == 0
        assert file.faults == []

    run(scenario())


def test_what_met_a_lock_is_tried_again_without_being_asked(file: Backend):
    async def scenario():
        async with file.open() as store:
            with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
                store.put(kept())
                await asyncio.sleep(0.1)
                other.execute("ROLLBACK")
            await settled(store, no_turn_waits)

    run(scenario())


def test_a_lock_that_stays_is_told_once_and_flush_and_close_give_up(file: Backend, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0.3)
    monkeypatch.setattr(sqlite, "LOCK_TOLD", 0.1)

    async def scenario():
        with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
            async with file.open() as store:
                other.execute("BEGIN IMMEDIATE")
                store.put(kept())
                await store.flush()
                assert await found(store, "lineage") == ["t1"]
            assert [fault.split(": ", 1)[1] for fault in file.faults] == [
                "another program holds it locked, and turns wait in memory",
                "it was closed while 1 turns could not be written, and they are lost",
            ]
            assert await found(store, "lineage") == ["t1"]

    run(scenario())


def test_a_file_that_hangs_holds_nobody(file: Backend, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)

    async def scenario():
        store = file.open_file()
        store.put(kept("written"))
        await store.flush()
        hang = threading.Event()
        store._submit(hang.wait)
        store.put(kept("waiting"))
        before = time.perf_counter()
        assert await found(store, "lineage") == ["waiting"]
        await store.flush()
        assert (await store.stats()).turns == 1
        await store.close()
        assert time.perf_counter() - before < 1
        hang.set()

    run(scenario())


def test_a_lookup_that_the_file_holds_up_is_answered_from_memory_while_a_request_still_waits_for_it(file: Backend):
    async def scenario():
        store = file.open_file()
        await store.flush()
        hang = threading.Event()
        store._submit(hang.wait)
        store.put(kept("waiting"))
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                assert await found(store, "lineage") == ["waiting"]
            assert await found(store, "lineage") == ["waiting"]
        finally:
            hang.set()
        await store.close()
        assert file.faults == [
            f"{store.name}: it does not answer in time; what it holds may be missed until this has passed"
        ]

    run(scenario())


def test_a_lock_is_met_once_in_a_while_however_many_wait_for_it(file: Backend, monkeypatch):
    """Each meeting takes as long as a statement waits for a lock, and lookups stand behind it."""
    monkeypatch.setattr(sqlite, "RETRY_LOCKED", 60.0)

    async def scenario():
        async with file.open() as store:
            await store.stats()  # what opening has asked for is done
            take, taken = store._waiting.take, []
            store._waiting.take = lambda count: taken.append(count) or take(count)
            with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
                store.put(kept())
                for _ in range(20):
                    assert await store._run(store._write) is sqlite.Outcome.LOCKED
                assert len(taken) == 1
                other.execute("ROLLBACK")
            store._locked_until = 0.0
            assert await store._run(store._write) is sqlite.Outcome.DONE

    run(scenario())


def test_what_waits_is_bounded_and_the_loss_is_told(file: Backend, monkeypatch):
    monkeypatch.setattr(waiting, "WAITING_BYTES", 50_000)

    async def scenario():
        async with file.open() as store:
            broken = breaks(store, sqlite3.OperationalError("disk I/O error"))
            for n in range(20):
                store.put(kept(f"t{n}", root=f"r{n}", lineage=f"l{n}", text="x" * 5000))
            left = await found(store, *(f"l{n}" for n in range(20)))
            assert left == [] or set(left) == {f"t{n}" for n in range(20 - len(left), 20)}
            assert (await store.stats()).bytes <= 50_000
            assert [fault for fault in file.faults if "the oldest turns are lost" in fault]
            broken.error = None

    run(scenario())


def test_uses_that_wait_are_bounded(file: Backend, monkeypatch):
    monkeypatch.setattr(waiting, "TOUCHED", 3)

    async def scenario():
        async with file.open() as store:
            broken = breaks(store, sqlite3.OperationalError("disk I/O error"))
            for n in range(10):
                store.touch([f"t{n}"])
            await store.flush()
            assert len(store._waiting._touched) == 3
            broken.error = None

    run(scenario())


def test_a_turn_that_is_not_json_stays_in_memory_and_holds_up_no_other(file: Backend):
    async def scenario():
        async with file.open() as store:
            store.put(kept("odd", state={"x": float("nan")}))
            for n in range(150):
                store.put(kept(f"t{n}", lineage=f"l{n}"))
            await store.flush()
            assert await found(store, "lineage") == ["odd"]
            assert (await store.stats()).pending == 1
            assert file.faults == [f"{store.name}: a turn stays in memory, it cannot be written (ValueError)"]
            store.put(replace(kept("odd")))
            await store.flush()
            assert (await store.stats()).pending == 0

    run(scenario())


def test_a_log_that_fails_does_not_fail_the_store(file: Backend):
    def log(sentence):
        raise RuntimeError(sentence)

    teller = faults.Faults(log)
    teller.tell(Fault.FAILED, "x")


def test_a_retry_at_the_end_of_the_interpreter_is_none(file: Backend, monkeypatch):
    class Refusing(threading.Timer):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(sqlite, "Timer", Refusing)

    async def scenario():
        async with file.open() as store:
            broken = breaks(store, sqlite3.OperationalError("disk I/O error"))
            store.put(kept())
            await store.flush()
            assert await found(store, "lineage") == ["t1"]
            broken.error = None

    run(scenario())


def coded(kind: type[sqlite3.Error], code: int) -> sqlite3.Error:
    error = kind("x")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (coded(sqlite3.OperationalError, sqlite3.SQLITE_BUSY), Fault.LOCKED),
        (coded(sqlite3.OperationalError, sqlite3.SQLITE_BUSY_SNAPSHOT), Fault.LOCKED),
        (coded(sqlite3.DatabaseError, sqlite3.SQLITE_CORRUPT), Fault.DAMAGED),
        (coded(sqlite3.DatabaseError, sqlite3.SQLITE_CORRUPT_INDEX), Fault.DAMAGED),
        (coded(sqlite3.DatabaseError, sqlite3.SQLITE_NOTADB), Fault.DAMAGED),
        (coded(sqlite3.OperationalError, sqlite3.SQLITE_FULL), Fault.FAILED),
        (coded(sqlite3.OperationalError, sqlite3.SQLITE_IOERR), Fault.FAILED),
        (sqlite3.DatabaseError("x"), Fault.DAMAGED),
        (sqlite3.OperationalError("x"), Fault.FAILED),
        (ValueError("x"), Fault.FAILED),
    ],
)
def test_errors_by_what_they_mean(error, fault):
    assert classify(error) is fault
