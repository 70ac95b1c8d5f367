"""Where captured turns live: the only code that reads and writes outside the process.

Here and nowhere else: how a store is named by a URL.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from . import redis_url
from .base import Stats, Store, Unusable
from .memory import MemoryStore
from .sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore", "Stats", "Store", "Unusable", "check_url", "open_or_memory", "open_store"]

_FORMS = "memory:, sqlite:///relative/path, sqlite:////absolute/path, sqlite:///~/path or redis://host:port/db"
_SQLITE = "sqlite:///"


def open_store(
    url: str,
    *,
    ttl: float,
    max_bytes: int,
    clock: Callable[[], float] = time.time,
    on_fault: Callable[[str], None],
) -> Store:
    """Open the store that the URL names.

    `ttl` is in seconds from last use, `max_bytes` bounds what is stored, `on_fault` is given a sentence when something
    goes wrong at run time (it may be called on another thread). Raises ValueError if the URL is none of ours, Unusable
    if the file cannot be used. A server that cannot be reached is no reason: its store works in memory until it can.
    """
    if url == "memory:":
        return MemoryStore(ttl=ttl, max_bytes=max_bytes, clock=clock)
    if redis_url.is_ours(url):
        address = redis_url.address_of(url)
        from .redis_store import RedisStore  # its client is an extra

        return RedisStore(address, ttl=ttl, max_bytes=max_bytes, clock=clock, on_fault=on_fault)
    return SqliteStore(_path(url), ttl=ttl, max_bytes=max_bytes, clock=clock, on_fault=on_fault)


def open_or_memory(
    url: str,
    *,
    ttl: float,
    max_bytes: int,
    clock: Callable[[], float] = time.time,
    on_fault: Callable[[str], None],
) -> tuple[Store, str | None]:
    """Like `open_store`, but with a store in memory and a sentence for the log where that raises Unusable."""
    try:
        return open_store(url, ttl=ttl, max_bytes=max_bytes, clock=clock, on_fault=on_fault), None
    except Unusable as error:
        store = MemoryStore(ttl=ttl, max_bytes=max_bytes, clock=clock)
        return store, f"{error}; turns are kept in memory and forgotten when the proxy ends"


def check_url(url: str) -> None:
    """Raise ValueError, with the forms that there are, if the URL names no store of ours. Opens nothing."""
    if redis_url.is_ours(url):
        redis_url.address_of(url)
    elif url != "memory:":
        _path(url)


def _path(url: str) -> Path:
    """Return the file that a URL names. The part behind three slashes is a path, relative unless it begins with one."""
    if not url.startswith(_SQLITE):
        # What follows the scheme may hold a password.
        scheme, colon, _ = url.partition(":")
        raise ValueError(f"not a store: {scheme + ':…' if colon else 'a bare path or name'}; give {_FORMS}")
    text = url.removeprefix(_SQLITE)
    if not text or "\0" in text:
        raise ValueError(f"not a store: no path in the URL; give {_FORMS}")
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError(f"not a store: {error}; give {_FORMS}") from None
    if text.endswith(("/", "\\")) or os.path.isdir(path):
        raise ValueError(f"not a store: {path} is a directory; give the path of a file")
    return path
