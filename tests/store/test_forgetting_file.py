"""The file forgets durably, leaves no byte of it on the disk, and what it cannot forget yet waits out of sight."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from thoughtkeep_store import opening, sqlite
from thoughtkeep_store.base import PER_CONVERSATION

from .forgets import EVERY, content, each_way, figures, fill, held, require_gone, table, told
from .kit import Backend, breaks, found, kept, keys, killed_after, run, settled


@pytest.mark.parametrize("size", [30, 3000, 50_000])
@each_way
def test_no_byte_of_what_was_forgotten_is_in_the_file_or_its_log(file: Backend, monkeypatch, forget, size):
    connect = opening._connect

    def without_overwriting(path, how):  # as SQLite is built by default
        connection = connect(path, how)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(opening, "_connect", without_overwriting)

    async def scenario():
        async with file.open() as store:
            store.put(kept("left", root="other", text="innocuous"))
            fill(store, "replaced secret " * (size // 10))
            await store.flush()
            fill(store, "secret " * (size // 7))
            await store.flush()
            assert b"secret" in content(file)
            forget(store)
            store.put(kept("left", root="other", text="innocuous"))
            await store.flush()
            assert b"secret" not in content(file)
            assert b"innocuous" in content(file)
            assert file.path.with_name(file.path.name + "-wal").stat().st_size == 0
        assert file.faults == []

    run(scenario())


def test_what_had_been_pruned_before_is_not_in_the_file_either(file: Backend):
    async def scenario():
        async with file.open(ttl=100.0) as store:
            fill(store, "secret " * 1000)
            await store.flush()
            file.clock.now += 101

            async def done(store):
                await store.flush()
                return (await store.stats()).turns == 0

            await settled(store, done)
            store.forget_all()
            await store.flush()
            assert b"secret" not in content(file)

    run(scenario())


def test_a_reader_keeps_the_log_from_being_emptied_and_the_next_write_does_it(file: Backend, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 60.0)

    async def scenario():
        async with file.open() as store:
            fill(store, "secret")
            await store.flush()
            with held(file, "BEGIN") as reader:
                reader.execute("SELECT count(*) FROM turn").fetchone()
                store._database.connection.execute("PRAGMA busy_timeout = 10000")
                store.forget_all()
                await asyncio.wait_for(store.flush(), 5)
                assert b"secret" in content(file)
                await require_gone(store)
                reader.execute("COMMIT")
            assert store._database.connection.execute("PRAGMA busy_timeout").fetchone() == (50,)
            store.put(kept())

            async def done(store):
                return b"secret" not in content(file)

            await settled(store, done)
        assert file.faults == []

    run(scenario())


def test_a_reader_keeps_the_log_from_being_emptied_and_pruning_does_it(file: Backend):
    async def scenario():
        async with file.open() as store:
            fill(store, "secret")
            await store.flush()
            with held(file, "BEGIN") as reader:
                reader.execute("SELECT count(*) FROM turn").fetchone()
                store.forget_all()
                await store.flush()
                assert b"secret" in content(file)
                reader.execute("COMMIT")
            file.clock.now += 100
            await store.stats()

            async def done(store):
                return b"secret" not in content(file)

            await settled(store, done)

    run(scenario())


def test_a_fault_while_the_log_is_emptied_is_told_and_what_was_forgotten_is_gone(file: Backend, monkeypatch):
    monkeypatch.setattr(sqlite, "RETRY_FAILED", 0.02)

    async def scenario():
        async with file.open() as store:
            fill(store, "secret")
            await store.flush()
            broken = breaks(store, sqlite3.OperationalError("disk I/O error"), "TRUNCATE")
            store.forget_all()
            await store.flush()
            await require_gone(store)
            assert [fault for fault in file.faults if "disk I/O error" in fault] == file.faults
            assert len(file.faults) == 1
            broken.error = None

            async def done(store):
                return b"secret" not in content(file)

            await settled(store, done)

    run(scenario())


def test_pages_go_back_to_the_file_system(file: Backend):
    async def scenario():
        async with file.open() as store:
            fill(store, "x" * 150_000)
        assert file.path.stat().st_size > 700_000
        async with file.open(max_bytes=1_000_000) as store:
            store.forget_all()

            async def done(store):
                return file.path.stat().st_size < 200_000

            await settled(store, done)

    run(scenario())


def test_rows_marks_and_conversations_go_and_the_figures_of_the_others_are_true(file: Backend):
    async def scenario():
        async with file.open() as store:
            fill(store)
            store.put(kept("left", lineage="l"))
            store.put(kept("other", root="other"))
            await store.flush()
            store.forget_turns([f"t{n}" for n in range(4)])
            await store.flush()
            assert table(file, "SELECT count(*) FROM turn") == [(3,)]
            assert table(file, "SELECT count(*) FROM mark WHERE turn NOT IN (SELECT number FROM turn)") == [(0,)]
            assert table(file, "SELECT turns, bytes FROM conversation ORDER BY number") == table(
                file, "SELECT count(*), sum(bytes) FROM turn GROUP BY conversation ORDER BY conversation"
            )
            store.forget_all()
            await store.flush()
            for name in ("turn", "mark", "conversation"):
                assert table(file, f"SELECT count(*) FROM {name}") == [(0,)]

    run(scenario())


def test_memory_lets_go_of_what_was_forgotten(file: Backend):
    async def scenario():
        async with file.open() as store:
            fill(store)
        async with file.open() as store:
            assert len((await store.fetch(keys("l0"))).turns) == 1
            assert len((await store.fetch(keys("l1", tenant="bob"))).origins) == 1
            fill(store)
            store.forget_all()
            await store.flush()
            assert not store._database._turns._items
            assert not store._database._origins._items
            assert store._database._turns._weight == store._database._origins._weight == 0
            assert not store._waiting.forgetting()

    run(scenario())


def test_a_damaged_record_is_forgotten_like_any_other(file: Backend):
    async def scenario():
        async with file.open() as store:
            fill(store)
        with closing(sqlite3.connect(file.path)) as other:
            other.execute("UPDATE turn SET head = x'00', body = x'00'")
            other.commit()
        async with file.open() as store:
            assert await told(store) == []
            store.forget_conversation("alice", "root")
            assert await figures(store) == (0, 0, 0)
            await store.flush()
            assert table(file, "SELECT count(*) FROM turn") == [(0,)]

    run(scenario())


@each_way
def test_what_was_forgotten_stays_so_when_the_process_is_killed_after_the_flush(file: Backend, forget, request):
    way = request.node.callspec.id
    killed_after(
        file.folder,
        "from store.kit import Backend; from store.forgets import WAYS, fill",
        "fill(store); await store.flush(); WAYS[sys.argv[2]](store)",
        way,
    )

    async def scenario():
        async with file.open() as store:
            await require_gone(store)

    run(scenario())


@each_way
def test_the_file_forgets_what_it_held_when_it_was_opened_also_by_closing_alone(file: Backend, forget):
    async def scenario():
        async with file.open() as store:
            fill(store)
        async with file.open() as store:
            forget(store)
        async with file.open() as store:
            await require_gone(store)

    run(scenario())


@each_way
def test_under_a_lock_it_waits_out_of_sight_and_flush_waits_for_it(file: Backend, forget):
    async def scenario():
        async with file.open() as store:
            fill(store)
            await store.flush()
            with held(file) as other:
                forget(store)
                await require_gone(store)
                flushing = asyncio.ensure_future(store.flush())
                await asyncio.sleep(0.2)
                assert not flushing.done()
                await require_gone(store)
                other.execute("ROLLBACK")
                await flushing
            assert table(file, "SELECT count(*) FROM turn") == [(0,)]
        assert file.faults == []

    run(scenario())


def test_what_met_a_lock_is_forgotten_without_being_asked_again(file: Backend):
    async def scenario():
        async with file.open() as store:
            fill(store)
            await store.flush()
            with held(file) as other:
                store.forget_all()
                await asyncio.sleep(0.1)
                other.execute("ROLLBACK")

            async def done(store):
                return table(file, "SELECT count(*) FROM turn") == [(0,)]

            await settled(store, done)

    run(scenario())


@pytest.mark.parametrize("only", ["", "COMMIT", "BEGIN IMMEDIATE", "DELETE FROM turn"])
@each_way
def test_after_a_failed_write_it_waits_out_of_sight_until_the_fault_has_passed(
    file: Backend, monkeypatch, forget, only
):
    monkeypatch.setattr(sqlite, "RETRY_FAILED", 0.02)

    async def scenario():
        async with file.open() as store:
            fill(store)
            await store.flush()
            broken = breaks(store, sqlite3.OperationalError("disk I/O error"), only)
            forget(store)
            store.put(kept("new", lineage="l1"))
            await store.flush()
            for _ in range(2):
                assert await found(store, *EVERY) == ["new"]
                assert await told(store) == ["new"]
                assert (await figures(store))[:2] == (1, 1)
                await asyncio.sleep(0.05)
            broken.error = None

            async def done(store):
                return table(file, "SELECT count(*) FROM turn") == [(1,)]

            await settled(store, done)
            assert await found(store, *EVERY) == ["new"]
            assert "turns wait in memory" in file.faults[0]

    run(scenario())


def test_pending_orders_that_overlap_hide_and_count_each_turn_once(file: Backend):
    async def scenario():
        async with file.open() as store:
            fill(store)
            store.put(kept("other", root="other", lineage="l1"))
            store.put(kept("left", root="left", lineage="l1"))
            await store.flush()
            with held(file) as other:
                store.forget_turns(["t1", "t2", "other"])
                store.forget_conversation("alice", "root")
                store.forget_turns(["t1"])
                assert await found(store, *EVERY) == ["left"]
                (size,) = table(file, "SELECT bytes FROM turn ORDER BY number DESC LIMIT 1")[0]
                assert await figures(store) == (1, 1, size)
                store.forget_all()
                assert await figures(store) == (0, 0, 0)
                other.execute("ROLLBACK")
            await store.flush()
            await require_gone(store)

    run(scenario())


def test_of_a_long_conversation_the_newest_turns_that_are_not_forgotten_are_told(file: Backend):
    async def scenario():
        async with file.open() as store:
            for n in range(PER_CONVERSATION + 20):
                store.put(kept(f"t{n}", made=float(n), lineage=f"l{n}"))
            await store.flush()
            with held(file):
                store.forget_turns([f"t{n}" for n in range(PER_CONVERSATION, PER_CONVERSATION + 20)])
                assert await told(store) == [f"t{n}" for n in range(PER_CONVERSATION)]

    run(scenario())


def test_a_lock_that_stays_until_the_store_is_closed_is_told(file: Backend, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0.3)

    async def scenario():
        async with file.open() as store:
            fill(store)
            await store.flush()
            with held(file):
                store.forget_all()
                await store.close()
                assert await found(store, *EVERY) == []
        assert file.faults == [f"{store.name}: turns that were to be forgotten may still be in it"]
        async with file.open() as store:
            assert len(await found(store, *EVERY)) == 5

    run(scenario())


@pytest.mark.parametrize("late", [False, True])
def test_that_a_damaged_file_cannot_forget_is_told_at_once(file: Backend, late):
    async def scenario():
        async with file.open() as store:
            fill(store)
            await store.flush()
            breaks(store, sqlite3.DatabaseError("database disk image is malformed"), "IMMEDIATE")
            if late:
                store.put(kept("x"))
                await store.flush()
                assert len(file.faults) == 1
            store.forget_all()
            await store.flush()
            assert await found(store, *EVERY) == []
            assert file.faults[1:] == [f"{store.name}: turns that were to be forgotten may still be in it"]
            assert "left alone" in file.faults[0]

    run(scenario())
