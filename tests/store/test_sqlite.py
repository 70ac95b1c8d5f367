"""What the file adds: turns outlive the process, processes share them, and it does not grow beyond its bound."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import Future
from contextlib import closing

import pytest

from thoughtkeep_store import cache, database, opening, pruning, sqlite

from .kit import LIB, TESTS, Backend, found, kept, keys, killed_after, run, settled


def test_what_was_put_is_there_after_reopening(file: Backend):
    async def scenario():
        turn = kept(call_ids=("c",), state={"big": 2**80, "lone": "\ud800"})
        async with file.open() as store:
            store.put(turn)
        async with file.open() as store:
            assert (await store.fetch(keys(call_ids=("c",)))).turns == (turn,)

    run(scenario())


def test_what_was_flushed_survives_sigkill(file: Backend):
    killed_after(
        file.folder,
        "from store.kit import Backend, kept",
        "[store.put(kept(f't{n}', lineage=f'l{n}')) for n in range(100)]",
    )

    async def scenario():
        async with file.open() as store:
            assert len(await found(store, *(f"l{n}" for n in range(100)))) == 100

    run(scenario())


def test_a_process_that_ends_without_closing_writes_what_it_was_given(file: Backend):
    script = (
        "import sys; from pathlib import Path; from store.kit import Backend, kept\n"
        "store = Backend('sqlite', Path(sys.argv[1])).open_file()\n"
        "for n in range(10): store.put(kept(f't{n}', lineage=f'l{n}'))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((LIB, TESTS))}
    subprocess.run([sys.executable, "-c", script, str(file.folder)], check=True, timeout=15, env=environment)

    async def scenario():
        async with file.open() as store:
            assert len(await found(store, *(f"l{n}" for n in range(10)))) == 10

    run(scenario())


def test_two_stores_on_one_file_see_each_others_turns_and_amendments(file: Backend):
    async def scenario():
        async with file.open() as one, file.open() as two:
            assert one.key == two.key
            one.put(kept(text="first"))
            await one.flush()
            assert await found(two, "lineage") == ["t1"]
            two.put(kept(text="second"))
            await two.flush()
            (turn,) = (await one.fetch(keys("lineage"))).turns
            assert turn.turn.pieces[0].text == "second"
            assert (await one.stats()).turns == 1

    run(scenario())


def test_a_turn_that_was_put_again_and_waits_hides_the_written_one(file: Backend):
    async def scenario():
        async with file.open() as store:
            store.put(kept(call_ids=("old",)))
            await store.flush()
            with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                store.put(kept(call_ids=("new",)))
                assert await found(store, call_ids=("old",)) == []
                assert await found(store, call_ids=("new",)) == ["t1"]
                other.execute("ROLLBACK")

    run(scenario())


def test_a_turn_put_again_while_the_file_is_read_is_told_as_it_is_now(file: Backend):
    async def scenario():
        async with file.open() as store:
            store.put(kept(text="first"))
            await store.flush()
            with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                asked = asyncio.ensure_future(store.fetch(keys("lineage")))
                await asyncio.sleep(0)
                store.put(kept(text="second"))
                (turn,) = (await asked).turns
                assert turn.turn.pieces[0].text == "second"
                other.execute("ROLLBACK")

    run(scenario())


def test_a_turn_put_again_while_it_is_written_goes_on_waiting(file: Backend):
    async def scenario():
        async with file.open() as store:
            write = store._database.write

            def late(batch, touched):
                write(batch, touched)
                store._database.write = write
                store.put(kept(text="second"))

            store._database.write = late
            store.put(kept(text="first"))
            await store.flush()
        async with file.open() as store:
            (turn,) = (await store.fetch(keys("lineage"))).turns
            assert turn.turn.pieces[0].text == "second"

    run(scenario())


def test_a_row_that_belongs_to_a_wrong_conversation_is_not_told_there(file: Backend):
    async def scenario():
        async with file.open() as store:
            store.put(kept("one", root="r1"))
            store.put(kept("two", root="r2"))
        with closing(sqlite3.connect(file.path)) as other:
            other.execute("UPDATE turn SET conversation = 3 - conversation")
            other.commit()
        async with file.open() as store:
            assert await store.conversation("alice", "r1") == ()

    run(scenario())


def test_a_write_that_is_coming_is_not_asked_for_again(file: Backend):
    async def scenario():
        async with file.open() as store:
            await store.stats()  # what opening has asked for is done
            for n in range(3 * sqlite.BATCH):
                store._waiting.put(kept(f"t{n}"), 0.0)
            asked = []

            def submit(job):
                asked.append(job)
                return Future()

            store._submit = submit
            store._schedule()
            assert asked == [store._write_scheduled]
            store._write()
            assert asked.count(store._write_scheduled) == 1
            store._write_scheduled()
            assert asked.count(store._write_scheduled) == 2
            del store._submit
            store._coming = None

    run(scenario())


def test_a_flush_waits_for_the_write_that_is_coming_and_asks_for_no_other(file: Backend):
    async def scenario():
        async with file.open() as store:
            await store.stats()  # what opening has asked for is done
            asked = []
            submit = store._submit

            def noted(job):
                asked.append(job)
                return submit(job)

            store._submit = noted
            store.put(kept("one"))
            await store.flush()
            assert asked == [store._write_scheduled]
            assert (await store.stats()).pending == 0
            del store._submit

    run(scenario())


def test_reading_again_reads_no_records(file: Backend, monkeypatch):
    async def scenario():
        async with file.open() as store:
            for n in range(5):
                store.put(kept(f"t{n}", lineage=f"l{n}"))
                store.put(kept(f"b{n}", lineage=f"l{n}", tenant="bob"))
        async with file.open() as store:
            question = keys(*(f"l{n}" for n in range(5)))
            first = await store.fetch(question)
            assert (len(first.turns), len(first.origins)) == (5, 5)
            monkeypatch.setattr(database.records, "decode", None)
            monkeypatch.setattr(database.records, "decode_head", None)
            again = await store.fetch(question)
            assert again == first
            assert all(a is b for a, b in zip(again.turns, first.turns, strict=True))

    run(scenario())


def test_the_cache_lets_the_least_recently_used_go():
    kept_lately: cache.Cache[str] = cache.Cache(10)
    kept_lately.put(1, "one", 4)
    kept_lately.put(2, "two", 4)
    kept_lately.put(2, "another", 4)
    assert kept_lately.get(1) == "one"
    kept_lately.put(3, "three", 4)
    assert [kept_lately.get(n) for n in (1, 2, 3)] == ["one", None, "three"]


def test_an_index_row_that_leads_to_a_wrong_turn_is_no_answer(file: Backend):
    async def scenario():
        async with file.open() as store:
            store.put(kept("hers", tenant="bob", lineage="l"))
            store.put(kept("mine", lineage="m"))
        with closing(sqlite3.connect(file.path)) as other:
            other.execute("UPDATE OR IGNORE mark SET turn = 3 - turn")
            other.commit()
        async with file.open() as store:
            facts = await store.fetch(keys("l", "m"))
            assert facts.turns == ()
            assert facts.origins == ()

    run(scenario())


def test_a_damaged_record_is_skipped_and_told_once(file: Backend):
    async def scenario():
        async with file.open() as store:
            for n in range(3):
                store.put(kept(f"t{n}", lineage=f"l{n}"))
                store.put(kept(f"b{n}", lineage=f"l{n}", tenant="bob"))
        with closing(sqlite3.connect(file.path)) as other:
            other.execute('UPDATE turn SET head = \'{"v": 1, "id"\' WHERE number IN (1, 2)')
            other.commit()
        async with file.open() as store:
            for _ in range(3):
                facts = await store.fetch(keys("l0", "l1", "l2"))
                assert (len(facts.turns), len(facts.origins)) == (2, 2)
        assert len(file.faults) == 1
        assert "a stored turn is skipped" in file.faults[0]

    run(scenario())


def test_a_damaged_record_goes_like_any_other(file: Backend):
    async def scenario():
        async with file.open() as store:
            store.put(kept())
        with closing(sqlite3.connect(file.path)) as other:
            other.execute("UPDATE turn SET head = x'00', body = x'00'")
            other.commit()
        async with file.open() as store:
            store.put(kept(text="again"))
            await store.flush()
            assert await found(store, "lineage") == ["t1"]
        with closing(sqlite3.connect(file.path)) as other:
            assert other.execute("SELECT count(*) FROM mark").fetchone() == (2,)

    run(scenario())


def test_what_is_too_old_goes_when_the_file_is_opened(file: Backend):
    async def scenario():
        async with file.open(ttl=100.0) as store:
            for n in range(3 * pruning.STEP_TURNS):
                store.put(kept(f"t{n}", lineage=f"l{n}", root=str(n // (2 * pruning.STEP_TURNS))))
        file.clock.now += 101
        async with file.open(ttl=100.0) as store:

            async def done(store):
                return (await store.stats()).conversations == 0

            await settled(store, done)
            assert await found(store, *(f"l{n}" for n in range(300))) == []
        with closing(sqlite3.connect(file.path)) as other:
            for table in ("turn", "mark", "conversation"):
                assert other.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)

    run(scenario())


def test_a_conversation_that_began_to_go_goes_whole(file: Backend, monkeypatch):
    monkeypatch.setattr(pruning, "STEP_TURNS", 3)

    async def scenario():
        async with file.open(max_bytes=100_000) as store:
            for n in range(12):
                store.put(kept(f"old{n}", root="old", lineage=f"l{n}", text="x" * 5000))
            file.clock.now += 1
            for n in range(8):
                store.put(kept(f"new{n}", root="new", lineage=f"l{n}", text="x" * 5000))
                await store.flush()

            async def done(store):
                return (await store.stats()).conversations == 1

            await settled(store, done)
            assert sorted(await found(store, *(f"l{n}" for n in range(12)))) == [f"new{n}" for n in range(8)]

    run(scenario())


def test_the_file_shrinks_to_its_bound(file: Backend):
    async def scenario():
        async with file.open() as store:
            for n in range(400):
                store.put(kept(f"t{n}", root=str(n // 10), lineage=f"l{n}", text="x" * 20_000))
                if n % 10 == 0:
                    file.clock.now += 1
        assert file.path.stat().st_size > 8_000_000
        bound = 1_000_000
        async with file.open(max_bytes=bound) as store:

            async def done(store):
                return (await store.stats()).bytes <= bound and file.path.stat().st_size < 1.5 * bound

            await settled(store, done)
            left = await found(store, *(f"l{n}" for n in range(400)))
            assert {int(id_[1:]) for id_ in left} == set(range(400 - len(left), 400))
            assert len(left) >= 30
        assert file.path.stat().st_size < 1.5 * bound

    run(scenario())


@pytest.mark.parametrize(
    ("now", "turns", "size", "due"),
    [
        (1000.0, 0, 0, False),
        (1059.0, 255, 99, False),
        (1060.0, 0, 0, True),
        (999.0, 0, 0, True),  # the clock was set back
        (1000.0, 256, 0, True),
        (1000.0, 0, 100, True),
    ],
)
def test_it_is_time_to_look_after_some_time_or_some_writes(file: Backend, now, turns, size, due):
    connection, key = opening.open_file(file.path)
    with closing(connection):
        looked = pruning.Pruning(database.Database(connection, key, print), ttl=1e6, max_bytes=1600)
        assert looked.due(0.0)
        looked.step(1000.0)
        looked.wrote(turns, size)
        assert looked.due(now) is due


def test_a_use_that_no_turn_followed_is_kept_when_the_store_is_closed(file: Backend):
    async def scenario():
        async with file.open(ttl=100.0) as store:
            store.put(kept("used"))
            store.put(kept("idle", root="other", lineage="idle"))
        file.clock.now += 90
        async with file.open(ttl=100.0) as store:
            store.touch(["used"])
        file.clock.now += 90
        async with file.open(ttl=100.0) as store:

            async def done(store):
                return await found(store, "idle") == []

            await settled(store, done)
            assert await found(store, "lineage") == ["used"]

    run(scenario())
