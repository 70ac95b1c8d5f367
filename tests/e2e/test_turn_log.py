"""The turn log: a line of JSON for each exchange, without words and secrets, in a file of its own."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.kit import Talk, backstage, client, keeper, logged, wait_for
from e2e.switching import SHAPES, SUMMARY, Board, Session, handing
from e2e.upstream import Upstream
from proxy import Proxy, ProxyFailed


@pytest.fixture(scope="module")
def logging_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Path]]:
    path = tmp_path_factory.mktemp("logs") / "turns.jsonl"
    with keeper("--set", f"thoughtkeep_turn_log={path}") as proxy:
        yield proxy, path


def play(proxy: Proxy, talk: Talk, *bodies: bytes) -> None:
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        for body in bodies:
            asking.post(upstream.url + talk.path, content=body)


def lines(path: Path, count: int) -> list[dict[str, Any]]:
    """The lines of a log, once it has so many."""
    wait_for(lambda: path.exists() and path.read_text().count("\n") >= count)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_exchange_adds_a_line_that_says_what_was_kept_and_restored(logging_proxy: tuple[Proxy, Path]) -> None:
    proxy, path = logging_proxy
    before = len(path.read_text().splitlines())
    talk = Talk()
    play(proxy, talk, talk.first, talk.second)
    first, second = lines(path, before + 2)[before:]
    assert (first["captured"], first["calls"], first["done"]) == (1, 1, {})
    assert (second["captured"], second["known"], second["done"]) == (0, 1, {"restored": 1})
    assert first["conversation"] == second["conversation"]
    assert first["id"] != second["id"]
    assert (first["format"], first["model"], first["host"], first["streamed"]) == ("chat", "model-1", "127.0.0.1", True)
    assert first["time"] < second["time"]


def test_the_log_holds_no_words_no_state_and_no_credential(logging_proxy: tuple[Proxy, Path]) -> None:
    proxy, path = logging_proxy
    before = len(path.read_text().splitlines())
    talk = Talk()
    play(proxy, talk, talk.first, talk.second)
    lines(path, before + 2)
    text = path.read_text()
    assert not any(secret in text for secret in (talk.name, "the sky", "blue", "sk-one"))


def test_the_file_is_its_owners_alone(logging_proxy: tuple[Proxy, Path]) -> None:
    assert stat.S_IMODE(logging_proxy[1].stat().st_mode) == 0o600


def test_a_file_that_is_moved_away_is_begun_anew(logging_proxy: tuple[Proxy, Path]) -> None:
    proxy, path = logging_proxy
    talk = Talk()
    play(proxy, talk, talk.first)
    wait_for(path.exists)
    path.rename(path.with_suffix(".1"))
    play(proxy, talk, talk.second)
    assert lines(path, 1)[-1]["done"] == {"restored": 1} or lines(path, 1)[-1]["status"] == "200"


def test_the_log_may_be_changed_while_the_proxy_runs_and_a_bad_path_is_refused(
    logging_proxy: tuple[Proxy, Path], tmp_path: Path
) -> None:
    proxy, path = logging_proxy
    other = tmp_path / "other.jsonl"
    assert backstage(proxy, thoughtkeep_turn_log=str(other)).status_code == 200
    refused = backstage(proxy, thoughtkeep_turn_log=str(tmp_path / "no" / "such" / "folder.jsonl"))
    assert refused.status_code == 400
    assert "No such file or directory" in refused.json()["error"]
    talk = Talk()
    play(proxy, talk, talk.first)
    assert lines(other, 1)[0]["captured"] == 1
    backstage(proxy, thoughtkeep_turn_log="")
    play(proxy, talk, talk.second)
    assert len(lines(other, 1)) == 1
    backstage(proxy, thoughtkeep_turn_log=str(path))


def test_a_bad_path_ends_the_start_with_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ProxyFailed) as failure, keeper("--set", f"thoughtkeep_turn_log={tmp_path}"):
        pass
    told = str(failure.value)
    assert f"thoughtkeep: thoughtkeep_turn_log: {tmp_path} cannot be written: Is a directory" in told
    assert "Traceback" not in told


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full is Linux's")
def test_a_full_disk_is_said_once_and_harms_no_exchange() -> None:
    with keeper("--set", "thoughtkeep_turn_log=/dev/full") as proxy:
        talk = Talk()
        play(proxy, talk, talk.first, talk.second)
        logged(proxy, "the turn log cannot be written: No space left on device")
        play(proxy, talk, talk.second)
        assert proxy.log().count("the turn log cannot be written") == 1
        assert "Traceback" not in proxy.log()
        assert "restored 1" in proxy.log()


def test_a_handover_stands_in_the_log_with_its_sizes_and_without_its_words(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    with (
        handing("--set", f"thoughtkeep_turn_log={path}") as proxy,
        Upstream(Board("chat").script) as upstream,
    ):
        session = Session(proxy, upstream.url, SHAPES["chat"])
        session.turn("model-a", "words " * 200)
        session.turn("model-b")
        told = lines(path, 2)[1]
    assert told["handover"]["reason"] == "switch"
    assert told["handover"]["from"] == "model-a"
    assert told["handover"]["tokens_before"] > told["handover"]["tokens_after"] > 0
    assert SUMMARY not in path.read_text()
    assert "SUMMARY-4711" not in path.read_text()


def test_what_waits_is_written_when_the_proxy_ends(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    with keeper("--set", f"thoughtkeep_turn_log={path}") as proxy:
        for _ in range(20):
            talk = Talk()
            play(proxy, talk, talk.first)
        proxy.stop()
        assert len(path.read_text().splitlines()) == 20
