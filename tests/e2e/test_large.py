"""Large requests, long lines, many streams at a time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from e2e.kit import AMPLE, Talk, client, event
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy


@pytest.mark.parametrize("shape", ["one long result", "many messages"])
def test_in_a_request_of_ten_megabytes_the_one_message_that_lacks_its_state_gets_it(shape: str, proxy: Proxy) -> None:
    talk = Talk(streamed=False)
    if shape == "one long result":
        more: list[dict[str, Any]] = [{"role": "user", "content": 'é \\ "quoted" ' * 700_000}]
    else:
        words = "some words \u2028 " * 30
        more = [{"role": role, "content": words} for _ in range(12_000) for role in ("user", "assistant")]
        more.append({"role": "user", "content": "the last words"})
    body = talk.body(*talk.said(), *more)
    assert len(body) > 9_000_000
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        asking.post(url, content=talk.first)
        began = time.monotonic()
        assert asking.post(url, content=body).status_code == 200
        assert time.monotonic() - began < 2 * AMPLE
        sent = upstream.requests[1]
        assert talk.restored(sent.body)
        assert sent.header("content-length") == str(len(sent.body))
        before, after = sent.body.split(b'"reasoning_content":', 1)
        assert body.startswith(before[:-1])
        assert body.endswith(after[-9_000_000:])


def test_a_stream_with_a_line_of_200_kilobytes_is_captured(proxy: Proxy) -> None:
    talk = Talk()
    talk.thought += "x" * 400_000  # each half of it in one event
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        assert asking.post(url, content=talk.first).content == b"".join(talk.stream)
        asking.post(url, content=talk.second)
        assert talk.restored(upstream.requests[1].body)


def test_an_answer_that_is_larger_than_what_is_kept_goes_on_to_its_end(proxy: Proxy) -> None:
    talk = Talk()
    delta = {"index": 0, "delta": {"reasoning_content": "x" * 1_000_000}, "finish_reason": None}
    stream = [event({"choices": [delta]})] * 24 + talk.stream

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            talk.answer(request, line)
        else:
            line.stream(stream)

    before = len(proxy.log())
    with Upstream(answer) as upstream, client(proxy, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        assert asking.post(url, content=talk.first).content == b"".join(stream)
        asking.post(url, content=talk.second)
        assert upstream.requests[1].body == talk.second
    assert "capture stopped: an answer of more than 16000000 bytes" in proxy.log()[before:]


def test_twenty_streams_at_a_time_are_kept_apart(proxy: Proxy) -> None:
    """Every one of them is in its middle when the first one may end."""
    talks = {talk.name: talk for talk in (Talk() for _ in range(20))}
    together = threading.Barrier(20)

    def answer(request: Request, line: Line) -> None:
        talk = next(talk for name, talk in talks.items() if name.encode() in request.body)
        if b"tool_call_id" in request.body:
            return talk.answer(request, line)
        line.stream(talk.stream[:1], end=False)
        together.wait(2 * AMPLE)
        for piece in talk.stream[1:]:
            line.chunk(piece)
        return line.chunk(b"")

    def play(talk: Talk, url: str) -> bool:
        with client(proxy, headers=talk.headers) as asking:
            assert asking.post(url, content=talk.first).content == b"".join(talk.stream)
            return asking.post(url, content=talk.second).status_code == 200

    with Upstream(answer) as upstream, ThreadPoolExecutor(20) as pool:
        url = upstream.url + Talk.path
        assert all(pool.map(lambda talk: play(talk, url), talks.values()))
        told = [request.body for request in upstream.requests if b"tool_call_id" in request.body]
        assert len(told) == 20
        for talk in talks.values():
            (body,) = (body for body in told if talk.name.encode() in body)
            assert talk.restored(body)
