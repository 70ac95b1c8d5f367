"""How requests and answers travel changes nothing: connections that are shared, cut or left, and odd framing."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from e2e.kit import AMPLE, Talk, client, wait_for
from e2e.raw import Wire, posted
from e2e.steady import DONE, JSON, Many, Steady, answered
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy

# -- connections ------------------------------------------------------------------------------------------------------


@pytest.fixture
def steady() -> Iterator[Steady]:
    """A server in the clear that keeps its connections."""
    with Steady(lambda request, line: None) as upstream:
        yield upstream


def test_conversations_that_take_turns_on_one_connection_are_kept_apart(proxy: Proxy, steady: Steady) -> None:
    talks = [Talk(streamed=streamed) for streamed in (True, False) * 3]
    steady.script = Many(*talks)
    before = len(proxy.log())
    with client(proxy, limits=httpx.Limits(max_connections=1)) as asking:
        for talk in talks:
            url = steady.url + talk.path
            assert asking.post(url, content=talk.first, headers=talk.headers).content == answered(talk)
            assert asking.get(f"{steady.url}/v1/models").content == Many.OTHER
        for talk in (*talks, *reversed(talks)):
            asking.post(steady.url + talk.path, content=talk.second, headers=talk.headers)
            assert talk.restored(steady.requests[-1].body)
    assert set(steady.on) == {1}
    assert proxy.log()[before:].count("client connect") == 1


def test_requests_that_are_sent_ahead_are_completed_by_the_answers_before_them(proxy: Proxy, steady: Steady) -> None:
    """Pipelined: the client sends all of them before it reads an answer."""
    one, two = Talk(streamed=True), Talk(streamed=False)
    steady.script = Many(one, two)
    url = steady.url + Talk.path
    bodies = [one.first, two.first, one.second, one.second, two.second]
    with Wire(proxy) as wire:
        wire.send(b"".join(posted(url, body, one.headers) for body in bodies))
        got = [wire.answer().body for _ in bodies]
    assert got == [answered(one), answered(two), DONE, DONE, DONE]
    sent = [request.body for request in steady.requests]
    assert sent[:2] == bodies[:2]
    assert [one.restored(sent[2]), one.restored(sent[3]), two.restored(sent[4])] == [True] * 3
    assert set(steady.on) == {1}


LEAVING = {"before the head": None, "before an event": 0, "between events": 2, "before the end": 4, "at the end": 5}


@pytest.mark.parametrize("who", ["client", "server"])
@pytest.mark.parametrize("when", LEAVING)
@pytest.mark.parametrize("same_id", [True, False])
def test_where_an_answer_broke_off_and_the_client_asks_again_the_second_answer_counts(
    same_id: bool, when: str, who: str, proxy: Proxy
) -> None:
    broken, whole = Talk(), Talk()
    whole.name = broken.name  # the same question; the model thinks otherwise, and may call by the same id
    if same_id:
        whole.call = broken.call
    after = LEAVING[when]
    left: list[bool] = []

    def answer(request: Request, line: Line) -> None:
        if left or b"tool_call_id" in request.body:
            return whole.answer(request, line)
        if after is not None:
            line.stream([b": it begins\n\n", *broken.stream[:after]], end=False)
        return left.append(line.wait_until_left() if who == "client" else True)

    with Upstream(answer) as upstream:
        url = upstream.url + Talk.path
        with Wire(proxy) as wire:
            wire.send(posted(url, broken.first, broken.headers))
            if after is not None:
                wire.until([b": it begins", *broken.stream][after])
            else:
                wait_for(lambda: upstream.requests)
            if who == "client":
                wire.close()
            wait_for(lambda: left)
        with client(proxy, headers=whole.headers) as asking:
            assert asking.post(url, content=whole.first).content == answered(whole)
            asking.post(url, content=whole.second)
        first, again, second = (request.body for request in upstream.requests)
        assert first == again == broken.first
        assert whole.restored(second)
    assert left == [True]


def test_a_client_that_left_behind_the_last_event_may_go_on_with_either_answer(proxy: Proxy) -> None:
    """It asked again, but has both."""
    one, two = Talk(), Talk()
    two.name = one.name
    answers = [one, two]
    left: list[bool] = []

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return line.answer(DONE, JSON)
        talk = answers.pop(0)
        line.stream(talk.stream, end=talk is two)
        return left.append(talk is two or line.wait_until_left())

    with Upstream(answer) as upstream:
        url = upstream.url + Talk.path
        for talk in (one, two):
            with Wire(proxy) as wire:
                wire.send(posted(url, talk.first, talk.headers))
                wire.until(b"[DONE]")
            wait_for(lambda: len(left) == 2 - len(answers))
        with client(proxy, headers=one.headers) as asking:
            for talk in (one, two, one):
                asking.post(url, content=talk.second)
                assert talk.restored(upstream.requests[-1].body)


@pytest.mark.parametrize("streamed", [True, False])
def test_parallel_requests_of_one_conversation_are_all_completed(streamed: bool, proxy: Proxy) -> None:
    """The same question twice at a time, answered differently and event by event in turns; then each answer twice."""
    talks = [Talk(streamed=streamed), Talk(streamed=streamed)]
    talks[1].name = talks[0].name
    together, order = threading.Barrier(2), iter(talks)

    def answer(request: Request, line: Line) -> None:
        together.wait(AMPLE)
        if b"tool_call_id" in request.body:
            return line.answer(DONE, JSON)
        talk = next(order)
        if not streamed:
            return talk.answer(request, line)
        line.stream([], end=False)
        for piece in (*talk.stream, b""):
            together.wait(AMPLE)
            line.chunk(piece)
        return None

    def ask(body: bytes) -> bytes:
        with client(proxy, headers=talks[0].headers) as asking:
            return asking.post(upstream.url + Talk.path, content=body).content

    with Upstream(answer) as upstream, ThreadPoolExecutor(2) as pool:
        got = list(pool.map(ask, [talks[0].first] * 2))
        assert sorted(got) == sorted(answered(talk) for talk in talks)
        for talk in talks:
            assert list(pool.map(ask, [talk.second] * 2)) == [DONE] * 2
            assert all(talk.restored(request.body) for request in upstream.requests[-2:])


# -- framing ----------------------------------------------------------------------------------------------------------


def begun(proxy: Proxy, upstream: Upstream, *talks: Talk) -> str:
    """The talks after their first exchange; the address."""
    upstream.script = Many(*talks)
    with client(proxy) as asking:
        for talk in talks:
            assert asking.post(upstream.url + talk.path, content=talk.first, headers=talk.headers).status_code == 200
    return upstream.url + Talk.path


@pytest.mark.parametrize("waits", [True, False])
def test_a_client_that_asks_whether_it_may_go_on_is_told_so_and_its_request_is_completed(
    waits: bool, proxy: Proxy, steady: Steady
) -> None:
    talk = Talk()
    url = begun(proxy, steady, talk)
    sent = posted(url, talk.second, {**talk.headers, "Expect": "100-continue"})
    border = sent.index(b"\r\n\r\n") + 4
    with Wire(proxy) as wire:
        wire.send(sent[:border] if waits else sent)
        assert wire.answer().head.startswith(b"HTTP/1.1 100 ")
        if waits:
            wire.send(sent[border:])
        assert wire.answer().body == DONE
    assert talk.restored(steady.requests[-1].body)


def test_header_names_stay_as_the_client_wrote_them_and_mean_the_same(proxy: Proxy, steady: Steady) -> None:
    talk = Talk(streamed=False)

    def answer(request: Request, line: Line) -> None:
        coded = {"CONTENT-TYPE": "Application/JSON", "CONTENT-ENCODING": "GZIP"}
        line.answer(gzip.compress(DONE if request.header("content-encoding") else talk.plain), coded)

    steady.script = answer
    url = steady.url + Talk.path
    shouted = {"AUTHORIZATION": talk.headers["authorization"], "CONTENT-TYPE": "APPLICATION/JSON"}
    with Wire(proxy) as wire:
        wire.send(posted(url, talk.first, talk.headers))
        assert b"\r\nCONTENT-ENCODING: GZIP\r\n" in wire.answer().head
        wire.send(posted(url, gzip.compress(talk.second), {**shouted, "Content-ENCODING": "GZip"}, "content-LENGTH"))
        assert gzip.decompress(wire.answer().body) == DONE
    sent = steady.requests[-1]
    assert talk.restored(gzip.decompress(sent.body))
    names = [line.split(b":")[0] for line in sent.head.splitlines()[1:-1]]
    assert names == [b"Host", b"AUTHORIZATION", b"CONTENT-TYPE", b"Content-ENCODING", b"content-LENGTH"]


@pytest.mark.parametrize("size", [1, 7, 300])
def test_a_request_that_arrives_in_many_pieces_is_completed(size: int, proxy: Proxy, steady: Steady) -> None:
    """The borders are anywhere: in the head, inside of words, inside of characters."""
    talk = Talk()
    url = begun(proxy, steady, talk)
    body = talk.second.replace(b"blue", "blé — bleu".encode())
    sent = posted(url, body, talk.headers)
    with Wire(proxy) as wire:
        wire.send(*(sent[start : start + size] for start in range(0, len(sent), size)))
        assert wire.answer().body == DONE
    added = ',"reasoning_content":' + json.dumps(talk.thought, ensure_ascii=False)
    assert steady.requests[-1].body.decode().replace(added, "", 1) == body.decode()


GARBAGE = [b"\x00\xff garbage", b'{"choices":[]}', b"data: {}\n\n"]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_what_stands_behind_a_requests_json_makes_it_no_request_of_ours(
    garbage: bytes, proxy: Proxy, steady: Steady
) -> None:
    talk = Talk()
    url = begun(proxy, steady, talk)
    with client(proxy, headers=talk.headers) as asking:
        asking.post(url, content=talk.second + garbage)
        assert steady.requests[-1].body == talk.second + garbage
        asking.post(url, content=talk.second)
        assert talk.restored(steady.requests[-1].body)


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("streamed", [True, False])
def test_what_stands_behind_an_answer_arrives_and_takes_nothing_from_it(
    streamed: bool, garbage: bytes, proxy: Proxy, steady: Steady
) -> None:
    talk = Talk(streamed=streamed)

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            line.answer(DONE, JSON)
        elif streamed:
            line.stream([*talk.stream, garbage])
        else:
            line.answer(talk.plain + garbage, JSON)

    steady.script = answer
    url = steady.url + talk.path
    with client(proxy, headers=talk.headers) as asking:
        assert asking.post(url, content=talk.first).content == answered(talk) + garbage
        asking.post(url, content=talk.second)
    assert talk.restored(steady.requests[-1].body)


def test_what_a_server_sends_behind_the_end_of_its_answer_reaches_nobody(proxy: Proxy, steady: Steady) -> None:
    """On its connection, where the next answer would stand."""
    talk, reached = Talk(streamed=False), steady.requests

    def answer(request: Request, line: Line) -> None:
        line.answer(DONE if b"tool_call_id" in request.body else talk.plain, JSON)
        with contextlib.suppress(OSError):
            line.send(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwrong")

    steady.script = answer
    url = steady.url + talk.path
    with client(proxy, headers=talk.headers) as asking:
        assert asking.post(url, content=talk.first).content == talk.plain
        assert asking.post(url, content=talk.second).content == DONE
    assert talk.restored(reached[-1].body)


def test_chunks_with_extensions_are_captured(proxy: Proxy, steady: Steady) -> None:
    talk = Talk()

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return line.answer(DONE, JSON)
        line.stream([], end=False)
        for piece in talk.stream:
            line.send(b"%X;name=value\r\n%s\r\n" % (len(piece), piece))
        return line.send(b"0;name=value\r\n\r\n")

    steady.script = answer
    url = steady.url + talk.path
    with client(proxy, headers=talk.headers) as asking:
        assert asking.post(url, content=talk.first).content == answered(talk)
        asking.post(url, content=talk.second)
    assert talk.restored(steady.requests[-1].body)
