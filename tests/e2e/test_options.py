"""The options: what a bad value leads to, what each of them does, and that they may change while the proxy runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from mitmproxy.test import taddons

from e2e.kit import AMPLE, Talk, agent, assert_not_restored, backstage, client, keeper
from e2e.upstream import Line, Request, Upstream
from providers import Provider
from proxy import Proxy, ProxyFailed
from thoughtkeep_mitm.checks import Checks

#: Each option with a bad value, and what is said of it.
WRONG: dict[str, tuple[object, str]] = {
    "store": ("postgres://user:secret@host/0", "not a store: postgres:…; give memory:, sqlite:///relative/path, "),
    "filter": ("~~ (", "Invalid filter expression: '~~ ('"),
    "replay": ("sometimes", "Input should be 'on', 'observe' or 'off' (it is 'sometimes')"),
    "ttl_days": (0, "Input should be greater than or equal to 1 (it is 0)"),
    "max_store_mb": (-5, "Input should be greater than or equal to 1 (it is -5)"),
}


def failed_start(store: str, *words: str) -> str:
    """The message of a start that failed, with the log in it."""
    with pytest.raises(ProxyFailed) as failure, keeper(*words, store=store):
        pass
    return str(failure.value)


def test_bad_values_end_the_start_with_one_clear_line_that_names_them_all() -> None:
    words = [word for name in ("filter", "replay", "ttl_days", "max_store_mb") for word in bad(name)]
    told = failed_start(str(WRONG["store"][0]), *words)
    assert "ended with status 1" in told
    (line,) = (line for line in told.splitlines() if "thoughtkeep_store" in line)
    for name, (_, said) in WRONG.items():
        assert f"thoughtkeep_{name}: {said}" in line
    assert "Traceback" not in told
    assert "secret" not in told


def bad(name: str) -> list[str]:
    return ["--set", f"thoughtkeep_{name}={WRONG[name][0]}"]


def test_a_value_of_the_wrong_type_ends_the_start_with_one_clear_line() -> None:
    told = failed_start("memory:", "--set", "thoughtkeep_ttl_days=a week")
    assert "ended with status 1" in told
    (line,) = (line for line in told.splitlines() if "a week" in line)
    assert line.endswith("thoughtkeep: Failed to parse option thoughtkeep_ttl_days: not an integer: a week")
    assert "Traceback" not in told


@pytest.fixture
def restored(proxy: Proxy) -> Iterator[Proxy]:
    """The shared proxy; its options are what they were when the test is over."""
    yield proxy
    answer = backstage(proxy, thoughtkeep_replay="on", thoughtkeep_filter="", thoughtkeep_ttl_days=7)
    assert answer.status_code == 200


def second_request(proxy: Proxy, talk: Talk, path: str = Talk.path) -> bytes:
    """Have the whole talk; returns the second request as the upstream got it."""
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        asking.post(upstream.url + path, content=talk.first)
        asking.post(upstream.url + path, content=talk.second)
        return upstream.requests[1].body


def test_the_filter_narrows_what_is_looked_at(restored: Proxy) -> None:
    assert backstage(restored, thoughtkeep_filter="~u /wanted/ & ~m POST").status_code == 200
    before = len(restored.log())
    talk = Talk()
    assert second_request(restored, talk) == talk.second
    assert "thoughtkeep: start" not in restored.log()[before:]
    talk = Talk()
    assert talk.restored(second_request(restored, talk, "/wanted" + Talk.path))


def test_observe_says_what_is_due_and_changes_nothing(restored: Proxy, providers: Mapping[str, Provider]) -> None:
    assert backstage(restored, thoughtkeep_replay="observe").status_code == 200
    provider = providers["gemini"]
    before = len(restored.log())
    assert_not_restored(provider, agent(provider, "streamed", provider.url("streamed"), proxy=restored.url))
    assert "1 edits are due, not made: observe" in restored.log()[before:]
    talk = Talk()
    assert second_request(restored, talk) == talk.second


def test_off_does_nothing_and_a_request_may_still_ask_for_it(restored: Proxy) -> None:
    assert backstage(restored, thoughtkeep_replay="off").status_code == 200
    before = len(restored.log())
    talk = Talk()
    assert second_request(restored, talk) == talk.second
    assert "thoughtkeep" not in restored.log()[before:].replace("x-thoughtkeep", "")
    talk = Talk()
    talk.headers["x-thoughtkeep"] = "on"
    assert talk.restored(second_request(restored, talk))


@pytest.mark.parametrize("name", WRONG)
def test_a_bad_change_at_run_time_is_told_and_taken_back(name: str, restored: Proxy) -> None:
    value, said = WRONG[name]
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(restored, headers=talk.headers) as asking:
        asking.post(upstream.url + talk.path, content=talk.first)
        answer = backstage(restored, **{f"thoughtkeep_{name}": value})
        assert answer.status_code == 400
        assert answer.json()["error"].startswith(f"thoughtkeep_{name}: {said}")
        asking.post(upstream.url + talk.path, content=talk.second)
        assert talk.restored(upstream.requests[1].body)


def test_a_change_in_mid_stream_loses_nothing(restored: Proxy) -> None:
    talk = Talk()
    changed = threading.Event()

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return talk.answer(request, line)
        line.stream(talk.stream[:2], end=False)
        changed.wait(AMPLE)
        for piece in talk.stream[2:]:
            line.chunk(piece)
        return line.chunk(b"")

    with Upstream(answer) as upstream, client(restored, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        with asking.stream("POST", url, content=talk.first) as stream:
            assert backstage(restored, thoughtkeep_replay="off").status_code == 200
            assert backstage(restored, thoughtkeep_filter="~u nothing").status_code == 200
            changed.set()
            assert stream.read() == b"".join(talk.stream)
        assert backstage(restored, thoughtkeep_replay="on", thoughtkeep_filter="").status_code == 200
        asking.post(url, content=talk.second)
        assert talk.restored(upstream.requests[1].body)


def test_the_store_may_change_at_run_time(restored: Proxy, tmp_path: Path) -> None:
    before, after = Talk(), Talk()
    for talk, store in ((before, f"sqlite:///{tmp_path}/state.sqlite3"), (after, "memory:")):
        assert backstage(restored, thoughtkeep_store=store).status_code == 200
        assert talk.restored(second_request(restored, talk))
    assert (tmp_path / "state.sqlite3").exists()


@pytest.mark.parametrize(
    ("mode", "host", "warned"),
    [
        ("regular", "", True),
        ("regular@8080", "", True),
        ("reverse:https://host.invalid", "", True),
        ("upstream:http://host.invalid", "0.0.0.0", False),  # whoever names it wants it
        ("regular", "127.0.0.1", False),
        ("regular@127.0.0.1:8080", "", False),
        ("local", "", False),
    ],
)
def test_listening_for_the_whole_network_is_warned_of_once(
    mode: str, host: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a proxy: no test listens for the whole network."""
    with taddons.context(Checks()) as context:
        for _ in range(2):
            context.options.update(mode=[mode], listen_host=host)
    assert caplog.text.count("thoughtkeep: listening on all interfaces") == int(warned)
    assert caplog.text.count("--listen-host 127.0.0.1") == int(warned)


@pytest.fixture(scope="module")
def streaming() -> Iterator[Proxy]:
    with keeper("--set", "stream_large_bodies=1k") as running:
        yield running


def test_requests_above_stream_large_bodies_pass_and_that_is_warned_of(streaming: Proxy) -> None:
    assert streaming.log().count("thoughtkeep: stream_large_bodies=1k") == 1
    small, large = Talk(streamed=False), Talk(streamed=False)
    assert small.restored(second_request(streaming, small))
    with Upstream(large.answer) as upstream, client(streaming, headers=large.headers) as asking:
        url = upstream.url + large.path
        asking.post(url, content=large.first)
        body = large.body(*large.said(), metadata={"filling": "x" * 5000})
        assert asking.post(url, content=body).status_code == 200
        assert upstream.requests[1].body == body
    assert "fault" not in streaming.log()


@pytest.mark.parametrize("streamed", [True, False])
def test_answers_above_stream_large_bodies_are_captured_on_their_way(streamed: bool, streaming: Proxy) -> None:
    talk = Talk(streamed=streamed)
    talk.thought += "x" * 100_000
    assert talk.restored(second_request(streaming, talk))
