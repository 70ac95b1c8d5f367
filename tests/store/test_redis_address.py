"""Where a server is, and why it does not answer: in words that tell no secret."""

import socket
import ssl
from collections.abc import Callable

import pytest
from redis import exceptions

from thoughtkeep_store import (
    MemoryStore,
    check_url,
    open_or_memory,
    open_store,
    redis_link,
)
from thoughtkeep_store.redis_link import reason
from thoughtkeep_store.redis_store import RedisStore
from thoughtkeep_store.redis_url import address_of

from .kit import PLENTY, WEEK, run
from .redis_fake import FakeRedis

options = {"ttl": WEEK, "max_bytes": PLENTY, "on_fault": print}


untrusted = ssl.SSLError(1, "secret")
untrusted.reason = "WRONG_VERSION_NUMBER"


def caused(error: Exception, cause: Exception) -> Exception:
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (exceptions.BusyLoadingError("x"), "it is still loading its data"),
        (exceptions.OutOfMemoryError("x"), "its memory is full"),
        (exceptions.ReadOnlyError("x"), "it is a replica that cannot be written"),
        (exceptions.NoPermissionError("x"), "it does not permit its user what is needed"),
        (exceptions.TimeoutError("x"), "it does not answer"),
        (TimeoutError(), "it does not answer"),
        (exceptions.ConnectionError("secret"), "it cannot be reached"),
        (caused(exceptions.ConnectionError("secret"), OSError(2, "secret")), "it cannot be reached (No such file or "),
        (caused(exceptions.ConnectionError("secret"), OSError("secret")), "it cannot be reached"),
        (caused(exceptions.ConnectionError("x"), socket.gaierror(-2, "x")), "its host is not known"),
        (caused(exceptions.ConnectionError("x"), untrusted), "there is no secure connection to it"),
        (KeyError("secret"), "it answers nonsense (KeyError)"),
    ],
)
def test_errors_by_what_they_mean(error: Exception, told: str):
    assert reason(error).startswith(told)
    assert "secret" not in reason(error)


GOOD = {
    "redis://localhost": "redis localhost:6379/0",
    "redis://localhost/": "redis localhost:6379/0",
    "redis://user:p%40ss@example.com:7000/3": "redis example.com:7000/3",
    "rediss://:secret@example.com/1?ssl_ca_certs=/ca.pem&ssl_check_hostname=no": "redis example.com:6379/1",
    "redis://[::1]:7000?db=2": "redis [::1]:7000/2",
    "redis://localhost/007": "redis localhost:6379/7",
    "unix:///run/redis.sock": "redis /run/redis.sock",
    "unix://user:secret@/run/redis.sock?db=4": "redis /run/redis.sock 4",
}


@pytest.mark.parametrize("url", GOOD)
def test_an_address_has_a_name_without_secrets(url: str):
    check_url(url)
    address = address_of(url)
    assert address.name == GOOD[url]
    assert redis_link._client(address).connection_pool.make_connection() is not None
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "redis:",
        "redis://",
        "redis:///0",
        "redis://:secret@",
        "redis://host:secret/0",
        "redis://user:se/cret@host/0",
        "redis://host/secret",
        "redis://host/0/1",
        "redis://host/0#secret",
        "redis://host/0?secret",
        "redis://host/0?timeout=secret",
        "redis://host/0?ssl_ca_certs=secret",
        "rediss://host/0?ssl_cert_reqs=secret",
        "redis://host/0?db=1",
        "redis://host?db=1&db=2",
        "redis://host/-1",
        "redis://[::1/0?secret",
        "unix:secret",
        "unix://secret/path",
        "unix:///",
        "unix:///path?db=secret",
    ],
)
def test_a_bad_address_is_refused_and_the_form_told(url: str):
    attempts: tuple[Callable[[], object], ...] = (
        lambda: open_store(url, **options),
        lambda: check_url(url),
        lambda: open_or_memory(url, **options),
    )
    for attempt in attempts:
        with pytest.raises(
            ValueError, match=r"not a store: \w+:… is not of the form redis://\[user:password@\]"
        ) as error:
            attempt()
        assert "secret" not in str(error.value)
        assert "cret" not in str(error.value)
        assert error.value.__context__ is None or "secret" not in str(error.value.__context__)


def test_without_the_client_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setattr("thoughtkeep_store.redis_url.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r'^redis:… needs the client for Redis: pip install "redis>=8,<9"$'):
        check_url("redis://user:secret@host/0")
    check_url("memory:")


def test_a_server_is_opened_by_its_url(server: FakeRedis):
    store, warning = open_or_memory(server.url, **options)
    assert warning is None
    assert isinstance(store, RedisStore)
    assert not isinstance(store, MemoryStore)
    run(store.close())
