"""How the strict providers speak: framing, cuts, encodings, records and bounds."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import pytest

from dialogues import DIALOGUES
from echoes import play
from providers import CHUNKINGS, PROVIDERS, TASKS, Provider, Site, serve
from providers import server as server_module


@pytest.mark.parametrize(
    ("chunking", "gzip"),
    [("whole", False), ("whole", True), ("events", True), ("bytes", False), ("sevens", True), ("random", False)],
)
@pytest.mark.parametrize("name", PROVIDERS)
def test_every_cut_and_encoding_carries_the_same_stream(name: str, chunking: Any, gzip: bool) -> None:
    with serve(name, chunking=chunking, gzip=gzip, seed=7) as provider:
        assert play(provider, "streamed", tasks=TASKS[:1]).done


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("gzip", [False, True])
def test_plain_answers_are_cut_and_encoded_too(chunking: Any, gzip: bool) -> None:
    with serve("openrouter-claude", chunking=chunking, gzip=gzip) as provider:
        assert play(provider, "plain", tasks=TASKS[:1]).done


def raw_stream(name: str, mode: str = "streamed") -> str:
    """The raw first answer of a provider, two calls, as text."""
    dialect = PROVIDERS[name]
    dialogue = DIALOGUES[dialect.shape](dialect.model, dialect.extra_of(mode))
    dialogue.ask(TASKS[0])
    with serve(name) as provider:
        return httpx.post(provider.url(mode), json=dialogue.body(True), trust_env=False).text


def test_gemini_streams_with_crlf_and_no_end_marker_and_a_call_an_event() -> None:
    text = raw_stream("gemini")
    assert "\r\n\r\n" in text
    assert "\n\n" not in text
    assert "[DONE]" not in text
    parts = [json.loads(line[6:])["candidates"][0]["content"]["parts"] for line in text.split("\r\n\r\n") if line]
    assert [[next(iter(part)) for part in event] for event in parts] == [["text"], *[["functionCall"]] * 2, ["text"]]
    assert "thoughtSignature" in parts[1][0]
    assert "thoughtSignature" not in parts[2][0]


def test_gemini_streams_one_json_array_unless_events_are_asked_for() -> None:
    text = raw_stream("gemini", "array")
    assert len(json.loads(text)) == 4


def test_code_assist_wraps_every_event() -> None:
    text = raw_stream("code-assist")
    assert all(set(json.loads(line[6:])) == {"response", "traceId"} for line in text.split("\r\n\r\n") if line)


def test_google_streams_calls_without_index_one_a_chunk() -> None:
    text = raw_stream("google-compat")
    chunks = [json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: {")]
    calls = [chunk["choices"][0]["delta"].get("tool_calls") for chunk in chunks]
    assert [len(call) for call in calls if call] == [1, 1]
    assert all("index" not in call[0] for call in calls if call)


def test_openrouter_streams_comments_first_and_usage_behind_the_finish() -> None:
    text = raw_stream("openrouter-gemini")
    events = text.rstrip("\n").split("\n\n")
    assert events[0] == ": OPENROUTER PROCESSING"
    assert events[-1] == "data: [DONE]"
    finish, usage = (json.loads(event[6:]) for event in events[-3:-1])
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["choices"][0]["finish_reason"] is None
    assert usage["usage"]


def test_databricks_calls_of_one_function_share_its_name_as_id() -> None:
    text = raw_stream("databricks")
    assert text.count('"id":"get_weather"') == 2


def test_deepseek_streams_an_empty_first_piece_and_the_arguments_in_pieces() -> None:
    text = raw_stream("deepseek")
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in text.split("\n\n") if line.startswith("data: {")]
    assert deltas[0]["reasoning_content"] == ""
    assert next(delta["tool_calls"][0]["function"]["arguments"] for delta in deltas if "tool_calls" in delta) == ""
    assert sum("tool_calls" in delta for delta in deltas) == 6


@pytest.mark.parametrize("name", ["google-compat", "vertex-compat"])
def test_google_compat_errors_are_a_json_array(name: str) -> None:
    with serve(name) as provider:
        assert json.loads(play(provider, "plain", DIALOGUES).error)[0]["error"]["status"] == "INVALID_ARGUMENT"


def test_a_long_signature_is_about_three_thousand_characters() -> None:
    with serve("gemini") as provider:
        play(provider, "plain")
        assert 2900 < max(len(record.value) for record in provider.issued) < 3200


def test_the_request_is_written_down_as_it_came() -> None:
    body = b'{"contents" : [{"role":"user","parts":[{"text":"hi"}]}]}'
    with serve("gemini") as provider:
        httpx.post(provider.url("plain"), content=body, headers={"X-Odd": "1"}, trust_env=False)
        (exchange,) = provider.exchanges
        assert exchange.body == body
        assert exchange.target == "/v1beta/models/gemini-3-pro-preview:generateContent"
        assert ("X-Odd", "1") in exchange.headers
        assert len(exchange.issued) == 1


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/v1/other", b"{}", 404), ("/chat/completions", b"no json", 400), ("/chat/completions", b'{"model":"m"}', 400)],
)
def test_what_is_no_request_of_this_provider_is_refused(path: str, body: bytes, status: int) -> None:
    with serve("deepseek") as provider:
        assert httpx.post(provider.base + path, content=body, trust_env=False).status_code == status


@pytest.mark.parametrize("content", [[None], 7, {"text": "hi"}, [{"type": "text", "text": None}]])
def test_a_field_of_the_wrong_type_is_refused_and_never_a_fault(content: Any) -> None:
    message = {"role": "assistant", "content": content}
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, message, {"role": "user", "content": "so?"}]}
    with serve("deepseek") as provider:
        assert httpx.post(provider.url(), json=body, trust_env=False).status_code == 400
        assert provider.refusals[-1].kind == "shape"


def test_a_body_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_BODY", 1000)
    with serve("deepseek") as provider:
        answer = httpx.post(provider.url(), content=b"x" * 2000, trust_env=False)
        assert answer.status_code == 413
        assert not provider.exchanges


@pytest.mark.parametrize("name", ["openrouter-gemini", "gemini"])
def test_a_client_that_hangs_up_at_the_end_does_not_wait_for_a_connection_that_stays_open(name: str) -> None:
    with serve(name, hang=20) as provider:
        started = time.monotonic()
        assert play(provider, "streamed", hang_up=True).done
        assert time.monotonic() - started < 3
        assert play(provider, "streamed", timeout=0.2).status == 0


def test_a_stalled_stream_goes_on_after_its_silence() -> None:
    with serve("deepseek", stall=0.1) as provider:
        started = time.monotonic()
        assert play(provider, "streamed").done
        assert time.monotonic() - started > 0.5


def test_one_site_hosts_several_providers_by_host_path_and_model() -> None:
    providers = [Provider(dialect) for dialect in PROVIDERS.values()]
    with Site(*providers):
        for provider in providers:
            for mode in provider.dialect.modes:
                if provider.dialect.modes[mode].model_in_body:
                    assert play(provider, mode).done
            assert not provider.refusals


def test_a_site_ends_by_itself() -> None:
    with serve("gemini", lifetime=0.1) as provider:
        time.sleep(0.5)
        with pytest.raises(httpx.ConnectError):
            httpx.get(provider.base, trust_env=False)
