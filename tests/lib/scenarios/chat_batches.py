"""Parallel calls that a client tells in several messages."""

from lab import Exchange, Scenario, dialogue

from scenarios.chat_words import (
    ASKED,
    LONDON,
    SOME,
    UNKNOWN,
    assistant,
    call,
    called,
    say,
    thinking,
    tool,
    user,
)

_BATCH = thinking("Both.", call("c1", token="t1"), call("c2", arguments=LONDON, token="t2"))

SCENARIOS: list[Scenario] = [
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
