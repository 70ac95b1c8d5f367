"""Refusals on the wire: what the client gets of them, what the provider gets, and when nothing is done at all."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from e2e.kit import AMPLE, REDIRECT, Talk, backstage, client, keeper, zstd
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy

GROQ = "http://api.groq.com/openai/v1/chat/completions"
OPENAI = "http://api.openai.com/v1/responses"
JSON = {"content-type": "application/json"}

UNWANTED = json.dumps({"error": {"message": "property 'reasoning_content' is unsupported", "code": None}}).encode()
OTHER = json.dumps({"error": {"message": "the model is on holiday"}}).encode()
#: An answer as a stream, and as one piece.
STREAM = [Talk().stream[-2], b"data: [DONE]\n\n"]
PLAIN = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"So."},"finish_reason":"stop"}]}'

#: Headers that clients read, the way a provider sends them with an error.
ERROR_HEADERS = {
    "content-type": "application/problem+json; charset=utf-8",
    "x-request-id": "req_4711",
    "retry-after": "7",
    "x-should-retry": "false",
    "set-cookie": "a=b; Path=/",
}

Refuses = Callable[[Request], bytes | None]


class Stage:
    """An upstream that refuses as it is told, behind a proxy with the addon."""

    def __init__(self, proxy: Proxy, upstream: Upstream) -> None:
        self.proxy, self.upstream = proxy, upstream
        self.refuses: Refuses = lambda request: None
        self.then: Callable[[Request, Line], None] | None = None
        self.headers: dict[str, str] = dict(JSON)
        self.status = "400 Bad Request"
        upstream.requests.clear()
        upstream.script = self._answer

    def _answer(self, request: Request, line: Line) -> None:
        error = self.refuses(request)
        if error is None:
            streamed = b'"stream": true' in request.body
            line.stream(STREAM) if streamed else line.answer(PLAIN, JSON)
        elif self.then is not None and len(self.upstream.requests) > 1:
            self.then(request, line)
        else:
            line.answer(error, self.headers, self.status)

    def post(self, url: str, body: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
        with client(self.proxy, headers=JSON) as asking:
            return asking.post(url, content=body, headers=headers)

    @property
    def sent(self) -> list[Any]:
        """The requests as the upstream got them, parsed."""
        return [json.loads(request.body) for request in self.upstream.requests]


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Proxy, Upstream]]:
    with Upstream(lambda request, line: None) as upstream:
        hosts = ("api.groq.com", "api.openai.com", "api.deepseek.com", "api.anthropic.com")
        words = "redirect_hosts=" + ",".join(f"{host}={upstream.port}" for host in hosts)
        with keeper("-s", REDIRECT, "--set", words) as proxy:
            yield proxy, upstream


@pytest.fixture
def stage(site: tuple[Proxy, Upstream]) -> Iterator[Stage]:
    yield Stage(*site)
    assert backstage(site[0], thoughtkeep_rescue="on", thoughtkeep_replay="on").status_code == 200
    assert backstage(site[0]).json().get("faults", 0) == 0


def chatty(*, streamed: bool = False, name: str = "") -> bytes:
    """A request that brings prose which Groq does not want. No other one begins with its words."""
    said = {"role": "assistant", "content": "So.", "reasoning_content": "Hm."}
    asked = {"role": "user", "content": f"words of {name or uuid4().hex}"}
    messages = [asked, said, {"role": "user", "content": "And now?"}]
    return json.dumps({"model": "gpt-oss", "stream": streamed, "messages": messages}).encode()


def unwanted(request: Request) -> bytes | None:
    return UNWANTED if b"reasoning_content" in request.body else None


def always(request: Request) -> bytes | None:
    return UNWANTED


@pytest.mark.parametrize("streamed", [False, True])
def test_the_client_gets_the_answer_to_the_second_try_and_the_conversation_is_not_refused_again(
    streamed: bool, stage: Stage
) -> None:
    stage.refuses = unwanted
    body = chatty(streamed=streamed)
    for number, sent in ((1, 2), (2, 3)):
        answer = stage.post(GROQ, body)
        assert (answer.status_code, len(stage.upstream.requests)) == (200, sent), number
        assert answer.content == (b"".join(STREAM) if streamed else PLAIN)
        assert answer.headers["content-type"] == ("text/event-stream" if streamed else "application/json")
    wanted = body.replace(b', "reasoning_content": "Hm."', b"")
    assert [request.body for request in stage.upstream.requests] == [body, wanted, wanted]


def test_the_second_try_is_the_same_request_but_for_what_was_repaired(stage: Stage) -> None:
    stage.refuses = unwanted
    headers = {"authorization": "Bearer sk-1", "x-own": "1, 2", "accept-encoding": "identity", "cookie": "a=b"}
    stage.post(GROQ + "?a=b&c", chatty(), {**headers, "x-thoughtkeep-anything": "1"})
    first, second = stage.upstream.requests
    assert (first.target, second.target) == ("/openai/v1/chat/completions?a=b&c",) * 2
    own = ("content-length", "connection")
    assert sorted(pair for pair in first.headers if pair[0] not in own) == sorted(
        pair for pair in second.headers if pair[0] not in own
    )
    assert second.header("content-length") == str(len(second.body))
    assert not [name for name, _ in second.headers if "thoughtkeep" in name]


CODINGS = [("gzip", gzip.compress, gzip.decompress), ("zstd", zstd.compress, zstd.decompress)]


@pytest.mark.parametrize(("coding", "pack", "unpack"), CODINGS)
def test_a_packed_request_is_packed_again(
    coding: str, pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes], stage: Stage
) -> None:
    stage.refuses = lambda request: UNWANTED if b"reasoning_content" in unpack(request.body) else None
    assert stage.post(GROQ, pack(chatty()), {"content-encoding": coding}).status_code == 200
    assert [request.header("content-encoding") for request in stage.upstream.requests] == [coding, coding]
    assert b"reasoning_content" not in unpack(stage.upstream.requests[1].body)


def test_a_refusal_that_comes_packed_is_read_too(stage: Stage) -> None:
    stage.refuses = lambda request: gzip.compress(UNWANTED) if unwanted(request) else None
    stage.headers = {**JSON, "content-encoding": "gzip"}
    assert stage.post(GROQ, chatty()).content == PLAIN


# -- the second try fails ---------------------------------------------------------------------------------------------


def answers(body: bytes, status: str) -> Callable[[Request, Line], None]:
    return lambda request, line: line.answer(body, {"content-type": "text/plain", "x-request-id": "second"}, status)


SECOND: dict[str, Callable[[Request, Line], None]] = {
    "refused in the same words": lambda request, line: line.answer(UNWANTED, JSON, "400 Bad Request"),
    "refused in other words": answers(b"no", "422 Unprocessable Content"),
    "a fault of the provider": answers(b"overloaded", "529 Overloaded"),
    "sent elsewhere": answers(b"", "302 Found"),
    "no answer": lambda request, line: None,
    "an answer that breaks off": lambda request, line: line.begin({"content-length": "10", **JSON}),
}


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_where_the_second_try_fails_the_client_gets_the_first_error_unchanged(
    second: str, streamed: bool, packed: bool, stage: Stage
) -> None:
    error = gzip.compress(UNWANTED) if packed else UNWANTED
    stage.refuses, stage.then, stage.status = lambda request: error, SECOND[second], "422 Unprocessable Entity"
    stage.headers = {**ERROR_HEADERS, **({"content-encoding": "gzip"} if packed else {})}
    with client(stage.proxy) as asking, asking.stream("POST", GROQ, content=chatty(streamed=streamed)) as answer:
        raw = b"".join(answer.iter_raw())
    assert (answer.status_code, answer.reason_phrase, raw) == (422, "Unprocessable Entity", error)
    expected = {**stage.headers, "content-length": str(len(error))}
    assert {name: value for name, value in answer.headers.items() if name != "connection"} == expected
    assert len(stage.upstream.requests) == 2


def test_from_a_rescue_that_failed_nothing_is_learnt(stage: Stage) -> None:
    body = chatty()
    stage.refuses = always
    assert [stage.post(GROQ, body).status_code for _ in range(2)] == [400, 400]
    stage.refuses = lambda request: None
    stage.post(GROQ, body)
    assert stage.upstream.requests[-1].body == body


# -- nothing is done --------------------------------------------------------------------------------------------------

PASSING: list[tuple[str, str, bytes]] = [
    ("another matter", "400 Bad Request", OTHER),
    ("no JSON", "400 Bad Request", b"<html>reasoning</html>"),
    ("nothing", "400 Bad Request", b""),
    ("nobody known", "401 Unauthorized", UNWANTED),
    ("not allowed", "403 Forbidden", UNWANTED),
    ("a fault of the provider", "500 Internal Server Error", UNWANTED),
    ("too many tokens a minute", "429 Too Many Requests", b"Too many tokens, please wait."),
    ("what is not wanted is not there", "400 Bad Request", UNWANTED.replace(b"_content", b"_effort")),
]


@pytest.mark.parametrize(("_rule", "status", "error"), PASSING)
def test_an_error_that_names_nothing_of_ours_passes_at_once(
    _rule: str, status: str, error: bytes, stage: Stage
) -> None:
    stage.refuses, stage.status, stage.headers = lambda request: error, status, dict(ERROR_HEADERS)
    body = chatty()
    answer = stage.post(GROQ, body)
    assert (f"{answer.status_code} {answer.reason_phrase}", answer.content) == (status, error)
    assert {name: answer.headers[name] for name in ERROR_HEADERS} == ERROR_HEADERS
    assert [request.body for request in stage.upstream.requests] == [body]


def digest(body: bytes) -> dict[str, str]:
    return {"content-digest": f"sha-256=:{hashlib.sha256(body).hexdigest()}:"}


ASIDE: dict[str, Callable[[bytes], dict[str, str]]] = {
    "observed": lambda body: {"x-thoughtkeep": "observe"},
    "off": lambda body: {"x-thoughtkeep": "off"},
    "signed": digest,
    "signed by AWS": lambda body: {"authorization": "AWS4-HMAC-SHA256 Credential=AKIA/x, Signature=y"},
}


@pytest.mark.parametrize("how", ASIDE)
def test_what_must_not_be_changed_is_not_rescued(how: str, stage: Stage) -> None:
    stage.refuses = always
    body = chatty()
    answer = stage.post(GROQ, body, ASIDE[how](body))
    assert (answer.status_code, answer.content) == (400, UNWANTED)
    assert [request.body for request in stage.upstream.requests] == [body]


def test_rescue_can_be_turned_off_and_on_again(stage: Stage) -> None:
    stage.refuses = unwanted
    body = chatty()
    assert backstage(stage.proxy, thoughtkeep_rescue="off").status_code == 200
    assert (stage.post(GROQ, body).status_code, len(stage.upstream.requests)) == (400, 1)
    assert backstage(stage.proxy, thoughtkeep_rescue="on", thoughtkeep_replay="observe").status_code == 200
    assert (stage.post(GROQ, body).status_code, len(stage.upstream.requests)) == (400, 2)
    assert backstage(stage.proxy, thoughtkeep_replay="on").status_code == 200
    assert (stage.post(GROQ, body).status_code, len(stage.upstream.requests)) == (200, 4)


def test_what_was_learnt_is_the_conversations_own(stage: Stage) -> None:
    stage.refuses = unwanted
    name, key = uuid4().hex, {"authorization": "Bearer sk-1"}
    assert stage.post(GROQ, chatty(name=name), key).status_code == 200
    stage.refuses = lambda request: None
    others = [(GROQ, name, {"authorization": "Bearer sk-2"}), (GROQ, uuid4().hex, key)]
    others.append(("http://api.deepseek.com/chat/completions", name, key))
    for url, words, credential in others:
        body = chatty(name=words)
        stage.post(url, body, credential)
        assert stage.upstream.requests[-1].body == body
    stage.post(GROQ, chatty(name=name), key)
    assert b"reasoning_content" not in stage.upstream.requests[-1].body


# -- what else is to be seen ------------------------------------------------------------------------------------------


def test_after_a_rescue_answers_stream_again(stage: Stage) -> None:
    stage.refuses = unwanted
    body = chatty(streamed=True)
    assert stage.post(GROQ, body).status_code == 200
    seen = threading.Event()

    def slowly(request: Request, line: Line) -> None:
        line.stream(STREAM[:1], end=False)
        assert seen.wait(AMPLE)
        line.chunk(STREAM[1])
        line.chunk(b"")

    stage.upstream.script = slowly
    with client(stage.proxy) as asking, asking.stream("POST", GROQ, content=body) as answer:
        chunks = answer.iter_raw()
        assert next(chunks) == STREAM[0]
        seen.set()
        assert b"".join(chunks) == STREAM[1]


def test_a_rescue_is_told_in_the_log_and_counted_and_nothing_secret_is(stage: Stage) -> None:
    blob = f"gAAAA{uuid4().hex}"
    items: list[Any] = [
        {"role": "user", "content": f"words of {uuid4().hex}"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": blob},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "1"},
    ]
    body = json.dumps({"model": "gpt-5.1", "input": items, "store": False}).encode()
    error = json.dumps({"error": {"message": f"The encrypted content {blob} could not be verified. It is no "}})
    error = error.replace("It is no ", "encrypted_content of ours.")
    before, counts = len(stage.proxy.log()), backstage(stage.proxy).json()
    stage.refuses = lambda request: error.encode() if blob.encode() in request.body else None
    assert stage.post(OPENAI, body).status_code == 200
    assert stage.sent[1]["input"] == [items[0], {k: v for k, v in items[2].items() if k != "id"}, items[3]]
    stage.refuses = lambda request: error.encode()
    assert stage.post(OPENAI, body).status_code == 400
    log = stage.proxy.log()[before:]
    assert log.count("refused: reasoning_refused, rescued") == 1
    assert log.count("refused: reasoning_refused, nothing to repair") == 1
    assert blob not in log
    now = backstage(stage.proxy).json()
    assert [now.get(name, 0) - counts.get(name, 0) for name in ("rescued", "not_rescued")] == [1, 1]


class Kept(Talk):
    """A talk at a provider that is known."""

    path = "/chat/completions"

    def url(self) -> str:
        return f"http://api.deepseek.com{self.path}"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_request_that_our_additions_made_too_long_goes_without_them_from_then_on(
    streamed: bool, stage: Stage
) -> None:
    talk = Kept(streamed=streamed)
    error = b'{"error":{"message":"This model\'s maximum context length is 9 tokens.","type":"invalid_request_error"}}'

    def answer(request: Request, line: Line) -> None:
        if b"reasoning_content" in request.body:
            line.answer(error, JSON, "400 Bad Request")
        else:
            talk.answer(request, line)

    stage.upstream.script = answer
    assert stage.post(talk.url(), talk.first, talk.headers).status_code == 200
    for sent in (3, 4):
        assert stage.post(talk.url(), talk.second, talk.headers).status_code == 200
        assert len(stage.upstream.requests) == sent
    bodies = [request.body for request in stage.upstream.requests]
    assert talk.restored(bodies[1])
    assert bodies[2:] == [talk.second, talk.second]


def test_a_request_that_is_too_long_by_itself_passes_at_once(stage: Stage) -> None:
    stage.refuses = lambda request: b'{"error":{"message":"prompt is too long: 3 tokens > 2 maximum"}}'
    body = chatty()
    assert stage.post(GROQ, body).status_code == 400
    assert [request.body for request in stage.upstream.requests] == [body]


@pytest.mark.parametrize("streamed", [False, True])
def test_the_ids_in_which_a_gateway_hides_state_stay_as_they_are_in_a_second_try_too(
    streamed: bool, proxy: Proxy
) -> None:
    talk = Talk(streamed=streamed)
    talk.call = "call_9f__thought__" + "QUJD" * 300
    missing = b'{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}'

    def answer(request: Request, line: Line) -> None:
        if b"tool_call_id" in request.body and b'"reasoning_content"' not in request.body:
            line.answer(missing, JSON, "400 Bad Request")
        else:
            talk.answer(request, line)

    with Upstream(answer) as upstream, client(proxy, headers=talk.headers) as asking:
        for _ in range(2):  # begun elsewhere: the first one is refused
            assert asking.post(upstream.url + talk.path, content=talk.second).status_code == 200
        assert asking.post(upstream.url + talk.path, content=talk.first).status_code == 200
        assert asking.post(upstream.url + talk.path, content=talk.second).status_code == 200
    sent = [json.loads(request.body)["messages"] for request in upstream.requests]
    assert [len(messages) for messages in sent] == [3, 3, 3, 1, 3]
    for messages in (sent[0], sent[1], sent[2], sent[4]):
        assert [messages[1]["tool_calls"][0]["id"], messages[2]["tool_call_id"]] == [talk.call, talk.call]
    assert [messages[1].get("reasoning_content") for messages in sent if len(messages) == 3] == [
        None,
        "",
        "",
        talk.thought,
    ]
