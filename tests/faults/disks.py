"""Files and folders that cannot be written, for a while. `Impossible` says why this machine has no way to make one."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proxy import Proxy

#: Bytes of a database page.
_PAGE = 4096


class Impossible(Exception):
    """The fault cannot be made here; the message says why."""


def _must(*words: str | Path) -> None:
    if shutil.which(str(words[0])) is None:
        raise Impossible(f"there is no {words[0]}")
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=10, check=False)
    if done.returncode:
        raise Impossible(f"{words[0]}: {done.stderr.strip()}")


@contextmanager
def _mounted(folder: Path, *words: str | Path) -> Iterator[None]:
    _must("mount", *words)
    try:
        yield
    finally:
        _must("umount", "-l", folder)  # a program that still runs may have files open there


class Disk:
    """A small file system of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Leave no byte."""
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            for size in (65536, _PAGE, 1):
                try:
                    while filler.write(b"x" * size):
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        """Leave all of it."""
        (self.folder / "filler").unlink()


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    """A disk of two megabytes."""
    folder.mkdir()
    with _mounted(folder, "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder):
        yield Disk(folder)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing in the folder can be written, not by root either."""
    with _mounted(folder, "--bind", folder, folder):
        _must("mount", "-o", "remount,ro,bind", folder)
        yield


@contextmanager
def immutable(*files: Path) -> Iterator[None]:
    """The files cannot be written any more, not by whoever has them open either."""
    try:
        for file in files:
            _must("chattr", "+i", file)
        yield
    finally:
        for file in files:
            _must("chattr", "-i", file)


@contextmanager
def no_larger(proxy: Proxy, folder: Path) -> Iterator[None]:
    """The running proxy cannot make any file larger than the largest one in the folder is now."""
    if not hasattr(resource, "prlimit"):
        raise Impossible("only Linux limits a process that runs")
    largest = max(entry.stat().st_size for entry in folder.iterdir())
    before = resource.prlimit(proxy.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(proxy.pid, resource.RLIMIT_FSIZE, (largest, before[1]))
    try:
        yield
    finally:
        resource.prlimit(proxy.pid, resource.RLIMIT_FSIZE, before)


def overwrite_pages(path: Path, chance: random.Random, share: float = 0.5) -> None:
    """Put noise over a part of the file's pages, wherever chance will have it; the first page stays itself."""
    pages = range(1, path.stat().st_size // _PAGE)
    hit = chance.sample(pages, max(1, round(len(pages) * share)))
    handle = os.open(path, os.O_WRONLY)
    try:
        for page in hit:
            os.pwrite(handle, chance.randbytes(_PAGE), page * _PAGE)
    finally:
        os.close(handle)
