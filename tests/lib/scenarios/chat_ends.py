"""How answers end, and shapes that nobody promised."""

from lab import Exchange, Scenario, dialogue, sse

from scenarios.chat_words import (
    ASKED,
    DONE,
    GEMINI,
    GOOGLE,
    OPENROUTER,
    SEALED,
    SIGNED,
    SOME,
    UNKNOWN,
    asking,
    assistant,
    call,
    called,
    calling,
    chunk,
    google,
    say,
    sealed,
    stream,
    text_of,
    thinking,
    tool,
    usage,
    user,
)

UNSIGNED = text_of("Half a th")


_ENDS: list[Scenario] = [
    dialogue(
        "a usage chunk behind the end changes nothing, a late signature amends the turn",
        OPENROUTER,
        asking("google/gemini-3-pro-preview"),
        ASKED,
        say(
            sse(
                [
                    *calling(call("t1")),
                    chunk("tool_calls"),
                    chunk(reasoning_details=[sealed(SEALED, id="t1", **GEMINI)]),
                    usage(),
                    DONE,
                ]
            ),
            called(call("t1")),
            called(call("t1"), reasoning_details=[sealed(SEALED, id="t1", **GEMINI)]),
        ),
        tool("t1"),
    ),
    dialogue(
        "a stream without its mark has ended with its finish_reason",
        GOOGLE,
        asking("gemini-3-pro-preview"),
        ASKED,
        say(
            stream(*calling(call("a", **google(SIGNED))), done=False),
            called(call("a")),
            called(call("a", **google(SIGNED))),
        ),
        tool("a"),
    ),
    dialogue(
        "a stream without a finish_reason has ended with its mark, what follows the mark is read too",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            sse([chunk(reasoning_content="Hm."), *calling(call("a")), DONE, ": and then", usage()]),
            called(call("a")),
            called(call("a"), reasoning_content="Hm."),
        ),
        tool("a"),
    ),
    dialogue(
        "of a stream that was cut what was signed is kept, and the calls that were whole",
        OPENROUTER,
        asking("google/gemini-3-pro-preview"),
        ASKED,
        say(
            sse(
                [
                    chunk(content="One ", reasoning_details=[sealed(SEALED, id="t1", **GEMINI), UNSIGNED]),
                    *calling(call("t1"), call("t2", arguments='{"ci')),
                ],
                ends=False,
            ),
            assistant("One ", call("t1")),
            assistant("One ", call("t1"), reasoning_details=[sealed(SEALED, id="t1", **GEMINI)]),
        ),
        tool("t1"),
    ),
    dialogue(
        "of a stream that was cut nothing is kept that no signature closed",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            sse([chunk(reasoning_content="Half a th", token="half"), *calling(call("t1"))], ends=False),
            called(call("t1")),
            called(call("t1")),
        ),
        tool("t1"),
    ),
    dialogue(
        "of an answer with an error in its midst nothing is kept that no signature closed",
        OPENROUTER,
        asking("anthropic/claude-sonnet-4.5"),
        ASKED,
        say(
            sse(
                [
                    chunk(reasoning="Hm.", reasoning_details=[text_of("Hm.", signature=SIGNED)]),
                    chunk(reasoning="Half a th", reasoning_details=[{**UNSIGNED, "index": 1}]),
                    *calling(call("t1")),
                    {"error": {"code": 502, "message": "upstream"}, **chunk("error")},
                    DONE,
                ],
                ends=False,
            ),
            called(call("t1")),
            called(call("t1"), reasoning_details=[text_of("Hm.", signature=SIGNED)]),
        ),
        tool("t1"),
    ),
    dialogue(
        "a finish_reason that says error is one, without an error beside it",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            sse([chunk(reasoning_content="Hm."), *calling(call("t1")), chunk("error"), DONE], ends=False),
            called(call("t1")),
            called(call("t1")),
        ),
        tool("t1"),
    ),
    Scenario(
        "of several choices the one that the client took gets its own state",
        UNKNOWN,
        (
            Exchange(
                asking("some-model", n=2)([ASKED]),
                sse(
                    [
                        chunk(index=0, reasoning_content="Zero.", content="Cold."),
                        chunk(index=1, reasoning_content="One.", content="Warm."),
                        chunk("stop", index=1),
                        chunk("stop", index=0),
                        DONE,
                    ]
                ),
            ),
        ),
        SOME([ASKED, assistant("Warm."), user("Why?")]),
        SOME([ASKED, assistant("Warm.", reasoning_content="One."), user("Why?")]),
    ),
]


_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}

_ODD: list[Scenario] = [
    dialogue(
        "a conversation that begins with an image alone keeps its place when words follow",
        UNKNOWN,
        SOME,
        user([_IMAGE]),
        say(
            stream(chunk(reasoning_content="Hm."), chunk(content="A harbour.")),
            assistant("A harbour."),
            assistant("A harbour.", reasoning_content="Hm."),
        ),
        user("Which?"),
    ),
    dialogue(
        "a conversation that the assistant begins keeps its place",
        UNKNOWN,
        SOME,
        assistant("Welcome."),
        user([_IMAGE, {"type": "text", "text": "Where is it?"}]),
        say(thinking("Hm.", call("c1")), called(call("c1")), called(call("c1"), reasoning_content="Hm.")),
        tool("c1"),
    ),
    Scenario(
        "what cannot be understood of a request is left out of the reading, and left as it is",
        UNKNOWN,
        (Exchange(SOME([ASKED]), thinking("Hm.", call("c1"))),),
        SOME(
            [
                ASKED,
                None,
                "words",
                called("no call", call("c1"), {"id": 3, "function": {"name": None}}, {"id": "c2"}),
                {"role": "assistant", "content": 5, "tool_calls": {"no": "list"}},
                {"role": "function", "name": "forecast", "content": None},
                {"role": "tool", "content": [{"type": "image"}, 1, {"text": "t"}]},
                {"role": "user"},
            ]
        ),
        None,
    ),
    Scenario(
        "what cannot be understood of an answer is left out of the turn",
        UNKNOWN,
        (
            Exchange(
                SOME([ASKED]),
                sse(
                    [
                        "no json",
                        "[1, 2",
                        "3]",
                        [],
                        {"choices": None},
                        {"choices": [None, {"index": "0", "delta": None}, {"delta": {"tool_calls": "none"}}]},
                        {"choices": [{"delta": {"content": None, "reasoning": {"not": "words"}, "seal": ["a"]}}]},
                        {"choices": [{"delta": {"content": 7, "seal": "other", "thinking_blocks": []}}]},
                        {"choices": [{"delta": {"tool_calls": [None, {"index": 0, "function": {"name": "f"}}]}}]},
                        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": "none"}]}}]},
                        chunk("stop"),
                        {"usage": {"total_tokens": None}, "model": 4},
                    ]
                ),
            ),
        ),
        SOME([ASKED, called(call("x", "f", "")), tool("x")]),
        SOME(
            [
                ASKED,
                called(call("x", "f", ""), thinking_blocks=[], seal="other", reasoning={"not": "words"}),
                tool("x"),
            ]
        ),
    ),
    dialogue(
        "entries that are no objects are entries",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            stream(chunk(thinking_blocks=["odd"]), chunk(thinking_blocks=["odd", 1]), *calling(call("c1"))),
            called(call("c1")),
            called(call("c1"), thinking_blocks=["odd", "odd", 1]),
        ),
        tool("c1"),
    ),
]

SCENARIOS = [*_ENDS, *_ODD]
