"""Stores on one server: what one has written the others have at once, and what the server holds of it, and how long."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import pytest
import redis

from thoughtkeep.turns import Facts
from thoughtkeep_store import Store, redis_scripts, redis_turns
from thoughtkeep_store.redis_store import RedisStore

from .forgets import EVERY, each_way, figures, fill, require_gone, told
from .kit import WEEK, Backend, found, kept, keys, run, settled


@contextmanager
def inside(shared: Backend) -> Iterator[Any]:
    """The database, as its operator sees it."""
    assert shared.server is not None
    with redis.Redis.from_url(shared.server.database(shared.folder), protocol=2) as client:
        yield client


@asynccontextmanager
async def two(shared: Backend, **options: Any) -> AsyncIterator[tuple[RedisStore, RedisStore]]:
    async with shared.open(**options) as one, shared.open(**options) as other:
        assert isinstance(one, RedisStore)
        assert isinstance(other, RedisStore)
        yield one, other


def names(client: Any, kind: str) -> list[str]:
    return sorted(name.decode() for name in client.keys(f"thoughtkeep:1:{kind}:*"))


def test_what_one_has_flushed_others_have_at_once(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            turn = kept(lineage="l", call_ids=("c",), values=("v",))
            one.put(turn)
            await one.flush()
            for question in (keys("l"), keys(call_ids=("c",)), keys(values=("v",))):
                assert await other.fetch(question) == Facts((turn,))
            assert await other.conversation("alice", "root") == (turn,)
            assert (await other.stats()).turns == 1

    run(scenario())
    assert shared.faults == []


def test_a_put_is_written_without_being_asked_for(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            one.put(kept())

            async def done(store: Store) -> bool:
                return await found(store, "lineage") == ["t1"]

            await settled(other, done)

    run(scenario())


def test_the_key_is_made_once(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            assert one.key == other.key
            with inside(shared) as client:
                assert client.get(redis_scripts.KEY) == one.key
        async with shared.open() as later:
            assert later.key == one.key

    run(scenario())


def test_a_turn_that_one_amends_is_amended_for_the_other(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            one.put(kept())
            await one.flush()
            assert await found(other, "lineage") == ["t1"]
            amended = kept(text="more", call_ids=("c",))
            other.put(amended)
            await other.flush()
            assert (await one.fetch(keys("lineage"))).turns == (amended,)
            assert (await one.stats()).turns == 1

    run(scenario())


@each_way
def test_what_one_forgets_the_other_has_forgotten_when_it_is_flushed(shared: Backend, forget):
    async def scenario():
        async with two(shared) as (one, other):
            fill(one)
            await one.flush()
            assert await told(other) == [f"t{n}" for n in range(5)]
            forget(one)
            await one.flush()
            await require_gone(other)
            with inside(shared) as client:
                left = {name.decode() for name in client.keys("*")}
                assert left <= {f"thoughtkeep:1:{name}" for name in ("key", "seq", "turns", "bytes")}

    run(scenario())


@pytest.mark.parametrize("what", ["conversation", "all"])
def test_many_turns_are_forgotten_in_steps_and_what_others_put_meanwhile_stays(shared: Backend, monkeypatch, what):
    monkeypatch.setattr(redis_turns, "STEP_TURNS", 7)

    async def scenario():
        async with two(shared) as (one, other):
            for n in range(30):
                one.put(kept(f"t{n}", lineage=f"l{n}"))
            one.put(kept("away", root="away", lineage="away"))
            await one.flush()
            one._retry = asyncio.get_running_loop().call_later(60, print)  # nothing goes on by itself
            if what == "all":
                one.forget_all()
            else:
                one.forget_conversation("alice", "root")
            orders = one._waiting.forgetting()
            assert await one._turns.forget(lambda *told: one._link.send(Budget(), *told), orders) == []
            other.put(kept("new", lineage="l1", made=9.0))
            await other.flush()
            assert await found(one, "l1", "l29") == ["new"]
            await one.flush()
            for store in (one, other):
                every = [f"l{n}" for n in range(30)]
                assert await found(store, *every) == ["new"]
                assert await found(store, "away") == (["away"] if what == "conversation" else [])
                assert (await store.stats()).turns == (2 if what == "conversation" else 1)

    run(scenario())


class Budget:
    left = 10.0


def test_a_use_on_one_prolongs_for_all(shared: Backend):
    async def scenario():
        async with two(shared, ttl=100.0) as (one, other):
            one.put(kept("a", root="a", lineage="a"))
            one.put(kept("b", root="b", lineage="b"))
            await one.flush()
            shared.clock.now += 90
            assert await found(other, "a") == ["a"]
            other.touch(["a", "unknown"])
            other.put(kept("c", root="c", lineage="c"))
            await other.flush()
            shared.clock.now += 90

            async def done(store: Store) -> bool:
                return await found(store, "b") == []

            await settled(one, done)
            assert await found(one, "a", "c") == ["c", "a"]

    run(scenario())


def test_uses_are_written_many_at_a_time(shared: Backend, monkeypatch):
    monkeypatch.setattr(redis_turns, "TOUCHED", 2)

    async def scenario():
        async with shared.open() as store:
            fill(store)
            await store.flush()
            shared.clock.now += 50
            store.touch([f"t{n}" for n in range(5)])
            store.put(kept("other", root="other"))
            await store.flush()
            with inside(shared) as client:
                assert {score for _, score in client.zrange("thoughtkeep:1:used", 0, -1, withscores=True)} == {
                    shared.clock.now
                }

    run(scenario())


def test_the_server_itself_lets_go_of_what_is_not_used_and_a_use_renews_all_of_it(shared: Backend):
    async def scenario():
        async with shared.open(ttl=WEEK) as store:
            fill(store)
            await store.flush()
            with inside(shared) as client:
                (content,) = names(client, "c")
                entries = names(client, "x") + names(client, "t")
                assert len(entries) >= 5 * 4
                assert WEEK < client.ttl(content) <= WEEK + 3600
                assert all(1.25 * WEEK < client.ttl(entry) <= 1.25 * WEEK + 3600 for entry in entries)
                # Some of the time passes: the content is renewed, and what finds it when that is due.
                for name in (content, *entries):
                    client.expire(name, 1000)
                store.touch(["t1"])
                store.put(kept("x1", root="other", lineage="x1"))
                await store.flush()
                assert client.ttl(content) > WEEK
                assert all(client.ttl(name) == pytest.approx(1000, abs=60) for name in entries)
                client.hincrby(content, "s", -round(WEEK * 0.26))
                store.touch(["t1"])
                store.put(kept("x2", root="other", lineage="x2"))
                await store.flush()
                assert all(client.ttl(entry) > 1.25 * WEEK for entry in entries)

    run(scenario())


def test_the_content_that_expired_leaves_nothing_behind_where_it_is_asked_for(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            fill(one)
            one.put(kept("stays", root="stays", lineage="l1"))
            await one.flush()
            assert len(await found(other, *EVERY)) == 6
            with inside(shared) as client:
                sizes = {name: client.hlen(name) for name in names(client, "c")}
                client.delete(max(sizes, key=lambda name: sizes[name]))
                assert await found(other, *EVERY) == ["stays"]
                assert (await figures(one))[:2] == (1, 1)
                assert await told(one) == []
                assert len((await other.fetch(keys(*EVERY, tenant="bob"))).origins) == 1
                question = keys(*EVERY, tenant="bob", values=("v",))
                assert len((await other.fetch(question)).origins) == 1
                # Of the turn that stays two; and by call ids and by own values nobody asked.
                assert len(names(client, "x")) == 2 + 5 + 1

    run(scenario())


def test_what_finds_a_turn_may_be_gone_before_it(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            fill(one)
            await one.flush()
            with inside(shared) as client:
                for name in names(client, "t"):
                    client.delete(name)
                one.put(kept("t1", lineage="l1", made=1.0, text="again"))
                await one.flush()
                (turn,) = (await other.fetch(keys("l1"))).turns
                assert turn.turn.pieces[0].text == "again"
                one.touch(["t2"])
                one.forget_turns(["t2"])
                await one.flush()
                for name in names(client, "x"):
                    client.delete(name)
                assert await found(other, *EVERY) == []
                other.forget_conversation("alice", "root")
                await other.flush()
                assert await figures(one) == (0, 0, 0)

    run(scenario())


def test_lost_figures_are_begun_anew(shared: Backend):
    async def scenario():
        async with shared.open(max_bytes=100_000) as store:
            fill(store)
            await store.flush()
            with inside(shared) as client:
                client.delete("thoughtkeep:1:used")
                client.hset("thoughtkeep:1:bytes", "all", 5_000_000)
            store.put(kept("new", root="new"))
            await store.flush()
            assert await figures(store) == (0, 0, 0)
            store.put(kept("newer", root="newer", lineage="newer"))
            await store.flush()
            assert await found(store, "newer") == ["newer"]
            assert (await figures(store))[:2] == (1, 1)

    run(scenario())


def test_records_that_are_none_are_skipped_and_told_once(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            fill(one)
            await one.flush()
            with inside(shared) as client:
                (content,) = names(client, "c")
                fields = sorted(field.decode() for field in client.hkeys(content) if field.startswith((b"h", b"b")))
                for field, junk in zip(fields, (b"", b"\xff", b"{}", b'{"v":99}'), strict=False):
                    client.hset(content, field, junk)
                for _ in range(2):
                    assert len(await found(other, *EVERY)) == 1
                    assert len((await other.fetch(keys(*EVERY, tenant="bob"))).origins) == 5
                head = next(field for field in fields if field.startswith("h"))
                client.hset(content, head, b"[]")
            async with shared.open() as third:
                assert len((await third.fetch(keys(*EVERY, tenant="bob"))).origins) == 4
                assert len(await told(third)) == 1
        assert len(shared.faults) == 2  # one a store
        assert all("a stored turn is skipped, it cannot be read" in fault for fault in shared.faults)

    run(scenario())


def test_what_others_put_among_it_is_no_turn(shared: Backend):
    async def scenario():
        async with shared.open() as store:
            store.put(kept(call_ids=("c",)))
            await store.flush()
            with inside(shared) as client:
                for name in names(client, "x"):
                    client.zadd(name, {"odd": 9.0, "x" * 41: 9.0})
                assert await found(store, "lineage", call_ids=("c",)) == ["t1"]
                for name in names(client, "x"):
                    client.set(name, "odd")
                store.put(kept("t2"))
                assert await found(store, "lineage") == ["t2"]
        assert len(shared.faults) == 3  # also writing failed, and a turn was lost
        assert [fault for fault in shared.faults if "(WRONGTYPE); what it holds may be missed" in fault]

    run(scenario())


def test_names_and_entries_tell_nothing(shared: Backend):
    """Only the records do, which hold what a file holds."""
    secrets = ("tenant-1", "root-1", "lineage-1", "call-1", "value-1", "turn-1")

    async def scenario():
        async with shared.open() as store:
            tenant, root, lineage, call, value, turn = secrets
            store.put(kept(turn, tenant=tenant, root=root, lineage=lineage, call_ids=(call,), values=(value,)))
            await store.lease(f"{tenant} {lineage}", 5)
            await store.flush()
            with inside(shared) as client:
                (content,) = names(client, "c")
                shown = list(client.keys("*"))
                for name in map(bytes.decode, shown.copy()):
                    kind = client.type(name).decode()
                    if kind == "zset":
                        shown += client.zrange(name, 0, -1)
                    elif kind == "string":
                        shown.append(client.get(name))
                    else:
                        shown += client.hkeys(name)
                        shown += [] if name == content else client.hvals(name)
                shown += [text for field, text in client.hgetall(content).items() if field.startswith(b"m")]
                for text in shown:
                    assert not [secret for secret in secrets if secret.encode() in text]

    run(scenario())


def test_a_lookup_is_two_questions_however_much_there_is_and_one_where_it_was_read_lately(shared: Backend, monkeypatch):
    asked = []

    async def scenario():
        async with two(shared) as (one, other):
            for n in range(300):
                one.put(kept(f"t{n}", root=f"r{n % 7}", lineage=f"l{n % 100}", values=("v",)))
            await one.flush()
            send = other._link.send

            async def counted(budget, script, *more):
                asked.append(script)
                return await send(budget, script, *more)

            monkeypatch.setattr(other._link, "send", counted)
            for number in (2, 1):
                assert len(await found(other, *(f"l{n}" for n in range(80)))) == 240
                assert len(asked) == number
                asked.clear()
            origins = (await other.fetch(keys("l1", "l99", tenant="bob"))).origins
            assert len(origins) == 6
            assert len(asked) == 2

    run(scenario())


def test_many_records_are_read_and_decoded_in_parts(shared: Backend, monkeypatch):
    monkeypatch.setattr(redis_turns, "READ", 4)
    monkeypatch.setattr(redis_turns, "DECODED", 2)

    async def scenario():
        async with two(shared) as (one, other):
            fill(one)
            for n in range(5, 15):
                one.put(kept(f"t{n}", tenant="bob", lineage=f"l{n - 5}"))
            await one.flush()
            facts = await other.fetch(keys(*(f"l{n}" for n in range(10))))
            assert (len(facts.turns), len(facts.origins)) == (5, 10)

    run(scenario())


def test_what_is_replaced_again_and_again_is_looked_for_twice(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            one.put(kept())
            await one.flush()
            scripts = []

            async def send(script, *more):
                scripts.append(script)
                if script == redis_scripts.READ:
                    one.put(kept(text=str(len(scripts))))
                    await one.flush()
                return await other._link.send(Budget(), script, *more)

            question = redis_turns.Question(keys("lineage"))
            assert (await other._turns.find(send, question, other._waiting.forgetting())).facts() == Facts()
            assert len(scripts) == 4

    run(scenario())


def test_what_was_replaced_between_the_questions_is_looked_for_again(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            one.put(kept())
            one.put(kept("hers", tenant="bob"))
            await one.flush()
            amended = kept(text="amended")
            scripts = []

            async def send(script, *more):
                scripts.append(script)
                if script == redis_scripts.READ and len(scripts) == 2:
                    one.put(amended)
                    one.put(kept("hers", tenant="bob", made=5.0))
                    await one.flush()
                return await other._link.send(Budget(), script, *more)

            question = redis_turns.Question(keys("lineage"))
            facts = (await other._turns.find(send, question, other._waiting.forgetting())).facts()
            assert facts.turns == (amended,)
            assert [origin.made for origin in facts.origins] == [5.0]
            assert len(scripts) == 4

    run(scenario())


def test_one_gets_a_lease_until_it_is_released_or_over(shared: Backend):
    async def scenario():
        async with two(shared) as (one, other):
            assert await one.lease("a", 60)
            assert await one.lease("a", 60)
            assert not await other.lease("a", 60)
            assert await other.lease("b", 0.05)
            await other.release("a")
            assert not await other.lease("a", 60)
            await one.release("a")
            assert await other.lease("a", 60)
            await asyncio.sleep(0.1)
            assert await one.lease("b", 60)

    run(scenario())


def test_without_sharing_everybody_has_the_lease(tmp_path):
    async def scenario():
        for kind in ("memory", "sqlite"):
            async with Backend(kind, tmp_path).open() as one, Backend(kind, tmp_path).open() as other:
                assert await one.lease("a", 60)
                assert await other.lease("a", 60)
                await one.release("a")

    run(scenario())


@pytest.mark.parametrize("seed", range(3))
def test_proxies_that_write_at_once_agree_in_the_end(shared: Backend, seed):
    chance = random.Random(seed)

    async def proxy(store: RedisStore, number: int) -> None:
        for step in range(40):
            turn = kept(
                f"t{number}.{chance.randrange(10)}",
                root=f"r{chance.randrange(3)}",
                lineage=f"l{chance.randrange(5)}",
                made=float(step),
            )
            store.put(turn)
            store.touch([turn.id])
            way = chance.random()
            if way < 0.1:
                store.forget_turns([f"t{number}.{chance.randrange(10)}"])
            elif way < 0.15:
                store.forget_conversation("alice", f"r{chance.randrange(3)}")
            elif way < 0.4:
                await store.fetch(keys(*(f"l{n}" for n in range(5))))
            elif way < 0.6:
                await store.flush()
        await store.flush()

    async def scenario():
        async with shared.open() as one, shared.open() as other, shared.open() as third:
            await asyncio.gather(proxy(one, 1), proxy(other, 2))
            question = keys(*(f"l{n}" for n in range(5)))
            facts = await one.fetch(question)
            assert await other.fetch(question) == facts
            assert await third.fetch(question) == facts
            said = [await third.conversation("alice", f"r{n}") for n in range(3)]
            assert sorted(turn.id for turns in said for turn in turns) == sorted(turn.id for turn in facts.turns)
            assert (await figures(third))[:2] == (len(facts.turns), sum(bool(turns) for turns in said))
            third.forget_all()
            await third.flush()
            await require_gone(one)
            with inside(shared) as client:
                assert names(client, "x") == names(client, "t") == names(client, "c") == []

    run(scenario())
    assert shared.faults == []


def test_a_store_of_another_time_to_live_does_not_shorten_what_is_there(shared: Backend):
    async def scenario():
        short = replace(shared)
        async with shared.open(ttl=WEEK) as one, short.open(ttl=1000.0) as other:
            one.put(kept())
            await one.flush()
            other.put(kept("t2"))
            await other.flush()
            with inside(shared) as client:
                assert client.ttl(names(client, "c")[0]) > WEEK
                lives = [client.ttl(name) for name in names(client, "x")]
                assert min(lives) > WEEK

    run(scenario())
