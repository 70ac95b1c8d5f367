"""Whatever happens while something is forgotten: it is out of sight and stays so, and what is put later is kept.

Nothing here is left to chance: what happens meanwhile is called from within, and the file is written when asked.
"""

import sqlite3
from collections.abc import Callable

import pytest

from thoughtkeep.turns import Facts
from thoughtkeep_store import SqliteStore, erasing, sqlite

from .forgets import EVERY, content, each_way, figures, fill, require_gone, table, told
from .kit import Backend, breaks, kept, keys, run


def idle(store: SqliteStore) -> None:
    """Have the store write only when it is asked to."""
    store._schedule = lambda: None
    store._prune = lambda: None


def around(
    owner: object, name: str, *, before: Callable[[], object] | None = None, after: Callable[[], object] | None = None
) -> None:
    """Have something happen before or after a method runs for the first time, on the thread that runs it."""
    method = getattr(owner, name)

    def once(*arguments):
        setattr(owner, name, method)
        if before:
            before()
        result = method(*arguments)
        if after:
            after()
        return result

    setattr(owner, name, once)


moments = pytest.mark.parametrize("moment", ["before", "after"])


@moments
@each_way
def test_a_turn_that_is_forgotten_while_it_is_written_is_never_seen_again(file: Backend, forget, moment):
    async def scenario():
        async with file.open() as store:
            idle(store)
            fill(store, "secret")
            around(store._database, "write", **{moment: lambda: forget(store)})
            await store._run(store._write)
            assert table(file, "SELECT count(*) FROM turn") == [(5,)]
            await require_gone(store)
            await store.flush()
            await require_gone(store)
            assert table(file, "SELECT count(*) FROM turn") == [(0,)]
            assert b"secret" not in content(file)

    run(scenario())


@moments
@each_way
def test_a_turn_that_is_forgotten_and_put_again_while_it_is_written_is_the_new_one(file: Backend, forget, moment):
    async def scenario():
        async with file.open() as store:

            def meanwhile():
                forget(store)
                store.put(kept("t1", lineage="l1", text="again"))

            idle(store)
            fill(store)
            around(store._database, "write", **{moment: meanwhile})
            await store._run(store._write)
            for _ in range(2):
                (turn,) = (await store.fetch(keys(*EVERY))).turns
                assert turn.turn.pieces[0].text == "again"
                assert await store.conversation("alice", "root") == (turn,)
                assert (await figures(store))[:2] == (1, 1)
                await store.flush()
            assert table(file, "SELECT count(*) FROM turn") == [(1,)]

    run(scenario())


@each_way
def test_a_turn_that_is_forgotten_after_its_write_failed_never_reaches_the_file(file: Backend, forget):
    async def scenario():
        async with file.open() as store:
            broken = breaks(store, sqlite3.OperationalError("disk I/O error"), "COMMIT")
            fill(store)
            await store.flush()
            forget(store)
            broken.error = None
            await store.flush()
            assert table(file, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence") == [(0,)]

    run(scenario())


@each_way
def test_turns_that_are_about_to_be_written_do_not_escape(file: Backend, forget):
    """They go into the file behind the rows that an order reaches which is carried out in the same write."""

    async def scenario():
        async with file.open() as store:
            store.put(kept("before", root="before"))
            await store.flush()
            idle(store)
            store.forget_turns(["before"])
            fill(store)
            around(store, "_encode", before=lambda: forget(store))
            await store._run(store._write)
            assert table(file, "SELECT count(*) FROM turn") == [(5,)]
            await require_gone(store)
            await store.flush()
            await require_gone(store)
            assert table(file, "SELECT count(*) FROM turn") == [(0,)]

    run(scenario())


@pytest.mark.parametrize("carried_out", [False, True])
@each_way
def test_a_lookup_that_is_under_way_does_not_tell_what_is_forgotten_meanwhile(file: Backend, forget, carried_out):
    async def scenario():
        async with file.open() as store:

            async def refill():
                fill(store)
                await store.flush()

            def meanwhile():
                forget(store)
                if carried_out:
                    assert store._write() is sqlite.Outcome.DONE
                    assert not store._waiting.forgetting()

            idle(store)
            await refill()
            around(store._database, "find", after=meanwhile)
            assert await store.fetch(keys(*EVERY, values=("v",))) == Facts()
            await refill()
            around(store._database, "find", after=meanwhile)
            assert await store.fetch(keys(*EVERY, tenant="bob")) == Facts()
            await refill()
            around(store._database, "conversation", after=meanwhile)
            assert await told(store) == []
            await refill()
            around(store._erasing, "counts", after=meanwhile)
            assert await figures(store) == (0, 0, 0)

    run(scenario())


@each_way
def test_a_lookup_that_is_under_way_does_not_tell_what_is_forgotten_in_memory(file: Backend, forget):
    async def scenario():
        async with file.open() as store:
            idle(store)
            fill(store)
            around(store._database, "find", after=lambda: forget(store))
            assert await store.fetch(keys(*EVERY)) == Facts()
            fill(store)
            around(store._database, "conversation", after=lambda: forget(store))
            assert await told(store) == []

    run(scenario())


@each_way
def test_between_the_steps_lookups_see_nothing_of_it_and_all_that_is_new(file: Backend, monkeypatch, forget):
    monkeypatch.setattr(erasing, "STEP_TURNS", 2)
    old, new = "SELECT count(*) FROM turn WHERE number <= 5", "SELECT count(*) FROM turn WHERE number > 5"

    async def scenario():
        async with file.open() as store, file.open() as elsewhere:
            fill(store)
            await store.flush()
            idle(store)
            forget(store)
            mine = kept("mine", lineage="l1", made=8.0)
            store.put(mine)
            await store._run(store._write)
            # It does not wait until all is forgotten.
            assert (table(file, old), table(file, new)) == ([(3,)], [(1,)])
            others = kept("others", lineage="l2", made=9.0)
            elsewhere.put(others)
            await elsewhere.flush()
            again = kept("t0", lineage="l0", made=10.0)
            store.put(again)
            for _ in range(4):
                assert (await store.fetch(keys(*EVERY))).turns == (again, others, mine)
                assert await store.conversation("alice", "root") == (mine, others, again)
                assert (await figures(store))[:2] == (3, 1)
                await store._run(store._write)
            assert (table(file, old), table(file, new)) == ([(0,)], [(3,)])
            assert table(file, "SELECT turns FROM conversation") == [(3,)]

    run(scenario())


def test_what_is_forgotten_while_all_before_it_still_goes_counts_once(file: Backend, monkeypatch):
    monkeypatch.setattr(erasing, "STEP_TURNS", 1)

    async def scenario():
        async with file.open() as store:
            fill(store)
            await store.flush()
            idle(store)
            store.forget_all()
            fresh = [kept("t0"), kept("new"), kept("x", root="x"), kept("y", root="y")]
            for turn in fresh:
                store.put(turn)
            await store._run(store._write)
            assert table(file, "SELECT count(*) FROM turn") == [(7,)]  # t0 was replaced
            turns, conversations, size = await figures(store)
            assert (turns, conversations) == (4, 3)
            store.forget_turns(["t0", "t1", "x"])
            left = await figures(store)
            assert left[:2] == (2, 2)
            store.forget_conversation("alice", "root")
            ((y,),) = table(file, "SELECT max(bytes) FROM turn WHERE number = (SELECT max(number) FROM turn)")
            assert await figures(store) == (1, 1, y)
            assert size > left[2] > y
            await store.flush()
            assert await figures(store) == (1, 1, y)

    run(scenario())


def test_no_step_deletes_more_than_its_share(file: Backend, monkeypatch):
    monkeypatch.setattr(erasing, "STEP_TURNS", 2)

    async def scenario():
        async with file.open() as store:
            fill(store)
            for n in range(4):
                store.put(kept(f"other{n}", root="other"))
            await store.flush()
            idle(store)
            store.forget_turns(["t0", "unknown", "t1", "t2"])
            store.forget_conversation("alice", "other")
            left = []
            while store._waiting.owes():
                await store._run(store._write)
                left += table(file, "SELECT count(*) FROM turn")
            assert left == [(8,), (6,), (4,), (2,)]

    run(scenario())


@each_way
def test_what_is_forgotten_again_while_it_is_carried_out_is_forgotten_again(file: Backend, forget):
    async def scenario():
        async with file.open() as store, file.open() as elsewhere:
            fill(store)
            await store.flush()
            await elsewhere.stats()  # what opening has asked for is done
            idle(store)
            idle(elsewhere)

            def meanwhile():
                elsewhere.put(kept("t1", lineage="l1"))
                assert elsewhere._write() is sqlite.Outcome.DONE
                forget(store)

            around(store._erasing, "step", after=meanwhile)
            forget(store)
            await store._run(store._write)
            assert table(file, "SELECT count(*) FROM turn") == [(1,)]
            await require_gone(store)
            await store.flush()
            await require_gone(store)
            assert table(file, "SELECT count(*) FROM turn") == [(0,)]

    run(scenario())


@each_way
def test_flush_waits_until_the_log_is_empty_also_when_more_is_to_be_forgotten(file: Backend, forget):
    async def scenario():
        async with file.open() as store:
            store.put(kept("later", root="later"))
            fill(store, "secret")
            await store.flush()
            idle(store)

            def meanwhile():
                store.put(kept("new", root="later"))
                store.forget_turns(["later"])

            around(store._erasing, "step", before=meanwhile)
            forget(store)
            await store.flush()
            assert store._waiting.forgetting()  # flush did not wait for what came later
            assert b"secret" not in content(file)

    run(scenario())


def test_flush_waits_for_what_a_later_order_took_the_place_of(file: Backend, monkeypatch):
    monkeypatch.setattr(erasing, "STEP_TURNS", 1)

    async def scenario():
        async with file.open() as store:
            fill(store)
            await store.flush()
            idle(store)

            def meanwhile():
                store.put(kept("new", root="other"))
                store.forget_all()

            around(store._erasing, "step", after=meanwhile)
            store.forget_conversation("alice", "root")
            await store.flush()
            assert table(file, "SELECT count(*) FROM turn") == [(0,)]

    run(scenario())
