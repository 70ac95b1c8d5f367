"""What was forgotten is gone at once and for good, and what is put afterwards is kept; how a conversation is told."""

import pytest

from thoughtkeep_store.base import PER_CONVERSATION
from thoughtkeep_store.forgetting import Conversation, Everything, Forgetting, OneTurn, Order

from .forgets import EVERY, each_way, figures, fill, require_gone, told
from .kit import Backend, found, kept, keys, run

both = pytest.mark.parametrize("flushed", [False, True], ids=["before the flush", "after the flush"])


@each_way
@both
def test_what_was_forgotten_is_gone_at_once_and_for_good(backend: Backend, forget, flushed):
    async def scenario():
        async with backend.open() as store:
            fill(store)
            if flushed:
                await store.flush()
            forget(store)
            await require_gone(store)
            await store.flush()
            await require_gone(store)
        if backend.lasting:
            async with backend.open() as store:
                await require_gone(store)
        assert backend.faults == []

    run(scenario())


@each_way
@both
def test_what_is_put_after_the_forgetting_is_kept(backend: Backend, forget, flushed):
    async def scenario():
        async with backend.open() as store:
            fill(store)
            if flushed:
                await store.flush()
            forget(store)
            again = kept("t1", lineage="l1", made=8.0, text="again")
            new = kept("new", lineage="l1", made=9.0)
            store.put(again)
            store.put(new)
            for _ in range(2):
                assert (await store.fetch(keys(*EVERY))).turns == (new, again)
                assert await store.conversation("alice", "root") == (again, new)
                assert (await figures(store))[:2] == (2, 1)
                await store.flush()

    run(scenario())


@both
def test_turns_are_forgotten_whosever_they_are_and_no_others(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            for tenant in ("alice", "bob"):
                for n in range(3):
                    store.put(kept(f"{tenant}{n}", tenant=tenant))
            if flushed:
                await store.flush()
            store.forget_turns(["alice0", "bob0", "bob1", "bob2", "unknown", "bob0"])
            store.forget_turns([])
            for _ in range(2):
                assert await found(store, "lineage") == ["alice2", "alice1"]
                assert await found(store, "lineage", tenant="bob") == []
                assert (await figures(store))[:2] == (2, 1)
                await store.flush()

    run(scenario())


@both
def test_a_conversation_is_forgotten_and_no_other_of_the_tenant_or_of_another(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            for tenant in ("alice", "bob"):
                for root in ("r1", "r2"):
                    store.put(kept(f"{tenant} {root}", tenant=tenant, root=root))
            if flushed:
                await store.flush()
            store.forget_conversation("alice", "r1")
            store.forget_conversation("alice", "unknown")
            for _ in range(2):
                assert await found(store, "lineage") == ["alice r2"]
                assert await found(store, "lineage", tenant="bob") == ["bob r2", "bob r1"]
                assert (await figures(store))[:2] == (3, 3)
                await store.flush()

    run(scenario())


@each_way
@both
def test_other_tenants_are_told_no_origin_of_what_was_forgotten(backend: Backend, forget, flushed):
    async def scenario():
        async with backend.open() as store:
            fill(store)
            if flushed:
                await store.flush()
            question = keys("l1", tenant="bob", values=("v",))
            assert len((await store.fetch(question)).origins) == 5
            forget(store)
            for _ in range(2):
                assert (await store.fetch(question)).origins == ()
                await store.flush()

    run(scenario())


@both
def test_what_is_left_counts_for_what_it_did_before(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            store.put(kept("left", root="other", text="x" * 500))
            store.put(kept("left too", lineage="another", text="x" * 700))
            await store.flush()
            before = await figures(store)
            fill(store)
            store.put(kept("single", root="single", text="x" * 10_000))
            if flushed:
                await store.flush()
            store.forget_turns([*(f"t{n}" for n in range(5)), "single"])
            assert await figures(store) == before
            await store.flush()
            assert await figures(store) == before

    run(scenario())


@both
def test_a_conversation_is_told_oldest_first_and_of_the_same_time_as_put(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            for id_, made in (("b", 2.0), ("d", 9.0), ("a", 1.0), ("c", 2.0), ("b", 2.0)):
                store.put(kept(id_, made=made, lineage=id_))
            store.put(kept("hers", tenant="bob"))
            store.put(kept("other", root="other"))
            if flushed:
                await store.flush()
            assert await told(store) == ["a", "c", "b", "d"]
            assert await store.conversation("alice", "unknown") == ()
            store.put(kept("a", made=1.0, root="other"))
            store.put(kept("e", made=0.0))
            assert await told(store) == ["e", "c", "b", "d"]

    run(scenario())


@both
def test_of_a_long_conversation_the_newest_turns_are_told(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            for n in range(PER_CONVERSATION + 20):
                store.put(kept(f"t{n}", made=float(n), lineage=f"l{n}"))
            if flushed:
                await store.flush()
            newest = [f"t{n}" for n in range(20, PER_CONVERSATION + 20)]
            assert await told(store) == newest
            store.forget_turns(["t500"])
            assert await told(store) == ["t19", *(id_ for id_ in newest if id_ != "t500")]

    run(scenario())


def test_the_key_stays_when_all_is_forgotten(backend: Backend):
    async def scenario():
        async with backend.open() as store:
            key = store.key
            fill(store)
            store.forget_all()
            await store.flush()
            assert store.key == key
        if backend.lasting:
            async with backend.open() as store:
                assert store.key == key

    run(scenario())


def test_a_use_of_what_was_forgotten_is_none(backend: Backend):
    async def scenario():
        async with backend.open() as store:
            fill(store)
            await store.flush()
            store.touch(["t1"])
            store.forget_all()
            store.touch(["t1"])
            store.put(kept("other", root="other"))
            await store.flush()
            assert (await figures(store))[:2] == (1, 1)

    run(scenario())


@each_way
def test_a_closed_store_forgets_without_a_fault(backend: Backend, forget):
    async def scenario():
        async with backend.open() as store:
            await store.close()
            fill(store)
            forget(store)
            await store.flush()
            await require_gone(store)
            assert await found(store, "lineage") == []

    run(scenario())


def test_an_order_takes_the_place_of_those_it_includes_and_is_owed_as_long():
    forgetting = Forgetting()
    forgetting.add(OneTurn("a"), 5)
    forgetting.add(Conversation("alice", "root"), 6)
    forgetting.add(Conversation("alice", "root"), 9)
    assert [(target, order.after) for target, order in forgetting] == [
        (OneTurn("a"), 5),
        (Conversation("alice", "root"), 6),
    ]
    assert not forgetting.owed(4)
    assert forgetting.owed(5)
    before = Forgetting(forgetting)
    forgetting.add(Everything(), 12)
    assert [(target, order.after) for target, order in forgetting] == [(Everything(), 5)]
    forgetting.done(before)
    assert len(forgetting) == 1
    forgetting.done([(Everything(), Order(5))])
    assert len(forgetting) == 1
    forgetting.done(list(forgetting))
    assert len(forgetting) == 0
