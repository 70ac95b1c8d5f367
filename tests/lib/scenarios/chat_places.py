"""Where a turn stands, and how it is known again whatever clients make of the conversation."""

from lab import Exchange, Scenario, dialogue

from scenarios.chat_words import (
    ASKED,
    LONDON,
    MISTRAL,
    OPENROUTER,
    SEALED,
    SOME,
    UNKNOWN,
    asking,
    assistant,
    call,
    called,
    calling,
    chunk,
    say,
    sealed,
    stream,
    text_of,
    thinking,
    tool,
    user,
    whole,
)

SYSTEM = {"role": "system", "content": "You tell the weather. It is Monday."}


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


SCENARIOS: list[Scenario] = [
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
        SOME(
            [
                SYSTEM,
                user("Summary: it is cold."),
                called(call("c2", "tides", ""), reasoning_content="Two."),
                tool("c2"),
            ]
        ),
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
                stream(
                    chunk(content="Cold."), chunk(reasoning_details=[sealed(SEALED, id="r1"), text_of("Half a th")])
                ),
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
                assistant("Cold.", reasoning_details=[sealed(SEALED, id="r1"), text_of("Half a th")]),
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
