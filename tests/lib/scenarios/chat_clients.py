"""What clients make of a conversation, and how it is known again all the same: chat completions."""

from lab import Exchange, Reply, Scenario, dialogue, sse
from scenarios.chat_vendors import ASKED, DEEPSEEK, GEMINI, GOOGLE, GROQ, LONDON, MISTRAL, OPENAI, OPENROUTER
from scenarios.chat_vendors import SEALED, SIGNED, UNKNOWN, google, sealed, text_of
from scenarios.chat_words import (
    DONE,
    assistant,
    asking,
    call,
    calling,
    chunk,
    say,
    stream,
    tool,
    usage,
    user,
    whole,
)
from thoughtkeep.turns import Json

GEMINI3 = asking("gemini-3-pro-preview")
SOME = asking("some-model")
SYSTEM = {"role": "system", "content": "You tell the weather. It is Monday."}
UNSIGNED = text_of("Half a th")


def thinking(text: str, *calls: Json) -> Reply:
    """An answer with plain reasoning and calls."""
    return stream(chunk(reasoning_content=text), *calling(*calls), finish="tool_calls")


def called(*calls: Json, **keys: Json) -> dict[str, Json]:
    return assistant(None, *calls, **keys)


# -- how an answer ends -----------------------------------------------------------------------------------------------

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
        GEMINI3,
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

# -- where a turn stands ----------------------------------------------------------------------------------------------


def _conversation(city: str, thought: str) -> list[Exchange]:
    """Two answers behind the same first words: the calls are equal, the words between them and the thoughts are not."""
    first = [ASKED, called(call("call_0"))]
    return [
        Exchange(SOME([ASKED]), thinking(thought, call("call_0"))),
        Exchange(
            SOME([*first, tool("call_0", city)]),
            stream(chunk(reasoning_content=f"{thought} still."), chunk(content="It is cold.")),
        ),
    ]


_PLACES: list[Scenario] = [
    Scenario(
        "of conversations with equal calls and first words each gets its own state: what the tools said tells",
        UNKNOWN,
        tuple(
            exchange
            for pair in zip(_conversation("Oslo", "One"), _conversation("Rome", "Two"), strict=True)
            for exchange in pair
        ),
        SOME([ASKED, called(call("call_0")), tool("call_0", "Oslo"), assistant("It is cold."), user("Sure?")]),
        SOME(
            [
                ASKED,
                # Both conversations were the same so far: the newest of equal turns.
                called(call("call_0"), reasoning_content="Two"),
                tool("call_0", "Oslo"),
                assistant("It is cold.", reasoning_content="One still."),
                user("Sure?"),
            ]
        ),
    ),
    Scenario(
        "of two answers at one place the one whose arguments the client tells is meant, though the other is newer",
        UNKNOWN,
        (
            Exchange(SOME([ASKED]), thinking("Oslo.", call("c1"))),
            Exchange(SOME([ASKED]), thinking("London.", call("c1", arguments=LONDON))),
        ),
        SOME([ASKED, called(call("c1")), tool("c1")]),
        SOME([ASKED, called(call("c1"), reasoning_content="Oslo."), tool("c1")]),
    ),
    Scenario(
        "of two equal answers at one place the ids tell",
        UNKNOWN,
        (
            Exchange(SOME([ASKED]), thinking("First.", call("c1"))),
            Exchange(SOME([ASKED]), thinking("Second.", call("c2"))),
        ),
        SOME([ASKED, called(call("c1")), tool("c1")]),
        SOME([ASKED, called(call("c1"), reasoning_content="First."), tool("c1")]),
    ),
    Scenario(
        "of two equal answers whose ids the client replaced the newest is meant",
        UNKNOWN,
        (
            Exchange(SOME([ASKED]), thinking("First.", call("c1"))),
            Exchange(SOME([ASKED]), thinking("Second.", call("c2"))),
        ),
        SOME([ASKED, called(call("mine")), tool("mine")]),
        SOME([ASKED, called(call("mine"), reasoning_content="Second."), tool("mine")]),
    ),
    Scenario(
        "a history that was made shorter still has its ids: one that occurs once is known",
        UNKNOWN,
        (
            Exchange(SOME([SYSTEM, ASKED]), thinking("One.", call("c1"))),
            Exchange(
                SOME([SYSTEM, ASKED, called(call("c1")), tool("c1")]), thinking("Two.", call("c2", "tides", "{}"))
            ),
        ),
        SOME([SYSTEM, user("Summary: it is cold."), called(call("c2", "tides", "")), tool("c2")]),
        SOME([SYSTEM, user("Summary: it is cold."), called(call("c2", "tides", ""), reasoning_content="Two."), tool("c2")]),
    ),
    Scenario(
        "in a history that was made shorter an id that repeats is no proof",
        UNKNOWN,
        (
            Exchange(SOME([ASKED]), thinking("One.", call("call_0"))),
            Exchange(SOME([ASKED, called(call("call_0")), tool("call_0")]), thinking("Two.", call("call_0"))),
        ),
        SOME([user("Summary: it is cold."), called(call("call_0")), tool("call_0")]),
        None,
    ),
    Scenario(
        "an id that occurs once is no proof of other arguments",
        UNKNOWN,
        (Exchange(SOME([ASKED]), thinking("One.", call("c1"))),),
        SOME([user("Summary."), called(call("c1", arguments=LONDON)), tool("c1")]),
        None,
    ),
    Scenario(
        "in a history that was made shorter a text alone is no proof, but a value that the client kept of it is",
        OPENROUTER,
        (
            Exchange(
                asking("google/gemini-3-flash")([ASKED]),
                stream(chunk(content="Cold."), chunk(reasoning_details=[sealed(SEALED, id="r1"), UNSIGNED])),
            ),
        ),
        asking("google/gemini-3-flash")(
            [
                user("Summary."),
                assistant("Cold."),
                user("And?"),
                assistant("Cold.", reasoning_details=[sealed(SEALED)]),
                user("So?"),
            ]
        ),
        asking("google/gemini-3-flash")(
            [
                user("Summary."),
                assistant("Cold."),
                user("And?"),
                assistant("Cold.", reasoning_details=[sealed(SEALED, id="r1"), UNSIGNED]),
                user("So?"),
            ]
        ),
    ),
    dialogue(
        "the system's words, reminders and cache marks may change, and the place is the same",
        UNKNOWN,
        lambda messages: SOME(
            [
                {"role": "system", "content": f"It is minute {len(messages)}."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "How cold?", "cache_control": {"type": "ephemeral"}},
                        {"type": "text", "text": f"<system-reminder>{len(messages)} todos</system-reminder>"},
                    ],
                },
                *messages,
            ]
        ),
        say(
            stream(chunk(reasoning_content="Hm."), chunk(content="Cold.  Very\n")),
            assistant([{"type": "text", "text": "Cold. Very"}]),
            assistant([{"type": "text", "text": "Cold. Very"}], reasoning_content="Hm."),
        ),
        user("Thanks"),
    ),
    dialogue(
        "arguments are the same in every spelling: spaces, the order of keys, 1.0 for 1, nothing for no arguments",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            thinking("Hm.", call("c1", arguments='{"a":1.0,"b":[true,null]}'), call("c2", arguments="")),
            called(call("x1", arguments='{ "b": [true, null], "a": 1 }'), call("x2", arguments="{}")),
            called(
                call("x1", arguments='{ "b": [true, null], "a": 1 }'),
                call("x2", arguments="{}"),
                reasoning_content="Hm.",
            ),
        ),
        tool("x1"),
        tool("x2"),
    ),
    dialogue(
        "an answer told in several messages gets its state where its first call stands",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            stream(chunk(content="Let me see."), chunk(reasoning_content="Hm."), *calling(call("c1"))),
            [assistant("Let me see."), called(call("c1"))],
            [assistant("Let me see."), called(call("c1"), reasoning_content="Hm.")],
        ),
        tool("c1"),
    ),
    dialogue(
        "an answer whose words the client parted over several messages does not get all of them in each",
        MISTRAL,
        asking("magistral-medium-latest"),
        ASKED,
        say(
            whole(
                assistant(
                    [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                        {"type": "text", "text": "Minus three."},
                    ]
                )
            ),
            [assistant("Minus"), assistant("three.")],
            [assistant("Minus"), assistant("three.")],
        ),
        user("Thanks"),
    ),
    dialogue(
        "an answer that the client reworded is not known, its neighbours are",
        UNKNOWN,
        SOME,
        ASKED,
        say(thinking("One.", call("c1")), called(call("c1")), called(call("c1"), reasoning_content="One.")),
        tool("c1"),
        say(
            stream(chunk(reasoning_content="Two."), chunk(content="Cold.")),
            assistant("It is rather warm."),
            assistant("It is rather warm."),
        ),
        user("Again"),
        say(thinking("Three.", call("c3")), called(call("c3")), called(call("c3"), reasoning_content="Three.")),
        tool("c3"),
    ),
]

# -- batches that were split ------------------------------------------------------------------------------------------

_BATCH = thinking("Both.", call("c1", token="t1"), call("c2", arguments=LONDON, token="t2"))

_SPLIT: list[Scenario] = [
    dialogue(
        "a batch that the client split, each call with its result, is one message again",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            _BATCH,
            [called(call("c1")), tool("c1"), assistant("", call("c2", arguments=LONDON)), tool("c2")],
            [
                called(call("c1", token="t1"), call("c2", arguments=LONDON, token="t2"), reasoning_content="Both."),
                tool("c1"),
                tool("c2"),
            ],
        ),
        user("Thanks"),
    ),
    dialogue(
        "a split batch is not regrouped where the user spoke between: the state goes to its first piece",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            _BATCH,
            [called(call("c1")), tool("c1"), user("Wait."), called(call("c2", arguments=LONDON)), tool("c2")],
            [
                called(call("c1", token="t1"), reasoning_content="Both."),
                tool("c1"),
                user("Wait."),
                called(call("c2", arguments=LONDON)),
                tool("c2"),
            ],
        ),
        user("Thanks"),
    ),
    dialogue(
        "a split batch is not regrouped where the results between are another call's",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            _BATCH,
            [called(call("c1")), tool("c1"), tool("c7"), called(call("c2", arguments=LONDON)), tool("c2")],
            [
                called(call("c1", token="t1"), reasoning_content="Both."),
                tool("c1"),
                tool("c7"),
                called(call("c2", arguments=LONDON)),
                tool("c2"),
            ],
        ),
    ),
    dialogue(
        "a split batch is not regrouped where a piece says words of its own",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            _BATCH,
            [called(call("c1")), tool("c1"), assistant("And:", call("c2", arguments=LONDON)), tool("c2")],
            [
                called(call("c1", token="t1"), reasoning_content="Both."),
                tool("c1"),
                assistant("And:", call("c2", arguments=LONDON)),
                tool("c2"),
            ],
        ),
    ),
    dialogue(
        "a batch of which the client tells only the beginning is not regrouped",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            thinking("All.", call("c1"), call("c2", arguments=LONDON), call("c3", "tides", "{}")),
            [called(call("c1")), tool("c1"), called(call("c2", arguments=LONDON)), tool("c2")],
            [
                called(call("c1"), reasoning_content="All."),
                tool("c1"),
                called(call("c2", arguments=LONDON)),
                tool("c2"),
            ],
        ),
    ),
    dialogue(
        "a split batch of which each message brings its own state is complete as it is",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            _BATCH,
            [
                called(call("c1"), reasoning_content="Both."),
                tool("c1"),
                called(call("c2", arguments=LONDON), reasoning_content="Both."),
                tool("c2"),
            ],
            [
                called(call("c1"), reasoning_content="Both."),
                tool("c1"),
                called(call("c2", arguments=LONDON), reasoning_content="Both."),
                tool("c2"),
            ],
        ),
    ),
    dialogue(
        "a key that an SDK writes as null is no state of its own",
        UNKNOWN,
        SOME,
        ASKED,
        say(
            _BATCH,
            [
                called(call("c1"), reasoning_content=None),
                tool("c1"),
                called(call("c2", arguments=LONDON), reasoning_content=None),
                tool("c2"),
            ],
            [
                called(call("c1", token="t1"), call("c2", arguments=LONDON, token="t2"), reasoning_content="Both."),
                tool("c1"),
                tool("c2"),
            ],
        ),
        user("Thanks"),
    ),
    Scenario(
        "of two batches that begin alike the one is meant that the client tells to its end, though the other is newer",
        UNKNOWN,
        (
            Exchange(SOME([ASKED]), thinking("Old.", call("c1"), call("c2", arguments=LONDON))),
            Exchange(SOME([ASKED]), thinking("New.", call("c1"), call("c3", "tides", "{}"))),
        ),
        SOME([ASKED, called(call("x1")), tool("x1"), called(call("x2", arguments=LONDON)), tool("x2")]),
        SOME(
            [
                ASKED,
                called(call("x1"), call("x2", arguments=LONDON), reasoning_content="Old."),
                tool("x1"),
                tool("x2"),
            ]
        ),
    ),
    Scenario(
        "a split batch in a history that was made shorter is known by an id",
        UNKNOWN,
        (Exchange(SOME([ASKED]), _BATCH),),
        SOME([user("Summary."), called(call("c1")), tool("c1"), called(call("c2", arguments=LONDON)), tool("c2")]),
        SOME(
            [
                user("Summary."),
                called(call("c1", token="t1"), call("c2", arguments=LONDON, token="t2"), reasoning_content="Both."),
                tool("c1"),
                tool("c2"),
            ]
        ),
    ),
]

# -- what the client has instead --------------------------------------------------------------------------------------


def _instead(rule: str, have: Json, sent: Json) -> Scenario:
    """An answer of Google's whose signature comes back as `have`."""
    return dialogue(
        rule,
        GOOGLE,
        GEMINI3,
        ASKED,
        say(stream(*calling(call("a", **google(SIGNED)))), called(call("a", **have)), called(call("a", **sent))),
        tool("a"),
    )


_VALUES: list[Scenario] = [
    *(
        _instead(f"{what} gives way to what was issued", google(value), google(SIGNED))
        for what, value in {
            "an empty value": "",
            "a skip value": "context_engineering_is_the_way_to_go",
            "a skip value in base64": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
            "a value cut short": SIGNED[:9],
            "a value that is no base64": "<redacted by the logger>",
        }.items()
    ),
    _instead("null gives way to what was issued", {"extra_content": None}, google(SIGNED)),
    _instead("another whole value is the client's own affair", google("b3RoZXItdmFsdWU="), google("b3RoZXItdmFsdWU=")),
    _instead(
        "the same value in the url-safe alphabet is the same value",
        google(SIGNED.replace("+", "-").replace("/", "_")),
        google(SIGNED.replace("+", "-").replace("/", "_")),
    ),
    dialogue(
        "fillers that agents invent give way to what was issued",
        DEEPSEEK,
        asking("deepseek-chat"),
        ASKED,
        say(
            thinking("Hm.", call("c1")),
            called(call("c1"), reasoning_content="(reasoning unavailable)"),
            called(call("c1"), reasoning_content="Hm."),
        ),
        tool("c1"),
    ),
    dialogue(
        "reasoning that the client wrote itself is left",
        DEEPSEEK,
        asking("deepseek-chat"),
        ASKED,
        say(
            thinking("Hm.", call("c1")),
            called(call("c1"), reasoning_content="I thought about it."),
            called(call("c1"), reasoning_content="I thought about it."),
        ),
        tool("c1"),
    ),
]

# -- whose state it is ------------------------------------------------------------------------------------------------


def _pinned(rule: str, provider: Json, *missed: str) -> Scenario:
    gemini = asking("google/gemini-3-pro-preview", provider=provider)
    entry = [sealed(SEALED, id="t1", **GEMINI)]
    reply = whole(called(call("t1"), reasoning_details=entry), "tool_calls", provider="Google AI Studio")
    expected = None if missed else gemini([ASKED, called(call("t1"), reasoning_details=entry), tool("t1")])
    lossy = gemini([ASKED, called(call("t1")), tool("t1")])
    exchange = Exchange(asking("google/gemini-3-pro-preview")([ASKED]), reply)
    return Scenario(rule, OPENROUTER, (exchange,), lossy, expected, missed)


_OWNERS: list[Scenario] = [
    _pinned("OpenRouter: a request that pins another upstream gets none", {"only": ["anthropic"]}, "other_upstream"),
    _pinned(
        "OpenRouter: so does one that allows nothing else",
        {"order": ["openai", 7], "allow_fallbacks": False},
        "other_upstream",
    ),
    _pinned("OpenRouter: a request that pins the same upstream gets it", {"only": ["google-ai-studio"]}),
    _pinned("OpenRouter: a preference is no pin", {"order": ["anthropic"]}),
    _pinned("OpenRouter: what is no list is no pin", {"only": "anthropic"}),
    Scenario(
        "another model's state stays away, a dated name of the same model gets it",
        GOOGLE,
        (
            Exchange(GEMINI3([ASKED]), stream(*calling(call("a", **google(SIGNED))))),
            Exchange(asking("gemma-9")([user("Else")]), stream(*calling(call("b", **google(SEALED))))),
        ),
        asking("gemini-3-pro-preview@001")([ASKED, called(call("a")), tool("a"), called(call("b")), tool("b")]),
        asking("gemini-3-pro-preview@001")(
            [ASKED, called(call("a", **google(SIGNED))), tool("a"), called(call("b")), tool("b")]
        ),
        ("other_model",),
    ),
    Scenario(
        "AI Studio gets nothing of Vertex's",
        "https://aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
        (Exchange(GEMINI3([ASKED]), stream(*calling(call("a", **google(SIGNED))))),),
        GEMINI3([ASKED, called(call("a")), tool("a")]),
        None,
        ("other_provider",),
        next_url=GOOGLE,
    ),
    Scenario(
        "twin hosts of one vendor are one",
        "https://api.moonshot.ai/v1/chat/completions",
        (Exchange(SOME([ASKED]), thinking("Hm.", call("c1"))),),
        SOME([ASKED, called(call("c1")), tool("c1")]),
        SOME([ASKED, called(call("c1"), reasoning_content="Hm."), tool("c1")]),
        next_url="https://api.moonshot.cn/v1/chat/completions",
    ),
    Scenario(
        "another port of an unknown host is another host",
        "http://127.0.0.1:8000/v1/chat/completions",
        (Exchange(SOME([ASKED]), thinking("Hm.", call("c1"))),),
        SOME([ASKED, called(call("c1")), tool("c1")]),
        None,
        ("other_provider",),
        next_url="http://127.0.0.1:8001/v1/chat/completions",
    ),
    *(
        Scenario(
            f"a strict vendor ({url.split('/')[2]}) gets nothing on its messages of what another one issued",
            OPENROUTER,
            (Exchange(SOME([ASKED]), stream(chunk(reasoning_details=[text_of("x")]), *calling(call("c1")))),),
            SOME([ASKED, called(call("c1")), tool("c1")]),
            None,
            ("other_provider",),
            next_url=url,
        )
        for url in (OPENAI, GROQ)
    ),
]

# -- shapes that nobody promised --------------------------------------------------------------------------------------

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

SCENARIOS = [*_ENDS, *_PLACES, *_SPLIT, *_VALUES, *_OWNERS, *_ODD]
