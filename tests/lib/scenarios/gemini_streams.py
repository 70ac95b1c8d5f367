"""Arguments that stream, streams that break, shapes that nobody promised."""

from lab import Exchange, Scenario, dialogue, sse

from scenarios.gemini_words import (
    ASKED,
    ASKING,
    BREST,
    IMAGE,
    NATIVE,
    SIGNED,
    SIGNED2,
    SIGNED_CALL,
    VERTEX,
    call,
    chunk,
    fragment,
    model,
    result,
    results,
    say,
    stream,
    user,
)
from thoughtkeep.turns import Json

_START = {"functionCall": {"name": "plan", "willContinue": True}, **SIGNED}
_PIECES = (
    chunk(fragment({"jsonPath": "$.note", "stringValue": "high ", "willContinue": True})),
    chunk(fragment({"jsonPath": "$.note", "stringValue": "ti", "willContinue": True})),
    chunk(fragment({"jsonPath": "$.note", "stringValue": "de"}, {"jsonPath": "$.days", "numberValue": 3})),
    chunk(fragment({"jsonPath": "$.note"}, {"jsonPath": 4}, "odd")),
    chunk(fragment({"jsonPath": "$.ports[0].name", "stringValue": "Bre", "willContinue": True})),
    chunk(fragment({"jsonPath": "$.ports[0].name", "stringValue": "st"})),
    chunk(fragment({"jsonPath": "$.ports[0].open", "boolValue": True}, {"jsonPath": "$.ports[1]", "nullValue": None})),
    chunk(fragment({"jsonPath": "$['by day']", "nullValue": "NULL_VALUE"})),
    chunk(fragment({"json_path": "$.tags[0]", "string_value": "a"}, {"jsonPath": "$.tags[0]", "stringValue": "b"})),
    chunk(fragment({"jsonPath": "$.tags[1]", "stringValue": "c"}, {"jsonPath": "$.tags[1]", "numberValue": 7})),
)
_ARGS = {
    "note": "high tide",
    "days": 3,
    "ports": [{"name": "Brest", "open": True}, None],
    "by day": None,
    "tags": ["ab", 7],
}


def streamed(rule: str, *chunks: Json) -> Scenario:
    return dialogue(
        rule,
        VERTEX,
        ASKING,
        ASKED,
        say(
            stream(*chunks),
            model(call("plan", _ARGS), call("moon")),
            model(call("plan", _ARGS, **SIGNED), call("moon")),
        ),
        results(result("plan"), result("moon")),
    )


_STREAMED: list[Scenario] = [
    streamed(
        "arguments that stream are put together: strings in pieces, numbers, nested paths, arrays",
        chunk(_START),
        *_PIECES,
        chunk({"functionCall": {}}),
        chunk(call("moon"), finish="STOP"),
    ),
    streamed(
        "where the mark behind the arguments is missing the next call ends them",
        chunk(_START),
        *_PIECES,
        chunk(call("moon")),
        chunk({"functionCall": {}}, finish="STOP"),
    ),
    streamed(
        "what comes beside a later fragment belongs to the call, also if a text came between",
        chunk({"functionCall": {"name": "plan", "willContinue": True}}),
        chunk({"text": ""}),
        *_PIECES,
        chunk({"functionCall": {}, **SIGNED}),
        chunk(call("moon"), finish="STOP"),
    ),
    dialogue(
        "of a stream that was cut the signed parts are kept, a call whose arguments still came is not",
        VERTEX,
        ASKING,
        ASKED,
        say(
            stream(chunk(call("tide", BREST, **SIGNED)), chunk({**_START, **SIGNED2}), _PIECES[0], ends=False),
            model(call("tide", BREST)),
            model(call("tide", BREST, **SIGNED)),
        ),
        results(result("tide")),
    ),
    dialogue(
        "of a stream with an error in its midst the signed parts are kept",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(
                chunk(call("tide", BREST, **SIGNED), finish="STOP"),
                {"error": {"code": 503, "status": "UNAVAILABLE"}},
                ends=False,
            ),
            model(call("tide", BREST)),
            model(call("tide", BREST, **SIGNED)),
        ),
        results(result("tide")),
    ),
]

_ODD: list[Scenario] = [
    dialogue(
        "a conversation that begins with an image alone keeps its place when words follow",
        NATIVE,
        ASKING,
        {"role": "user", "parts": [IMAGE]},
        say(
            stream(chunk({"text": "A harbour.", **SIGNED}, finish="STOP")),
            model({"text": "A harbour."}),
            model({"text": "A harbour.", **SIGNED}),
        ),
        user("Which?"),
        say(
            stream(chunk({"text": "Brest.", **SIGNED2}, finish="STOP")),
            model({"text": "Brest."}),
            model({"text": "Brest.", **SIGNED2}),
        ),
        user("Thanks"),
    ),
    Scenario(
        "the candidate that the client took gets its own signature",
        NATIVE,
        (
            Exchange(
                ASKING([ASKED]) | {"generationConfig": {"candidateCount": 2}},
                sse(
                    [
                        {
                            "candidates": [
                                {"content": {"parts": [{"text": "Six.", **SIGNED}]}, "finishReason": "STOP"},
                                {
                                    "index": 1,
                                    "content": {"parts": [{"text": "Seven.", **SIGNED2}]},
                                    "finishReason": "STOP",
                                },
                            ]
                        }
                    ]
                ),
            ),
        ),
        ASKING([ASKED, model({"text": "Seven."}), user("Sure?")]),
        ASKING([ASKED, model({"text": "Seven.", **SIGNED2}), user("Sure?")]),
    ),
    Scenario(
        "what cannot be understood of a request is left out of the reading, and left as it is",
        NATIVE,
        (Exchange(ASKING([ASKED]), stream(*SIGNED_CALL)),),
        {
            "contents": [
                ASKED,
                None,
                {"role": "user", "parts": "words"},
                {"role": "user"},
                model("words", call("tide", 5), {"functionCall": {"id": 4, "name": None}}, {}),
                {"role": "function", "parts": [{"functionResponse": {}}]},
                {"role": "user", "parts": [{"inlineData": {"data": "AAAA"}}]},
            ],
            "generationConfig": None,
        },
        None,
        ("unknown_turn",),
    ),
    Scenario(
        "what cannot be understood of an answer is left out of the turn",
        NATIVE,
        (
            Exchange(
                ASKING([ASKED]),
                stream(
                    [],
                    {"response": 5, "usageMetadata": {"totalTokenCount": "many"}},
                    {"candidates": "none"},
                    {"candidates": [None, {"index": "0", "content": None}, {"content": {"parts": "none"}}]},
                    {"candidates": [{"content": {"parts": ["words", {"functionCall": {}}]}}], "modelVersion": 3},
                    chunk({"functionCall": {"name": "plan", "willContinue": True}, **SIGNED}),
                    chunk(fragment({"jsonPath": "$", "stringValue": "no object"})),
                    chunk(fragment({"jsonPath": "$.a.b", "numberValue": 1})),
                    chunk({"functionCall": {}}, finish="STOP"),
                ),
            ),
        ),
        ASKING([ASKED, model(call("plan", "no object")), results(result("plan"))]),
        ASKING([ASKED, model(call("plan", "no object", **SIGNED)), results(result("plan"))]),
    ),
]

SCENARIOS = [*_STREAMED, *_ODD]
