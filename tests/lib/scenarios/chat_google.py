"""Signatures on calls and reasoning among the content: Google's compat endpoints, Databricks."""

from lab import Scenario, dialogue

from scenarios.chat_words import (
    ASKED,
    DATABRICKS,
    GOOGLE,
    LONDON,
    SERVING,
    SIGNED,
    VERTEX,
    asking,
    assistant,
    call,
    calling,
    chunk,
    google,
    say,
    stream,
    tool,
    user,
    whole,
)
from thoughtkeep.turns import Json

_GOOGLE: list[Scenario] = [
    dialogue(
        "Google compat: extra_content goes back on its call, and only on the one that had it",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED)), call("b", "tides")), finish="tool_calls"),
            assistant(None, call("a"), call("b", "tides")),
            assistant(None, call("a", **google(SIGNED)), call("b", "tides")),
        ),
        tool("a"),
        tool("b"),
    ),
    dialogue(
        "Google compat: without an index each call is in a chunk of its own, and the answer may say stop",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED)), call("b", arguments=LONDON), index=False)),
            assistant(None, call("a"), call("b", arguments=LONDON)),
            assistant(None, call("a", **google(SIGNED)), call("b", arguments=LONDON)),
        ),
        tool("a"),
        tool("b"),
    ),
    dialogue(
        "Google compat: without an index arguments may come in pieces, the extra_content alone at the end",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                chunk(tool_calls=[call("a", arguments='{"city":"Os')]),
                chunk(tool_calls=[{"function": {"arguments": 'lo"}'}}]),
                chunk(tool_calls=[google(SIGNED)]),
                chunk(tool_calls=[call("b", arguments='{"city":')]),
                chunk(tool_calls=[{"function": {"arguments": '"London"}'}}]),
            ),
            assistant(None, call("a", arguments='{"city": "Oslo"}'), call("b", arguments='{"city": "London"}')),
            assistant(
                None,
                call("a", arguments='{"city": "Oslo"}', **google(SIGNED)),
                call("b", arguments='{"city": "London"}'),
            ),
        ),
        tool("a"),
        tool("b"),
    ),
    dialogue(
        "Google compat: an extra_content alone belongs to the call whose id it has, not to the last one",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                *calling(call("a"), call("b", "tides"), index=False),
                chunk(tool_calls=[{"id": "a", **google(SIGNED)}]),
            ),
            assistant(None, call("a"), call("b", "tides")),
            assistant(None, call("a", **google(SIGNED)), call("b", "tides")),
        ),
        tool("a"),
        tool("b"),
    ),
    dialogue(
        "Google compat: index 0 for all parallel calls makes no one call of them",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(
                chunk(tool_calls=[{"index": 0, **call("a", **google(SIGNED))}]),
                chunk(tool_calls=[{"index": 0, **call("b", arguments=LONDON)}]),
                chunk(tool_calls=[{"index": 0, **call("c", "tides", "")}]),
                chunk(tool_calls=[{"index": 0, **call("d", "moon", "{}")}]),
            ),
            assistant(None, call("a"), call("b", arguments=LONDON), call("c", "tides", "{}"), call("d", "moon", "{}")),
            assistant(
                None,
                call("a", **google(SIGNED)),
                call("b", arguments=LONDON),
                call("c", "tides", "{}"),
                call("d", "moon", "{}"),
            ),
        ),
        tool("a"),
        tool("b"),
        tool("c"),
        tool("d"),
    ),
    dialogue(
        "Google compat: empty ids are replaced by the client, and the place tells the call",
        GOOGLE,
        asking("gemini-2.5-pro"),
        ASKED,
        say(
            stream(
                chunk(tool_calls=[{"index": 0, **call("", **google("Q2Fs"))}]),
                chunk(tool_calls=[{"index": 0, **call("", arguments=LONDON)}]),
            ),
            assistant("", call("uuid-1"), call("uuid-2", arguments=LONDON)),
            assistant("", call("uuid-1", **google("Q2Fs")), call("uuid-2", arguments=LONDON)),
        ),
        tool("uuid-1"),
        tool("uuid-2"),
    ),
    dialogue(
        "Google compat: parallel calls of one id (the function's name) are told apart by their arguments",
        GOOGLE,
        asking("gemini-3-flash"),
        ASKED,
        say(
            stream(*calling(call("forecast", **google(SIGNED)), call("forecast", arguments=LONDON), index=False)),
            assistant(None, call("forecast"), call("forecast", arguments=LONDON)),
            assistant(None, call("forecast", **google(SIGNED)), call("forecast", arguments=LONDON)),
        ),
        tool("forecast"),
        tool("forecast"),
    ),
    dialogue(
        "Google compat: state on the message goes back once, not also as the copy that stands beside it",
        GOOGLE,
        asking("gemini-2.5-pro-preview"),
        ASKED,
        say(
            whole(
                assistant(
                    "Cold.",
                    extra_content={"google": {"thought": True, "thought_signature": SIGNED}},
                    thought_signature=SIGNED,
                )
            ),
            assistant("Cold."),
            assistant("Cold.", extra_content={"google": {"thought": True, "thought_signature": SIGNED}}),
        ),
        user("Sure?"),
    ),
    dialogue(
        "Google compat: the assistant may be called model, and the skip value gives way to what was issued",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED)))),
            {
                "role": "model",
                "tool_calls": [
                    call("a", extra_content={"google": {"thought_signature": "skip_thought_signature_validator"}})
                ],
            },
            {"role": "model", "tool_calls": [call("a", **google(SIGNED))]},
        ),
        tool("a"),
    ),
    dialogue(
        "Vertex compat: the key of the provider is kept as it came",
        VERTEX,
        asking("google/gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", extra_content={"vertex": {"thought_signature": SIGNED}}))),
            assistant(None, call("a")),
            assistant(None, call("a", extra_content={"vertex": {"thought_signature": SIGNED}})),
        ),
        tool("a"),
    ),
    dialogue(
        "Google compat: what the client has beside the signature in the same object stays",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED)))),
            assistant(None, call("a", extra_content={"mine": {"x": 1}})),
            assistant(None, call("a", extra_content={"mine": {"x": 1}, "google": {"thought_signature": SIGNED}})),
        ),
        tool("a"),
    ),
]

_BLOCKS: list[Json] = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Think cold.", "signature": SIGNED}]},
    {"type": "text", "text": "Minus three."},
]

_DATABRICKS: list[Scenario] = [
    dialogue(
        "Databricks: thoughtSignature stands on the call; ids that are the function's name repeat in every turn",
        DATABRICKS,
        asking("gemini-3-pro"),
        ASKED,
        say(
            whole(assistant("", call("forecast", thoughtSignature="QUFB")), "tool_calls"),
            assistant("", call("forecast")),
            assistant("", call("forecast", thoughtSignature="QUFB")),
        ),
        tool("forecast"),
        say(
            whole(assistant("", call("forecast", arguments=LONDON, thoughtSignature="QkJC")), "tool_calls"),
            assistant("", call("forecast", arguments=LONDON)),
            assistant("", call("forecast", arguments=LONDON, thoughtSignature="QkJC")),
        ),
        tool("forecast"),
        say(
            stream(*calling(call("forecast", thoughtSignature="Q0ND")), finish="tool_calls"),
            assistant("", call("forecast")),
            assistant("", call("forecast", thoughtSignature="Q0ND")),
        ),
        tool("forecast"),
    ),
    dialogue(
        "Databricks: the older path names the model, the body does not; a flattened content becomes the array again",
        SERVING,
        lambda messages: {"messages": messages},
        ASKED,
        say(
            whole(assistant(_BLOCKS)),
            assistant("Minus three."),
            assistant(_BLOCKS),
        ),
        user("And on Sunday?"),
    ),
    dialogue(
        "Databricks: content that streams as arrays is joined block by block",
        DATABRICKS,
        asking("claude-sonnet-4-5"),
        ASKED,
        say(
            stream(
                chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Think "}]}]),
                chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "cold."}]}]),
                chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_text", "signature": SIGNED}]}]),
                chunk(content=""),
                chunk(content="Minus "),
                chunk(content=[{"type": "text", "text": "three."}]),
                *calling(call("toolu_4")),
                finish="tool_calls",
            ),
            assistant("Minus three.", call("toolu_4")),
            assistant(_BLOCKS, call("toolu_4")),
        ),
        tool("toolu_4"),
    ),
    dialogue(
        "Databricks: a call without words gets its reasoning back where the client has no content",
        DATABRICKS,
        asking("claude-sonnet-4-5"),
        ASKED,
        say(
            stream(
                chunk(content="Well"),
                chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_encrypted_text", "data": "UkVE"}]}]),
                *calling(call("toolu_5")),
            ),
            assistant("Well", call("toolu_5")),
            assistant(
                [
                    {"type": "text", "text": "Well"},
                    {"type": "reasoning", "summary": [{"type": "summary_encrypted_text", "data": "UkVE"}]},
                ],
                call("toolu_5"),
            ),
        ),
        tool("toolu_5"),
        say(
            whole(assistant(_BLOCKS[:1], call("toolu_6"))),
            assistant(None, call("toolu_6")),
            assistant(_BLOCKS[:1], call("toolu_6")),
        ),
        tool("toolu_6"),
    ),
    dialogue(
        "Databricks: words that the client changed beside a call stay the client's, as a string and as an array",
        DATABRICKS,
        asking("claude-sonnet-4-5"),
        ASKED,
        say(
            whole(assistant(_BLOCKS, call("toolu_7"))),
            assistant("Minus four.", call("toolu_7")),
            assistant("Minus four.", call("toolu_7")),
        ),
        tool("toolu_7"),
        say(
            whole(assistant(_BLOCKS, call("toolu_8"))),
            assistant([{"type": "text", "text": "Minus four."}], call("toolu_8")),
            assistant([{"type": "text", "text": "Minus four."}], call("toolu_8")),
        ),
        tool("toolu_8"),
    ),
]

SCENARIOS = [*_GOOGLE, *_DATABRICKS]
