from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.redis_server import RedisServer, needs_server
from thoughtkeep_store import redis_link, redis_store

from .kit import Backend
from .redis_fake import FakeRedis

SERVERS = [pytest.param("fake redis", id="fake-redis"), pytest.param("redis", marks=needs_server)]


@pytest.fixture(scope="session")
def fake_redis() -> Iterator[FakeRedis]:
    """A server for all tests in which nothing goes wrong."""
    with FakeRedis() as server:
        yield server


@pytest.fixture(scope="session")
def real_redis() -> Iterator[RedisServer]:
    """Likewise, a real one."""
    with RedisServer() as server:
        yield server


def made(request: pytest.FixtureRequest, folder: Path) -> Backend:
    servers = {"fake redis": "fake_redis", "redis": "real_redis"}
    fixture = servers.get(request.param)
    return Backend(request.param, folder, request.getfixturevalue(fixture) if fixture else None)


@pytest.fixture(params=["memory", "sqlite", *SERVERS])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each backend in turn."""
    return made(request, tmp_path)


@pytest.fixture(params=["sqlite", *SERVERS])
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each backend that outlives its store, and may be shared."""
    return made(request, tmp_path)


@pytest.fixture(params=SERVERS)
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """The backend that is a server."""
    return made(request, tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Backend:
    """The backend that is a file."""
    return Backend("sqlite", tmp_path)


# -- a server that fails -----------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[FakeRedis]:
    with FakeRedis() as running:
        yield running


@pytest.fixture
def away(server: FakeRedis, tmp_path: Path) -> Backend:
    """A backend whose server may be away."""
    return Backend("fake redis", tmp_path, server)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried again soon."""
    monkeypatch.setattr(redis_link, "RETRY_FIRST", 0.02)
    monkeypatch.setattr(redis_link, "RETRY_MOST", 0.05)
    monkeypatch.setattr(redis_store, "RETRY_FAILED", 0.05)
