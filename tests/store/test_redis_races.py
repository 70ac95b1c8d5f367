"""What crosses on its way to a server: lookups and writes, lookups and the end of the store, what is given up."""

import asyncio

import pytest

from thoughtkeep_store import (
    redis_link,
    redis_scripts,
    redis_store,
)

from .kit import Backend, at_most, found, kept, keys, run, words
from .redis_fake import FakeRedis

pytestmark = pytest.mark.usefixtures("soon")


def test_nothing_is_left_when_it_is_closed(away: Backend, server: FakeRedis):
    async def scenario():
        for stops in (False, True):
            store = away.open_server()
            for n in range(200):
                store.put(kept(f"t{n}"))
            lookups = [asyncio.ensure_future(found(store, "lineage")) for _ in range(20)]
            flushing = asyncio.ensure_future(store.flush())
            await asyncio.sleep(0)
            if stops:
                server.stop()
            await asyncio.gather(store.close(), store.close(), flushing, *lookups)
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            assert store._link._client is None
            store.forget_all()
            assert any("turns that were to be forgotten may still be in it" in told for told in words(away))
            assert await store.lease("x", 1)

    run(scenario())


def test_lookups_that_wait_for_a_connection_when_it_is_closed_make_none(away: Backend, server: FakeRedis):
    async def scenario():
        store = away.open_server()
        store.put(kept())
        await store.flush()
        server.hang()
        lookups = [asyncio.ensure_future(found(store, "lineage")) for _ in range(3 * redis_link.CONNECTIONS)]
        await asyncio.sleep(0.05)
        pool = store._link._client.connection_pool
        connections = [*pool._available_connections, *pool._in_use_connections]
        assert len(connections) == redis_link.CONNECTIONS
        with at_most(redis_store.FETCHING):
            await store.close()
        server.go_on()
        assert [await lookup for lookup in lookups] == [[]] * len(lookups)
        assert not any(connection.is_connected for connection in connections)

    run(scenario())


def test_a_turn_that_moves_away_while_it_is_looked_for_is_not_found_where_it_was(away: Backend, monkeypatch):
    async def scenario():
        async with away.open() as store:
            store.put(kept("t1"))
            store.put(kept("t2"))
            await store.flush()
            store.put(kept("t1", root="elsewhere"))
            look = store._turns.conversation

            async def crossed(*asked):
                reply = await look(*asked)
                await store.flush()
                return reply

            monkeypatch.setattr(store._turns, "conversation", crossed)
            assert [turn.id for turn in await store.conversation("alice", "root")] == ["t2"]

    run(scenario())


def test_a_lookup_does_not_go_on_for_ever_where_turns_are_written_all_the_time(away: Backend, monkeypatch):
    async def scenario():
        async with away.open() as store:
            look, looks = store._turns.conversation, []

            async def crossed(*asked):
                looks.append(len(looks))
                reply = await look(*asked)
                store.put(kept(f"t{len(looks)}"))
                await store.flush()
                return reply

            monkeypatch.setattr(store._turns, "conversation", crossed)
            assert [turn.id for turn in await store.conversation("alice", "root")] == ["t1", "t2"]

    run(scenario())


def test_a_step_that_is_given_up_at_the_end_is_no_fault_of_who_waits_for_it(away: Backend, server: FakeRedis):
    async def scenario():
        async with away.open() as store:
            server.hang()
            store.put(kept())
            flushing = asyncio.ensure_future(store.flush())
            await asyncio.sleep(0.05)
            store._step.cancel()
            await flushing
            store._closed = True
            await asyncio.sleep(0.01)
            store._closed = False
            server.go_on()

    run(scenario())


def test_lookups_that_are_given_up_leave_the_connections_as_they_were(away: Backend, server: FakeRedis):
    async def scenario():
        async with away.open() as store:
            store.put(kept())
            await store.flush()
            for n in range(30):
                looking = asyncio.ensure_future(store.fetch(keys("lineage", f"l{n}")))
                await asyncio.sleep(0.001 * (n % 5))
                looking.cancel()
            for _ in range(20):
                assert await found(store, "lineage") == ["t1"]

    run(scenario())
    assert away.faults == []


def test_a_turn_that_is_forgotten_while_it_is_looked_for_is_not_found(away: Backend, monkeypatch):
    async def scenario():
        async with away.open() as store:
            store.put(kept())
            store.put(kept("t2"))
            await store.flush()
            send, calls = store._link.send, []

            async def forgetting(budget, script, *more):
                reply = await send(budget, script, *more)
                calls.append(script)
                if len(calls) == 1:
                    store.forget_turns(["t1"])
                return reply

            monkeypatch.setattr(store._link, "send", forgetting)
            assert await found(store, "lineage") == ["t2"]

    run(scenario())


def test_figures_are_told_also_where_turns_are_put_all_the_time(away: Backend, monkeypatch):
    async def scenario():
        async with away.open() as store:
            send, asked = store._link.send, []

            async def busy(budget, script, *more):
                if script == redis_scripts.COUNT:
                    asked.append(script)
                    store.put(kept(f"t{len(asked)}"))
                    await asyncio.wait((store._step,))
                return await send(budget, script, *more)

            monkeypatch.setattr(store._link, "send", busy)
            assert (await store.stats()).turns == 3

    run(scenario())
