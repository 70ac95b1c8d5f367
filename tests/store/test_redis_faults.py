"""A server that is away, hangs, refuses or answers nonsense: nobody waits long, nothing raises, and memory goes on."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import redis
from redis import exceptions

from thoughtkeep_store import (
    Store,
    open_store,
    redis_link,
    redis_scripts,
    redis_store,
)
from thoughtkeep_store import waiting as waiting_module
from thoughtkeep_store.redis_link import Budget
from thoughtkeep_store.redis_store import RedisStore

from .kit import PLENTY, WEEK, Backend, at_most, found, is_up, kept, nothing_waits, run, settled, words
from .redis_fake import FakeRedis

pytestmark = pytest.mark.usefixtures("soon")

AWAY = "; turns are kept in memory until it is back"
GONE = "it cannot be reached (Connection refused)" + AWAY
BACK = "it is there again"


def test_a_server_that_is_away_at_the_start_is_told_and_found_by_itself(away: Backend, server: FakeRedis):
    server.stop()

    async def scenario():
        with at_most(1):
            store = away.open_server()
        key = store.key
        assert words(away) == [GONE]
        for n in range(3):
            store.put(kept(f"t{n}"))
            await store.flush()
            assert len(await found(store, "lineage")) == n + 1
        assert len(await store.conversation("alice", "root")) == 3
        assert await store.lease("x", 5)
        await store.release("x")
        stats = await store.stats()
        assert (stats.turns, stats.pending) == (3, 3)
        server.start()
        await settled(store, nothing_waits)
        assert store.key == key
        async with away.open() as other:
            assert other.key == key
            assert len(await found(other, "lineage")) == 3
        assert words(away) == [GONE, BACK]
        await store.close()

    run(scenario())


def test_a_server_that_has_a_key_gives_it_to_who_comes_late(away: Backend, server: FakeRedis):
    async def scenario():
        async with away.open() as first:
            first.put(kept("old"))
            await first.flush()
            server.stop()
            async with away.open() as late:
                assert late.key != first.key
                late.put(kept("lost"))
                late.forget_all()
                late.put(kept("lost too"))
                server.start()
                await settled(late, is_up)
                assert late.key == first.key
                await late.flush()
                assert await found(late, "lineage") == []
                assert (await first.stats()).turns == 0
                late.put(kept("new"))
                await late.flush()
                assert await found(first, "lineage") == ["new"]
            assert "it has another key, and 1 turns that were kept meanwhile are lost" in words(away)

    run(scenario())


def test_another_key_that_appears_at_run_time_is_taken(away: Backend, server: FakeRedis):
    async def scenario():
        async with away.open() as store:
            store.put(kept())
            await store.flush()
            for change in (lambda: found(store, "lineage"), store.flush, store.flush):
                server.forget()
                with redis.Redis.from_url(server.url, protocol=2) as client:
                    client.set("thoughtkeep:1:key", bytes(32))
                store.key = store._link._key = b"o" * 32
                if change == store.flush:
                    store.put(kept("lost"))
                await change()
                await settled(store, is_up)
                assert store.key == bytes(32)
            store.put(kept("new"))
            await store.flush()
            assert await found(store, "lineage") == ["new"]

    run(scenario())


def test_a_connection_that_is_lost_is_made_again_and_nothing_is_told(away: Backend, server: FakeRedis):
    async def scenario():
        async with away.open() as store:
            for n in range(5):
                store.put(kept(f"t{n}"))
                await store.flush()
                assert len(await found(store, "lineage")) == n + 1
                server.hang_up()
                await asyncio.sleep(0.01)

    run(scenario())
    assert away.faults == []


@pytest.mark.parametrize("forgets", [False, True], ids=["with what it had", "empty"])
def test_an_outage_is_told_once_and_what_waited_is_written_when_it_is_over(
    away: Backend, server: FakeRedis, forgets: bool
):
    async def scenario():
        async with away.open() as store, replace(away, faults=[]).open() as other:
            store.put(kept("before"))
            await store.flush()
            for outage in range(2):
                told = len(away.faults)
                server.stop()
                for n in range(20):
                    with at_most(0.2):
                        store.put(kept(f"t{outage}.{n}"))
                        store.touch(["before"])
                        await store.flush()
                        assert len(await found(store, "lineage")) == n + 1
                store.forget_turns([f"t{outage}.3"])
                await found(other, "lineage")

                async def gone(_: Store, told: int = told) -> bool:
                    return len(away.faults) > told

                await settled(store, gone)
                if forgets:
                    server.forget()
                server.start()
                await settled(store, nothing_waits)
                await settled(other, is_up)
                assert words(away)[told:] == [GONE, BACK]
                left = 19 if forgets else 19 * (outage + 1) + 1
                assert len(await found(other, "lineage")) == left
                assert (await store.stats()).turns == left
                store.forget_turns(["before"])
                store.put(kept("before"))
                await store.flush()

    run(scenario())


def test_a_server_that_hangs_holds_nobody(away: Backend, server: FakeRedis, monkeypatch):
    monkeypatch.setattr(redis_link, "OPENING", 0.2)
    monkeypatch.setattr(redis_store, "PATIENCE", 0.3)

    async def scenario():
        async with away.open() as store:
            store.put(kept("before"))
            await store.flush()
            server.hang()
            store.put(kept("meanwhile"))
            with at_most(0.6):
                await store.flush()
            with at_most(0.8):
                assert await found(store, "lineage") == ["meanwhile"]
            for _ in range(3):
                with at_most(0.1):
                    assert await found(store, "lineage") == ["meanwhile"]
                    assert len(await store.conversation("alice", "root")) == 1
                    assert (await store.stats()).pending == 1
                    await store.flush()
            await asyncio.sleep(0.3)
            assert words(away) == ["it does not answer" + AWAY]
            server.go_on()
            await settled(store, is_up)
            assert words(away)[1:] == [BACK]

            async def both(store: Store) -> bool:
                return len(await found(store, "lineage")) == 2 and await nothing_waits(store)

            await settled(store, both)
            server.hang()
            store.put(kept("lost"))
            with at_most(1.5):
                await store.close()
            assert words(away)[2:] == ["it was closed while 1 turns could not be written, and they are lost"]
            server.go_on()

    run(scenario())


def test_a_server_that_hangs_at_the_start_holds_it_for_a_moment(away: Backend, server: FakeRedis, monkeypatch):
    monkeypatch.setattr(redis_link, "OPENING", 0.2)
    server.hang()
    with at_most(1):
        store = away.open_server()
    assert words(away) == ["it does not answer" + AWAY]
    server.go_on()
    run(store.close())
    assert not [thread for thread in threading.enumerate() if thread.name == "thoughtkeep-redis" and thread.join(2)]


@pytest.mark.parametrize("given", ["", "user:wrong-secret@", ":wrong-secret@"])
def test_a_password_that_is_missing_or_wrong_is_told_and_never_shown(
    server: FakeRedis, tmp_path: Path, given: str, caplog: pytest.LogCaptureFixture
):
    server.password = "right-secret"
    told: list[str] = []
    url = server.url.replace("//", f"//{given}")

    async def scenario():
        store = open_store(url, ttl=WEEK, max_bytes=PLENTY, on_fault=told.append)
        store.put(kept())
        assert await found(store, "lineage") == ["t1"]
        expected = "it refuses the user or the password" if given else "it demands a password"
        assert told == [f"redis 127.0.0.1:{server.port}/0: {expected}{AWAY}"]
        if given:
            server.password = "wrong-secret"
            await settled(store, nothing_waits)
        await store.close()
        assert "secret" not in "".join([store.name, *told, caplog.text, repr(store._link._address)])

    run(scenario())


REFUSALS = {
    "OOM command not allowed when used memory > 'maxmemory'.": "its memory is full",
    "ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed": "its memory is full",
    "READONLY You can't write against a read only replica.": "it is a replica that cannot be written",
    "MISCONF Redis is configured to save RDB snapshots": "it cannot save its data",
    "NOPERM this user has no permissions": "it does not permit its user what is needed",
    "ERR unknown command 'EVAL', with args beginning with: 'secret'": "it answers with an error (ERR)",
    "odd": "it answers with an error (ERR)",
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_what_the_server_refuses_waits_until_it_has_passed(away: Backend, server: FakeRedis, refusal: str):
    async def scenario():
        async with away.open() as store:
            store.put(kept("before"))
            await store.flush()
            server.only, server.refusal = "ZADD", refusal  # what writes; what looks does not
            for n in range(5):
                store.put(kept(f"t{n}"))
                store.touch(["before"])
                await store.flush()
            await asyncio.sleep(0.1)
            assert len(await found(store, "lineage")) == 6
            assert words(away) == [f"{REFUSALS[refusal]}; turns wait in memory until this has passed"]
            server.refusal = ""
            await settled(store, nothing_waits)
            async with away.open() as other:
                assert len(await found(other, "lineage")) == 6
            server.only, server.refusal = "ZREVRANGE", refusal
            assert await found(store, "lineage") == []
            assert words(away)[1:] == [f"{REFUSALS[refusal]}; what it holds may be missed until this has passed"]

    run(scenario())


@pytest.mark.parametrize(
    "garbage", [b":1\r\n", b"$3\r\nabc\r\n", b"*2\r\n:1\r\n$-1\r\n", b"*0\r\n", b"?what\r\n", b"HTTP/1.1 400 Bad\r\n"]
)
def test_answers_that_make_no_sense_are_no_answers(away: Backend, server: FakeRedis, garbage: bytes):
    async def scenario():
        async with away.open() as store:
            server.garbage = garbage
            store.put(kept())
            await store.flush()
            assert await found(store, "lineage") == ["t1"]
            await store.stats()
            await store.conversation("alice", "root")
            await store.lease("x", 5)
            server.garbage = b""

            async def written(store: Store) -> bool:
                await store.flush()
                return await nothing_waits(store)

            await settled(store, written)
            async with away.open() as other:
                assert await found(other, "lineage") == ["t1"]
        assert len(away.faults) <= 4

    run(scenario())


@pytest.mark.parametrize("garbage", [b":1\r\n", b"$3\r\nabc\r\n", b"HTTP/1.1 400 Bad\r\n"])
def test_what_makes_no_sense_from_the_beginning_is_no_server_of_ours(away: Backend, server: FakeRedis, garbage: bytes):
    async def scenario():
        server.garbage = garbage
        async with away.open() as store:
            store.put(kept())
            assert await found(store, "lineage") == ["t1"]
            await asyncio.sleep(0.1)
            assert len(store.key) == 32
            (told,) = words(away)
            assert told.endswith(AWAY)
            server.garbage = b""
            await settled(store, nothing_waits)

    run(scenario())


def test_what_waits_is_bounded_and_the_loss_is_told(away: Backend, server: FakeRedis, monkeypatch):
    monkeypatch.setattr(waiting_module, "WAITING_BYTES", 50_000)

    async def scenario():
        async with away.open() as store:
            server.stop()
            for n in range(20):
                store.put(kept(f"t{n}", root=f"r{n}", lineage=f"l{n}", text="x" * 5000))
            left = await found(store, *(f"l{n}" for n in range(20)))
            assert left == [] or set(left) == {f"t{n}" for n in range(20 - len(left), 20)}
            assert [told for told in words(away) if "the oldest turns are lost" in told]
            server.start()
            await settled(store, nothing_waits)

    run(scenario())


def test_a_turn_that_is_not_json_stays_in_memory_and_holds_up_no_other(away: Backend):
    async def scenario():
        async with away.open() as store:
            store.put(kept("odd", state={"x": float("nan")}))
            for n in range(150):
                store.put(kept(f"t{n}", lineage=f"l{n}"))
            await store.flush()
            assert await found(store, "lineage") == ["odd"]
            assert (await store.stats()).pending == 1
            assert words(away) == ["a turn stays in memory, it cannot be written (ValueError)"]
            store.put(kept("odd"))
            await store.flush()
            assert (await store.stats()).pending == 0

    run(scenario())


def test_much_is_written_in_small_steps(away: Backend, server: FakeRedis, monkeypatch):
    monkeypatch.setattr(redis_store, "BATCH_BYTES", 50_000)

    async def scenario():
        async with away.open() as store:
            for n in range(20):
                store.put(kept(f"t{n}", text="x" * 20_000))
            before = server.scripts
            await store.flush()
            assert server.scripts - before >= 7
            assert (await store.stats()).pending == 0

    run(scenario())


def test_nothing_is_sent_to_a_server_that_is_away(away: Backend, server: FakeRedis):
    async def scenario():
        async with away.open() as store:
            pass
        with pytest.raises(exceptions.ConnectionError):
            await store._link.send(Budget(1.0), redis_scripts.COUNT)

    run(scenario())


def test_without_an_event_loop_it_waits_for_one(away: Backend, server: FakeRedis):
    for stops in (False, True):
        if stops:
            server.stop()
        store = away.open_server()
        store.put(kept())
        store.touch(["t1"])
        store.forget_turns(["other"])
        if stops:
            server.start()

            async def later(store: RedisStore = store) -> None:
                await settled(store, nothing_waits)
                await store.close()
        else:

            async def later(store: RedisStore = store) -> None:
                await store.flush()
                assert (await store.stats()).pending == 0
                await store.close()

        run(later())
