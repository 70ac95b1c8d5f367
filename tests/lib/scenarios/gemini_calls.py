"""Signatures on calls: the Gemini API, Vertex AI, Code Assist."""

from lab import Scenario, dialogue, plain

from scenarios.gemini_words import (
    ARRAY,
    ASKED,
    ASKING,
    BREST,
    CODE_ASSIST,
    DOVER,
    NATIVE,
    PLAIN,
    SIGNED,
    SIGNED2,
    SIGNED_CALL,
    SNAKE,
    VERTEX,
    array,
    call,
    chunk,
    model,
    result,
    results,
    say,
    stream,
    whole,
    wrapped,
)
from thoughtkeep.turns import Json


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


SCENARIOS: list[Scenario] = [
    one_call("a signature goes back on its call, beside functionCall", NATIVE, ASKING, stream(*SIGNED_CALL)),
    one_call("so it does from a stream that is one array", ARRAY, ASKING, array(*SIGNED_CALL)),
    one_call("so it does from a plain answer", PLAIN, ASKING, whole(call("tide", BREST, **SIGNED))),
    one_call("so it does at Vertex", VERTEX, ASKING, stream(*SIGNED_CALL)),
    one_call(
        "so it does inside Code Assist's wrapper",
        CODE_ASSIST,
        wrapped("gemini-3-pro-preview"),
        stream(*({"response": event, "traceId": "t"} for event in SIGNED_CALL)),
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
        stream(*SIGNED_CALL),
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
            stream(*SIGNED_CALL),
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
            stream(*SIGNED_CALL),
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
            stream(*SIGNED_CALL),
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
