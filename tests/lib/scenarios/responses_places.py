"""Where reasoning items go back, and under which id."""

from lab import Exchange, Scenario, dialogue

from scenarios.responses_words import (
    AND,
    ASKED,
    AZURE,
    BLOB,
    BLOB2,
    CODEX,
    GPT,
    HM,
    OPENAI,
    OPENROUTER,
    PRELIMINARY,
    RESEALED,
    XAI,
    asking,
    call,
    message,
    output,
    reason,
    say,
    stream,
    user,
    without,
)
from thoughtkeep.turns import Json


def _told(rule: str, issued: list[Json], told: list[Json], sent: list[Json], url: str = OPENAI) -> Scenario:
    """One answer and what becomes of it; behind it stand the results of all calls that the client tells."""
    answers = [output(i["call_id"]) for i in told if i.get("type") == "function_call"]
    return dialogue(f"Responses: {rule}", url, GPT, ASKED, say(stream(*issued), told, sent), *answers, user("Go on."))


_CALL, _MOON = call("call_1", ref="fc_1"), call("call_2", "moon", ref="fc_2")
_WORDS = message("At noon.", "msg_1")
_CURLY = "It\u2019s at noon."

_POSITIONS: list[Scenario] = [
    _told("an item goes before the call it led to", [HM, _CALL], [_CALL], [HM, _CALL]),
    _told("an item goes before the message it led to", [HM, _WORDS], [_WORDS], [HM, _WORDS]),
    _told(
        "an item goes before the first of the calls it led to", [HM, _CALL, _MOON], [_CALL, _MOON], [HM, _CALL, _MOON]
    ),
    _told(
        "items among calls go each before its own",
        [HM, _CALL, AND, _MOON],
        [_CALL, _MOON],
        [HM, _CALL, AND, _MOON],
    ),
    _told("items in a row keep their order", [HM, AND, _CALL], [_CALL], [HM, AND, _CALL]),
    _told(
        "an item goes before what is left of what it led to, and nothing there asks for it by its id",
        [HM, message("Let me see.", "msg_1"), _CALL],
        [_CALL],
        [without(HM, "id"), without(_CALL, "id")],
    ),
    _told(
        "an item that led to nothing the client has left gets no company of others",
        [HM, message("Let me see.", "msg_1"), AND, _CALL],
        [_CALL],
        [AND, _CALL],
    ),
    _told("the last item, which led to nothing, stays away", [HM, _CALL, AND], [_CALL], [HM, _CALL]),
    _told(
        "of two items only the lost one goes back", [HM, _CALL, AND, _MOON], [HM, _CALL, _MOON], [HM, _CALL, AND, _MOON]
    ),
    _told("an answer without reasoning gets none", [_CALL], [_CALL], [_CALL]),
    _told(
        "a message that the client reworded is known by its id",
        [HM, message("It's at noon.", "msg_1"), _CALL],
        [message(_CURLY, "msg_1"), _CALL],
        [HM, message(_CURLY, "msg_1"), _CALL],
    ),
    _told(
        "a message that the client reworded is known by its order",
        [HM, message("It's at noon."), AND, _CALL],
        [message(_CURLY), _CALL],
        [without(HM, "id"), message(_CURLY), AND, _CALL],
    ),
]

_NO_ID, _NO_WORDS_ID = without(_CALL, "id"), without(_WORDS, "id")
_OWN_ID = {**_CALL, "id": "fc_mine"}

_IDS: list[Scenario] = [
    _told(
        "a follower without its id gets the item without its own", [HM, _CALL], [_NO_ID], [without(HM, "id"), _NO_ID]
    ),
    _told("so does one with an id of the client's own", [HM, _CALL], [_OWN_ID], [without(HM, "id"), _OWN_ID]),
    _told(
        "an item under no id cannot serve the others that need it: they lose theirs",
        [HM, _CALL, _MOON],
        [_NO_ID, _MOON],
        [without(HM, "id"), _NO_ID, without(_MOON, "id")],
    ),
    _told(
        "a call under the client's own call id is told by its place",
        [HM, _CALL],
        [{**_CALL, "call_id": "mine-1"}],
        [HM, {**_CALL, "call_id": "mine-1"}],
    ),
]


def _echo(rule: str, told: Json, sent: Json) -> Scenario:
    """An item that the client echoes in part."""
    return _told(rule, [HM, _CALL], [told, _CALL], [sent, _CALL])


_ECHOES: list[Scenario] = [
    _echo("an item without its blob gets it", without(HM, "encrypted_content"), HM),
    _echo("an item with an empty blob gets it", {**HM, "encrypted_content": ""}, HM),
    _echo("an item whose blob is null gets it", {**HM, "encrypted_content": None}, HM),
    _echo("an item without a summary gets one", without(HM, "summary"), HM),
    _echo("an item without its id gets it where its follower has one", without(HM, "id"), HM),
    _echo("a blob that was cut short is whole again", {**HM, "encrypted_content": BLOB[:20]}, HM),
    _echo("the preliminary blob is not the blob", {**HM, "encrypted_content": PRELIMINARY + BLOB[:4]}, HM),
    _echo("the blob of the end is as good", *[{**HM, "encrypted_content": RESEALED + BLOB}] * 2),
    _echo("a summary that the client has stays", *[{**HM, "summary": [{"type": "summary_text", "text": "Hm."}]}] * 2),
    _told(
        "an item without an id is the one whose blob it has, and the lost one goes before it",
        [HM, AND, _CALL],
        [without(AND, "id"), _CALL],
        [HM, AND, _CALL],
    ),
    _told("of two items in a row the lost one goes before the other", [HM, AND, _CALL], [AND, _CALL], [HM, AND, _CALL]),
    _told("or behind it", [HM, AND, _CALL], [HM, _CALL], [HM, AND, _CALL]),
    _told(
        "two items in a row, both hollow, are known by their ids",
        [HM, AND, _CALL],
        [without(HM, "encrypted_content"), without(AND, "encrypted_content"), _CALL],
        [HM, AND, _CALL],
    ),
    _told(
        "an item behind the call that it led to goes before it",
        [HM, _CALL],
        [_CALL, HM],
        [HM, _CALL],
    ),
    _told(
        "items that the client gathered at the front go each before its own",
        [HM, _CALL, AND, _MOON],
        [HM, AND, _CALL, _MOON],
        [HM, _CALL, AND, _MOON],
    ),
    _told(
        "a hollow item before a call without an id takes the blob, and the call's id is not needed",
        [HM, _CALL],
        [reason(), _NO_ID],
        [without(HM, "id"), _NO_ID],
    ),
    _told(
        "another whole item in its place is the client's own affair",
        [HM, _CALL],
        [reason("rs_mine", RESEALED + BLOB), {**_CALL, "id": "fc_mine"}],
        [reason("rs_mine", RESEALED + BLOB), {**_CALL, "id": "fc_mine"}],
    ),
    _told(
        "an item of another kind does not stand for it",
        [HM, _CALL],
        [{"type": "compaction", "encrypted_content": BLOB2}, _CALL],
        [{"type": "compaction", "encrypted_content": BLOB2}, HM, _CALL],
    ),
    _told(
        "nor does a hollow one under another id",
        [HM, _CALL],
        [reason("rs_mine"), _CALL],
        [reason("rs_mine"), HM, _CALL],
    ),
]

# xAI gives every turn's items the same ids.
_SAME, _SAME2 = reason("rs_0", BLOB), reason("rs_0", BLOB2)
_X1, _X2 = call("call_1", ref="fc_0"), call("call_2", "moon", ref="fc_0")
_GROK = asking("grok-4.1-fast")

_REPEATED: list[Scenario] = [
    dialogue(
        "xAI: ids that repeat in every turn tell nothing, the place does",
        XAI,
        _GROK,
        ASKED,
        say(stream(_SAME, _X1), [_X1], [_SAME, _X1]),
        output("call_1"),
        say(stream(_SAME2, _X2), [without(_SAME2, "encrypted_content"), _X2], [_SAME2, _X2]),
        output("call_2"),
    ),
    dialogue(
        "xAI: an item under a repeated id is the one whose blob it has",
        XAI,
        _GROK,
        ASKED,
        say(stream(_SAME, _X1, _SAME2, _X2), [_X1, _SAME2, _X2], [_SAME, _X1, _SAME2, _X2]),
        output("call_1"),
        output("call_2"),
    ),
    dialogue(
        "xAI: a summary must exist, be it empty",
        XAI,
        _GROK,
        ASKED,
        say(stream(_SAME, _X1), [without(_SAME, "summary"), _X1], [{**_SAME, "summary": []}, _X1]),
        output("call_1"),
    ),
    Scenario(
        "Responses: of two answers to the same words the one whose ids the client has",
        AZURE,
        (
            Exchange(GPT([ASKED]), stream(HM, call("call_1", ref="fc_1"))),
            Exchange(GPT([ASKED]), stream(AND, call("call_9", ref="fc_9"))),
        ),
        GPT([ASKED, call("call_1", ref="fc_1"), output("call_1")]),
        GPT([ASKED, HM, call("call_1", ref="fc_1"), output("call_1")]),
    ),
]

_BATCHES: list[Scenario] = [
    dialogue(
        "Responses: a batch told call by call, each with its result, needs no regrouping",
        CODEX,
        GPT,
        ASKED,
        say(
            stream(HM, _CALL, AND, _MOON),
            [_CALL, output("call_1"), _MOON, output("call_2")],
            [HM, _CALL, output("call_1"), AND, _MOON, output("call_2")],
        ),
    ),
    dialogue(
        "Responses: an item that the client put before the wrong call of a batch is carried to its own",
        OPENAI,
        GPT,
        ASKED,
        say(
            stream(HM, _CALL, AND, _MOON),
            [AND, _CALL, output("call_1"), _MOON, output("call_2")],
            [HM, _CALL, output("call_1"), AND, _MOON, output("call_2")],
        ),
    ),
    dialogue(
        "OpenRouter: the same items, the same places",
        OPENROUTER,
        asking("openai/gpt-5.2"),
        ASKED,
        say(stream(HM, _CALL, _MOON), [_CALL, _MOON], [HM, _CALL, _MOON]),
        output("call_1"),
        output("call_2"),
    ),
]

SCENARIOS = [*_POSITIONS, *_IDS, *_ECHOES, *_REPEATED, *_BATCHES]
