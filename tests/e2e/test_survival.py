"""State outlives what ends proxies and connections."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentloop import events
from e2e.kit import ADDON, AMPLE, Talk, agent, assert_all_restored, client, keeper, wait_for
from e2e.upstream import Line, Request, Upstream
from providers import PROVIDERS, serve
from proxy import Proxy


@pytest.fixture(scope="module")
def durable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy whose store is a file."""
    with keeper(store=f"sqlite:///{tmp_path_factory.mktemp('store')}/state.sqlite3") as running:
        yield running


def ask(proxy: Proxy, upstream: Upstream, talk: Talk, body: bytes) -> httpx.Response:
    with client(proxy) as asking:
        return asking.post(upstream.url + talk.path, content=body, headers=talk.headers)


def test_a_proxy_that_is_killed_right_behind_the_last_byte_of_an_answer_knows_it_when_it_is_back(
    durable: Proxy,
) -> None:
    plain, streamed = Talk(streamed=False), Talk(streamed=True)
    with Upstream(plain.answer) as one, Upstream(streamed.answer) as two:
        talks = ((plain, one), (streamed, two))
        for talk, upstream in talks:
            ask(durable, upstream, talk, talk.first)
        durable.restart(kill=True)
        for talk, upstream in talks:
            ask(durable, upstream, talk, talk.second)
            assert talk.restored(upstream.requests[1].body)


def test_a_proxy_that_is_told_to_end_keeps_what_it_knows_in_mid_stream_too(durable: Proxy) -> None:
    """Of the second talk the answer has reached its semantic end, and its connection has not."""
    whole, held = Talk(), Talk()

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return held.answer(request, line)
        line.stream(held.stream, end=False)
        line.wait_until_left()
        return None

    with Upstream(whole.answer) as one, Upstream(answer) as two:
        ask(durable, one, whole, whole.first)
        url = two.url + held.path
        with client(durable) as asking, asking.stream("POST", url, content=held.first, headers=held.headers) as stream:
            assert "[DONE]" in list(zip(range(5), events(stream.iter_bytes()), strict=False))[-1]
            began = time.monotonic()
            durable.restart()
            assert time.monotonic() - began < 2 * AMPLE  # SIGTERM was enough
        for talk, upstream in ((whole, one), (held, two)):
            ask(durable, upstream, talk, talk.second)
            assert talk.restored(upstream.requests[1].body)


@pytest.mark.parametrize("name", [name for name, dialect in PROVIDERS.items() if "streamed" in dialect.modes])
def test_a_client_that_hangs_up_at_the_last_event_loses_nothing(name: str, proxy: Proxy) -> None:
    """Its upstream holds the connection open meanwhile."""
    with serve(name, hang=60) as provider:
        outcome = agent(provider, "streamed", provider.url("streamed"), proxy=proxy.url, hang_up=True)
        assert_all_restored(provider, outcome)


def test_a_proxy_that_is_killed_after_the_client_hung_up_knows_the_answer_when_it_is_back(durable: Proxy) -> None:
    talk = Talk()
    left: list[bool] = []

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return talk.answer(request, line)
        line.stream(talk.stream, end=False)
        left.append(line.wait_until_left())
        return None

    before = len(durable.log())
    with Upstream(answer) as upstream:
        url = upstream.url + talk.path
        with client(durable) as asking, asking.stream("POST", url, content=talk.first, headers=talk.headers) as stream:
            assert "[DONE]" in list(zip(range(5), events(stream.iter_bytes()), strict=False))[-1]
        wait_for(lambda: left)  # the proxy hung up as well
        wait_for(lambda: "disconnected, captured 1" in durable.log()[before:])
        durable.restart(kill=True)
        ask(durable, upstream, talk, talk.second)
        assert talk.restored(upstream.requests[1].body)
        assert left == [True]


def test_a_client_that_leaves_in_mid_stream_keeps_what_was_signed_and_nothing_else(proxy: Proxy) -> None:
    """Gemini signs calls; a text that was cut off has nothing that would go back."""
    path = "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    signature = "c2lnbmVkIGJ5IHRoZSBtb2RlbCBhbmQgYnkgbm9ib2R5IGVsc2U="
    call = {"functionCall": {"name": "look", "args": {"at": "the sky"}}}

    def event(*parts: dict[str, Any]) -> bytes:
        content = {"role": "model", "parts": list(parts)}
        return b"data: " + json.dumps({"candidates": [{"index": 0, "content": content}]}).encode() + b"\r\n\r\n"

    def answer(request: Request, line: Line) -> None:
        if b"functionResponse" in request.body:
            return line.answer(b"{}", {"content-type": "application/json"})
        line.stream([event({**call, "thoughtSignature": signature}), event({"text": "And then I"})], end=False)
        line.wait_until_left()
        return None

    asked = {"role": "user", "parts": [{"text": "Which colour has the sky of this test?"}]}
    result = {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "blue"}}}]}
    told = {"contents": [asked, {"role": "model", "parts": [call]}, result]}
    before = len(proxy.log())
    with Upstream(answer) as upstream, client(proxy) as asking:
        with asking.stream("POST", upstream.url + path, json={"contents": [asked]}) as stream:
            list(zip(range(2), events(stream.iter_bytes()), strict=False))
        wait_for(lambda: "disconnected, captured 1" in proxy.log()[before:])
        asking.post(upstream.url + path, json=told)
        sent = json.loads(upstream.requests[1].body)
        assert sent["contents"][1]["parts"] == [{**call, "thoughtSignature": signature}]
        assert sent["contents"][::2] == told["contents"][::2]


@pytest.mark.parametrize("ending", ["client leaves", "upstream dies", "error in the stream"])
def test_of_an_answer_that_did_not_end_no_unsigned_words_are_put_back(ending: str, proxy: Proxy) -> None:
    talk = Talk()

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body:
            return talk.answer(request, line)
        line.stream(talk.events[:3], end=False)
        if ending == "client leaves":
            line.wait_until_left()
        elif ending == "error in the stream":
            line.chunk(b'data: {"error":{"message":"overloaded","code":503}}\n\n')
            line.chunk(b"")
        return None

    before = len(proxy.log())
    with Upstream(answer) as upstream, client(proxy, headers=talk.headers) as asking:
        url = upstream.url + talk.path
        with contextlib.suppress(httpx.RemoteProtocolError), asking.stream("POST", url, content=talk.first) as stream:
            number = 3 if ending == "client leaves" else 99
            assert len(list(zip(range(number), events(stream.iter_bytes()), strict=False))) >= 3
        wait_for(lambda: "thoughtkeep: end" in proxy.log()[before:])
        asking.post(url, content=talk.second)
        assert upstream.requests[1].body == talk.second


def test_where_the_script_is_loaded_again_state_in_the_file_goes_on(tmp_path: Path) -> None:
    shutil.copytree(ADDON.parent, tmp_path / "addons", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "lib").symlink_to(ADDON.parent.parent / "lib")
    script = tmp_path / "addons" / "addon.py"
    talk = Talk()
    with (
        Upstream(talk.answer) as upstream,
        keeper(store=f"sqlite:///{tmp_path}/state.sqlite3", addon=script) as proxy,
    ):
        ask(proxy, upstream, talk, talk.first)
        os.utime(script, (time.time() + 5, time.time() + 5))
        wait_for(lambda: proxy.log().count("keeping reasoning state in sqlite") == 2)
        ask(proxy, upstream, talk, talk.second)
        assert talk.restored(upstream.requests[1].body)
        assert "never awaited" not in proxy.log()
        assert "rror" not in proxy.log()
