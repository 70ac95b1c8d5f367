"""Answers reach the client byte for byte, however they are coded and cut, and are captured on their way."""

from __future__ import annotations

import random
import socket
import zlib
from collections.abc import Callable

import brotli
import pytest

from e2e.kit import AMPLE, Talk, client, zstd
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy


def gzip(pieces: list[bytes], kind: int = 31) -> list[bytes]:
    packer = zlib.compressobj(6, zlib.DEFLATED, kind)
    return [*(packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces), packer.flush()]


def gzip_members(pieces: list[bytes]) -> list[bytes]:
    """Each piece a member of its own, as some gateways have it."""
    return [b"".join(gzip([piece])) for piece in pieces]


def br(pieces: list[bytes]) -> list[bytes]:
    packer = brotli.Compressor(quality=4)
    return [*(packer.process(piece) + packer.flush() for piece in pieces), packer.finish()]


def zst(pieces: list[bytes]) -> list[bytes]:
    packer = zstd.ZstdCompressor()
    flush = zstd.ZstdCompressor.FLUSH_BLOCK
    return [*(packer.compress(piece, flush) for piece in pieces), packer.flush()]


#: By name: the header, and what makes the bytes.
CODINGS: dict[str, tuple[str, Callable[[list[bytes]], list[bytes]]]] = {
    "none": ("", list),
    "gzip": ("gzip", gzip),
    "gzip members": ("gzip", gzip_members),
    "deflate": ("deflate", lambda pieces: gzip(pieces, 15)),
    "raw deflate": ("deflate", lambda pieces: gzip(pieces, -15)),
    "br": ("br", br),
    "zstd": ("zstd", zst),
}

CUTS = ["events", "bytes", "sevens", "random", "whole"]


def cut(pieces: list[bytes], how: str) -> list[bytes]:
    """The same bytes with other borders between them."""
    if how == "events":
        return pieces
    data = b"".join(pieces)
    sizes = random.Random(len(data))
    cuts, start = [], 0
    while start < len(data):
        size = {"bytes": 1, "sevens": 7, "whole": len(data)}.get(how) or sizes.choice((1, 2, 3, 5, 17, 64, 300))
        cuts.append(data[start : start + size])
        start += size
    return cuts


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("coding", CODINGS)
def test_a_stream_arrives_as_it_was_sent_and_is_captured(coding: str, how: str, proxy: Proxy) -> None:
    header, packed = CODINGS[coding]
    talk = Talk()
    sent = cut(packed([piece.replace(b"\n", b"\r\n") for piece in talk.stream]), how)
    headers = {"content-encoding": header} if header else {}

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            talk.answer(request, line)
        else:
            line.stream(sent, headers)

    with Upstream(answer) as upstream, client(proxy, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        with asking.stream("POST", url, content=talk.first) as got:
            assert b"".join(got.iter_raw()) == b"".join(sent)
            assert got.headers.get("content-encoding", "") == header
        asking.post(url, content=talk.second)
        assert talk.restored(upstream.requests[1].body)


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("coding", CODINGS)
def test_a_plain_answer_arrives_as_it_was_sent_and_is_captured(coding: str, chunked: bool, proxy: Proxy) -> None:
    header, packed = CODINGS[coding]
    talk = Talk(streamed=False)
    sent = b"".join(packed([b" \n" + talk.plain + b"\n\n"]))
    headers = {"content-type": "application/json", **({"content-encoding": header} if header else {})}

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            talk.answer(request, line)
        elif chunked:
            line.stream(cut([sent], "random"), headers)
        else:
            line.answer(sent, headers)

    with Upstream(answer) as upstream, client(proxy, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        with asking.stream("POST", url, content=talk.first) as got:
            assert b"".join(got.iter_raw()) == sent
        asking.post(url, content=talk.second)
        assert talk.restored(upstream.requests[1].body)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("gzip", b"data: no gzip at all\n\n"),
        ("gzip", b"".join(gzip([b"data: {}\n\n"]))[:-6]),
        ("br", b"\xff\xff\xff\xff"),
        ("snappy", b"data: {}\n\n"),
        ("", b"data: {no json}\n\ndata: [DONE]\n\n"),
        ("", b"\xff\xfe\x00\x00"),
        ("", b""),
    ],
)
def test_an_answer_that_cannot_be_read_arrives_as_it_was_sent(header: str, body: bytes, proxy: Proxy) -> None:
    talk = Talk()
    headers = {"content-encoding": header} if header else {}
    with (
        Upstream(lambda _, line: line.stream([body], headers)) as upstream,
        client(proxy, headers=talk.headers) as asking,
        asking.stream("POST", upstream.url + talk.path, content=talk.first) as got,
    ):
        assert b"".join(got.iter_raw()) == body


@pytest.mark.parametrize("status", ["400 Bad Request", "429 Too Many Requests", "500 Oh No", "529 Overloaded"])
@pytest.mark.parametrize("streamed", [True, False])
def test_an_error_arrives_as_it_was_sent_and_nothing_is_kept_of_it(status: str, streamed: bool, proxy: Proxy) -> None:
    talk = Talk(streamed=streamed)

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            talk.answer(request, line)
        else:
            line.answer(talk.plain, {"content-type": "application/json", "retry-after": "7"}, status)

    with Upstream(answer) as upstream, client(proxy, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        got = asking.post(url, content=talk.first)
        assert f"{got.status_code} {got.reason_phrase}" == status
        assert (got.content, got.headers["retry-after"]) == (talk.plain, "7")
        asking.post(url, content=talk.second)
        assert upstream.requests[1].body == talk.second


def test_each_chunk_is_passed_on_before_the_next_one_is_made(proxy: Proxy) -> None:
    """The upstream goes on only when the client has what was sent so far."""
    talk = Talk()
    turn = [piece.strip() for piece in talk.stream]
    ours, theirs = socket.socketpair()

    def answer(request: Request, line: Line) -> None:
        line.stream([], end=False)
        for piece in talk.stream:
            line.chunk(piece)
            theirs.recv(1)
        line.chunk(b"")

    ours.settimeout(AMPLE)
    theirs.settimeout(AMPLE)
    with ours, theirs, Upstream(answer) as upstream, client(proxy) as asking:
        got = b""
        with asking.stream("POST", upstream.url + talk.path, content=talk.first, headers=talk.headers) as answered:
            for piece in answered.iter_raw():
                got += piece
                if turn and got.strip().endswith(turn[0]):
                    turn.pop(0)
                    ours.send(b".")
        assert got == b"".join(talk.stream)


def test_a_body_that_ends_with_the_connection_is_captured(proxy: Proxy) -> None:
    """HTTP/1.0's way: neither a length nor chunks."""
    talk = Talk()

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return talk.answer(request, line)
        line.begin({"content-type": "text/event-stream"})
        return line.send(b"".join(talk.stream))

    with Upstream(answer) as upstream, client(proxy, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        assert asking.post(url, content=talk.first).content == b"".join(talk.stream)
        asking.post(url, content=talk.second)
        assert talk.restored(upstream.requests[1].body)
