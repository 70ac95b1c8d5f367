"""Signatures on everything that is no call: texts, thoughts, images, code, the parts of built-in tools."""

from lab import Scenario, dialogue

from scenarios.gemini_words import (
    ASKED,
    ASKING,
    IMAGE,
    NATIVE,
    PLAIN,
    SIGNED,
    SIGNED2,
    chunk,
    model,
    say,
    stream,
    user,
    whole,
)
from thoughtkeep.turns import Json

_CODE = {"executableCode": {"language": "PYTHON", "code": "print(6)"}}
_OUTPUT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "6"}}
_SEARCH = {"toolCall": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["tide"]}}}
_FOUND = {"toolResponse": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"hits": 3}}}


def one_answer(rule: str, reply: Json, told: list[Json], sent: list[Json], url: str = NATIVE) -> Scenario:
    """One answer, then the user speaks."""
    return dialogue(rule, url, ASKING, ASKED, say(reply, model(*told), model(*sent)), user("And tomorrow?"))


SCENARIOS: list[Scenario] = [
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
        stream(chunk({"text": "Here:", **SIGNED}), chunk({**IMAGE, **SIGNED2}, finish="STOP")),
        [{"text": "Here:"}, IMAGE],
        [{"text": "Here:", **SIGNED}, {**IMAGE, **SIGNED2}],
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
        stream(chunk({"text": "At "}), chunk({**IMAGE, **SIGNED}), chunk({"text": "six."}, finish="STOP")),
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
