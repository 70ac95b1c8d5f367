"""How a store is named, and what becomes of names that are none."""

import asyncio
import time
from pathlib import Path

import pytest

from thoughtkeep_store import MemoryStore, SqliteStore, Unusable, check_url, open_or_memory, open_store

from .kit import PLENTY, WEEK, run

options = {"ttl": WEEK, "max_bytes": PLENTY, "on_fault": print}


def opened(url: str) -> tuple[type, str]:
    store = open_store(url, **options)
    run(store.close())
    return type(store), store.name


def test_memory_is_named_memory():
    assert opened("memory:") == (MemoryStore, "memory")


def test_three_slashes_and_an_absolute_path(tmp_path):
    assert opened(f"sqlite:///{tmp_path}/a b%20c?d#e.db") == (SqliteStore, f"sqlite {tmp_path}/a b%20c?d#e.db")
    assert (tmp_path / "a b%20c?d#e.db").is_file()


def test_three_slashes_and_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert opened("sqlite:///new/x.db") == (SqliteStore, "sqlite new/x.db")
    assert (tmp_path / "new" / "x.db").is_file()


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert opened("sqlite:///~/.cache/x.db") == (SqliteStore, f"sqlite {tmp_path}/.cache/x.db")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "/var/lib/store.sqlite3",
        "store.sqlite3",
        "sqlite:",
        "sqlite://",
        "sqlite:///",
        "sqlite://store.sqlite3",
        "sqlite:///a\0b",
        "sqlite:///~no_such_user_here/x.db",
        "file:///x.db",
        "postgres://user:secret@host/0",
    ],
)
def test_other_names_are_refused_and_the_valid_forms_told(url):
    for attempt in (lambda: open_store(url, **options), lambda: check_url(url)):
        with pytest.raises(ValueError, match="sqlite:////absolute/path") as caught:
            attempt()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("end", ["", "/", "/new/"])
def test_a_folder_is_refused(tmp_path, end):
    with pytest.raises(ValueError, match="is a directory"):
        open_store(f"sqlite:///{tmp_path}{end}", **options)


def test_checking_a_name_opens_nothing(tmp_path):
    check_url("memory:")
    check_url(f"sqlite:///{tmp_path}/x.db")
    assert list(tmp_path.iterdir()) == []


def test_an_overlong_name_is_unusable(tmp_path):
    with pytest.raises(Unusable, match="too long"):
        open_store(f"sqlite:///{tmp_path}/{'x' * 1000}", **options)


def test_an_unusable_file_raises(tmp_path):
    (tmp_path / "x").write_text("notes")
    with pytest.raises(Unusable):
        open_store(f"sqlite:///{tmp_path}/x", **options)


def test_or_memory_gives_memory_and_a_sentence(tmp_path):
    (tmp_path / "x").write_text("notes")
    store, warning = open_or_memory(f"sqlite:///{tmp_path}/x", **options)
    assert isinstance(store, MemoryStore)
    assert warning is not None
    assert str(tmp_path / "x") in warning
    assert "memory" in warning
    store, warning = open_or_memory("memory:", clock=time.time, **options)
    assert warning is None
    with pytest.raises(ValueError, match="not a store"):
        open_or_memory("x", **options)


def test_opening_needs_no_event_loop(tmp_path):
    store = open_store(f"sqlite:///{Path(tmp_path)}/x.db", **options)
    asyncio.run(store.flush())
    asyncio.run(store.close())
