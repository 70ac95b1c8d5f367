"""Keys that only one gateway has, or nobody told us of: Copilot, LiteLLM, unknown hosts."""

from lab import Scenario, dialogue, plain

from scenarios.chat_words import (
    ASKED,
    COPILOT,
    LITELLM,
    SEALED,
    SIGNED,
    UNKNOWN,
    asking,
    assistant,
    call,
    calling,
    chunk,
    say,
    stream,
    tool,
    whole,
)
from thoughtkeep.turns import Json

_COPILOT: list[Scenario] = [
    dialogue(
        "Copilot: the words and the opaque value that closes them go back as one, over both choices of the answer",
        COPILOT,
        asking("claude-sonnet-4.5"),
        ASKED,
        say(
            plain(
                {
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "tool_calls",
                            "message": {"content": "Let me see.", "reasoning_text": "Hm.", "reasoning_opaque": SEALED},
                        },
                        {"index": 1, "finish_reason": "tool_calls", "message": {"tool_calls": [call("toolu_1")]}},
                    ]
                }
            ),
            assistant("Let me see.", call("toolu_1")),
            assistant("Let me see.", call("toolu_1"), reasoning_opaque=SEALED, reasoning_text="Hm."),
        ),
        tool("toolu_1"),
    ),
    dialogue(
        "Copilot: of several pairs the last goes back, and no words that no opaque value closed",
        COPILOT,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                chunk(reasoning_text="First."),
                chunk(reasoning_opaque="Zmlyc3Q="),
                chunk(reasoning_text="Sec"),
                chunk(reasoning_text="ond."),
                chunk(reasoning_opaque="c2Vjb25k"),
                *calling(call("c1")),
                chunk(reasoning_text="Unclosed."),
            ),
            assistant(None, call("c1")),
            assistant(None, call("c1"), reasoning_opaque="c2Vjb25k", reasoning_text="Second."),
        ),
        tool("c1"),
    ),
    dialogue(
        "Copilot: an opaque value without words goes back alone, not with the words of the one before it",
        COPILOT,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                chunk(reasoning_text="First."),
                chunk(reasoning_opaque="Zmlyc3Q="),
                chunk(reasoning_opaque="c2Vjb25k"),
                *calling(call("c1")),
            ),
            assistant(None, call("c1")),
            assistant(None, call("c1"), reasoning_opaque="c2Vjb25k"),
        ),
        tool("c1"),
    ),
    dialogue(
        "Copilot: Azure's cot_id and cot_summary go back",
        COPILOT,
        asking("gpt-5-mini"),
        ASKED,
        say(
            stream(chunk(cot_id="cot-1", cot_summary="Col"), chunk(cot_summary="d."), *calling(call("c1"))),
            assistant(None, call("c1")),
            assistant(None, call("c1"), cot_id="cot-1", cot_summary="Cold."),
        ),
        tool("c1"),
    ),
]

_BLOCK = {"type": "thinking", "thinking": "Hm.", "signature": SIGNED}
_REDACTED = {"type": "redacted_thinking", "data": "cmVk"}
_FIELDS: dict[str, Json] = {"provider_specific_fields": {"thought_signature": SIGNED}}

_GATEWAYS: list[Scenario] = [
    dialogue(
        "LiteLLM: fields on the call and thinking blocks on the message go back; an id that carries a value is left",
        LITELLM,
        asking("claude"),
        ASKED,
        say(
            stream(
                chunk(reasoning_content="Hm.", thinking_blocks=[{"type": "thinking", "thinking": "Hm."}]),
                chunk(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": SIGNED}]),
                chunk(thinking_blocks=[_REDACTED]),
                *calling(call("call_x__thought__c2ln", **_FIELDS)),
            ),
            assistant(None, call("call_x__thought__c2ln")),
            assistant(None, call("call_x__thought__c2ln", **_FIELDS), thinking_blocks=[_BLOCK, _REDACTED]),
        ),
        tool("call_x__thought__c2ln"),
    ),
    dialogue(
        "LiteLLM: the reasoning items of the last chunk go back",
        LITELLM,
        asking("gpt-5.2"),
        ASKED,
        say(
            stream(
                *calling(call("c1")),
                chunk(
                    reasoning_items=[{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED}]
                ),
            ),
            assistant(None, call("c1")),
            assistant(
                None,
                call("c1"),
                reasoning_items=[{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEALED}],
            ),
        ),
        tool("c1"),
    ),
    dialogue(
        "an unknown host: keys that nobody told us of go back to the call, the function and the message they came on",
        UNKNOWN,
        asking("m"),
        ASKED,
        say(
            stream(
                chunk(state_token="AAAA", trail=["one"], seal={"a": "x"}),
                chunk(state_token="AAAA", trail=["one", "two"], seal={"b": "y"}),
                chunk(state_token="BBBB"),
                chunk(
                    tool_calls=[
                        {
                            "index": 0,
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "forecast", "arguments": "{}", "token": "inner"},
                            "token": {"k": "outer"},
                        }
                    ]
                ),
                chunk(tool_calls=[{"index": 0, "token": {"l": "more"}, "late": "v", "type": None}]),
            ),
            assistant(None, call("c1", arguments="{}")),
            assistant(
                None,
                {
                    **call("c1", arguments="{}"),
                    "function": {"name": "forecast", "arguments": "{}", "token": "inner"},
                    "token": {"k": "outer", "l": "more"},
                    "late": "v",
                },
                state_token="AAAABBBB",
                trail=["one", "two"],
                seal={"a": "x", "b": "y"},
            ),
        ),
        tool("c1"),
    ),
    dialogue(
        "an unknown host: flags, numbers, nulls and what gateways put beside the answer are no state",
        UNKNOWN,
        asking("m"),
        ASKED,
        say(
            whole(
                assistant(
                    None,
                    call("c1", index=4, nothing=None),
                    is_final=True,
                    score=0.5,
                    nothing=None,
                    nested={"empty": [], "n": 1},
                    refusal="no",
                    annotations=[{"type": "x"}],
                    citations=["https://a.example"],
                )
            ),
            assistant(None, call("c1")),
            assistant(None, call("c1")),
        ),
        tool("c1"),
    ),
    dialogue(
        "an unknown host: a custom tool's call is known by its input; an empty one beside a function is none",
        UNKNOWN,
        asking("m"),
        ASKED,
        say(
            stream(
                chunk(tool_calls=[{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sh", "input": "l"}}]),
                chunk(tool_calls=[{"index": 0, "custom": {"input": "s -a"}, "seal": "v1"}]),
                chunk(tool_calls=[{"index": 1, **call("c2", seal="v2"), "custom": None}]),
            ),
            assistant(None, {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls -a"}}, call("c2")),
            assistant(
                None,
                {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls -a"}, "seal": "v1"},
                call("c2", seal="v2"),
            ),
        ),
        tool("c1"),
        tool("c2"),
    ),
]

SCENARIOS = [*_COPILOT, *_GATEWAYS]
