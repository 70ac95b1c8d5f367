"""Answers that are not what they say or should be: the client gets every byte, and what can be read is kept."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from dataclasses import dataclass

from e2e.kit import Talk, event
from e2e.steady import DONE
from e2e.upstream import Line
from faults.row import Row, table
from faults.stage import Scene, Watch, assert_begins_anew
from proxy import Proxy

_SAME = "the upstream's own bytes"
_RESTORED = "restored"
_OWN = "nothing of it is put back; asked again, it is restored"
_ENTRY = {"type": "reasoning.encrypted", "id": "r", "index": 0, "data": "c2lnbmVkIGJ5IG5vYm9keSBlbHNl"}

Judge = Callable[[Talk, bytes], bool]
Payload = Callable[[Talk], bytes]


@dataclass(frozen=True)
class Odd(Row):
    """`body` is the answer of a talk, under these headers; `judge` says whether its next request is as it should be."""

    body: Payload
    judge: Judge
    headers: tuple[tuple[str, str], ...] = ()
    streamed: bool = True
    send: Callable[[Line, bytes, dict[str, str]], None] = lambda line, body, headers: line.stream([body], headers)
    stands: bool = True  # whether the body arrives to its end

    def answer(self, scene: Scene, line: Line) -> None:
        self.send(line, self.body(scene.talk), dict(self.headers))


def restored(talk: Talk, body: bytes) -> bool:
    return talk.restored(body)


def own(talk: Talk, body: bytes) -> bool:
    return body == talk.second


def _normal(talk: Talk) -> bytes:
    return b"".join(talk.stream) if talk.streamed else talk.plain


def _zipped(talk: Talk) -> bytes:
    return gzip.compress(_normal(talk))


def _before(piece: Callable[[Talk], bytes]) -> Payload:
    """The stream, with something ahead of its terminal event."""
    return lambda talk: b"".join([*talk.stream[:3], piece(talk), *talk.stream[3:]])


def _invalid(talk: Talk) -> bytes:
    """Bytes that are no UTF-8 stand inside the reasoning."""
    return _normal(talk).replace("é".encode(), b"\xff\xfe", 1)


def _twice(talk: Talk) -> bytes:
    """Each piece of reasoning stands twice in its object; the last one counts, as with every client."""
    return _normal(talk).replace(b'"reasoning_content": ', b'"reasoning_content": "wrong", "reasoning_content": ')


def _deep(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def _entry(raw: bytes) -> Payload:
    """An opaque entry with a member that is written like this."""
    piece = event({"choices": [{"index": 0, "delta": {"reasoning_details": [{**_ENTRY, "odd": "HERE"}]}}]})
    return _before(lambda talk: piece.replace(b'"HERE"', raw))


def _slowly(line: Line, data: bytes) -> None:
    for at in range(len(data)):
        line.send(data[at : at + 1])
        time.sleep(0.0005)


def _chunks_slowly(line: Line, body: bytes, headers: dict[str, str]) -> None:
    line.stream([], headers, end=False)
    for at in range(len(body)):
        line.chunk(body[at : at + 1])
        time.sleep(0.0005)
    line.chunk(b"")


def _all_slowly(line: Line, body: bytes, headers: dict[str, str]) -> None:
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
    _slowly(line, f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)


def _with_length(line: Line, body: bytes, headers: dict[str, str]) -> None:
    line.answer(body, headers)


def _short(line: Line, body: bytes, headers: dict[str, str]) -> None:
    line.begin({**headers, "content-length": str(len(body) + 10)})
    line.send(body)


def _http_1_0(line: Line, body: bytes, headers: dict[str, str]) -> None:
    kind = headers.get("content-type", "text/event-stream")
    line.send(f"HTTP/1.0 200 OK\r\ncontent-type: {kind}\r\n\r\n".encode() + body)


_GZIP = (("content-encoding", "gzip"),)
_JSON = (("content-type", "application/json"),)


def _type(name: str) -> tuple[tuple[str, str], ...]:
    return (("content-type", name),)


ROWS = [
    Odd("slow-chunks", "the upstream sends a chunk a byte", _SAME, _RESTORED, _normal, restored, send=_chunks_slowly),
    Odd("slow-all", "the upstream sends a byte at a time", _SAME, _RESTORED, _normal, restored, send=_all_slowly),
    Odd("type-json", "a stream that says it is JSON", _SAME, _RESTORED, _normal, restored, _JSON),
    Odd("type-html", "a stream that says it is HTML", _SAME, _RESTORED, _normal, restored, _type("text/html")),
    Odd("type-empty", "a stream that does not say what it is", _SAME, _RESTORED, _normal, restored, _type("")),
    Odd("type-plain", "JSON that says it is text", _SAME, _RESTORED, _normal, restored, _type("text/plain"), False),
    Odd("type-stream", "JSON that says it is a stream", _SAME, _OWN, _normal, own, (), False),
    Odd(
        "type-unasked",
        "JSON where a stream was asked for",
        _SAME,
        _RESTORED,
        lambda talk: talk.plain,
        restored,
        _JSON,
        send=_with_length,
    ),
    Odd("gzip-said", "a plain stream that says it is gzip", _SAME, _OWN, _normal, own, _GZIP),
    Odd("gzip-said-json", "plain JSON that says it is gzip", _SAME, _OWN, _normal, own, _JSON + _GZIP, False),
    Odd("gzip-unsaid", "a gzip stream that says it is plain", _SAME, _OWN, _zipped, own),
    Odd("gzip-unsaid-json", "gzip JSON that says it is plain", _SAME, _OWN, _zipped, own, _JSON, False),
    Odd("gzip-cut", "a gzip stream without its end", _SAME, _RESTORED, lambda t: _zipped(t)[:-6], restored, _GZIP),
    Odd("gzip-cut-half", "half a gzip stream", _SAME, _OWN, lambda t: _zipped(t)[: len(_zipped(t)) // 2], own, _GZIP),
    Odd("gzip-cut-json", "half of gzip JSON", _SAME, _OWN, lambda t: _zipped(t)[:60], own, _JSON + _GZIP, False),
    Odd("utf8-stream", "invalid UTF-8 in a stream's reasoning", _SAME, _OWN, _invalid, own),
    Odd("utf8-json", "invalid UTF-8 in JSON's reasoning", _SAME, _OWN, _invalid, own, _JSON, False),
    Odd(
        "utf8-beside",
        "an event of invalid UTF-8 among good ones",
        _SAME,
        _OWN,
        _before(lambda talk: b'data: {"x": "\xff\xfe"}\n\n'),
        own,
    ),
    Odd(
        "cut-beside",
        "an event of half an object among good ones",
        _SAME,
        _RESTORED,
        _before(lambda talk: b'data: {"x": "y\n\n'),
        restored,
    ),
    Odd("twice-stream", "duplicate keys in a stream", _SAME, "restored, the last one counts", _twice, restored),
    Odd("twice-json", "duplicate keys in JSON", _SAME, "restored, the last one counts", _twice, restored, _JSON, False),
    Odd(
        "deep-beside",
        "an event that nests 1000 deep",
        _SAME,
        _RESTORED,
        _before(lambda talk: b'data: {"choices": [], "x": ' + _deep(1000) + b"}\n\n"),
        restored,
    ),
    Odd(
        "deep-far",
        "an event that nests 100000 deep",
        _SAME,
        _RESTORED,
        _before(lambda talk: b'data: {"choices": [], "x": ' + _deep(100_000) + b"}\n\n"),
        restored,
    ),
    Odd("deep-state", "state that nests 1000 deep", _SAME, _OWN, _entry(_deep(1000)), own),
    Odd(
        "huge-beside",
        "a figure of 1e400 beside the state",
        _SAME,
        _RESTORED,
        _before(lambda talk: b'data: {"choices": [], "usage": {"total_tokens": 1e400, "cost": -1e400}}\n\n'),
        restored,
    ),
    Odd("huge-state", "a figure of 1e400 inside the state", _SAME, _OWN, _entry(b"1e400"), own),
    Odd("nan-state", "a figure that is not a number inside the state", _SAME, _OWN, _entry(b"NaN"), own),
    Odd("http-1.0", "an HTTP/1.0 stream that ends by closing", _SAME, _RESTORED, _normal, restored, send=_http_1_0),
    Odd(
        "http-1.0-json",
        "HTTP/1.0 JSON that ends by closing",
        _SAME,
        _RESTORED,
        _normal,
        restored,
        _JSON,
        False,
        send=_http_1_0,
    ),
    Odd(
        "length-too-long",
        "a length that is more than what comes",
        "what came, and no end",
        _RESTORED,
        _normal,
        restored,
        _type("text/event-stream"),
        send=_short,
        stands=False,
    ),
]


@table(ROWS)
def test_an_answer_that_is_not_what_it_should_be(row: Odd, kept: Proxy, alone: Proxy) -> None:
    watch = Watch(kept)
    with Scene(Talk(streamed=row.streamed)) as scene:
        scene.part = row.answer
        without = scene.ask(alone, scene.talk.first)
        with_ = scene.ask(kept, scene.talk.first)
        assert with_ == without
        assert (with_.body, with_.whole) == (row.body(scene.talk), row.stands)
        scene.part = None
        assert scene.ask(kept, scene.talk.second).body == DONE
        assert row.judge(scene.talk, scene.sent[-1])
        assert_begins_anew(scene, kept)
    watch.assert_unharmed()
