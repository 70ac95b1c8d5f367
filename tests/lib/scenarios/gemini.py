"""Signatures on parts: generateContent at the Gemini API, at Vertex AI and behind Code Assist."""

from lab import Exchange, Scenario, dialogue, plain, sse

from scenarios.gemini_words import (
    array,
    asking,
    call,
    chunk,
    model,
    result,
    results,
    say,
    stream,
    user,
    whole,
    wrapped,
)
from thoughtkeep.turns import Json

NATIVE = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
ARRAY = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:streamGenerateContent"
PLAIN = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview:generateContent?key=AIza-1"
VERTEX = (
    "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/"
    "gemini-3-pro-preview:streamGenerateContent?alt=sse"
)
CODE_ASSIST = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"

ASKED = user("When is high tide?")
BREST, DOVER = {"at": "Brest"}, {"at": "Dover"}
# Both alphabets of base64 spell these differently.
SIGNED = {"thoughtSignature": "EvAB+/+/c2lnbmF0dXJlLW9uZQ=="}
SIGNED2 = {"thoughtSignature": "EvAC+/+/c2lnbmF0dXJlLXR3bw=="}
SNAKE = {"thought_signature": SIGNED["thoughtSignature"]}
ASKING = asking()


def one_call(rule: str, url: str, frame: Json, reply: Json, told: Json = None) -> Scenario:
    """One signed call; `told` is what the client has of its part."""
    return dialogue(
        rule,
        url,
        frame,
        ASKED,
        say(
            reply,
            model(told or call("tide", BREST)),
            model(call("tide", BREST, **SIGNED)),
        ),
        results(result("tide")),
    )


_SIGNED_CALL = (chunk(call("tide", BREST, **SIGNED)), chunk({"text": ""}, finish="STOP"))

_CALLS: list[Scenario] = [
    one_call("a signature goes back on its call, beside functionCall", NATIVE, ASKING, stream(*_SIGNED_CALL)),
    one_call("so it does from a stream that is one array", ARRAY, ASKING, array(*_SIGNED_CALL)),
    one_call("so it does from a plain answer", PLAIN, ASKING, whole(call("tide", BREST, **SIGNED))),
    one_call("so it does at Vertex", VERTEX, ASKING, stream(*_SIGNED_CALL)),
    one_call(
        "so it does inside Code Assist's wrapper",
        CODE_ASSIST,
        wrapped("gemini-3-pro-preview"),
        stream(*({"response": event, "traceId": "t"} for event in _SIGNED_CALL)),
    ),
    dialogue(
        "of parallel calls, each in a chunk of its own, only the first is signed, and only that one is",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(
                chunk(call("tide", BREST, **SIGNED)),
                chunk(call("tide", DOVER)),
                chunk(call("moon"), finish="STOP"),
            ),
            model(call("tide", BREST), call("tide", DOVER), call("moon")),
            model(call("tide", BREST, **SIGNED), call("tide", DOVER), call("moon")),
        ),
        results(result("tide"), result("tide"), result("moon")),
    ),
    dialogue(
        "each step of a turn gets its own, though its calls are equal and have no ids",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(chunk(call("tide", BREST, **SIGNED), finish="STOP")),
            model(call("tide", BREST)),
            model(call("tide", BREST, **SIGNED)),
        ),
        results(result("tide", "falling")),
        say(
            stream(chunk(call("tide", BREST, **SIGNED2), finish="STOP")),
            model(call("tide", BREST)),
            model(call("tide", BREST, **SIGNED2)),
        ),
        results(result("tide", "rising")),
    ),
    dialogue(
        "a client that spells in snake case gets its spelling, also on parts that it lost",
        VERTEX,
        lambda contents: {"contents": contents, "system_instruction": {"parts": [{"text": "Be brief."}]}},
        ASKED,
        say(
            stream(
                chunk({"text": "Hm.", "thought": True, **SIGNED}),
                chunk(call("tide", BREST, **SIGNED2), finish="STOP"),
            ),
            model({"function_call": {"name": "tide", "args": BREST}}),
            model(
                {"text": "Hm.", "thought": True, **SNAKE},
                {
                    "function_call": {"name": "tide", "args": BREST},
                    "thought_signature": SIGNED2["thoughtSignature"],
                },
            ),
        ),
        {"role": "user", "parts": [{"function_response": {"name": "tide", "response": {"output": "high"}}}]},
    ),
    dialogue(
        "an answer that spells in snake case is read like one that does not",
        NATIVE,
        ASKING,
        ASKED,
        say(
            plain(
                {
                    "model_version": "gemini-served",
                    "usage_metadata": {},
                    "candidates": [
                        {
                            "finish_reason": "STOP",
                            "content": {"parts": [{"function_call": {"name": "tide", "args": BREST}, **SNAKE}]},
                        }
                    ],
                }
            ),
            model(call("tide", BREST)),
            model(call("tide", BREST, **SIGNED)),
        ),
        results(result("tide")),
    ),
    one_call(
        "a signature that the client put inside functionCall goes to its place",
        NATIVE,
        ASKING,
        stream(*_SIGNED_CALL),
        {"functionCall": {"name": "tide", "args": BREST, **SIGNED}},
    ),
    dialogue(
        "a signature that the client put on another part goes to its place",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(chunk({"text": "Let me see."}), chunk(call("tide", BREST, **SIGNED), finish="STOP")),
            model({"text": "Let me see.", **SNAKE}, call("tide", BREST)),
            model({"text": "Let me see."}, call("tide", BREST, **SIGNED)),
        ),
        results(result("tide")),
    ),
    dialogue(
        "the same signature in the url-safe alphabet is left as the client writes it",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(*_SIGNED_CALL),
            model(call("tide", BREST, thoughtSignature="EvAB-_-_c2lnbmF0dXJlLW9uZQ==")),
            model(call("tide", BREST, thoughtSignature="EvAB-_-_c2lnbmF0dXJlLW9uZQ==")),
        ),
        results(result("tide")),
    ),
    *(
        one_call(
            f"a skip value ({value}) gives way to what was issued",
            NATIVE,
            ASKING,
            stream(*_SIGNED_CALL),
            call("tide", BREST, thoughtSignature=value),
        )
        for value in (
            "skip_thought_signature_validator",
            "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
        )
    ),
    dialogue(
        "another whole signature is the client's own affair",
        NATIVE,
        ASKING,
        ASKED,
        say(
            stream(*_SIGNED_CALL),
            model(call("tide", BREST, **SIGNED2)),
            model(call("tide", BREST, **SIGNED2)),
        ),
        results(result("tide")),
    ),
    Scenario(
        "a call that is not known is worth a line, one that brings its own signature is not",
        NATIVE,
        (),
        ASKING(
            [
                ASKED,
                model(call("tide", BREST)),
                results(result("tide")),
                model(call("moon", **SIGNED)),
                results(result("moon")),
            ]
        ),
        None,
        ("unknown_turn",),
    ),
]

_IMAGE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUg=="}}
_CODE = {"executableCode": {"language": "PYTHON", "code": "print(6)"}}
_OUTPUT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "6"}}
_SEARCH = {"toolCall": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["tide"]}}}
_FOUND = {"toolResponse": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"hits": 3}}}


def one_answer(rule: str, reply: Json, told: list[Json], sent: list[Json], url: str = NATIVE) -> Scenario:
    """One answer, then the user speaks."""
    return dialogue(rule, url, ASKING, ASKED, say(reply, model(*told), model(*sent)), user("And tomorrow?"))


_TEXTS: list[Scenario] = [
    one_answer(
        "a signature on an empty last text goes back on such a part, behind the text",
        stream(chunk({"text": "At "}), chunk({"text": "six."}), chunk({"text": "", **SIGNED}, finish="STOP")),
        [{"text": "At six."}],
        [{"text": "At six."}, {"text": "", **SIGNED}],
    ),
    one_answer(
        "a client that has put it on the text before has a form that is accepted",
        stream(chunk({"text": "At six."}), chunk({"text": "", **SIGNED}, finish="STOP")),
        [{"text": "At six.", **SIGNED}],
        [{"text": "At six.", **SIGNED}],
    ),
    one_answer(
        "a signature on a text goes back on it",
        whole({"text": "At six.", **SIGNED}),
        [{"text": "At six."}],
        [{"text": "At six.", **SIGNED}],
        PLAIN,
    ),
    one_answer(
        "texts that the client joined are parted where one was signed",
        stream(
            chunk({"text": "It is "}),
            chunk({"text": "at six, ", **SIGNED}),
            chunk({"text": "as ever."}),
            chunk({"text": "", **SIGNED2}, finish="STOP"),
        ),
        [{"text": "It is at six, as ever."}],
        [
            {"text": "It is "},
            {"text": "at six, ", **SIGNED},
            {"text": "as ever."},
            {"text": "", **SIGNED2},
        ],
    ),
    one_answer(
        "texts that the client joined and rewrapped are not parted: a signature covers its text to the letter",
        stream(chunk({"text": "It is "}), chunk({"text": "at six.", **SIGNED}, finish="STOP")),
        [{"text": "It is\nat six."}],
        [{"text": "It is\nat six."}],
    ),
    one_answer(
        "texts that the client joined stay so where none was signed",
        stream(
            chunk({"text": "It is "}),
            chunk({"text": "Hm.", "thought": True, **SIGNED}),
            chunk({"text": "at "}),
            chunk({"text": "six.", "mark": 1}, finish="STOP"),
        ),
        [{"text": "It is "}, {"text": "Hm.", "thought": True}, {"text": "at "}, {"text": "six.", "mark": 1}],
        [
            {"text": "It is "},
            {"text": "Hm.", "thought": True, **SIGNED},
            {"text": "at "},
            {"text": "six.", "mark": 1},
        ],
    ),
    one_answer(
        "a signed thought that the client dropped goes back before what it led to, an unsigned one does not",
        stream(
            chunk({"text": "Let ", "thought": True}),
            chunk({"text": "me see.", "thought": True}),
            chunk({"text": "So:", "thought": True, **SIGNED}),
            chunk({"text": "At six."}, finish="STOP"),
        ),
        [{"text": "At six."}],
        [{"text": "So:", "thought": True, **SIGNED}, {"text": "At six."}],
    ),
    one_answer(
        "an image gets its signature back by its content",
        stream(chunk({"text": "Here:", **SIGNED}), chunk({**_IMAGE, **SIGNED2}, finish="STOP")),
        [{"text": "Here:"}, _IMAGE],
        [{"text": "Here:", **SIGNED}, {**_IMAGE, **SIGNED2}],
    ),
    one_answer(
        "code and its output get theirs",
        stream(chunk({**_CODE, **SIGNED}), chunk({**_OUTPUT, **SIGNED2}), chunk({"text": "Six."}, finish="STOP")),
        [_CODE, _OUTPUT, {"text": "Six."}],
        [{**_CODE, **SIGNED}, {**_OUTPUT, **SIGNED2}, {"text": "Six."}],
    ),
    one_answer(
        "the parts of built-in tools are known by their ids, whatever else the client makes of them",
        stream(chunk({**_SEARCH, **SIGNED}), chunk({**_FOUND, **SIGNED2}), chunk({"text": "Six."}, finish="STOP")),
        [{"toolCall": {**_SEARCH["toolCall"], "extra": "x"}}, {"tool_response": {"id": "s1"}}, {"text": "Six."}],
        [
            {"toolCall": {**_SEARCH["toolCall"], "extra": "x"}, **SIGNED},
            {"tool_response": {"id": "s1"}, **SIGNED2},
            {"text": "Six."},
        ],
    ),
    one_answer(
        "the parts of built-in tools that a client dropped go back where they stood",
        stream(chunk({**_SEARCH, **SIGNED}), chunk({**_FOUND, **SIGNED2}), chunk({"text": "Six."}, finish="STOP")),
        [{"text": "Six."}],
        [{**_SEARCH, **SIGNED}, {**_FOUND, **SIGNED2}, {"text": "Six."}],
    ),
    one_answer(
        "a signed empty text between texts that the client joined goes behind them",
        stream(chunk({"text": "At "}), chunk({"text": "", **SIGNED}), chunk({"text": "six."}, finish="STOP")),
        [{"text": "At six."}],
        [{"text": "At six."}, {"text": "", **SIGNED}],
    ),
    one_answer(
        "joined texts that bring a signature of their own stay joined",
        stream(chunk({"text": "At "}), chunk({"text": "six.", **SIGNED}, finish="STOP")),
        [{"text": "At six.", **SIGNED2}],
        [{"text": "At six.", **SIGNED2}],
    ),
    one_answer(
        "where the client has only the joined words of an answer with an image there is no place for the image",
        stream(chunk({"text": "At "}), chunk({**_IMAGE, **SIGNED}), chunk({"text": "six."}, finish="STOP")),
        [{"text": "At six."}],
        [{"text": "At six."}],
    ),
    one_answer(
        "where nothing of an answer is left there is no place for its parts",
        stream(chunk({"text": "", **SIGNED}, finish="STOP")),
        [],
        [],
    ),
]


def fragment(*partial: Json, **beside: Json) -> dict[str, Json]:
    """A piece of a call whose arguments stream."""
    return {"functionCall": {"partialArgs": list(partial), "willContinue": True}, **beside}


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

_ALL = chunk(call("tide", BREST, **SIGNED), call("tide", DOVER), call("moon"), finish="STOP")

_SPLIT: list[Scenario] = [
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

_ODD: list[Scenario] = [
    dialogue(
        "a conversation that begins with an image alone keeps its place when words follow",
        NATIVE,
        ASKING,
        {"role": "user", "parts": [_IMAGE]},
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
        (Exchange(ASKING([ASKED]), stream(*_SIGNED_CALL)),),
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

SCENARIOS = [*_CALLS, *_TEXTS, *_STREAMED, *_SPLIT, *_ODD]
