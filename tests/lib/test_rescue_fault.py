"""What a refusal says of lost or refused state, by the providers' own texts."""

import json

import pytest

from thoughtkeep.rescue.fault import Fault, FaultKind, read_fault
from thoughtkeep.turns import Json

FORMATS = ("gemini", "chat", "messages", "responses")


def google(text: str) -> str:
    return json.dumps({"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}})


def openai(text: str, code: Json = None) -> str:
    return json.dumps({"error": {"message": text, "type": "invalid_request_error", "param": "input", "code": code}})


def anthropic(text: str) -> str:
    return json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": text}})


def openrouter(text: str) -> str:
    metadata = {"raw": text, "provider_name": "upstream"}
    return json.dumps({"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}})


MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:look` , position 4."
)
MISSING_VERTEX = (
    "Unable to submit request because function call `look` in the 2. content block is missing a `thought_signature`. "
    "Learn more: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures"
)
STALE = "Unable to submit request because Thought signature is not valid.."
FIRST_BLOCK = (
    "messages.7.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled,"
    " a final `assistant` message must start with a thinking block."
)
NEEDED = "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."
UNVERIFIED = "The encrypted content for item rs_A-b_1 could not be verified."
BLOCKED = (
    "messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
    " These blocks must remain as they were in the original response."
)

# provider, format, body, kind, what it names
OURS: list[tuple[str, str, str, FaultKind, tuple[str, ...]]] = [
    ("Gemini API", "gemini", google(MISSING), "signature_missing", ()),
    ("Gemini API, as an array", "gemini", f"[{google(MISSING)}]", "signature_missing", ()),
    ("Google compat", "chat", f"[{google(MISSING)}]", "signature_missing", ()),
    ("Databricks", "chat", json.dumps({"error_code": "BAD_REQUEST", "message": MISSING}), "signature_missing", ()),
    ("Vertex AI", "gemini", google(MISSING_VERTEX), "signature_missing", ()),
    ("Vertex compat", "chat", google(MISSING_VERTEX), "signature_missing", ()),
    ("Code Assist", "gemini", google(MISSING_VERTEX), "signature_missing", ()),
    ("a gateway", "responses", google("The thought_signature of call `x` is missing."), "signature_missing", ()),
    ("Gemini API", "gemini", google("Corrupted thought signature."), "signature_refused", ()),
    ("Google compat", "chat", google("Corrupted thought signature."), "signature_refused", ()),
    ("Code Assist", "gemini", google(STALE), "signature_refused", ()),
    ("Antigravity", "gemini", google("Invalid thought signature."), "signature_refused", ()),
    ("a relay in capitals", "gemini", google("INVALID THOUGHT_SIGNATURE"), "signature_refused", ()),
    (
        "OpenRouter with Gemini",
        "chat",
        openrouter("Gemini models require OpenRouter reasoning details to be preserved in each request. " + MISSING),
        "signature_missing",
        (),
    ),
    (
        "OpenRouter with Gemini, its own words alone",
        "chat",
        openrouter("Gemini models require OpenRouter reasoning details to be preserved in each request."),
        "signature_missing",
        (),
    ),
    ("OpenRouter with Gemini", "chat", openrouter(google("Corrupted thought signature.")), "signature_refused", ()),
    (
        "OpenRouter with Claude",
        "chat",
        openrouter(anthropic("messages.1.content.0: Invalid `signature` in `thinking` block")),
        "signature_refused",
        (),
    ),
    ("OpenRouter with Claude", "chat", openrouter("Invalid signature in thinking block"), "signature_refused", ()),
    (
        "OpenRouter with GPT",
        "chat",
        openrouter("Duplicate item found with id rs_1. Remove duplicate items from your input and try again."),
        "signature_refused",
        (),
    ),
    (
        "Vercel's gateway",
        "chat",
        json.dumps(
            {
                "error": {
                    "message": "Invalid input: expected string, received undefined",
                    "type": "invalid_request_error",
                    "param": "messages.2.reasoning_details.0.data",
                }
            }
        ),
        "signature_refused",
        (),
    ),
    (
        "DeepSeek V3.2",
        "chat",
        openai("Missing `reasoning_content` field in the assistant message at message index 2. See the docs."),
        "prose_missing",
        (),
    ),
    (
        "DeepSeek V4",
        "chat",
        openai("The `reasoning_content` in the thinking mode must be passed back to the API."),
        "prose_missing",
        (),
    ),
    (
        "Moonshot",
        "chat",
        openai("thinking is enabled but reasoning_content is missing in assistant tool call message at index 3"),
        "prose_missing",
        (),
    ),
    (
        "Groq",
        "chat",
        openai(
            "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
            "'reasoning_content' is unsupported)]"
        ),
        "state_unwanted",
        ("reasoning_content",),
    ),
    ("Groq", "chat", openai("property 'reasoning' is unsupported"), "state_unwanted", ("reasoning",)),
    (
        "Cerebras",
        "chat",
        openai(
            "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported"
        ),
        "state_unwanted",
        ("reasoning_content",),
    ),
    (
        "Mistral",
        "chat",
        json.dumps(
            {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "messages", 3, "assistant", "reasoning_content"],
                        "msg": "Extra inputs are not permitted",
                        "input": "",
                    }
                ]
            }
        ),
        "state_unwanted",
        ("reasoning_content",),
    ),
    ("Anthropic", "messages", anthropic(FIRST_BLOCK.format("tool_use")), "thinking_missing", ("7",)),
    ("Anthropic", "messages", anthropic(FIRST_BLOCK.format("text")), "thinking_missing", ("7",)),
    (
        "DeepSeek's Anthropic endpoint",
        "messages",
        openai("The `content[].thinking` in the thinking mode must be passed back to the API."),
        "thinking_missing",
        (),
    ),
    (
        "Anthropic",
        "messages",
        anthropic("messages.3.content.0: Invalid `signature` in `thinking` block"),
        "thinking_refused",
        ("3",),
    ),
    (
        "Anthropic, redacted",
        "messages",
        anthropic("messages.3.content.0: Invalid `data` in `redacted_thinking` block"),
        "thinking_refused",
        ("3",),
    ),
    (
        "Anthropic, bound to its prefix: all behind it fail too, so none is named",
        "messages",
        anthropic(
            "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different "
            "conversation. See the docs."
        ),
        "thinking_refused",
        (),
    ),
    (
        "Bedrock",
        "messages",
        anthropic("The model returned the following errors: messages.9.content.2.thinking.signature: Field required"),
        "thinking_refused",
        ("9",),
    ),
    ("Anthropic", "messages", anthropic(BLOCKED), "thinking_refused", ("5",)),
    ("OpenAI", "responses", openai(NEEDED), "reasoning_missing", ("fc_1",)),
    (
        "OpenAI",
        "responses",
        openai("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
        "reasoning_refused",
        ("rs_1",),
    ),
    ("OpenAI", "responses", openai(UNVERIFIED, "invalid_encrypted_content"), "reasoning_refused", ("rs_A-b_1",)),
    (
        "OpenAI, with a reason",
        "responses",
        openai(f"{UNVERIFIED} Reason: Encrypted content could not be decrypted or parsed."),
        "reasoning_refused",
        ("rs_A-b_1",),
    ),
    (
        "Azure, another organisation: all others fail too, so none is named",
        "responses",
        openai(f"{UNVERIFIED} Reason: Encrypted content organization_id did not match the target organization."),
        "reasoning_refused",
        (),
    ),
    (
        "OpenAI, an item without id",
        "responses",
        openai("The encrypted content gAAA...z0= could not be verified.", "invalid_encrypted_content"),
        "reasoning_refused",
        (),
    ),
    (
        "OpenAI",
        "responses",
        openai("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
        "reasoning_refused",
        ("rs_1",),
    ),
    (
        "OpenAI",
        "responses",
        openai("Duplicate item found with id rs_1. Remove duplicate items from your input and try again."),
        "reasoning_refused",
        ("rs_1",),
    ),
    (
        "xAI",
        "responses",
        json.dumps(
            {
                "code": "invalid-argument",
                "error": "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified "
                "encrypted_content from a previous response.",
            }
        ),
        "reasoning_refused",
        (),
    ),
    (
        "xAI",
        "responses",
        json.dumps({"code": "x", "error": "Could not decode the compaction blob. Ensure it is unmodified."}),
        "reasoning_refused",
        (),
    ),
    ("OpenAI", "responses", openai("Unknown parameter: 'input[1].encrypted_content'."), "reasoning_refused", ()),
]

OVERFLOWS = (
    openai("This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."),
    openai("Your input exceeds the context window of this model.", "context_length_exceeded"),
    anthropic("prompt is too long: 208310 tokens > 200000 maximum"),
    anthropic("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
    google("The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."),
    json.dumps({"error": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}),
    json.dumps({"message": "Too many input tokens: 40000"}),
)

# Of another matter, or of one that nothing can be done about: (format, body).
NOT_OURS: list[tuple[str, str]] = [
    ("gemini", google("Please ensure that function call turn comes immediately after a user turn.")),
    ("gemini", google("API key not valid. Please pass a valid API key.")),
    ("chat", openai("Invalid schema for function 'look': reasons must be an array.")),
    ("chat", openai("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'")),
    ("chat", openai("Unrecognized request argument supplied: reasoning_effort")),
    ("chat", json.dumps({"error": {"message": "invalid request body", "code": "invalid_request_body"}})),
    ("chat", openrouter("Invalid input: expected string, received undefined")),
    ("messages", anthropic("messages.3.content.0.text.thoughts: Extra inputs are not permitted")),
    ("messages", anthropic("messages.1: `tool_use` ids were found without `tool_result` blocks: toolu_1.")),
    ("messages", anthropic("`clear_thinking_20251015` strategy requires `thinking` to be enabled")),
    ("responses", openai("No tool call found for function call output with call_id call_1.")),
    ("responses", openai("No tool output found for function call call_1.")),
    ("responses", openai("Unsupported value: 'reasoning.encrypted_content' is not supported with this model.")),
    ("responses", openai("Item with id 'msg_1' not found.")),
    ("responses", ""),
    ("chat", "<html>Bad Request</html>"),
]

# Of another format: a text means something only where its provider speaks. (format, body)
ELSEWHERE: list[tuple[str, str]] = [
    ("chat", anthropic(FIRST_BLOCK.format("tool_use"))),
    ("gemini", openai(NEEDED)),
    ("chat", openai(UNVERIFIED)),
    ("messages", openai("Missing `reasoning_content` field in the assistant message at message index 2.")),
    ("responses", openai("property 'reasoning_content' is unsupported")),
]


@pytest.mark.parametrize(("_provider", "form", "body", "kind", "named"), OURS)
def test_a_providers_text_tells_what_is_wrong_and_what_with(
    _provider: str, form: str, body: str, kind: FaultKind, named: tuple[str, ...]
) -> None:
    assert read_fault(form, 400, body) == Fault(kind, named)


@pytest.mark.parametrize(("_provider", "form", "body", "kind", "named"), OURS)
def test_letters_large_or_small_and_a_relays_status_make_no_difference(
    _provider: str, form: str, body: str, kind: FaultKind, named: tuple[str, ...]
) -> None:
    for status in (400, 404, 409, 413, 422, 429, 499):
        assert read_fault(form, status, body) == Fault(kind, named)
    for spelled in (body.lower(), body.upper()):
        fault = read_fault(form, 400, spelled)
        assert fault is not None
        assert fault.kind == kind


@pytest.mark.parametrize("status", [200, 301, 399, 401, 402, 403, 500, 502, 529])
def test_what_is_no_refusal_of_the_request_itself_is_none_of_ours(status: int) -> None:
    assert [read_fault(form, status, body) for _, form, body, _, _ in OURS] == [None] * len(OURS)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("body", OVERFLOWS)
def test_a_request_that_is_too_long_is_told_in_every_format(form: str, body: str) -> None:
    assert read_fault(form, 400, body) == Fault("overflow")
    assert read_fault(form, 413, body) == Fault("overflow")


def test_too_many_tokens_a_minute_are_no_overflow() -> None:
    body = json.dumps({"message": "Too many tokens, please wait before trying again."})
    assert read_fault("messages", 429, body) is None
    assert read_fault("messages", 400, body) == Fault("overflow")


@pytest.mark.parametrize(("form", "body"), NOT_OURS)
def test_an_error_of_another_matter_is_none_of_ours(form: str, body: str) -> None:
    assert read_fault(form, 400, body) is None


@pytest.mark.parametrize(("form", "body"), ELSEWHERE)
def test_a_text_counts_only_in_the_format_that_it_belongs_to(form: str, body: str) -> None:
    assert read_fault(form, 400, body) is None


def test_what_is_named_twice_is_named_once_and_in_order() -> None:
    body = anthropic(
        "messages.9.content.0, messages.3.content.0, messages.9.content.1: Invalid `signature` in `thinking`"
    )
    assert read_fault("messages", 400, body) == Fault("thinking_refused", ("9", "3"))
