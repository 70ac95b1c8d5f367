"""Vendor facts: which host is whose, which model is which, and whose state may go where."""

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from thoughtkeep.profiles import (
    ENTRIES,
    FURNITURE,
    NEUTRAL,
    PROFILES,
    PROSE,
    Profile,
    binds_thinking,
    family_of,
    group_of,
    plain_model,
    profile_for,
    reads,
    same_upstream,
    withheld,
)
from thoughtkeep.turns import Ask, Kept, Owner, Thinking, Turn

# -- hosts ------------------------------------------------------------------------------------------------------------

HOSTS = {
    "generativelanguage.googleapis.com": "google-ai-studio",
    "aiplatform.googleapis.com": "google-vertex",
    "us-central1-aiplatform.googleapis.com": "google-vertex",
    "aiplatform.eu.rep.googleapis.com": "google-vertex",
    "cloudcode-pa.googleapis.com": "google-code-assist",
    "daily-cloudcode-pa.googleapis.com": "google-code-assist",
    "daily-cloudcode-pa.sandbox.googleapis.com": "google-code-assist",
    "openrouter.ai": "openrouter",
    "ai-gateway.vercel.sh": "vercel-ai-gateway",
    "dbc-1234.cloud.databricks.com": "databricks",
    "adb-1234.7.azuredatabricks.net": "databricks",
    "1234.7.gcp.databricks.com": "databricks",
    "api.deepseek.com": "deepseek",
    "api.moonshot.ai": "moonshot",
    "api.moonshot.cn": "moonshot",
    "api.kimi.com": "moonshot",
    "api.z.ai": "zai",
    "open.bigmodel.cn": "zai",
    "api.minimax.io": "minimax",
    "api.minimaxi.com": "minimax",
    "api.minimax.chat": "minimax",
    "api.mistral.ai": "mistral",
    "dashscope.aliyuncs.com": "qwen",
    "dashscope-intl.aliyuncs.com": "qwen",
    "w1.cn-beijing.maas.aliyuncs.com": "qwen",
    "portal.qwen.ai": "qwen",
    "api.groq.com": "groq",
    "api.cerebras.ai": "cerebras",
    "api.x.ai": "xai",
    "cli-chat-proxy.grok.com": "xai",
    "api.openai.com": "openai",
    "me.openai.azure.com": "azure-openai",
    "me.services.ai.azure.com": "azure-openai",
    "chatgpt.com": "chatgpt",
    "api.anthropic.com": "anthropic",
    "api.githubcopilot.com": "github-copilot",
    "api.individual.githubcopilot.com": "github-copilot",
    "acc-1.snowflakecomputing.com": "snowflake",
}

STRANGERS = [
    "localhost",
    "127.0.0.1",
    "::1",
    "",
    "llm.example.com",
    "openrouter.ai.example.com",
    "notopenrouter.ai",
    "evil-api.openai.com",
    "googleapis.com",
    "storage.googleapis.com",
    "cloud.databricks.com",
    "api.mistral.ai:443",
]


@pytest.mark.parametrize(("host", "name"), HOSTS.items())
def test_a_vendors_hosts_have_its_profile_in_any_case_and_with_the_roots_dot(host: str, name: str) -> None:
    for spelling in (host, host.upper(), host + "."):
        assert profile_for(spelling).name == name
        assert group_of(spelling, 443) == group_of(spelling, 8443) == name


@pytest.mark.parametrize("host", STRANGERS)
def test_an_unknown_host_is_neutral_and_a_group_of_its_own(host: str) -> None:
    assert profile_for(host) is NEUTRAL
    assert group_of(host, 8080) == f"{host}:8080"
    assert group_of(host.upper(), 8080) == group_of(host, 8080) == group_of(host + ".", 8080)
    assert group_of(host, 8081) != group_of(host, 8080)


def test_every_host_of_every_profile_is_tried_here_and_belongs_to_one_alone() -> None:
    for profile in PROFILES:
        for pattern in profile.hosts:
            assert [HOSTS[host] for host in HOSTS if fnmatchcase(host, pattern)]
    for host, name in HOSTS.items():
        owners = [profile.name for profile in PROFILES for pattern in profile.hosts if fnmatchcase(host, pattern)]
        assert set(owners) == {name}


def test_no_two_profiles_have_a_name_and_no_group_of_a_stranger_is_one() -> None:
    names = [profile.name for profile in (NEUTRAL, *PROFILES)]
    assert len(set(names)) == len(names)
    assert not any(":" in name for name in names)


def test_what_a_profile_returns_is_no_furniture_and_each_key_comes_once() -> None:
    for profile in PROFILES:
        keys = profile.returns or ()
        assert len(set(keys)) == len(keys)
        assert not FURNITURE & {*keys, *PROSE, *ENTRIES}
        assert {key for pair in profile.pairs for key in pair} <= set(keys)


# -- models -----------------------------------------------------------------------------------------------------------

PLAIN = {
    "gpt-5.4": "gpt-5.4",
    "gpt-5.4-2026-01-31": "gpt-5.4",
    "openai/gpt-5.4": "gpt-5.4",
    "GPT-5.4": "gpt-5.4",
    "gpt-5.4-mini": "gpt-5.4-mini",
    "gpt-4-0613": "gpt-4-0613",
    "chatgpt-4o-latest": "chatgpt-4o",
    "claude-sonnet-4-5-20250929": "claude-sonnet-4-5",
    "claude-sonnet-4-5@20250929": "claude-sonnet-4-5",
    "claude-3-7-sonnet-latest": "claude-3-7-sonnet",
    "anthropic/claude-sonnet-4.5:beta": "claude-sonnet-4.5",
    "anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
    "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
    "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5",
    "claude-fable-5-1": "claude-fable-5-1",
    "models/gemini-2.5-pro": "gemini-2.5-pro",
    "publishers/google/models/gemini-3-pro-preview": "gemini-3-pro-preview",
    "gemini-2.5-pro-preview-05-06": "gemini-2.5-pro-preview-05-06",
    "gemini-3-pro@default": "gemini-3-pro",
    "deepseek-v4": "deepseek-v4",
    "deepseek/deepseek-v4:free": "deepseek-v4",
    "deepseek-ai/DeepSeek-V3.2:novita": "deepseek-v3.2",
    "deepseek-v3-0324": "deepseek-v3-0324",
    "moonshotai/kimi-k2-0905:exacto": "kimi-k2-0905",
    "accounts/fireworks/models/kimi-k3": "kimi-k3",
    "mistral-large-2411": "mistral-large-2411",
    "qwen3:32b": "qwen3:32b",
    "qwen3:latest": "qwen3",
    "gpt-oss:120b": "gpt-oss:120b",
    "ft:gpt-4o-mini:acme:support:abc": "ft:gpt-4o-mini:acme:support:abc",
    "model-2026-01-31-latest:free": "model",
    "mistral.gguf": "mistral.gguf",
    "": "",
}


@pytest.mark.parametrize(("model", "plain"), PLAIN.items())
def test_a_models_plain_name_has_its_version_and_nothing_else(model: str, plain: str) -> None:
    assert plain_model(model) == plain
    assert plain_model(plain) == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gpt-5.4", "gpt-5"),
        ("deepseek-v4", "deepseek-v3"),
        ("claude-opus-4-5", "claude-opus-4-1"),
        ("qwen3:32b", "qwen3:8b"),
        ("ft:gpt-4o:acme:a:1", "ft:gpt-4o:acme:b:2"),
        ("kimi-k2-0905", "kimi-k2-0711"),
    ],
)
def test_two_versions_are_two_models(one: str, other: str) -> None:
    assert plain_model(one) != plain_model(other)


FAMILIES = {
    "google/gemini-3-pro": "gemini",
    "us.anthropic.claude-opus-4-5": "claude",
    "x-ai/grok-4.1-fast": "grok",
    "deepseek-r1-distill-qwen-32b": "deepseek",
    "moonshotai/kimi-k3": "kimi",
    "z-ai/glm-5": "glm",
    "qwen/qwen3-coder": "qwen",
    "qwq-32b": "qwq",
    "qwen/qwq-32b": "qwq",
    "MiniMax-M2": "minimax",
    "magistral-medium-latest": "magistral",
    "mistralai/magistral-medium": "magistral",
    "mistral-large": "mistral",
    "gpt-5.4": "gpt",
    "gpt-4o": "gpt",
    "o3": "gpt",
    "openai/o4-mini": "gpt",
    "openai/gpt-oss-120b": "gpt-oss",
    "deepseek/r1": "deepseek",
    "openai/custom": "",
    "yolo1": "",
    "llama-4-o10": "",
    "llama-4": "",
    "": "",
}


@pytest.mark.parametrize(("model", "family"), FAMILIES.items())
def test_a_models_family_is_told_by_its_name_before_its_owners(model: str, family: str) -> None:
    assert family_of(model) == family


@pytest.mark.parametrize(
    ("owner", "model", "takes"),
    [
        (Owner("g", "claude-opus-4-5"), "claude-opus-4-5-20251101", True),
        (Owner("g", "claude-opus-4-5"), "anthropic/claude-sonnet-4.5", True),
        (Owner("g", "gemini-3-pro"), "gemini-2.5-flash", True),
        (Owner("g", "gemini-3-pro"), "claude-opus-4-5", False),
        (Owner("g", "gpt-oss-120b"), "gpt-5.4", False),
        (Owner("g", "llama-4"), "llama-4:free", True),
        (Owner("g", "llama-4"), "llama-5", False),
        (Owner("g", "my-endpoint"), "my-endpoint", True),
        (Owner("g", "my-endpoint"), "other-endpoint", False),
        (Owner("g", "openrouter/auto", "anthropic/claude-opus-4.5"), "anthropic/claude-sonnet-4.5", True),
        (Owner("g", "openrouter/auto", "anthropic/claude-opus-4.5"), "google/gemini-3-pro", False),
        (Owner("g", "openrouter/auto", "anthropic/claude-opus-4.5"), "openrouter/auto", True),
        (Owner("g", "gpt-latest", "deployment-7"), "gpt-5.4", True),
    ],
)
def test_a_model_reads_its_own_state_and_that_of_its_family(owner: Owner, model: str, takes: bool) -> None:
    assert reads(owner, model) is takes


@pytest.mark.parametrize(
    ("model", "binds"),
    [
        ("claude-fable-5-1", True),
        ("anthropic/claude-fable-5.1", True),
        ("claude-fable-6", True),
        ("claude-opus-5-5-20260901", True),
        ("CLAUDE-OPUS-5.5", True),
        ("claude-opus-6", True),
        ("claude-fable-5", False),
        ("claude-fable-5-20260301", False),
        ("claude-opus-5", False),
        ("claude-opus-5-20260301", False),
        ("claude-opus-4-5", False),
        ("claude-opus-4-6", False),
        ("claude-mythos-5-1", False),
        ("gemini-3-pro", False),
    ],
)
def test_newer_claude_models_bind_their_thinking(model: str, binds: bool) -> None:
    assert binds_thinking(model) is binds


# -- whose state ------------------------------------------------------------------------------------------------------


def kept(owner: Owner, thinking: Thinking = "absent") -> Kept:
    return Kept("1", "t", owner, "chat", "r", "l", (), "c", "n", thinking, 0.0, Turn(()))


def ask(model: str = "m", thinking: Thinking = "absent", pins: tuple[str, ...] = (), form: str = "chat") -> Ask:
    return Ask(form, model, False, (), "", thinking=thinking, pins=pins)


OWN = Owner("g", "m")
STRICT = replace(NEUTRAL, off_means_none=("chat", "messages"))


@pytest.mark.parametrize(
    ("profile", "request_", "turn", "reason"),
    [
        (NEUTRAL, ask(), kept(OWN), ""),
        (NEUTRAL, ask(), kept(Owner("other", "m")), "other_provider"),
        (NEUTRAL, ask("claude-opus-4-5"), kept(Owner("g", "gemini-3-pro")), "other_model"),
        (NEUTRAL, ask("claude-opus-4-5"), kept(Owner("other", "gemini-3-pro")), "other_provider"),
        (NEUTRAL, ask("claude-opus-4-5"), kept(Owner("g", "claude-sonnet-4-5")), ""),
        (NEUTRAL, ask(thinking="off"), kept(OWN, "on"), ""),
        (NEUTRAL, ask(thinking="off", form="messages"), kept(OWN, "on"), "thinking_off"),
        (NEUTRAL, ask(thinking="off", form="responses"), kept(OWN, "on"), ""),
        (STRICT, ask(thinking="off"), kept(OWN, "off"), "thinking_off"),
        (STRICT, ask(thinking="off"), kept(OWN, "absent"), "thinking_off"),
        (STRICT, ask(thinking="absent"), kept(OWN, "on"), "thinking_off"),
        (STRICT, ask(thinking="absent"), kept(OWN, "absent"), ""),
        (STRICT, ask(thinking="absent"), kept(OWN, "off"), ""),
        (STRICT, ask(thinking="on"), kept(OWN, "on"), ""),
        (STRICT, ask(thinking="on"), kept(OWN, "absent"), ""),
        (NEUTRAL, ask(pins=("azure",)), kept(Owner("g", "m", upstream="Azure")), ""),
        (NEUTRAL, ask(pins=("groq", "azure/eu")), kept(Owner("g", "m", upstream="Azure")), ""),
        (NEUTRAL, ask(pins=("groq",)), kept(Owner("g", "m", upstream="Azure")), "other_upstream"),
        (NEUTRAL, ask(pins=("groq",)), kept(OWN), ""),
        (NEUTRAL, ask(), kept(Owner("g", "m", upstream="Azure")), ""),
    ],
)
def test_state_is_withheld_for(profile: Profile, request_: Ask, turn: Kept, reason: str) -> None:
    assert withheld(profile, "g", request_, turn) == reason


@pytest.mark.parametrize(
    ("name", "pin", "same"),
    [
        ("Google AI Studio", "google-ai-studio", True),
        ("Google", "google-vertex", True),
        ("Google", "google-vertex/global", True),
        ("Google", "google-ai-studio", False),
        ("Google AI Studio", "google-vertex", False),
        ("Amazon Bedrock", "amazon-bedrock", True),
        ("Amazon Bedrock", "amazon-bedrock/us-east-1", True),
        ("Amazon Bedrock", "Amazon Bedrock", True),
        ("Moonshot AI", "moonshotai", True),
        ("AtlasCloud", "atlas-cloud/fp8", True),
        ("Z.AI", "z-ai", True),
        ("xAI", "xai", True),
        ("Azure", "azure", True),
        ("OpenAI", "azure", False),
        ("DeepSeek", "deepinfra", False),
    ],
)
def test_a_pin_means_the_upstream_that_answers_call(name: str, pin: str, same: bool) -> None:
    assert same_upstream(name, pin) is same
