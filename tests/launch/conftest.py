"""Where the launcher is started from."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.kit import Talk
from launch.kit import Desk, Site, site
from thoughtkeep_mitm.launch.cli import main

#: The launcher called in this process: its exit status and its lines.
Called = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for all: making mitmproxy's certificates takes its time."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def desk(home: Path, tmp_path: Path) -> Iterator[Desk]:
    """The launcher's surroundings. Whatever a test does, no temporary file is left."""
    temporary, folder = tmp_path / "temporary", tmp_path / "a project"
    temporary.mkdir()
    folder.mkdir()
    yield Desk(home, temporary, folder)
    assert list(temporary.iterdir()) == []
    assert list(folder.iterdir()) == []
    assert {path.name for path in home.iterdir()} <= {".mitmproxy", ".thoughtkeep"}


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def upstream(tmp_path: Path, talk: Talk) -> Iterator[Site]:
    with site(tmp_path, talk) as running:
        yield running


@pytest.fixture
def port() -> Iterator[int]:
    """A port that somebody listens on, though nothing is answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def joining(port: int, tmp_path: Path) -> list[str]:
    """The launcher's options for what needs no proxy: one that is there, and answers nothing."""
    ca = tmp_path / "ca.pem"
    ca.write_text("-----BEGIN CERTIFICATE-----\nthe proxy's\n-----END CERTIFICATE-----\n")
    return ["--proxy", f"127.0.0.1:{port}", "--ca", str(ca)]


@pytest.fixture
def call(desk: Desk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Called:
    """The launcher, for what ends before there is an agent: that spares a process."""

    def called(*words: str | Path) -> tuple[int, list[str]]:
        environment = desk.environment
        for name in set(os.environ) - set(environment):
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(tempfile, "tempdir", str(desk.temporary))
        monkeypatch.chdir(desk.folder)
        capfd.readouterr()
        status = main([*map(str, words)])
        told = capfd.readouterr()
        assert told.out == ""
        return status, told.err.splitlines()

    return called
