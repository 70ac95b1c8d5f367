"""Stores that cannot be written or read: clients are served and restored, and what waited is written when it can be."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.kit import backstage, held, keeper, wait_for
from e2e.steady import DONE
from faults.disks import Disk, Impossible, immutable, no_larger, overwrite_pages, read_only, small_disk
from faults.row import Row, table
from faults.stage import Watch, assert_goes_on, begun, keeping
from proxy import Proxy

_SERVED = "the upstream's own bytes, and its state goes on being put back"
_WRITTEN = "killed right after the fault has passed, the proxy knows all turns when it is back"
_ALONE = "the file stays as it was, and is in use again when it is opened anew"
#: Bytes of state that find no room in a file by chance.
_LARGE = 30_000


@contextmanager
def possible(made: AbstractContextManager[object]) -> Iterator[None]:
    """Skips what this machine cannot make."""
    with ExitStack() as stack:
        try:
            stack.enter_context(made)
        except Impossible as why:
            pytest.skip(str(why))
        yield


@dataclass(frozen=True)
class Passing(Row):
    """A fault that begins and ends while the proxy runs. `says` is what the log says of it, once; empty: nothing."""

    makes: Callable[[Proxy, Path], AbstractContextManager[None]]
    says: str


@contextmanager
def _full(proxy: Proxy, folder: Path) -> Iterator[None]:
    disk = Disk(folder)
    disk.fill()
    yield
    disk.free()


@contextmanager
def _locked(proxy: Proxy, folder: Path) -> Iterator[None]:
    with closing(sqlite3.connect(folder / "state.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


PASSING = [
    Passing("store-full", "the disk is full for a while", _SERVED, _WRITTEN, _full, "database or disk is full"),
    Passing("store-limit", "files may not grow for a while", _SERVED, _WRITTEN, no_larger, "; turns wait in memory"),
    Passing(
        "store-immutable",
        "the store's files become read-only for a while",
        _SERVED,
        _WRITTEN,
        lambda proxy, folder: immutable(folder / "state.sqlite3", folder / "state.sqlite3-wal"),
        "; turns wait in memory",
    ),
    Passing(
        "store-locked",
        "another program locks the store for a while",
        _SERVED,
        _WRITTEN,
        _locked,
        "",
    ),
]


@table(PASSING)
def test_a_store_that_cannot_be_written_for_a_while(row: Passing, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with ExitStack() as stack, ThreadPoolExecutor(8) as pool:
        if row.makes is _full:
            stack.enter_context(possible(small_disk(folder)))
        proxy = stack.enter_context(keeping(folder / "state.sqlite3"))
        watch = Watch(proxy)
        scenes = [begun(proxy, stack)]
        with possible(row.makes(proxy, folder)):
            scenes += pool.map(lambda size: begun(proxy, stack, size), [_LARGE] * 8)
            for _ in pool.map(lambda scene: assert_goes_on(scene, proxy, restored=True), scenes):
                pass
            if row.says:
                assert watch.log.count(row.says) == 1
        scenes.append(begun(proxy, stack))  # what waited is written along with it
        proxy.restart(kill=True)
        for scene in scenes:
            assert_goes_on(scene, proxy, restored=True)
        watch.assert_unharmed()


@pytest.fixture(scope="module")
def opening() -> Iterator[Proxy]:
    """A proxy whose store is changed while it runs: it opens a file then as it does at its start."""
    with keeper() as running:
        yield running


def _open(proxy: Proxy, path: Path) -> None:
    """Have the proxy use this file."""
    assert backstage(proxy, thoughtkeep_store=f"sqlite:///{path}").status_code == 200


def _leave(proxy: Proxy, path: Path) -> None:
    """Have the proxy close its file, so that all of it is in the file itself."""
    backstage(proxy, thoughtkeep_store="memory:")
    wait_for(lambda: not path.with_name(path.name + "-wal").exists())


@dataclass(frozen=True)
class Standing(Row):
    """A fault that is there when the store is opened, and gone when it is opened again."""

    makes: Callable[[Path], AbstractContextManager[None]]


@contextmanager
def _full_at_first(path: Path) -> Iterator[None]:
    disk = Disk(path.parent)
    disk.fill()
    yield
    disk.free()


STANDING = [
    Standing("store-opened-full", "the disk is full when the store is opened", _SERVED, _ALONE, _full_at_first),
    Standing(
        "store-opened-read-only",
        "the store's folder is read-only when it is opened",
        _SERVED,
        _ALONE,
        lambda path: read_only(path.parent),
    ),
    Standing("store-opened-locked", "another program has locked the store when it is opened", _SERVED, _ALONE, held),
]


@table(STANDING)
def test_a_store_that_cannot_be_opened(row: Standing, opening: Proxy, tmp_path: Path) -> None:
    path = tmp_path / "store" / "state.sqlite3"
    watch = Watch(opening)
    with ExitStack() as stack:
        if row.makes is _full_at_first:
            stack.enter_context(possible(small_disk(path.parent)))
        stack.callback(backstage, opening, thoughtkeep_store="memory:")
        _open(opening, path)
        before = begun(opening, stack)
        _leave(opening, path)
        content = path.read_bytes()
        with possible(row.makes(path)):
            _open(opening, path)
            scene = begun(opening, stack)
            assert_goes_on(scene, opening, restored=True)
            watch.assert_unharmed()
            backstage(opening, thoughtkeep_store="memory:")
        assert path.read_bytes() == content
        _open(opening, path)
        assert_goes_on(before, opening, restored=True)
        watch.assert_unharmed()


@dataclass(frozen=True)
class Damage(Row):
    """Noise over some of the pages of a file, by `seed`; `used` is whether the proxy has it open."""

    seed: int
    used: bool = False
    file: str = "state.sqlite3"


_BEGINS = "the upstream's own bytes; what begins now is restored"
_ISSUED = "nothing is put back that was not issued"


def _damages() -> Iterator[Damage]:
    for seed in (1, 2, 3):
        yield Damage(
            f"store-damaged-{seed}",
            f"random pages of the store are overwritten before it is opened ({seed})",
            _BEGINS,
            f"{_ISSUED}, and the file stays as it was",
            seed,
        )
    for seed in (4, 5, 6):
        yield Damage(
            f"store-damaged-{seed}",
            f"random pages of the store are overwritten while it is in use ({seed})",
            _BEGINS,
            _ISSUED,
            seed,
            used=True,
        )
    yield Damage(
        "store-damaged-log",
        "random pages of a killed store's write-ahead log are overwritten before it is opened",
        _BEGINS,
        _ISSUED,
        7,
        file="state.sqlite3-wal",
    )


@table(_damages())
def test_a_store_with_damaged_pages(row: Damage, opening: Proxy, tmp_path: Path) -> None:
    made, path = tmp_path / "made" / "state.sqlite3", tmp_path / "store" / "state.sqlite3"
    path.parent.mkdir()
    with ExitStack() as stack:
        stack.callback(backstage, opening, thoughtkeep_store="memory:")
        _open(opening, made)
        scenes = [begun(opening, stack, 2000) for _ in range(15)]
        if row.file == "state.sqlite3":
            _leave(opening, made)
        for file in made.parent.glob("*[!m]"):  # without what is only shared memory: what a kill would leave
            shutil.copy(file, path.parent)
        watch = Watch(opening)
        if row.used:
            _open(opening, path)
            assert_goes_on(scenes[0], opening, restored=True)
        overwrite_pages(path.with_name(row.file), random.Random(row.seed))
        content = path.read_bytes()
        if not row.used:
            _open(opening, path)
        for scene in scenes:
            assert scene.ask(opening, scene.talk.second).body == DONE
            assert scene.sent[-1] == scene.talk.second or scene.talk.restored(scene.sent[-1])
        watch.assert_unharmed()
        if path.name == row.file and not row.used:
            assert path.read_bytes() == content
