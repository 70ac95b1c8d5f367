"""What of a thinking block the client still has, what else is state, and when none of it may go back."""

from lab import Exchange, Scenario, dialogue

from scenarios.messages_words import (
    ADAPTIVE,
    AND,
    ANTHROPIC,
    ASKED,
    CLAUDE,
    HM,
    MANUAL,
    SEALED,
    SIGNED,
    SIGNED2,
    asking,
    assistant,
    redacted,
    result,
    results,
    say,
    stream,
    text,
    think,
    use,
    user,
)
from thoughtkeep.turns import Json

_BARE = asking()


def _kept(rule: str, issued: list[Json], told: list[Json], sent: list[Json]) -> Scenario:
    """An answer with a call behind it, and what the client has of the blocks before."""
    call = use("a")
    said = say(stream(*issued, call), assistant(*told, call), assistant(*sent, call))
    return dialogue(f"Messages: {rule}", ANTHROPIC, CLAUDE, ASKED, said, results(result("a")))


def _bare(rule: str, sent: Json) -> Scenario:
    """A block that comes back as it is."""
    return _kept(rule, [HM], [sent], [sent])


_SPACED = think("\n Let me see.\n", SIGNED)

_HOLLOW: list[Scenario] = [
    _kept("a signature without its words gets them back", [HM], [think("", SIGNED)], [HM]),
    _kept(
        "two signatures in the other order each get their own words, and their order back",
        [HM, AND],
        [think("", SIGNED2), think("", SIGNED)],
        [HM, AND],
    ),
    _kept("words without a signature get it back", [HM], [{"type": "thinking", "thinking": HM["thinking"]}], [HM]),
    _kept("so do words with an empty one", [HM], [think(HM["thinking"], "")], [HM]),
    _kept("so do words with a preliminary one", [HM], [think(HM["thinking"], SIGNED[:11])], [HM]),
    _kept(
        "so do words with what is no base64",
        [HM],
        [think(HM["thinking"], "<taken out by the logger>")],
        [HM],
    ),
    _kept(
        "omitted thinking without any signature is known by its order",
        [think("", SIGNED), text("Noon."), think("", SIGNED2)],
        [think("", ""), text("Noon."), think("", "")],
        [think("", SIGNED), text("Noon."), think("", SIGNED2)],
    ),
    _kept(
        "a redacted block that was cut short is whole again",
        [redacted(SEALED)],
        [redacted(SEALED[:9])],
        [redacted(SEALED)],
    ),
    _kept("signed words that were trimmed are whole again", [_SPACED], [think("Let me see.", SIGNED)], [_SPACED]),
    _kept("so are unsigned ones", [_SPACED], [{"type": "thinking", "thinking": "Let me see."}], [_SPACED]),
    _kept("signed words that were changed are what was signed", [HM], [think("Let me…", SIGNED)], [HM]),
    _kept(
        "a redacted block that is no base64 is known by what it is",
        [redacted("a.reasoning:0001"), redacted("a.reasoning:0002")],
        [redacted("a.reasoning:0002")],
        [redacted("a.reasoning:0001"), redacted("a.reasoning:0002")],
    ),
    _kept("a block with nothing in it is filled", [HM], [think("", "")], [HM]),
    _kept("so is one beside another that is known", [HM, AND], [HM, {"type": "thinking", "thinking": ""}], [HM, AND]),
    _kept("so is one before another that is known", [HM, AND], [think("", ""), think("", SIGNED)], [HM, AND]),
    _kept(
        "omitted thinking is known by its signature first",
        [think("", SIGNED), think("", SIGNED2)],
        [think("", ""), think("", SIGNED2)],
        [think("", SIGNED), think("", SIGNED2)],
    ),
    _kept("a redacted block is not what fills a thinking block", [redacted(SEALED)], [think("", "")], [think("", "")]),
    *(
        _kept(f"{what} is the client's own affair", [HM, AND], [own], [own])
        for what, own in {
            "thinking of another origin": think("I had better ask.", SEALED),
            "the same thinking under another whole signature": think(HM["thinking"], SEALED),
            "a redacted block of another origin": redacted(SEALED),
            "words of no known origin": {"type": "thinking", "thinking": "I had better ask."},
            "a thinking block of no known shape": {"type": "thinking"},
        }.items()
    ),
    _kept(
        "words written into omitted thinking are ignored there and stay",
        [think("", SIGNED)],
        [HM],
        [HM],
    ),
    _bare("a signature in the other alphabet of base64 is the same", think(HM["thinking"], SIGNED.rstrip("="))),
    _bare("a block with further keys is left", {**HM, "cache_control": None}),
]

_KEYS: list[Scenario] = [
    dialogue(
        "Messages: a key of a tool_use that nobody knows is state, null and the caller are not",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(
            stream(HM, use("a", thoughtSignature=SIGNED2, caller={"type": "direct"}, note=None)),
            assistant(HM, use("a")),
            assistant(HM, use("a", thoughtSignature=SIGNED2)),
        ),
        results(result("a")),
    ),
    dialogue(
        "Messages: so is one of a text",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(
            stream(text("At noon.", seal=SEALED, citations=[{"cited_text": "noon"}])),
            assistant(text("At noon.")),
            assistant(text("At noon.", seal=SEALED)),
        ),
        user("Thanks."),
    ),
    dialogue(
        "Messages: ids that the client replaced are told by the place, and stay the client's",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(
            stream(HM, use("toolu_1"), AND, use("toolu_2", "moon")),
            assistant(use("c-1"), use("c-2", "moon")),
            assistant(HM, use("c-1"), AND, use("c-2", "moon")),
        ),
        results(result("c-1"), result("c-2", [text("full"), {"type": "image", "source": {"data": "iVBORw0KGgo="}}])),
        say(stream(AND, text("At noon.")), assistant(text("At noon.")), assistant(AND, text("At noon."))),
        user("Thanks."),
    ),
    dialogue(
        "Messages: integers past 64 bits are the same in every order of keys, and as JavaScript rounds them",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(
            stream(HM, use("a", given={"at": 12345678901234567890123, "to": 1})),
            assistant(use("c-1", given={"to": 1, "at": 12345678901234567890123})),
            assistant(HM, use("c-1", given={"to": 1, "at": 12345678901234567890123})),
        ),
        results(result("c-1")),
        say(
            stream(AND, use("b", given={"at": 12345678901234567890123})),
            assistant(use("c-2", given={"at": 12345678901234567000000})),
            assistant(AND, use("c-2", given={"at": 12345678901234567000000})),
        ),
        results(result("c-2")),
    ),
    Scenario(
        "Messages: behind a history that was compacted a call is known by its id, a text by nothing",
        ANTHROPIC,
        (
            Exchange(CLAUDE([ASKED]), stream(HM, text("At noon."))),
            Exchange(CLAUDE([ASKED, assistant(text("At noon.")), user("And?")]), stream(AND, use("toolu_1"))),
        ),
        CLAUDE(
            [
                user("Sum."),
                assistant(text("At noon.")),
                user("And?"),
                assistant(use("toolu_1")),
                results(result("toolu_1")),
            ]
        ),
        CLAUDE(
            [
                user("Sum."),
                assistant(text("At noon.")),
                user("And?"),
                assistant(AND, use("toolu_1")),
                results(result("toolu_1")),
            ]
        ),
    ),
    Scenario(
        "Messages: behind a history that was compacted a text is known by the signature beside it",
        ANTHROPIC,
        (Exchange(CLAUDE([ASKED]), stream(HM, AND, text("At noon."))),),
        CLAUDE([user("Sum."), assistant(HM, text("At noon.")), user("And?")]),
        CLAUDE([user("Sum."), assistant(HM, AND, text("At noon.")), user("And?")]),
    ),
]


def _thinking(rule: str, made: Json, now: Json, *missed: str) -> Scenario:
    """A turn made under one `thinking` setting, told under another; None for none."""
    before, after = (asking(thinking=setting) if setting else _BARE for setting in (made, now))
    lossy = [ASKED, assistant(use("a")), results(result("a"))]
    whole = [ASKED, assistant(HM, use("a")), results(result("a"))]
    exchange = Exchange(before([ASKED]), stream(HM, use("a")))
    return Scenario(f"Messages: {rule}", ANTHROPIC, (exchange,), after(lossy), None if missed else after(whole), missed)


_OFF = {"type": "disabled"}

_SETTINGS: list[Scenario] = [
    _thinking("no thinking goes where it is off", MANUAL, _OFF, "thinking_off"),
    _thinking("nor where it is left out and was on", ADAPTIVE, None, "thinking_off"),
    _thinking("thinking goes where it is left out and always was", None, None),
    _thinking("thinking that came unasked goes where it is asked for", None, ADAPTIVE),
    _thinking("manual thinking goes where it is adaptive", MANUAL, ADAPTIVE),
    _thinking("a setting of no kind is none", MANUAL, {"budget_tokens": 2048}, "thinking_off"),
]

_ODD: list[Scenario] = [
    dialogue(
        "Messages: shapes that nobody promised are passed over",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        7,
        {"role": "user", "content": []},
        {"role": "user", "content": [7, {"type": "image", "source": {"data": "iVBORw0KGgo="}}]},
        {"role": "user", "content": [result("z", [text("old"), 7]), result("y", None)]},
        say(
            stream(HM, use("a")),
            {"role": "assistant", "content": [7, use("a")]},
            {"role": "assistant", "content": [7, HM, use("a")]},
        ),
        results(result("a")),
    ),
    dialogue(
        "Messages: an empty message of the user ends an answer",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        say(stream(HM, text("At noon.")), assistant("At noon."), assistant(HM, text("At noon."))),
        user([]),
        say(stream(AND, text("And at one.")), assistant("And at one."), assistant(AND, text("And at one."))),
        user(""),
    ),
    dialogue(
        "Messages: a message without content and one of nulls are an answer without words",
        ANTHROPIC,
        CLAUDE,
        ASKED,
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        user("Well?"),
        say(stream(HM, use("a")), assistant(use("a")), assistant(HM, use("a"))),
        results(result("a")),
    ),
]

SCENARIOS = [*_HOLLOW, *_KEYS, *_SETTINGS, *_ODD]
