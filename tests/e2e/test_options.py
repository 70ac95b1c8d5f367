"""The options: what a bad value leads to, what each of them does, and that they may change while the proxy runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from e2e.kit import AMPLE, Talk, agent, assert_not_restored, backstage, client, keeper
from e2e.upstream import Line, Request, Upstream
from providers import Provider
from proxy import Proxy, ProxyFailed

#: Words of the command line, and what the one line about them must say.
WRONG = {
    "thoughtkeep_store=redis://user:secret@host/0": "thoughtkeep_store: not a store",
    "thoughtkeep_store=/a/bare/path": "thoughtkeep_store: not a store",
    "thoughtkeep_filter=~~ (": "thoughtkeep_filter: Invalid filter expression: '~~ ('",
    "thoughtkeep_replay=sometimes": "thoughtkeep_replay: Input should be 'on', 'observe' or 'off' (it is 'sometimes')",
    "thoughtkeep_ttl_days=0": "thoughtkeep_ttl_days: Input should be greater than or equal to 1 (it is 0)",
    "thoughtkeep_ttl_days=a week": "thoughtkeep_ttl_days: not an integer: a week",
    "thoughtkeep_max_store_mb=-5": "thoughtkeep_max_store_mb: Input should be greater than or equal to 1 (it is -5)",
}


@pytest.fixture(scope="module")
def failures() -> Mapping[str, str]:
    """What each wrong option led to: the message of the failed start, with the log in it."""

    def start(words: str) -> str:
        name, _, value = words.partition("=")
        store = {"store": value} if name == "thoughtkeep_store" else {}
        try:
            with keeper(*([] if store else ["--set", words]), **store):
                return "it started"
        except ProxyFailed as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        return dict(zip(WRONG, pool.map(start, WRONG), strict=True))


@pytest.mark.parametrize("words", WRONG)
def test_a_bad_value_ends_the_start_with_one_clear_line(words: str, failures: Mapping[str, str]) -> None:
    told = failures[words]
    assert "ended with status 1" in told
    assert len([line for line in told.splitlines() if WRONG[words] in line]) == 1
    assert "Traceback" not in told
    assert "secret" not in told


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


@pytest.mark.parametrize(
    "wrong",
    [
        {"thoughtkeep_ttl_days": 0},
        {"thoughtkeep_filter": "~~ ("},
        {"thoughtkeep_replay": "never"},
        {"thoughtkeep_store": "nowhere"},
        {"thoughtkeep_replay": "off", "thoughtkeep_max_store_mb": 0},
    ],
)
def test_a_bad_change_at_run_time_is_taken_back(wrong: dict[str, object], restored: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(restored, headers=talk.headers) as asking:
        asking.post(upstream.url + talk.path, content=talk.first)
        answer = backstage(restored, **wrong)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("thoughtkeep_")
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


def test_listening_for_the_whole_network_is_warned_of() -> None:
    words = ["--mode", "regular@0", "--listen-host", ""]
    with keeper(*words) as proxy:
        assert proxy.log().count("thoughtkeep: listening on all interfaces") == 1
        assert "--listen-host 127.0.0.1" in proxy.log()


def test_listening_on_loopback_alone_is_not_warned_of(proxy: Proxy) -> None:
    assert "listening on all interfaces" not in proxy.log()


def test_requests_above_stream_large_bodies_pass_and_that_is_warned_of() -> None:
    with keeper("--set", "stream_large_bodies=1k") as proxy:
        assert proxy.log().count("thoughtkeep: stream_large_bodies=1k") == 1
        small, large = Talk(streamed=False), Talk(streamed=False)
        assert small.restored(second_request(proxy, small))
        with Upstream(large.answer) as upstream, client(proxy, headers=large.headers) as asking:
            url = upstream.url + large.path
            asking.post(url, content=large.first)
            body = large.body(*large.said(), metadata={"filling": "x" * 5000})
            assert asking.post(url, content=body).status_code == 200
            assert upstream.requests[1].body == body
        assert "fault" not in proxy.log()
