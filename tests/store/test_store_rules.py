"""What every backend promises. Where a store writes later, each rule holds before and after the write."""

from dataclasses import replace

import pytest

from thoughtkeep.turns import Facts, Keys, Origin, Owner
from thoughtkeep_store.base import ORIGINS, PER_KEY, SCANNED

from .kit import Backend, found, kept, keys, run, settled

both = pytest.mark.parametrize("flushed", [False, True], ids=["before the flush", "after the flush"])


@both
@pytest.mark.parametrize(
    "question",
    [keys("l"), keys(call_ids=("c1",)), keys(values=("v2",)), keys("l", call_ids=("c1", "c2"), values=("v1", "v2"))],
    ids=["lineage", "call id", "value", "all of them"],
)
def test_a_turn_is_found_whole_and_once_by_any_of_its_keys(backend: Backend, question, flushed):
    async def scenario():
        turn = kept(lineage="l", call_ids=("c1", "c2"), values=("v1", "v2"))
        async with backend.open() as store:
            store.put(turn)
            if flushed:
                await store.flush()
            assert await store.fetch(question) == Facts((turn,))

    run(scenario())


@both
def test_keys_that_lead_nowhere_lead_to_nothing(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            store.put(kept(lineage="l", call_ids=("",), values=("v",)))
            if flushed:
                await store.flush()
            assert await store.fetch(keys()) == Facts()
            assert await store.fetch(keys("v", "", call_ids=("", "l", "v"), values=("l", ""))) == Facts()

    run(scenario())


@both
def test_turns_come_newest_first_and_of_the_same_time_the_last_put_first(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            for id_, made in (("b", 2.0), ("d", 9.0), ("a", 1.0), ("c", 2.0)):
                store.put(kept(id_, made=made))
            if flushed:
                await store.flush()
            assert await found(store, "lineage") == ["d", "c", "b", "a"]

    run(scenario())


@both
def test_no_tenant_sees_turns_of_another(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            store.put(kept("hers", tenant="bob", lineage="l", call_ids=("c",), values=("v",)))
            if flushed:
                await store.flush()
            assert (await store.fetch(keys("l", call_ids=("c",), values=("v",)))).turns == ()

    run(scenario())


@both
@pytest.mark.parametrize("question", [keys("l"), keys(values=("v",))], ids=["lineage", "value"])
def test_of_another_tenants_turn_its_origin_is_told_and_no_state(backend: Backend, question, flushed):
    async def scenario():
        async with backend.open() as store:
            store.put(kept(tenant="bob", lineage="l", made=5.0, values=("v",)))
            store.put(kept("mine", lineage="other"))
            if flushed:
                await store.flush()
            origin = Origin("l", ("l+",), Owner("google", "gemini-3-pro"), 5.0, ("v",))
            for _ in range(2):
                assert await store.fetch(question) == Facts(origins=(origin,))

    run(scenario())


@both
def test_origins_are_not_told_by_call_id_nor_of_the_tenant_itself(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            store.put(kept("hers", tenant="bob", lineage="x", call_ids=("c",)))
            store.put(kept("mine", lineage="l", values=("v",)))
            if flushed:
                await store.flush()
            assert (await store.fetch(keys("l", call_ids=("c",), values=("v",)))).origins == ()

    run(scenario())


@both
def test_notes_are_found_at_their_places_and_nobody_learns_of_another_tenants(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            store.put(kept("mine", lineage="place"))
            store.put(kept("hers", tenant="bob", lineage="place"))
            if flushed:
                await store.flush()
            facts = await store.fetch(Keys("alice", notes=("place",)))
            assert [turn.id for turn in facts.turns] == ["mine"]
            assert facts.origins == ()

    run(scenario())


@both
def test_a_key_of_thousands_of_turns_brings_back_the_newest_few(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            for n in range(3 * PER_KEY):
                store.put(kept(f"t{n}", made=float(n), lineage=f"l{n}", call_ids=("call_0",), values=("v",)))
            if flushed:
                await store.flush()
            newest = [f"t{n}" for n in reversed(range(3 * PER_KEY))]
            for few in (await found(store, call_ids=("call_0",)), await found(store, values=("v",))):
                assert PER_KEY <= len(few) <= (PER_KEY if flushed else 2 * PER_KEY)
                assert few[:PER_KEY] == newest[:PER_KEY]
            few = await found(store, "l3", call_ids=("call_0",))
            assert "t3" in (few[-1:] if flushed else few)

    run(scenario())


@both
def test_origins_are_bounded_and_the_tenants_own_turns_do_not_crowd_them_out_at_once(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            for n in range(ORIGINS + 50):
                store.put(kept(f"hers{n}", tenant="bob", made=float(n), lineage=f"l{n}", values=("hot",)))
            for n in range(SCANNED // 2):
                store.put(kept(f"mine{n}", made=1e6 + n, values=("hot",)))
            if flushed:
                await store.flush()
            every = (await store.fetch(keys(*(f"l{n}" for n in range(ORIGINS + 50))))).origins
            assert [origin.made for origin in every] == [float(n) for n in reversed(range(50, ORIGINS + 50))]
            hot = (await store.fetch(keys(values=("hot",)))).origins
            assert SCANNED // 2 <= len(hot) <= (SCANNED // 2 if flushed else 2 * SCANNED)
            assert [origin.made for origin in hot[: SCANNED // 2]] == [ORIGINS + 49.0 - n for n in range(SCANNED // 2)]

    run(scenario())


@pytest.mark.parametrize("between", [False, True], ids=["at once", "after a flush"])
@both
def test_the_same_id_again_replaces_the_turn(backend: Backend, flushed, between):
    async def scenario():
        async with backend.open() as store:
            store.put(kept(lineage="l", call_ids=("old", "both")))
            store.put(kept("t0", lineage="l", tenant="bob", values=("v",)))
            if between:
                await store.flush()
            amended = kept(lineage="l", call_ids=("both", "new"), text="more words")
            store.put(amended)
            if flushed:
                await store.flush()
            assert (await store.fetch(keys("l", call_ids=("old", "both", "new")))).turns == (amended,)
            assert await found(store, call_ids=("old",)) == []
            assert await found(store, call_ids=("new",)) == ["t1"]
            if flushed:
                assert (await store.stats()).turns == 2

    run(scenario())


@both
def test_a_turn_may_move_to_another_conversation(backend: Backend, flushed):
    async def scenario():
        async with backend.open() as store:
            store.put(kept(root="r1"))
            await store.flush()
            store.put(kept(root="r2"))
            if flushed:
                await store.flush()
            assert await found(store, "lineage") == ["t1"]
            assert (await store.stats()).conversations == 1

    run(scenario())


def test_a_turn_that_is_put_while_it_is_written_is_not_lost(backend: Backend):
    async def scenario():
        async with backend.open() as store:
            for n in range(200):
                store.put(kept(text=str(n)))
                if n % 7 == 0:
                    await store.fetch(keys("lineage"))
            await store.flush()
            (turn,) = (await store.fetch(keys("lineage"))).turns
            assert turn.turn.pieces[0].text == "199"

    run(scenario())


def test_conversations_go_whole_when_unused_for_the_time_to_live(backend: Backend):
    async def scenario():
        async with backend.open(ttl=100.0) as store:
            store.put(kept("a1", root="a", lineage="a1"))
            store.put(kept("b1", root="b", lineage="b1"))
            await store.flush()
            backend.clock.now += 90
            store.put(kept("a2", root="a", lineage="a2"))
            await store.flush()
            backend.clock.now += 90
            store.put(kept("c1", root="c", lineage="c1"))
            await store.flush()

            async def done(store):
                return await found(store, "b1") == []

            await settled(store, done)
            assert sorted(await found(store, "a1", "a2", "b1", "c1")) == ["a1", "a2", "c1"]
            assert (await store.stats()).conversations == 2

    run(scenario())


def test_the_last_conversation_goes_too(backend: Backend):
    async def scenario():
        async with backend.open(ttl=100.0) as store:
            store.put(kept())
            await store.flush()
            backend.clock.now += 101

            async def done(store):
                await store.flush()
                return (await store.stats()).conversations == 0

            await settled(store, done)
            assert await found(store, "lineage") == []

    run(scenario())


@both
def test_touching_a_turn_prolongs_its_whole_conversation(backend: Backend, flushed):
    async def scenario():
        async with backend.open(ttl=100.0) as store:
            for id_ in ("a1", "a2", "b1"):
                store.put(kept(id_, root=id_[0], lineage=id_))
            if flushed:
                await store.flush()
            backend.clock.now += 90
            store.touch(["a1", "unknown"])
            await store.flush()
            backend.clock.now += 90
            store.put(kept("c1", root="c", lineage="c1"))
            await store.flush()

            async def done(store):
                return await found(store, "b1") == []

            await settled(store, done)
            assert sorted(await found(store, "a1", "a2", "b1")) == ["a1", "a2"]

    run(scenario())


def test_the_same_root_of_two_tenants_is_two_conversations(backend: Backend):
    async def scenario():
        async with backend.open() as store:
            store.put(kept("a"))
            store.put(kept("b", tenant="bob"))
            await store.flush()
            stats = await store.stats()
            assert (stats.turns, stats.conversations, stats.pending) == (2, 2, 0)
            assert stats.bytes > 0
            assert stats.backend == store.name

    run(scenario())


def test_over_the_bound_the_conversation_used_longest_ago_goes_whole(backend: Backend):
    async def scenario():
        bound = 400_000
        async with backend.open(max_bytes=bound) as store:
            for n in range(20):
                for step in range(4):
                    store.put(kept(f"{n}.{step}", root=str(n), lineage=f"{n}.{step}", text="x" * 10_000))
                store.touch(["0.0"])
                backend.clock.now += 1
                await store.flush()

            async def done(store):
                return (await store.stats()).bytes <= bound

            await settled(store, done)
            left = await found(store, *(f"{n}.{step}" for n in range(20) for step in range(4)))
            conversations = {id_.split(".")[0] for id_ in left}
            assert len(left) == 4 * len(conversations)
            oldest = min(int(n) for n in conversations - {"0"})
            assert conversations == {"0", *(str(n) for n in range(oldest, 20))}
            assert 5 <= len(conversations) < 10

    run(scenario())


def test_a_conversation_that_is_over_the_bound_alone_loses_its_oldest_turns(backend: Backend):
    async def scenario():
        bound = 200_000
        async with backend.open(max_bytes=bound) as store:
            for n in range(40):
                store.put(kept(str(n), lineage=str(n), text="x" * 10_000))
                await store.flush()

            async def done(store):
                backend.clock.now += 61  # it is looked for now and then
                return (await store.stats()).bytes <= bound

            await settled(store, done)
            left = sorted(int(id_) for id_ in await found(store, *map(str, range(40))))
            assert left == list(range(left[0], 40))
            assert len(left) > 10

    run(scenario())


@both
def test_keys_may_be_any_text(backend: Backend, flushed):
    async def scenario():
        strange = ("\ud800", "a\0b", "ü", "x" * 100_000, "' OR 1=1 --", "1")
        async with backend.open() as store:
            for n, key in enumerate(strange):
                store.put(kept(f"{key}{n}", tenant=key, root=key, lineage=key, call_ids=(key,), values=(key,)))
            if flushed:
                await store.flush()
            for n, key in enumerate(strange):
                for question in (keys(key, tenant=key), keys(tenant=key, call_ids=(key,), values=strange)):
                    assert [turn.id for turn in (await store.fetch(question)).turns] == [f"{key}{n}"]

    run(scenario())


def test_the_key_is_random_and_32_bytes_long(backend: Backend, tmp_path):
    async def scenario():
        other = replace(backend, folder=tmp_path / "other")
        async with backend.open() as one, other.open() as two:
            assert len(one.key) == len(two.key) == 32
            assert one.key != two.key

    run(scenario())


def test_a_closed_store_raises_nothing(backend: Backend):
    async def scenario():
        async with backend.open() as store:
            await store.close()
            await store.close()
            store.put(kept("late", lineage="late"))
            store.touch(["late"])
            await store.flush()
            assert await found(store, "late") == ["late"]
            assert (await store.stats()).turns == 1

    run(scenario())


def test_state_that_other_code_holds_read_only_is_stored_as_well(backend: Backend):
    async def scenario():
        from types import MappingProxyType

        turn = kept()
        frozen = replace(turn, turn=replace(turn.turn, state=MappingProxyType({"a": {"b": [1, {"c": ""}]}})))
        async with backend.open() as store:
            store.put(frozen)
            await store.flush()
            (turn,) = (await store.fetch(keys("lineage"))).turns
            assert turn.turn.state == {"a": {"b": [1, {"c": ""}]}}

    run(scenario())
