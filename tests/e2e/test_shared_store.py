"""Proxies behind a balancer: one server has what all of them keep, and a conversation may go through any of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import httpx
import pytest

from e2e.kit import FINISHED, LIST, Talk, backstage, client, command, keeper, redirect, wait_for
from e2e.redis_server import RedisServer, needs_server
from e2e.rescuing import begin, resume
from e2e.switching import TAG, Board, Session, Upstream, handing, told, warnings
from providers import TASKS, Provider
from proxy import Proxy

pytestmark = needs_server


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture(scope="module")
def proxies(server: RedisServer) -> Iterator[list[Proxy]]:
    """Two proxies on one server."""
    with handing(store=server.url) as one, handing(store=server.url) as other:
        yield [one, other]
        for proxy in (one, other):
            assert f"keeping reasoning state in redis 127.0.0.1:{server.port}/0" in proxy.log()
            assert "Traceback" not in proxy.log()
            assert "fault" not in proxy.log()


def ask(proxy: Proxy, upstream: Upstream, talk: Talk, body: bytes) -> httpx.Response:
    with client(proxy, headers=talk.headers) as asking:
        return asking.post(upstream.url + talk.path, content=body)


def away(proxy: Proxy, since: int = 0) -> list[str]:
    """The lines of the log that tell of a server that went or came."""
    return [line for line in proxy.log()[since:].splitlines() if "until it is back" in line or "there again" in line]


@pytest.mark.parametrize("streamed", [True, False])
def test_what_one_has_captured_the_other_puts_back_at_once(proxies: Sequence[Proxy], streamed: bool) -> None:
    for one, other in (proxies, reversed(proxies)):
        for _ in range(5):
            talk = Talk(streamed=streamed)
            with Upstream(talk.answer) as upstream:
                ask(one, upstream, talk, talk.first)
                ask(other, upstream, talk, talk.second)
                assert talk.restored(upstream.requests[1].body)


def test_a_conversation_may_go_from_one_to_the_other_with_each_request(
    server: RedisServer, providers: Mapping[str, Provider]
) -> None:
    provider = providers["anthropic"]
    words = redirect(provider.port)
    with keeper(*words, store=server.url) as one, keeper(*words, store=server.url) as other:
        dialogue = begin(provider, "streamed", one.url)
        for proxy in (other, one, other):
            outcome = resume(provider, "streamed", dialogue, proxy.url, max_requests=1)
            assert outcome.status in (0, 200), outcome
            if outcome.done:
                break
        assert outcome.texts == FINISHED[:1]
        assert not provider.refusals


def test_a_handover_that_one_has_made_is_used_by_the_other_to_the_byte(proxies: Sequence[Proxy]) -> None:
    one, other = proxies
    board = Board()
    with Upstream(board.script) as upstream:
        session = Session(one, upstream.url)
        session.turn("model-a")
        session.turn("model-b")
        session.proxy = other
        session.turn("model-b")
        session.proxy = one
        session.turn("model-b")
        assert len(board.summaries) == 1
        prefixes = [told(request)[:1] for request in board.turns[1:]]
        assert TAG in prefixes[0][0]
        assert prefixes == [prefixes[0]] * 3


def test_two_that_want_the_same_summary_at_once_ask_for_one(proxies: Sequence[Proxy]) -> None:
    board = Board()
    go = board.hold()
    with Upstream(board.script) as upstream:
        first = Session(proxies[0], upstream.url)
        first.turn("model-a")
        first.said.append(("user", "And now?"))
        second = replace(first, proxy=proxies[1])
        before = [len(proxy.log()) for proxy in proxies]
        threads = [threading.Thread(target=each.ask, args=("model-b",)) for each in (first, second) * 2]
        for thread in threads:
            thread.start()
        for proxy, size in zip(proxies, before, strict=True):
            wait_for(lambda proxy=proxy, size=size: proxy.log()[size:].count("thoughtkeep: start") == 2)
        wait_for(lambda: board.summaries)
        go.set()
        for thread in threads:
            thread.join()
        assert len(board.summaries) == 1
        assert len(board.turns) == 5
        (body,) = {request.body for request in board.turns[1:]}
        assert TAG in body.decode()
        assert "SUMMARY-4711" in body.decode()
        assert [warnings(proxy, size) for proxy, size in zip(proxies, before, strict=True)] == [[], []]


def test_a_lesson_that_one_was_taught_is_known_to_the_other(
    server: RedisServer, providers: Mapping[str, Provider]
) -> None:
    provider = providers["vertex-compat"]
    words = redirect(provider.port)
    with keeper(*words, store=server.url) as one, keeper(*words, store=server.url) as other:
        dialogue = begin(provider, "streamed")
        resume(provider, "streamed", dialogue, one.url, max_requests=1)
        assert [refusal.kind for refusal in provider.refusals] == ["missing"]
        resume(provider, "streamed", dialogue, other.url, TASKS[1])
        assert [refusal.kind for refusal in provider.refusals] == ["missing"]


@pytest.mark.parametrize("what", ["turn", "conversation", "all"])
def test_what_one_forgets_is_forgotten_on_the_other(server: RedisServer, what: str) -> None:
    with (
        keeper("-s", LIST, store=server.url) as one,
        keeper(store=server.url) as other,
    ):
        talk, beside = Talk(), Talk()
        with Upstream(talk.answer) as upstream, Upstream(beside.answer) as elsewhere:
            ask(one, upstream, talk, talk.first)
            ask(other, elsewhere, beside, beside.first)
            ask(other, upstream, talk, talk.second)
            assert talk.restored(upstream.requests[-1].body)
            words = [] if what == "all" else ["~u chat"]
            assert command(one, f"thoughtkeep.forget.{what}", *words)
            wait_for(lambda: lost(other, upstream, talk))
            ask(one, elsewhere, beside, beside.second)
            assert beside.restored(elsewhere.requests[-1].body) is (what != "all")


def lost(proxy: Proxy, upstream: Upstream, talk: Talk) -> bool:
    ask(proxy, upstream, talk, talk.second)
    return talk.state(upstream.requests[-1].body) is None


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_a_server_that_is_away_for_a_while_fails_nothing_and_gets_what_was_kept_meanwhile(kill: bool) -> None:
    before, meanwhile = Talk(), Talk()
    with (
        RedisServer() as server,
        keeper(store=server.url) as one,
        keeper(store=server.url) as other,
        Upstream(
            lambda request, line: (before if before.name.encode() in request.body else meanwhile).answer(request, line)
        ) as upstream,
    ):
        ask(one, upstream, before, before.first)
        server.stop(kill=kill)
        assert ask(one, upstream, meanwhile, meanwhile.first).status_code == 200
        assert ask(one, upstream, meanwhile, meanwhile.second).status_code == 200
        assert meanwhile.restored(upstream.requests[-1].body)
        assert ask(other, upstream, before, before.second).status_code == 200
        for proxy in (one, other):
            wait_for(lambda proxy=proxy: len(away(proxy)) == 1)
        server.start()
        for proxy in (one, other):
            wait_for(lambda proxy=proxy: len(away(proxy)) == 2)
        wait_for(lambda: not lost(other, upstream, meanwhile))
        assert meanwhile.restored(upstream.requests[-1].body)
        assert "fault" not in one.log() + other.log()


def test_a_server_that_is_not_there_yet_keeps_nobody_from_starting_and_shows_no_password() -> None:
    server = RedisServer("--requirepass", "a-secret")
    url = server.url.replace("//", "//:a-secret@")
    talk = Talk()
    with keeper(store=url) as one, keeper(store=url) as other, Upstream(talk.answer) as upstream:
        for proxy in (one, other):
            (line,) = wait_for(lambda proxy=proxy: away(proxy))
            assert "it cannot be reached (Connection refused); turns are kept in memory until it is back" in line
        ask(one, upstream, talk, talk.first)
        ask(one, upstream, talk, talk.second)
        assert talk.restored(upstream.requests[-1].body)
        with server:
            for proxy in (one, other):
                wait_for(lambda proxy=proxy: len(away(proxy)) == 2)
            again = Talk()
            with Upstream(again.answer) as elsewhere:
                ask(one, elsewhere, again, again.first)
                ask(other, elsewhere, again, again.second)
                assert again.restored(elsewhere.requests[-1].body)
        assert "a-secret" not in one.log() + other.log()


def test_many_requests_at_once_through_both(proxies: Sequence[Proxy]) -> None:
    talks = [Talk(streamed=number % 2 == 0) for number in range(24)]
    named = {talk.name.encode(): talk for talk in talks}

    def script(request: object, line: object) -> None:
        talk = next(talk for name, talk in named.items() if name in request.body)  # type: ignore[attr-defined]
        talk.answer(request, line)  # type: ignore[arg-type]

    with Upstream(script) as upstream:
        for turn in ("first", "second"):
            threads = [
                threading.Thread(
                    target=ask, args=(proxies[(at + (turn == "first")) % 2], upstream, talk, getattr(talk, turn))
                )
                for at, talk in enumerate(talks)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        second = [request.body for request in upstream.requests[len(talks) :]]
        assert len(second) == len(talks)
        for body in second:
            talk = next(talk for name, talk in named.items() if name in body)
            assert talk.restored(body)
    assert [backstage(proxy).json().get("faults", 0) for proxy in proxies] == [0, 0]
