"""Requests leave byte for byte as they came, but for the state that is put back into them."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import brotli
import httpx
import pytest

from e2e.kit import Talk, client, zstd
from e2e.upstream import Request, Upstream
from proxy import Proxy

#: By the name of the coding: what packs a body, and what unpacks it.
CODINGS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gzip": (gzip.compress, gzip.decompress),
    "deflate": (zlib.compress, zlib.decompress),
    "br": (brotli.compress, brotli.decompress),
    "zstd": (zstd.compress, zstd.decompress),
}


class Desk:
    """One talk at one upstream through one proxy, its first exchange done."""

    def __init__(self, proxy: Proxy, upstream: Upstream, talk: Talk, asking: httpx.Client) -> None:
        self.proxy, self.upstream, self.talk, self.asking = proxy, upstream, talk, asking
        self.url = upstream.url + talk.path
        self.send(talk.first)

    def send(self, body: Any, headers: dict[str, str] | None = None, path: str = "") -> Request:
        """Send a request; returns it as the upstream got it."""
        answer = self.asking.post(self.upstream.url + path if path else self.url, content=body, headers=headers)
        assert answer.status_code == 200
        return self.upstream.requests[-1]


@pytest.fixture(params=["streamed", "plain"])
def desk(request: pytest.FixtureRequest, proxy: Proxy) -> Iterator[Desk]:
    talk = Talk(streamed=request.param == "streamed")
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        yield Desk(proxy, upstream, talk, asking)


def spaced(talk: Talk, **more: Any) -> bytes:
    """The second request as a client with a taste of its own writes it."""
    arguments = json.dumps(talk.function["arguments"])
    call = f'{{"type" : "function","id":"{talk.call}","function":{{"name":"look","arguments":{arguments}}}}}'
    extra = "".join(f',"{key}": {json.dumps(value)}' for key, value in more.items())
    return (
        f'{{ "temperature":1.10, "seed":123456789012345678901234567890,\n\t"model":"model-1","stream":'
        f'{json.dumps(talk.streamed)},"messages":[ {{"role":"user","content":"words of {talk.name}"}},\n'
        f'{{"role":"assistant","content":"" ,"tool_calls":[{call}]{extra}}},'
        f'{{"role":"tool","tool_call_id":"{talk.call}","content":"bl\\u00fce \\ud83d"}}],"top_p":1E0,"top_p":1.0 }}\r\n'
    ).encode()


def test_a_complete_request_leaves_as_it_came(desk: Desk) -> None:
    for body in (desk.talk.complete, spaced(desk.talk, reasoning_content=desk.talk.thought)):
        sent = desk.send(body)
        assert sent.body == body
        assert sent.header("content-length") == str(len(body))


def test_only_the_state_is_added_and_everything_else_stays_the_text_that_it_was(desk: Desk) -> None:
    body = spaced(desk.talk)
    sent = desk.send(body)
    assert desk.talk.restored(sent.body)
    assert sent.header("content-length") == str(len(sent.body))
    added = ',"reasoning_content":' + json.dumps(desk.talk.thought, ensure_ascii=False)
    assert sent.body.decode().replace(added, "", 1) == body.decode()


def test_what_was_completed_once_is_not_changed_again(desk: Desk) -> None:
    once = desk.send(desk.talk.second).body
    assert desk.send(once).body == once


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("chunked", [True, False])
def test_a_compressed_request_is_edited_inside_and_packed_the_same_way(coding: str, chunked: bool, desk: Desk) -> None:
    pack, unpack = CODINGS[coding]
    packed = pack(desk.talk.second)
    sent = desk.send(iter([packed[:9], packed[9:]]) if chunked else packed, {"content-encoding": coding})
    assert sent.header("content-encoding") == coding
    assert desk.talk.restored(unpack(sent.body))
    assert sent.header("content-length") == (None if chunked else str(len(sent.body)))

    complete = pack(desk.talk.complete)
    assert desk.send(complete, {"content-encoding": coding}).body == complete


def test_a_chunked_request_is_edited_too(desk: Desk) -> None:
    body = desk.talk.second
    sent = desk.send(iter([body[:1], body[1:40], body[40:]]))
    assert sent.header("transfer-encoding") == "chunked"
    assert desk.talk.restored(sent.body)
    assert desk.send(iter([desk.talk.complete])).body == desk.talk.complete


@pytest.mark.parametrize(
    "headers",
    [
        {"x-thoughtkeep": "on", "X-ThoughtKeep-Switch-From": "model-0"},
        {"X-Thoughtkeep-Anything": "", "x-thoughtkeepish": "1"},
        {"x-thoughtkeep": "nonsense"},
    ],
)
def test_headers_for_thoughtkeep_never_leave_the_proxy(headers: dict[str, str], desk: Desk) -> None:
    for path in (desk.talk.path, "/another/path"):
        sent = desk.send(desk.talk.second, headers, path)
        assert not [name for name, _ in sent.headers if "thoughtkeep" in name]
        assert sent.header("authorization") == "Bearer sk-one"
        assert desk.talk.restored(sent.body) == (path == desk.talk.path)


@pytest.mark.parametrize("mode", ["off", "observe", "OFF", "Observe"])
def test_a_request_may_ask_for_no_change(mode: str, desk: Desk) -> None:
    sent = desk.send(desk.talk.second, {"x-thoughtkeep": mode})
    assert sent.body == desk.talk.second
    assert not [name for name, _ in sent.headers if "thoughtkeep" in name]
    assert desk.talk.restored(desk.send(desk.talk.second).body)


def test_observed_exchanges_are_captured_and_those_that_are_off_are_not(proxy: Proxy) -> None:
    for mode in ("observe", "off"):
        talk = Talk()
        with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
            url = upstream.url + talk.path
            asking.post(url, content=talk.first, headers={"x-thoughtkeep": mode})
            asking.post(url, content=talk.second)
            assert talk.restored(upstream.requests[1].body) == (mode == "observe")


SIGNED = {
    "sigv4": {"authorization": "AWS4-HMAC-SHA256 Credential=AKIAX/20260101/eu/bedrock/aws4_request, Signature=ab"},
    "payload hash": {"x-amz-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    "content-digest": {"Content-Digest": "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"},
    "digest": {"digest": "SHA-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE="},
    "content-md5": {"Content-MD5": "Q2hlY2sgSW50ZWdyaXR5IQ=="},
    "message signature": {"signature-input": 'sig1=("@method" "content-digest")'},
}


@pytest.mark.parametrize("how", SIGNED)
def test_a_signed_body_is_never_edited_but_its_answer_is_captured(how: str, proxy: Proxy) -> None:
    talk = Talk()
    headers = {**talk.headers, **SIGNED[how]}
    before = len(proxy.log())
    with Upstream(talk.answer) as upstream, client(proxy) as asking:
        url = upstream.url + talk.path
        asking.post(url, content=talk.first, headers=headers)
        asking.post(url, content=talk.second, headers=headers)
        assert upstream.requests[1].body == talk.second
        assert "edits are due, not made: signed body" in proxy.log()[before:]
        if "authorization" not in SIGNED[how]:  # else it is another tenant
            asking.post(url, content=talk.second, headers=talk.headers)
            assert talk.restored(upstream.requests[2].body)


def test_a_payload_that_says_that_it_is_unsigned_is_edited(desk: Desk) -> None:
    assert desk.talk.restored(desk.send(desk.talk.second, {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}).body)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"no json", {}),
        (b"\xff\xfe{}", {}),
        (b"[1]", {}),
        (b"null", {}),
        (b'{"model":"model-1","messages":"none"}', {}),
        (b'{"model":"model-1","messages":[{"role":"assistant","tool_calls":[{"id":7,"function":null}]},5,null]}', {}),
        (b'{"model":"model-1","messages":[' + b"[" * 100_000, {}),
        (b"{not compressed}", {"content-encoding": "gzip"}),
        (gzip.compress(b'{"model":"m","messages":[]}')[:-4], {"content-encoding": "gzip"}),
        (b'{"model":"m","messages":[]}', {"content-encoding": "br"}),
        (b'{"model":"m","messages":[]}', {"content-encoding": "rot13"}),
        (b'{"model":"m","messages":[]}', {"content-encoding": "gzip, gzip, gzip, gzip, gzip, gzip"}),
    ],
)
def test_a_body_that_cannot_be_read_leaves_as_it_came(body: bytes, headers: dict[str, str], desk: Desk) -> None:
    before = len(desk.proxy.log())
    sent = desk.send(body, {"content-type": "application/json", **headers})
    assert sent.body == body
    assert sent.header("content-length") == str(len(body))
    assert "fault" not in desk.proxy.log()[before:]


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_other_methods_are_not_looked_at(method: str, desk: Desk) -> None:
    desk.asking.request(method, desk.url, content=desk.talk.second)
    assert desk.upstream.requests[-1].body == desk.talk.second
    assert desk.upstream.requests[-1].head.startswith(method.encode())


@pytest.mark.parametrize("path", ["/", "/v1/chat", "/v1/chat/completions/extra", "/v1/embeddings", "/v1/files"])
def test_other_paths_are_not_looked_at(path: str, desk: Desk) -> None:
    before = desk.proxy.log().count("thoughtkeep: start")
    assert desk.send(desk.talk.second, path=path).body == desk.talk.second
    assert desk.proxy.log().count("thoughtkeep: start") == before


def test_the_query_does_not_hide_an_endpoint(desk: Desk) -> None:
    sent = desk.send(desk.talk.second, path=f"{desk.talk.path}?api-version=2026-01-01&x=/y")
    assert desk.talk.restored(sent.body)
    assert sent.target == f"{desk.talk.path}?api-version=2026-01-01&x=/y"
