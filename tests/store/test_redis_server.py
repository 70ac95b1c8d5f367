"""What only a real server does: it is killed, hangs, is full, is a replica, lets in whom it knows, and speaks TLS."""

import asyncio
import time
from pathlib import Path

import pytest

from e2e.redis_server import RedisServer, needs_server
from e2e.upstream import make_certificate
from proxy import free_port
from thoughtkeep_store import Store, open_store, redis_link, redis_store

from .kit import PLENTY, WEEK, found, kept, run, settled

pytestmark = needs_server


class Opened:
    """A store at a URL, closed in the end, and what it told."""

    def __init__(self, url: str) -> None:
        self.told: list[str] = []
        self._url = url

    async def __aenter__(self) -> Store:
        self.store = open_store(self._url, ttl=WEEK, max_bytes=PLENTY, on_fault=self.told.append)
        return self.store

    async def __aexit__(self, *error: object) -> None:
        await self.store.close()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried again soon."""
    monkeypatch.setattr(redis_link, "RETRY_MOST", 0.2)
    monkeypatch.setattr(redis_store, "RETRY_FAILED", 0.05)


async def nothing_waits(store: Store) -> bool:
    return (await store.stats()).pending == 0


def test_a_server_that_is_killed_and_started_again_gets_what_waited():
    async def scenario():
        opened = Opened(server.url)
        async with opened as store:
            store.put(kept("before"))
            await store.flush()
            server.stop(kill=True)
            for n in range(20):
                store.put(kept(f"t{n}"))
                assert len(await found(store, "lineage")) == n + 1
            await asyncio.sleep(0.3)
            assert len(opened.told) == 1
            await asyncio.to_thread(server.start)
            await settled(store, nothing_waits)
            assert len(opened.told) == 2
            async with Opened(server.url) as other:
                assert len(await found(other, "lineage")) == 20
                assert other.key == store.key

    with RedisServer() as server:
        run(scenario())


def test_a_server_that_hangs_holds_lookups_for_half_a_second_once():
    async def scenario():
        opened = Opened(server.url)
        async with opened as store:
            store.put(kept())
            await store.flush()
            server.hang()
            took = []
            for _ in range(5):
                before = time.monotonic()
                store.put(kept("meanwhile"))
                assert "meanwhile" in await found(store, "lineage")
                took.append(time.monotonic() - before)
            assert 0.4 < took[0] < 0.9
            assert max(took[1:]) < 0.1
            server.go_on()

            async def both(store: Store) -> bool:
                return len(await found(store, "lineage")) == 2 and await nothing_waits(store)

            await settled(store, both)
            assert len(opened.told) in (0, 2)

    with RedisServer() as server:
        run(scenario())


def test_a_full_server_is_told_and_loses_nothing():
    async def scenario():
        opened = Opened(server.url)
        async with opened as store:
            store.put(kept("before"))
            await store.flush()
            server.say("CONFIG SET maxmemory 1mb")
            for n in range(5):
                store.put(kept(f"t{n}"))
                await store.flush()
            assert len(await found(store, "lineage")) == 6
            assert [told.partition("/0: ")[2] for told in opened.told] == [
                "its memory is full; turns wait in memory until this has passed"
            ]
            server.say("CONFIG SET maxmemory 0")
            await settled(store, nothing_waits)
            assert len(await found(store, "lineage")) == 6

    with RedisServer("--maxmemory-policy", "noeviction") as server:
        run(scenario())


def test_a_server_that_makes_room_loses_whole_conversations_and_their_traces_go():
    async def scenario():
        async with Opened(server.url) as store:
            for n in range(400):
                store.put(kept(f"t{n}", root=f"r{n}", lineage=f"l{n}", text="x" * 20_000))
                if n % 20 == 0:
                    await store.flush()
            await store.flush()
            server.say("CONFIG SET maxmemory 0")
            async with Opened(server.url) as other:
                assert other.key == store.key
                left = await found(other, *(f"l{n}" for n in range(400)))
                assert 0 < len(left) < 400
                whole = [n for n in range(400) if await other.conversation("alice", f"r{n}")]
                assert {f"t{n}" for n in whole} >= set(left)

    with RedisServer("--maxmemory", "6mb", "--maxmemory-policy", "volatile-lru") as server:
        run(scenario())


def test_a_replica_that_cannot_be_written_is_told_and_what_waits_is_written_when_it_can():
    async def scenario():
        opened = Opened(server.url)
        async with opened as store:
            store.put(kept("before"))
            await store.flush()
            server.say(f"REPLICAOF 127.0.0.1 {free_port()}")  # where nobody is
            for n in range(3):
                store.put(kept(f"t{n}"))
                await store.flush()
                assert len(await found(store, "lineage")) == n + 2
            assert [told.partition("/0: ")[2] for told in opened.told] == [
                "it is a replica that cannot be written; turns wait in memory until this has passed"
            ]
            server.say("REPLICAOF NO ONE")
            await settled(store, nothing_waits)

    with RedisServer() as server:
        run(scenario())


RULES = "on >a%secret ~thoughtkeep:* resetchannels -@all +@read +@write +@scripting +time"


def test_a_user_needs_little(tmp_path: Path):
    async def scenario():
        opened = Opened(server.url.replace("//", "//keeper:a%25secret@"))
        async with opened as store:
            store.put(kept())
            store.touch(["t1"])
            assert await store.lease("x", 5)
            await store.release("x")
            await store.flush()
            store.forget_turns(["other"])
            assert (await store.stats()).turns == 1
            assert len(await store.conversation("alice", "root")) == 1
        assert opened.told == []
        refused = Opened(server.url.replace("//", "//keeper:wrong@"))
        async with refused as store:
            assert refused.told == [
                f"redis 127.0.0.1:{server.port}/0: it refuses the user or the password; "
                "turns are kept in memory until it is back"
            ]
        unknown = Opened(server.url)
        async with unknown as store:
            assert "it demands a password" in unknown.told[0]

    (tmp_path / "users").write_text(f"user default off\nuser keeper {RULES}\n")
    with RedisServer("--aclfile", str(tmp_path / "users")) as server:
        run(scenario())


def test_a_user_who_may_not_is_told(tmp_path: Path):
    async def scenario():
        opened = Opened(server.url.replace("//", "//reader:secret@"))
        async with opened as store:
            store.put(kept())
            await store.flush()
            assert await found(store, "lineage") == ["t1"]
            assert "it does not permit its user what is needed" in opened.told[0]

    (tmp_path / "users").write_text("user default on nopass ~* +@all\nuser reader on >secret ~* -@all +@read\n")
    with RedisServer("--aclfile", str(tmp_path / "users")) as server:
        run(scenario())


def test_tls_and_a_socket(tmp_path: Path):
    certificate = make_certificate(tmp_path, "localhost")
    port = free_port()
    words = ["--tls-port", str(port), "--tls-auth-clients", "no", "--unixsocket", str(tmp_path / "socket")]
    words += ["--tls-cert-file", str(certificate), "--tls-key-file", str(certificate)]
    words += ["--tls-ca-cert-file", str(certificate)]

    async def scenario():
        trusted = Opened(f"rediss://localhost:{port}/1?ssl_ca_certs={certificate}")
        async with trusted as store:
            store.put(kept())
            await store.flush()
            assert store.name == f"redis localhost:{port}/1"
            async with Opened(f"unix://{tmp_path}/socket?db=1") as other:
                assert await found(other, "lineage") == ["t1"]
        assert trusted.told == []
        unknown = Opened(f"rediss://localhost:{port}/1")
        async with unknown as store:
            assert "there is no secure connection to it (self-signed certificate)" in unknown.told[0]

    with RedisServer(*words) as server:
        if b"redis_version" not in server.say("INFO server"):
            pytest.skip("this server has no TLS")
        run(scenario())
