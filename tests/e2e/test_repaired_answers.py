"""Answers that clients of OpenAI's shape cannot read reach them readable, through a real proxy.

The official OpenAI SDK is one of those clients. It is no dependency of this project: the first run installs it into an
environment of its own, and where that cannot be done its tests are skipped.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from dialogues import TOOLS
from e2e.kit import AMPLE, FINISHED, HERE, REDIRECT, agent, assert_all_restored, backstage, client, keeper, redirect
from e2e.rescuing import begin, resume, statuses
from e2e.upstream import Line, Request, Upstream
from providers import TASKS, Provider
from proxy import Proxy

GOOGLE = "generativelanguage.googleapis.com"
DATABRICKS = "dbc-demo.cloud.databricks.com"
GOOGLE_URL = f"http://{GOOGLE}/v1beta/openai"
DATABRICKS_URL = f"http://{DATABRICKS}/ai-gateway/mlflow/v1"
JSON = {"content-type": "application/json"}

FIRST = {"model": "gemini-3-pro", "messages": [{"role": "user", "content": TASKS[0]}]}
TOOLING: dict[str, Any] = {
    "tools": [
        {"type": "function", "function": {"name": tool.name, "parameters": dict(tool.parameters)}} for tool in TOOLS
    ]
}


@pytest.fixture(scope="module")
def real(stage: Mapping[str, Provider]) -> Iterator[Proxy]:
    """A proxy for which the strict providers are at their real hosts."""
    with keeper(*redirect(next(iter(stage.values())).port)) as running:
        yield running


@pytest.fixture
def unrepaired(real: Proxy) -> Iterator[Proxy]:
    assert backstage(real, thoughtkeep_repair_answers="off").status_code == 200
    yield real
    assert backstage(real, thoughtkeep_repair_answers="auto").status_code == 200


@pytest.fixture(scope="module")
def scripted() -> Iterator[tuple[Proxy, Upstream]]:
    """A proxy for which both vendors are one upstream that answers as it is told."""
    with Upstream(lambda request, line: None) as upstream:
        hosts = f"redirect_hosts={GOOGLE}={upstream.port},{DATABRICKS}={upstream.port},api.openai.com={upstream.port}"
        with keeper("-s", REDIRECT, "--set", hosts) as proxy:
            yield proxy, upstream


# -- on the wire ------------------------------------------------------------------------------------------------------


def events(*deltas: Any, line: bytes = b"\n") -> list[bytes]:
    head = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "gemini-3-pro"}
    choices: list[Any] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks = [json.dumps({**head, "choices": [choice]}).encode() for choice in choices]
    return [b": ping" + line * 2, *(b"data: " + chunk + line * 2 for chunk in chunks), b"data: [DONE]" + line * 2]


def call(call_id: str, arguments: str = "{}", **beside: Any) -> Any:
    return {**beside, "id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


BLOCKS = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}, {"type": "text", "text": "So."}]

#: By host: the deltas of a stream, and what the client gets of them.
DELTAS: dict[str, tuple[list[Any], list[Any]]] = {
    GOOGLE_URL: (
        [{"content": "Hé\u2028"}, {"tool_calls": [call("a")]}, {"tool_calls": [call("b", extra_content={})]}],
        [
            {"content": "Hé\u2028"},
            {"tool_calls": [{**call("a"), "index": 0}]},
            {"tool_calls": [{**call("b", extra_content={}), "index": 1}]},
        ],
    ),
    DATABRICKS_URL: (
        [{"content": BLOCKS}, {"tool_calls": [call("look", index=0)]}, {"tool_calls": [call("look", index=1)]}],
        [
            {"content": "So.", "reasoning_content": "Hm."},
            {"tool_calls": [call("look", index=0)]},
            {"tool_calls": [call("look-2", index=1)]},
        ],
    ),
}


def asked(*, streamed: bool = True) -> bytes:
    return json.dumps({**FIRST, "stream": streamed}).encode()


def parsed(body: bytes) -> list[Any]:
    found = [line.removeprefix("data: ") for line in body.decode().replace("\r\n", "\n").split("\n\n") if line]
    return [json.loads(line) if line.startswith("{") else line for line in found]


@pytest.mark.parametrize("url", DELTAS)
@pytest.mark.parametrize("line", [b"\n", b"\r\n"])
@pytest.mark.parametrize("sizes", [1, 7, 100_000])
def test_a_stream_is_repaired_however_its_bytes_arrive(
    url: str, line: bytes, sizes: int, scripted: tuple[Proxy, Upstream]
) -> None:
    proxy, upstream = scripted
    before, after = DELTAS[url]
    body, wanted = b"".join(events(*before, line=line)), b"".join(events(*after, line=line))
    cut = [body[at : at + sizes] for at in range(0, len(body), sizes)]
    upstream.script = lambda request, out: out.stream(cut)
    with client(proxy, headers=JSON) as asking:
        answer = asking.post(f"{url}/chat/completions", content=asked())
        assert answer.status_code == 200
        assert parsed(answer.content) == parsed(wanted)
        assert answer.content.count(line * 2) == wanted.count(line * 2)
    assert upstream.requests[-1].header("accept-encoding") == "identity"


@pytest.mark.parametrize("url", DELTAS)
def test_events_that_need_nothing_arrive_byte_for_byte_and_at_once(url: str, scripted: tuple[Proxy, Upstream]) -> None:
    proxy, upstream = scripted
    fine = b'data: {"choices": [ {"delta":{"content":"\\u00e9 1.10"}} ],"n":1e400}\n\n'
    odd = [b": c\r\n", fine, b"data: 1\ndata: 2\n\n"]
    seen = threading.Event()

    def slowly(request: Request, out: Line) -> None:
        out.stream(odd[:2], end=False)
        assert seen.wait(AMPLE)
        out.chunk(odd[2])
        out.chunk(b"")

    upstream.script = slowly
    with (
        client(proxy, headers=JSON) as asking,
        asking.stream("POST", f"{url}/chat/completions", content=asked()) as answer,
    ):
        chunks = answer.iter_raw()
        so_far = next(chunks)
        while so_far != b"".join(odd[:2]):
            so_far += next(chunks)
        seen.set()
        assert b"".join(chunks) == odd[2]


def test_a_stream_with_a_length_loses_it_and_arrives_whole(scripted: tuple[Proxy, Upstream]) -> None:
    proxy, upstream = scripted
    before, after = DELTAS[GOOGLE_URL]
    body = b"".join(events(*before))
    upstream.script = lambda request, out: out.answer(body, {"content-type": "text/event-stream"})
    with client(proxy, headers=JSON) as asking:
        answer = asking.post(f"{GOOGLE_URL}/chat/completions", content=asked())
    assert parsed(answer.content) == parsed(b"".join(events(*after)))


def whole(content: Any, *calls: Any) -> bytes:
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()


def test_a_plain_answer_is_repaired_and_has_its_new_length(scripted: tuple[Proxy, Upstream]) -> None:
    proxy, upstream = scripted
    upstream.script = lambda request, out: out.answer(whole(BLOCKS, call("look"), call("look")), JSON)
    with client(proxy, headers=JSON) as asking:
        answer = asking.post(f"{DATABRICKS_URL}/chat/completions", content=asked(streamed=False))
    message = answer.json()["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("So.", "Hm.")
    assert [one["id"] for one in message["tool_calls"]] == ["look", "look-2"]
    assert answer.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_that_comes_packed_all_the_same_is_left_alone(
    streamed: bool, scripted: tuple[Proxy, Upstream]
) -> None:
    proxy, upstream = scripted
    plain = b"".join(events(*DELTAS[DATABRICKS_URL][0])) if streamed else whole(BLOCKS, call("look"), call("look"))
    packed = gzip.compress(plain)
    kind = "text/event-stream" if streamed else "application/json"
    upstream.script = lambda request, out: out.answer(packed, {"content-type": kind, "content-encoding": "gzip"})
    with (
        client(proxy, headers=JSON) as asking,
        asking.stream("POST", f"{DATABRICKS_URL}/chat/completions", content=asked(streamed=streamed)) as answer,
    ):
        assert b"".join(answer.iter_raw()) == packed
        assert answer.headers["content-length"] == str(len(packed))


@pytest.mark.parametrize("streamed", [True, False])
def test_other_vendors_answers_arrive_byte_for_byte_and_may_be_packed(
    streamed: bool, scripted: tuple[Proxy, Upstream]
) -> None:
    proxy, upstream = scripted
    body = b"".join(events(*DELTAS[DATABRICKS_URL][0])) if streamed else whole(BLOCKS, call("look"), call("look"))
    kind = {"content-type": "text/event-stream" if streamed else "application/json"}
    upstream.script = lambda request, out: out.answer(body, kind)
    with client(proxy, headers={**JSON, "accept-encoding": "gzip"}) as asking:
        answer = asking.post("http://api.openai.com/v1/chat/completions", content=asked(streamed=streamed))
    assert answer.content == body
    assert upstream.requests[-1].header("accept-encoding") == "gzip"


@pytest.mark.parametrize("how", ["observe", "off", "signed"])
def test_where_nothing_may_be_changed_answers_are_not_either(how: str, scripted: tuple[Proxy, Upstream]) -> None:
    proxy, upstream = scripted
    body = b"".join(events(*DELTAS[GOOGLE_URL][0]))
    upstream.script = lambda request, out: out.answer(body, {"content-type": "text/event-stream"})
    aside = {"content-md5": "x"} if how == "signed" else {"x-thoughtkeep": how}
    with client(proxy, headers=JSON) as asking:
        answer = asking.post(f"{GOOGLE_URL}/chat/completions", content=asked(), headers=aside)
    assert answer.content == body


def test_an_answer_that_breaks_off_gives_what_was_whole_by_then(scripted: tuple[Proxy, Upstream]) -> None:
    proxy, upstream = scripted
    before, after = DELTAS[GOOGLE_URL]
    pieces, wanted = events(*before), events(*after)
    upstream.script = lambda request, out: out.stream([*pieces[:3], pieces[3][:20]], end=False)
    got: list[bytes] = []
    with (
        client(proxy, headers=JSON) as asking,
        asking.stream("POST", f"{GOOGLE_URL}/chat/completions", content=asked()) as answer,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        got.extend(answer.iter_raw())
    assert parsed(b"".join(got)) == parsed(b"".join(wanted[:3]))


# -- conversations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["databricks", "google-compat", "vertex-compat"])
def test_conversations_in_repaired_answers_get_all_their_state_back(
    name: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    for mode in provider.dialect.modes:
        provider.reset()
        assert_all_restored(provider, agent(provider, mode, provider.url(mode, real=True), proxy=real.url))


def test_an_answer_to_a_second_try_is_repaired_too(real: Proxy, providers: Mapping[str, Provider]) -> None:
    provider = providers["google-compat"]
    dialogue = begin(provider, "streamed", model="gemini-flash-latest")
    with client(real, headers={**JSON, **provider.dialect.headers}) as asking:
        body = json.dumps(dialogue.body(True)).encode()
        answer = asking.post(provider.url("streamed", real=True), content=body)
    assert statuses(provider) == [400, 200]
    deltas = [chunk["choices"][0]["delta"] for chunk in parsed(answer.content)[:-1]]
    made = [piece for delta in deltas for piece in delta.get("tool_calls", ())]
    assert [piece["index"] for piece in made] == [0]
    outcome = resume(provider, "streamed", dialogue, real.url)
    assert (outcome.done, outcome.texts) == (True, FINISHED[:1])


# -- the official SDK -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def sdk() -> str:
    """An interpreter that has the OpenAI SDK."""
    home = Path(sys.prefix) / "openai-sdk"
    python = home / "bin" / "python"
    ready = home / "ready"
    if not ready.exists():
        steps = ([sys.executable, "-m", "venv", str(home)], [str(python), "-m", "pip", "install", "-q", "openai"])
        for step in steps:
            try:
                subprocess.run(step, capture_output=True, text=True, timeout=300, check=True)
            except (OSError, subprocess.SubprocessError) as error:
                told = getattr(error, "stderr", None) or str(error)
                pytest.skip(f"the OpenAI SDK cannot be installed: {told.strip().splitlines()[-1]}")
        ready.touch()
    return str(python)


def sdk_gets(python: str, proxy: Proxy, base_url: str, how: str) -> Any:
    """What the SDK makes of the answer to the first request."""
    job = {"base_url": base_url, "how": how, "body": {**FIRST, **TOOLING}}
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    env |= {"HTTP_PROXY": proxy.url, "PYTHONPATH": ""}
    script = [python, str(HERE / "sdk_talk.py")]
    done = subprocess.run(
        script, input=json.dumps(job), capture_output=True, text=True, env=env, timeout=60, check=True
    )
    return json.loads(done.stdout)


CITIES = [{"city": city, "unit": "celsius"} for city in ("Paris", "Rome")]
STRICT = [("google-compat", GOOGLE_URL), ("databricks", DATABRICKS_URL)]


@pytest.mark.parametrize("how", ["stream", "deltas", "plain"])
@pytest.mark.parametrize(("name", "base_url"), STRICT)
def test_the_official_sdk_gets_every_word_and_every_call(
    name: str, base_url: str, how: str, sdk: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    message = sdk_gets(sdk, real, base_url, how)["message"]
    assert [call["name"] for call in message["calls"]] == ["get_weather", "get_weather"]
    assert [json.loads(call["arguments"]) for call in message["calls"]] == CITIES
    assert len({call["id"] for call in message["calls"]}) == 2
    words = "I need both cities, so I ask for both at once." if name == "databricks" else ""
    assert (message["content"], message["reasoning"]) == ("", words)
    assert statuses(providers[name])[-1] == 200


@pytest.mark.parametrize(("name", "base_url"), STRICT)
@pytest.mark.parametrize("how", ["stream", "deltas"])
def test_without_the_repair_the_official_sdk_loses_calls_or_fails(
    name: str, base_url: str, how: str, sdk: str, unrepaired: Proxy, providers: Mapping[str, Provider]
) -> None:
    found = sdk_gets(sdk, unrepaired, base_url, how)
    assert statuses(providers[name])[-1] == 200
    assert "error" in found or len({call["id"] for call in found["message"]["calls"]}) < 2


@pytest.mark.parametrize("how", ["stream", "deltas", "plain"])
def test_the_official_sdk_gets_the_words_of_an_answer_in_blocks(
    how: str, sdk: str, scripted: tuple[Proxy, Upstream]
) -> None:
    proxy, upstream = scripted
    blocks = [[BLOCKS[0]], [{"type": "text", "text": "S"}], [{"type": "text", "text": "ó\u2028"}, BLOCKS[1]]]
    streamed = events(*({"role": "assistant", "content": content} for content in blocks))
    plain = whole([block for content in blocks for block in content])
    upstream.script = lambda request, out: out.answer(plain, JSON) if how == "plain" else out.stream(streamed)
    message = sdk_gets(sdk, proxy, DATABRICKS_URL, how)["message"]
    assert message == {"content": "Só\u2028So.", "reasoning": "Hm.", "calls": []}


ALL_ZERO = [
    {"role": "assistant", "content": "Wait: "},
    {"content": "é\u2028."},
    {"tool_calls": [call("a", '{"at": "Pa', index=0)]},
    {"tool_calls": [{"index": 0, "function": {"arguments": 'ris"}'}}]},
    {"tool_calls": [call("b", "", index=0)]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '{"at": '}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '"Rome"}'}}]},
    {"tool_calls": [{"index": 0, "extra_content": {"google": {"thought_signature": "RXY="}}}]},
]


@pytest.mark.parametrize("how", ["stream", "deltas"])
@pytest.mark.parametrize("base_url", [GOOGLE_URL, DATABRICKS_URL])
@pytest.mark.parametrize("numbered", [True, False])
def test_the_official_sdk_gets_calls_that_are_cut_and_wrongly_numbered(
    numbered: bool, base_url: str, how: str, sdk: str, scripted: tuple[Proxy, Upstream]
) -> None:
    proxy, upstream = scripted
    deltas = json.loads(json.dumps(ALL_ZERO))
    for delta in deltas[2:] if not numbered else ():
        del delta["tool_calls"][0]["index"]
    upstream.script = lambda request, out: out.stream(events(*deltas))
    message = sdk_gets(sdk, proxy, base_url, how)["message"]
    assert message["content"] == "Wait: é\u2028."
    assert [(one["id"], json.loads(one["arguments"])) for one in message["calls"]] == [
        ("a", {"at": "Paris"}),
        ("b", {"at": "Rome"}),
    ]
