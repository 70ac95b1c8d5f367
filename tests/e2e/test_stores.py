"""A store that cannot be used: one warning, state in memory, and the file as it was."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from e2e.kit import Talk, backstage, client, goes_on, held, keeper, wait_for
from e2e.upstream import Upstream
from proxy import Proxy


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that a proxy has made and left."""
    path = tmp_path_factory.mktemp("good") / "below" / "state.sqlite3"
    with keeper(store=f"sqlite:///{path}") as proxy:
        assert f"keeping reasoning state in sqlite {path}" in proxy.log()
        assert goes_on(proxy)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list(path.parent.glob("*-wal"))
    return path


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[200 : len(data) - 200] = b"\x55" * (len(data) - 400)
    path.write_bytes(data)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3000])


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9999")
        connection.commit()


def text(path: Path) -> None:
    path.write_text("The notes of somebody who keeps them in a file of that name.\n" * 20)


def locked(path: Path) -> None:
    """Nothing is wrong with the file; see the test."""


@pytest.fixture
def shared(proxy: Proxy) -> Iterator[Proxy]:
    """The shared proxy, whose store may be changed."""
    yield proxy
    assert backstage(proxy, thoughtkeep_store="memory:").status_code == 200


@pytest.mark.parametrize("spoil", [damaged, cut_off, newer, text, locked])
def test_an_unusable_file_is_left_alone_and_memory_takes_its_place(
    spoil: Callable[[Path], None], good: Path, tmp_path: Path, shared: Proxy
) -> None:
    path = tmp_path / "state.sqlite3"
    shutil.copy(good, path)
    spoil(path)
    before, names = path.read_bytes(), sorted(entry.name for entry in tmp_path.iterdir())
    size = len(shared.log())
    with held(path) if spoil is locked else nullcontext():
        assert backstage(shared, thoughtkeep_store=f"sqlite:///{path}").status_code == 200
        assert goes_on(shared)
        assert_one_warning(shared.log()[size:], path)
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == names


def test_the_warning_comes_when_the_proxy_starts_and_does_not_keep_it_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite3"
    text(path)
    before = path.read_bytes()
    with keeper(store=f"sqlite:///{path}") as proxy:
        assert_one_warning(wait_for(lambda: "in memory" in proxy.log() and proxy.log()), path)
        assert goes_on(proxy)
    assert path.read_bytes() == before


def assert_one_warning(log: str, path: Path) -> None:
    (warning,) = (line for line in log.splitlines() if "cannot be used as a store" in line)
    assert f"thoughtkeep: {path} cannot" in warning
    assert "it is left alone; turns are kept in memory" in warning
    assert log.count("keeping reasoning state in memory") == 1
    assert "Traceback" not in log


@pytest.fixture(scope="module")
def proxies(good: Path) -> Iterator[list[Proxy]]:
    """Two proxies on one file."""
    with keeper(store=f"sqlite:///{good}") as one, keeper(store=f"sqlite:///{good}") as two:
        yield [one, two]


def test_two_proxies_may_share_a_file(proxies: list[Proxy]) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream:
        for proxy, body in zip(proxies, (talk.first, talk.second), strict=True):
            with client(proxy, headers=talk.headers) as asking:
                asking.post(upstream.url + talk.path, content=body)
        assert talk.restored(upstream.requests[1].body)


def test_a_file_that_is_taken_away_at_run_time_is_said_once_and_the_proxy_goes_on(
    proxies: list[Proxy], good: Path
) -> None:
    good.unlink()
    assert all(goes_on(proxy) for proxy in proxies for _ in range(3))
    assert proxies[0].log().count("deleted or replaced") == 1


def test_what_comes_behind_the_end_of_an_answer_does_not_have_it_written_again(tmp_path: Path) -> None:
    """A row's number is never used again: the highest one counts how often a turn was written."""
    path, talk = tmp_path / "state.sqlite3", Talk()
    behind = [b'data: {"choices":[],"usage":{"total_tokens":%d}}\n\n' % number for number in range(5)]
    with (
        keeper(store=f"sqlite:///{path}") as proxy,
        client(proxy, headers=talk.headers) as asking,
        Upstream(lambda _, line: line.stream([*talk.events, *behind, b"data: [DONE]\n\n"])) as upstream,
    ):
        asking.post(upstream.url + talk.path, content=talk.first)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'turn'").fetchall() == [(1,)]
