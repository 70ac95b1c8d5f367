"""The request for a summary: what it looks like at each provider, and what comes along of the request at hand."""

import json
from typing import Any

import pytest
from desk import Desk
from tongues import CHAT, CODE_ASSIST, GEMINI, MESSAGES, RESPONSES, TONGUES, Event, Says, System, Tongue, User

from thoughtkeep.endpoint import recognise
from thoughtkeep.handover.question import HEADERS, THINKING_TOKENS, Question, question
from thoughtkeep.profiles import profile_for

type Json = Any

MODEL = "summariser-1"
TALK: list[Event] = [System("You are Q."), User("One."), Says("1."), User("Two.")]


def asked(tongue: Tongue, host: str, path: str, body: Json, model: str = MODEL, tokens: int = 1200) -> Question:
    endpoint = recognise("POST", path, body)
    assert endpoint is not None
    return question(endpoint.format, profile_for(host), path, body, model, "Summarise.", tokens)


def limits(value: Json) -> dict[str, int]:
    """Every key that bounds an answer, wherever it stands."""
    found = {}
    for key, inner in value.items():
        if "max" in key.lower() and "okens" in key:
            found[key] = inner
        if isinstance(inner, dict):
            found |= limits(inner)
    return found


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_a_question_is_one_message_of_the_user_and_nothing_else_of_the_conversation(tongue: Tongue) -> None:
    with Desk() as desk:
        desk.teach(tongue, TALK)
        desk.answering(tongue)
        assert desk.switch(tongue, TALK).reason == "switch"
        (sent,) = desk.summaries
        (message,) = tongue.messages(sent.body)
        assert message["role"] == "user"
        text = json.dumps(sent.body)
        assert not [key for key in ("tools", "tool_choice", "toolConfig", "include", "response_format") if key in text]
        assert "You are Q." not in str(sent.body.get("system")) or tongue is MESSAGES
        assert sent.body.get("stream") in (None, False)
        assert "budget_tokens" not in text


#: By name: the tongue, the host, the path of the request at hand and of the question, and keys of the body.
PATHS: dict[str, tuple[Tongue, str, str, str, dict[str, Json]]] = {
    "OpenAI": (CHAT, "api.openai.com", "/v1/chat/completions", "/v1/chat/completions", {}),
    "OpenRouter": (CHAT, "openrouter.ai", "/api/v1/chat/completions?a=b", "/api/v1/chat/completions?a=b", {}),
    "Databricks": (
        CHAT,
        "x.cloud.databricks.com",
        "/serving-endpoints/claude-opus/invocations",
        f"/serving-endpoints/{MODEL}/invocations",
        {},
    ),
    "Azure": (
        CHAT,
        "x.openai.azure.com",
        "/openai/deployments/gpt-5/chat/completions?api-version=2025-01-01",
        f"/openai/deployments/{MODEL}/chat/completions?api-version=2025-01-01",
        {},
    ),
    "Anthropic": (MESSAGES, "api.anthropic.com", "/v1/messages?beta=true", "/v1/messages?beta=true", {}),
    "Claude on Vertex": (
        MESSAGES,
        "europe-west1-aiplatform.googleapis.com",
        "/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4@20250514:streamRawPredict",
        f"/v1/projects/p/locations/l/publishers/anthropic/models/{MODEL}:rawPredict",
        {"anthropic_version": "vertex-2023-10-16"},
    ),
    "Gemini": (
        GEMINI,
        "generativelanguage.googleapis.com",
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        f"/v1beta/models/{MODEL}:generateContent",
        {},
    ),
    "Gemini, the key in the query": (
        GEMINI,
        "generativelanguage.googleapis.com",
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse&key=AIza",
        f"/v1beta/models/{MODEL}:generateContent?key=AIza",
        {},
    ),
    "Gemini, not streamed": (
        GEMINI,
        "generativelanguage.googleapis.com",
        "/v1/models/gemini-3-pro:generateContent?key=AIza",
        f"/v1/models/{MODEL}:generateContent?key=AIza",
        {},
    ),
    "Vertex": (
        GEMINI,
        "aiplatform.googleapis.com",
        "/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro:streamGenerateContent",
        f"/v1/projects/p/locations/global/publishers/google/models/{MODEL}:generateContent",
        {},
    ),
    "Code Assist": (
        CODE_ASSIST,
        "cloudcode-pa.googleapis.com",
        "/v1internal:streamGenerateContent?alt=sse",
        "/v1internal:generateContent",
        {},
    ),
    "Responses": (RESPONSES, "api.openai.com", "/v1/responses", "/v1/responses", {}),
    "Codex": (RESPONSES, "chatgpt.com", "/backend-api/codex/responses", "/backend-api/codex/responses", {}),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_question_goes_to_the_same_endpoint_under_the_summarisers_name(name: str) -> None:
    tongue, host, path, expected, keys = PATHS[name]
    made = asked(tongue, host, path, tongue.body("model-at-hand", TALK) | keys)
    assert made.path == expected
    body = json.loads(made.body)
    endpoint = recognise("POST", made.path, {"max_tokens": 1, **body})
    assert endpoint is not None
    assert (endpoint.model, endpoint.streamed) == (MODEL, made.streamed)
    assert made.streamed == (name == "Codex")
    assert len(tongue.messages(body)) == 1
    assert "model-at-hand" not in made.body.decode()


ROUTED: dict[str, Json] = {"provider": {"only": ["x"]}, "reasoning": {"effort": "low"}}

#: By name: the tongue, the host, keys of the request at hand, and what the question then has.
KEPT: dict[str, tuple[Tongue, str, dict[str, Json], dict[str, Json]]] = {
    "the limit under the old key": (CHAT, "api.openai.com", {"max_tokens": 5}, {"max_tokens": 9200}),
    "the limit under the new key": (
        CHAT,
        "api.openai.com",
        {"max_completion_tokens": 5, "max_tokens": 5},
        {"max_completion_tokens": 9200},
    ),
    "no limit where the client has none": (CHAT, "api.openai.com", {"temperature": 1}, {}),
    "OpenRouter's routing": (CHAT, "openrouter.ai", {"provider": {"only": ["x"]}}, ROUTED),
    "nobody else's routing": (CHAT, "api.openai.com", {"provider": {"only": ["x"]}}, {}),
    "Anthropic's limit, always": (MESSAGES, "api.anthropic.com", {"system": "Q."}, {"max_tokens": 4000}),
    "Gemini's limit, always": (GEMINI, "generativelanguage.googleapis.com", {}, {"maxOutputTokens": 9200}),
    "the limit of Responses": (RESPONSES, "api.openai.com", {"max_output_tokens": 5}, {"max_output_tokens": 9200}),
    "whether it is stored": (RESPONSES, "api.openai.com", {"store": False}, {"store": False}),
    "Codex's instructions": (
        RESPONSES,
        "chatgpt.com",
        {"instructions": "You are Codex.", "store": False},
        {"instructions": "You are Codex.", "store": False, "stream": True},
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_a_provider_needs_comes_along(name: str) -> None:
    tongue, host, keys, expected = KEPT[name]
    path = {"gemini": "/v1/models/m:generateContent", "chat": "/v1/chat/completions"}.get(
        tongue.name, "/v1/messages" if tongue is MESSAGES else "/v1/responses"
    )
    body = tongue.body("m", TALK) | {"instructions": None, "store": None} | keys
    body = {key: value for key, value in body.items() if value is not None}
    made = json.loads(asked(tongue, host, path, body).body)
    bounds = limits(made)
    assert bounds == limits(expected)
    rest = {key: value for key, value in made.items() if key not in (*bounds, "generationConfig")}
    default = {"stream": False} if tongue in (CHAT, RESPONSES) else {}
    named = {} if tongue is GEMINI else {"model": MODEL}
    messages = {tongue.list_key: made[tongue.list_key]}
    assert rest == {**named, **messages, **default, **{k: v for k, v in expected.items() if k not in limits(expected)}}


def test_code_assist_keeps_its_wrapper_and_the_project() -> None:
    made = json.loads(asked(CODE_ASSIST, "cloudcode-pa.googleapis.com", "/v1internal:generateContent", _assist()).body)
    assert {key: made[key] for key in ("model", "project", "user_prompt_id")} == {
        "model": MODEL,
        "project": "p-1",
        "user_prompt_id": "u-1",
    }
    assert set(made) == {"model", "project", "user_prompt_id", "request"}
    assert set(made["request"]) == {"contents", "generationConfig"}


def _assist() -> Json:
    return CODE_ASSIST.body("gemini-3-pro", TALK)


@pytest.mark.parametrize(
    ("system", "kept"),
    [
        ([{"type": "text", "text": "You are the official CLI."}, {"type": "text", "text": "Long rules. " * 50}], True),
        ([{"type": "text", "text": "Long rules. " * 50}], False),
        ("You are the official CLI.", False),
        ([], False),
        (["no block"], False),
        (None, False),
    ],
)
def test_a_client_that_names_itself_in_a_first_block_is_named_to_anthropic_again(system: Json, kept: bool) -> None:
    body = MESSAGES.body("m", TALK) | {"system": system}
    made = json.loads(asked(MESSAGES, "api.anthropic.com", "/v1/messages", body).body)
    assert made.get("system") == ([{"type": "text", "text": "You are the official CLI."}] if kept else None)


#: Format's tongue, host, model, and the setting that turns thinking as low as it goes (empty: none is sent).
QUIET: list[tuple[Tongue, str, str, dict[str, Json]]] = [
    (CHAT, "api.deepseek.com", "deepseek-v4", {"thinking": {"type": "disabled"}}),
    (CHAT, "api.moonshot.ai", "kimi-k3", {"thinking": {"type": "disabled"}}),
    (CHAT, "api.z.ai", "glm-5", {"thinking": {"type": "disabled"}}),
    (CHAT, "openrouter.ai", "anthropic/claude-opus-4.5", {"reasoning": {"effort": "low"}}),
    (CHAT, "dashscope.aliyuncs.com", "qwen3-max", {"enable_thinking": False}),
    (CHAT, "api.openai.com", "gpt-5.2", {"reasoning_effort": "low"}),
    (CHAT, "api.openai.com", "o3", {"reasoning_effort": "low"}),
    (CHAT, "api.openai.com", "gpt-4o", {}),
    (CHAT, "x.openai.azure.com", "gpt-5", {"reasoning_effort": "low"}),
    (CHAT, "generativelanguage.googleapis.com", "gemini-2.5-pro", {"reasoning_effort": "low"}),
    (CHAT, "llm.example.org", "gpt-5", {}),
    (MESSAGES, "api.anthropic.com", "claude-opus-4-5", {}),
    (GEMINI, "generativelanguage.googleapis.com", "gemini-2.5-flash", {"thinkingConfig": {"thinkingBudget": 0}}),
    (GEMINI, "generativelanguage.googleapis.com", "gemini-2.5-pro", {"thinkingConfig": {"thinkingBudget": 128}}),
    (GEMINI, "generativelanguage.googleapis.com", "Gemini-3-Pro", {"thinkingConfig": {"thinkingLevel": "low"}}),
    (GEMINI, "generativelanguage.googleapis.com", "gemini-2.0-flash", {}),
    (CODE_ASSIST, "cloudcode-pa.googleapis.com", "gemini-3-pro", {"thinkingConfig": {"thinkingLevel": "low"}}),
    (RESPONSES, "api.openai.com", "gpt-5.2", {"reasoning": {"effort": "low"}}),
    (RESPONSES, "chatgpt.com", "gpt-5-codex", {"reasoning": {"effort": "low"}}),
    (RESPONSES, "api.x.ai", "grok-4", {}),
]
_SETTINGS = ("thinking", "reasoning", "enable_thinking", "reasoning_effort", "thinkingConfig")


@pytest.mark.parametrize(("tongue", "host", "model", "expected"), QUIET, ids=[f"{q[0].name} {q[2]}" for q in QUIET])
def test_thinking_is_turned_as_low_as_it_goes(tongue: Tongue, host: str, model: str, expected: dict[str, Json]) -> None:
    path = {
        "chat": "/v1/chat/completions",
        "messages": "/v1/messages",
        "gemini": f"/v1/models/{model}:generateContent",
        "code assist": "/v1internal:generateContent",
        "responses": "/v1/responses",
    }[tongue.name]
    made = json.loads(asked(tongue, host, path, tongue.body(model, TALK), model).body)
    if tongue in (GEMINI, CODE_ASSIST):
        made = made.get("request", made)["generationConfig"]
    assert {key: made[key] for key in _SETTINGS if key in made} == expected


def test_thinking_has_room_beside_the_length_that_was_asked_for() -> None:
    for tongue, host, path in (
        (MESSAGES, "api.anthropic.com", "/v1/messages"),
        (GEMINI, "x", "/v1/models/m:generateContent"),
    ):
        small, large = (
            limits(json.loads(asked(tongue, host, path, tongue.body("m", TALK), "m", tokens).body))
            for tokens in (100, 1100)
        )
        assert [large[key] - small[key] for key in large] == [1000]
    assert THINKING_TOKENS["messages"] + 1200 <= 4096  # the most that the oldest of Anthropic's models write


# -- headers and options ----------------------------------------------------------------------------------------------

SECRETS = {
    "cookie": "session=1",
    "x-stainless-os": "Linux",
    "x-request-id": "r-1",
    "accept-encoding": "br",
    "content-encoding": "identity",
    "x-thoughtkeep": "on",
    "x-my-own": "1",
}


def switched(desk: Desk, tongue: Tongue, **headers: str) -> None:
    desk.teach(tongue, TALK)
    desk.answering(tongue)
    url, model, key = tongue.target
    assert desk.send(url, {**key, **headers}, tongue.body(model, TALK)).reason == "switch"


def test_of_the_clients_headers_only_those_come_along_that_providers_want() -> None:
    wanted = {name: f"value of {name}" for name in HEADERS if name not in ("authorization", "x-api-key")}
    with Desk() as desk:
        switched(desk, CHAT, **SECRETS, **{name.title(): value for name, value in wanted.items()})
        sent = {name.lower(): value for name, value in desk.summaries[0].headers.items()}
        assert sent == {"content-type": "application/json", "authorization": "Bearer sk-or-one", **wanted}


@pytest.mark.parametrize(
    ("option", "model"),
    [
        ("", "google/gemini-3-pro-preview"),
        ("small-1", "small-1"),
        ("google/*=gemini-small,*=other", "gemini-small"),
        ("anthropic/*=haiku", "google/gemini-3-pro-preview"),
        ("anthropic/*=haiku *=other", "other"),
    ],
)
def test_the_option_names_the_summariser(option: str, model: str) -> None:
    with Desk(handover_model=option) as desk:
        switched(desk, CHAT)
        assert desk.summaries[0].body["model"] == model
        assert desk.summaries[0].url == CHAT.target[0]


#: A summariser's URL, the header with its key, and the tongue that it speaks.
ELSEWHERE = [
    ("https://sum.example.org/v1/chat/completions", {"authorization": "Bearer sk-own"}, CHAT),
    ("https://sum.example.org/v1/messages", {"x-api-key": "sk-own", "anthropic-version": "2023-06-01"}, MESSAGES),
    ("https://sum.example.org/v1beta/models/x:generateContent", {"x-goog-api-key": "sk-own"}, GEMINI),
    ("https://sum.example.org/v1/responses", {"authorization": "Bearer sk-own"}, RESPONSES),
]


@pytest.mark.parametrize(("url", "key", "speaks"), ELSEWHERE, ids=[e[2].name for e in ELSEWHERE])
def test_a_summariser_elsewhere_gets_its_own_key_and_nothing_of_the_clients(
    url: str, key: dict[str, str], speaks: Tongue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUMMARY_KEY", "sk-own")
    for tongue in (CHAT, MESSAGES):
        with Desk(handover_url=url, handover_key_env="SUMMARY_KEY", handover_model="sum-1") as desk:
            desk.teach(tongue, TALK)
            desk.answering(speaks)
            sent = desk.switch(tongue, TALK, metadata={"user_id": "u"})
            assert sent.reason == "switch"
            (summary,) = desk.summaries
            assert summary.url == url.replace("/x:", "/sum-1:")
            assert summary.headers == {"content-type": "application/json", **key}
            assert "sk-or" not in json.dumps(summary.body)
            assert "user_id" not in summary.body
            assert (speaks is GEMINI) or summary.body["model"] == "sum-1"


def test_a_summariser_elsewhere_without_a_key_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUMMARY_KEY", raising=False)
    with Desk(handover_url=ELSEWHERE[0][0], handover_key_env="SUMMARY_KEY") as desk:
        switched(desk, CHAT)
        assert desk.summaries[0].headers == {"content-type": "application/json"}
