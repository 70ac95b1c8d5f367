"""Over HTTP/2, to servers that speak it and to servers that don't, all is as it is over HTTP/1.1."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator

import pytest

from e2e.kit import AMPLE, Talk, wait_for
from e2e.raw import Wire2
from e2e.steady import DONE, Http2, Many, Steady, answered, demand
from e2e.switching import TAG, Board, handing
from e2e.upstream import Line, Request, make_certificate
from e2e.ways import OnlyHttp2, Through, Way, direct
from proxy import Proxy


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Http2, Steady, Proxy]]:
    """A server that speaks HTTP/2 and one that knows only HTTP/1.1, both inside TLS, and a proxy."""
    certificate = make_certificate(tmp_path_factory.mktemp("certificate"), "localhost")
    # Lazy, and without a look at the upstream's certificate: else the upstream says which HTTP the client may speak.
    options = ["connection_strategy=lazy", "upstream_cert=false", f"ssl_verify_upstream_trusted_ca={certificate}"]
    words = [word for option in options for word in ("--set", option)]
    with (
        Http2(lambda request, line: None, certificate) as new,
        Steady(lambda request, line: None, certificate) as old,
        handing(*words) as proxy,
    ):
        old.stays = False  # for each request of an HTTP/2 client mitmproxy connects anew, and has five at most
        yield new, old, proxy


@pytest.fixture(params=["HTTP/2", "HTTP/1.1"])
def way(request: pytest.FixtureRequest, both: tuple[Http2, Steady, Proxy]) -> Iterator[Way]:
    """From an HTTP/2 client to a server of either kind, nothing written down yet."""
    new, old, proxy = both
    upstream = new if request.param == "HTTP/2" else old
    upstream.forget()
    url, host = f"https://localhost:{upstream.port}", f"localhost:{upstream.port}"
    with direct(http1=False, http2=True, proxy=proxy.url, verify=OnlyHttp2.trusting(proxy)) as asking:
        yield Way(proxy, asking, url, upstream, host, "localhost")
    for each in upstream.requests:
        assert each.head.split(b"\r\n")[0].endswith(request.param.encode())
        assert each.header(":authority" if request.param == "HTTP/2" else "host") == host


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
def test_over_http2_state_is_captured_and_put_back(streamed: bool, packed: bool, way: Way) -> None:
    talk = Talk(streamed=streamed)
    way.upstream.script = Many(talk)
    first = way.post(talk.first, talk.headers)
    assert (first.http_version, first.status_code, first.content) == ("HTTP/2", 200, answered(talk))
    packing = {"content-encoding": "gzip"} if packed else {}
    way.post(gzip.compress(talk.second) if packed else talk.second, {**talk.headers, **packing})
    sent = way.upstream.requests[1]
    assert sent.header("content-length") == str(len(sent.body))
    assert talk.restored(gzip.decompress(sent.body) if packed else sent.body)


def test_conversations_that_share_an_http2_connection_are_kept_apart(way: Way) -> None:
    """Many at once: each is in the middle of its answer when the first one may end."""
    talks = [Talk() for _ in range(12 if isinstance(way.upstream, Http2) else 5)]
    many, together = Many(*talks), threading.Barrier(len(talks))

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return many(request, line)
        talk = next(talk for talk in talks if talk.name.encode() in request.body)
        line.stream(talk.stream[:2], end=False)
        together.wait(AMPLE)
        for piece in (*talk.stream[2:], b""):
            line.chunk(piece)
        return None

    way.upstream.script = answer
    with Wire2(way.proxy, way.host) as wire:
        for bodies, expected in (
            ([talk.first for talk in talks], [answered(talk) for talk in talks]),
            ([talk.second for talk in talks], [DONE] * len(talks)),
        ):
            streams = [wire.ask(Talk.path, body, talks[0].headers) for body in bodies]
            assert [wire.until(stream) for stream in streams] == expected
    told = [request.body for request in way.upstream.requests if b"tool_call_id" in request.body]
    for talk in talks:
        (body,) = (body for body in told if talk.name.encode() in body)
        assert talk.restored(body)
    if isinstance(way.upstream, Http2):
        assert set(way.upstream.on) == {1}


@pytest.mark.parametrize("after", [0, 2, 4])
def test_an_http2_stream_that_the_client_takes_back_leaves_the_others_on_its_connection_alone(
    after: int, way: Way
) -> None:
    """Before its first event, between two, and behind the last one but before the end. The client asks again."""
    left, stays = Talk(), Talk()
    many = Many(left, stays)
    gone: list[bool] = []

    def answer(request: Request, line: Line) -> None:
        if left.name.encode() in request.body and not gone:
            line.stream([b": it begins\n\n", *left.stream[:after]], end=False)
            return gone.append(line.wait_until_left())
        return many(request, line)

    way.upstream.script = answer
    with Wire2(way.proxy, way.host) as wire:
        cut = wire.ask(Talk.path, left.first, left.headers)
        wire.until(cut, [b": it begins", *left.stream][after])
        wire.take_back(cut)
        wait_for(lambda: gone)
        for talk in (stays, left):
            assert wire.until(wire.ask(Talk.path, talk.first, talk.headers)) == answered(talk)
            assert wire.until(wire.ask(Talk.path, talk.second, talk.headers)) == DONE
            assert talk.restored(way.upstream.requests[-1].body)
    assert gone == [True]


def test_over_http2_a_conversation_changes_hands(way: Way) -> None:
    board = Board()
    way.upstream.script = board.script
    session = Through(way)
    session.turn("model-a")
    session.turn("model-b")
    assert len(board.summaries) == 1
    assert TAG in board.turns[1].body.decode()


@pytest.mark.parametrize("streamed", [True, False])
def test_over_http2_a_refused_request_is_sent_again(streamed: bool, way: Way) -> None:
    talk = Talk(streamed=streamed)
    way.upstream.script = demand
    answer = way.post(talk.second, talk.headers)
    assert (answer.status_code, answer.content) == (200, DONE)
    first, second = way.upstream.requests
    assert (first.body, second.target) == (talk.second, first.target)
