"""Nothing that a client or a provider sends is an error: what cannot be understood is left out."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab import CREDENTIAL, Lab, plain, sse

from thoughtkeep.turns import Json

# The keys that some format knows, each with any value: what is right in one place is wrong in another.
KEYS = (
    "role content parts text type thought thoughtSignature thought_signature functionCall function_call name args id "
    "arguments functionResponse response inlineData data willContinue partialArgs jsonPath stringValue numberValue "
    "tool_calls tool_call_id function custom input index extra_content google reasoning reasoning_content "
    "reasoning_details thinking_blocks thinking signature summary format encrypted_content refusal delta message "
    "finish_reason finishReason choices candidates error usage total_tokens model provider modelVersion output item "
    "output_index status call_id tool_use_id is_error content_block stop_reason partial_json image_url opaque"
).split()
WORDS = (
    "user assistant model system tool function text thinking reasoning tool_use tool_result redacted_thinking stop "
    "function_call function_call_output message completed message_start content_block_start content_block_delta "
    "content_block_stop message_delta message_stop text_delta thinking_delta signature_delta input_json_delta error "
    "response.completed response.output_item.done response.failed reasoning.text reasoning.encrypted c1 f {} [1 $.a[0] "
    "[DONE] google-gemini-v1 QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB <think>x</think>y"
).split()

VALUES: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-1, 3), st.sampled_from([*WORDS, ""]), st.just(1.5), st.just(2**70)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)),
    max_leaves=25,
)

# What stands where the format looks, in the shape it has mostly: the wrong values are within.
CALL = st.fixed_dictionaries(
    {"id": st.sampled_from(["c1", "c2", ""]), "function": st.fixed_dictionaries({"name": VALUES, "arguments": VALUES})},
    optional={"index": VALUES, "extra_content": VALUES, "opaque": VALUES, "custom": VALUES},
)
CHAT_MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
    optional={
        "content": st.one_of(VALUES, st.lists(VALUES, max_size=3), st.sampled_from(["Hello.", ""])),
        "tool_calls": st.one_of(VALUES, st.lists(CALL, max_size=3)),
        "tool_call_id": VALUES,
        "reasoning_details": st.lists(VALUES, max_size=3),
        "reasoning": VALUES,
        "opaque": VALUES,
    },
)
CHAT_EVENT = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries({"delta": CHAT_MESSAGE}, optional={"index": VALUES, "finish_reason": VALUES}),
            max_size=2,
        )
    },
    optional={"usage": VALUES, "model": VALUES, "provider": VALUES},
)
PART = st.dictionaries(
    st.sampled_from("text thought thoughtSignature functionCall functionResponse inlineData opaque".split()),
    st.one_of(VALUES, st.fixed_dictionaries({"name": st.just("f"), "args": VALUES}, optional={"partialArgs": VALUES})),
    max_size=3,
)
CONTENT = st.fixed_dictionaries({"role": st.sampled_from(["user", "model"]), "parts": st.lists(PART, max_size=3)})
GEMINI_EVENT = st.fixed_dictionaries(
    {
        "candidates": st.lists(
            st.fixed_dictionaries({"content": CONTENT}, optional={"finishReason": VALUES}), max_size=2
        )
    },
    optional={"usageMetadata": VALUES, "modelVersion": VALUES},
)
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "odd"])},
    optional=dict.fromkeys(["text", "thinking", "signature", "data", "id", "name", "input", "tool_use_id"], VALUES),
)
BLOCKS = st.one_of(VALUES, st.lists(BLOCK, max_size=4))
MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": BLOCKS})
MESSAGES_EVENT = st.fixed_dictionaries(
    {"type": st.sampled_from([word for word in WORDS if word.startswith(("message", "content"))])},
    optional={"index": st.integers(0, 2), "content_block": BLOCK, "delta": VALUES, "message": VALUES, "usage": VALUES},
)
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "reasoning", "function_call", "function_call_output", "odd"])},
    optional=dict.fromkeys("role content id call_id name arguments output summary encrypted_content".split(), VALUES),
)
RESPONSES_EVENT = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("response.output_item.done"), "item": ITEM}, optional={"output_index": VALUES}
    ),
    st.fixed_dictionaries({"type": st.just("response.completed"), "response": VALUES}),
    st.fixed_dictionaries({"output": st.lists(ITEM, max_size=3)}),
)

# name: url, the key of the messages, a message, an event, what else a request must have
FORMS = {
    "chat": ("https://gateway.example/v1/chat/completions", "messages", CHAT_MESSAGE, CHAT_EVENT),
    "openrouter": ("https://openrouter.ai/api/v1/chat/completions", "messages", CHAT_MESSAGE, CHAT_EVENT),
    "minimax": ("https://api.minimax.io/v1/chat/completions", "messages", CHAT_MESSAGE, CHAT_EVENT),
    "copilot": ("https://api.githubcopilot.com/chat/completions", "messages", CHAT_MESSAGE, CHAT_EVENT),
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent",
        "contents",
        CONTENT,
        GEMINI_EVENT,
    ),
    "messages": ("https://api.anthropic.com/v1/messages", "messages", MESSAGE, MESSAGES_EVENT),
    "responses": ("https://api.openai.com/v1/responses", "input", ITEM, RESPONSES_EVENT),
}

pytestmark = pytest.mark.parametrize("form", FORMS)


def body_of(listed: str, messages: list[Json], **more: Json) -> bytes:
    return json.dumps({"model": "gemini-3", "max_tokens": 1, listed: messages, **more}).encode()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_answer_and_any_request_pass(form: str, data: st.DataObject) -> None:
    url, listed, message, event = FORMS[form]
    lab = Lab()
    first = [{"role": "user", "content": "hi", "parts": [{"text": "hi"}], "type": "message"}]
    messages = data.draw(st.lists(st.one_of(message, VALUES), max_size=4))
    events = data.draw(st.lists(st.one_of(event, VALUES), max_size=5))
    more = data.draw(st.dictionaries(st.sampled_from("thinking provider n tools stream".split()), VALUES, max_size=2))
    asked = lab.ask(url, CREDENTIAL, body_of(listed, first))
    lab.answer(asked, sse(events))
    lab.answer(asked, plain(data.draw(event)))
    request = body_of(listed, [*first, *messages], **more)
    for skip in (False, True):
        found = lab.ask(url, CREDENTIAL, request, skip=skip)
        again = lab.ask(url, CREDENTIAL, found.sent, skip=skip)
        assert again.sent == found.sent
