"""Parallel calls that a client tells in several contents."""

from lab import Scenario, dialogue

from scenarios.gemini_words import (
    ASKED,
    ASKING,
    BREST,
    CODE_ASSIST,
    DOVER,
    NATIVE,
    SIGNED,
    SIGNED2,
    call,
    chunk,
    model,
    result,
    results,
    say,
    stream,
    user,
    wrapped,
)

_ALL = chunk(call("tide", BREST, **SIGNED), call("tide", DOVER), call("moon"), finish="STOP")

SCENARIOS: list[Scenario] = [
    dialogue(
        "a batch that the client split is one content again, and so are its results, in the order of the calls",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(_ALL),
            [
                model(call("tide", BREST)),
                results(result("tide", 1)),
                model(call("tide", DOVER)),
                results(result("tide", 2)),
                model(call("moon")),
                results(result("moon", 3)),
            ],
            [
                model(call("tide", BREST, **SIGNED), call("tide", DOVER), call("moon")),
                results(result("tide", 1), result("tide", 2), result("moon", 3)),
            ],
        ),
        user("Thanks."),
    ),
    dialogue(
        "the results keep their order where the first of them stand in several contents",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(_ALL),
            [
                model(call("tide", BREST), call("tide", DOVER)),
                results(result("tide", 1)),
                results(result("tide", 2)),
                model(call("moon")),
                results(result("moon", 3)),
            ],
            [
                model(call("tide", BREST, **SIGNED), call("tide", DOVER), call("moon")),
                results(result("tide", 1)),
                results(result("tide", 2), result("moon", 3)),
            ],
        ),
    ),
    dialogue(
        "what the user says beside the last result stays",
        CODE_ASSIST,
        wrapped("gemini-3-flash"),
        ASKED,
        say(
            stream({"response": _ALL}),
            [
                model(call("tide", BREST)),
                results(result("tide", 1)),
                model(call("tide", DOVER)),
                results(result("tide", 2)),
                model(call("moon")),
                results(result("moon", 3), {"text": "Hurry."}),
            ],
            [
                model(call("tide", BREST, **SIGNED), call("tide", DOVER), call("moon")),
                results(result("tide", 1), result("tide", 2), result("moon", 3)),
                results({"text": "Hurry."}),
            ],
        ),
    ),
    dialogue(
        "a split batch is not regrouped where the user speaks between, nor where a piece says words",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(chunk(call("tide", BREST, **SIGNED), call("tide", DOVER), finish="STOP")),
            [
                model(call("tide", BREST)),
                results(result("tide", 1), {"text": "Hurry."}),
                model(call("tide", DOVER)),
                results(result("tide", 2)),
            ],
            [
                model(call("tide", BREST, **SIGNED)),
                results(result("tide", 1), {"text": "Hurry."}),
                model(call("tide", DOVER)),
                results(result("tide", 2)),
            ],
        ),
        user("Again."),
        say(
            stream(chunk(call("tide", BREST, **SIGNED2), call("moon"), finish="STOP")),
            [
                model(call("tide", BREST)),
                results(result("tide", 1)),
                model({"text": "Now the moon."}, call("moon")),
                results(result("moon", 2)),
            ],
            [
                model(call("tide", BREST, **SIGNED2)),
                results(result("tide", 1)),
                model({"text": "Now the moon."}, call("moon")),
                results(result("moon", 2)),
            ],
        ),
        missed=("unknown_turn",),
    ),
    dialogue(
        "a client that joined the text and the calls of an answer apart from it is told by its calls",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(chunk({"text": "Let me see."}), chunk(call("tide", BREST, **SIGNED), finish="STOP")),
            [model({"text": "Let me see."}), model(call("tide", BREST))],
            [model({"text": "Let me see."}), model(call("tide", BREST, **SIGNED))],
        ),
        results(result("tide")),
    ),
]
