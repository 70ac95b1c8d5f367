"""How Anthropic's answers come, and what stays of one that never ended."""

from lab import Exchange, Reply, Scenario, dialogue, sse

from scenarios.messages_words import (
    AND,
    ANTHROPIC,
    ASKED,
    CLAUDE,
    ERROR,
    HM,
    PING,
    SEALED,
    SIGNED,
    assistant,
    block,
    delta,
    ending,
    events,
    opened,
    redacted,
    result,
    results,
    say,
    start,
    text,
    think,
    use,
    user,
    whole,
)
from thoughtkeep.turns import Json

_HM, _SEAL = block(0, HM), block(0, redacted(SEALED))
_CALL = block(1, use("a", given={"at": "Brest"}))


def _came(rule: str, reply: Reply, told: list[Json], sent: list[Json], *missed: str) -> Scenario:
    """An answer, and what goes back when the client tells these blocks of it."""
    said = say(reply, assistant(*told), assistant(*sent))
    answers = [result(b["id"]) for b in told if b["type"] == "tool_use"]
    return dialogue(
        f"Messages: {rule}", ANTHROPIC, CLAUDE, ASKED, said, results(*answers, text("Go on.")), missed=missed
    )


_BREST = use("a", given={"at": "Brest"})
_ALL = [start(), *_HM, *_CALL, *ending()]

_WHOLE: list[Scenario] = [
    _came("pings come anywhere", events([PING, *(e for each in _ALL for e in (each, PING))]), [_BREST], [HM, _BREST]),
    _came("events without names are told by their data", sse(_ALL), [_BREST], [HM, _BREST]),
    _came("a [DONE] that a gateway adds ends nothing", sse(["[DONE]", *_ALL, "[DONE]"]), [_BREST], [HM, _BREST]),
    _came(
        "blocks may open before others close",
        events([start(), *_HM[:-1], *_CALL, _HM[-1], *ending()]),
        [_BREST],
        [HM, _BREST],
    ),
    _came(
        "a call's arguments may come whole at its start",
        events([start(), *_HM, {**_CALL[0], "content_block": _BREST}, _CALL[-1], *ending()]),
        [_BREST],
        [HM, _BREST],
    ),
    _came(
        "words may stand in the start of a block",
        events(
            [
                start(),
                {**_HM[0], "content_block": think("Let me ")},
                delta(0, "thinking_delta", thinking="look it up."),
                delta(0, "signature_delta", signature=SIGNED),
                _HM[-1],
                *_CALL,
                *ending(),
            ]
        ),
        [_BREST],
        [HM, _BREST],
    ),
    _came(
        "blocks that the end of the message closes are whole",
        events([start(), *opened(0, HM), *opened(1, _BREST), *ending()]),
        [_BREST],
        [HM, _BREST],
    ),
    _came(
        "citations are no words and no state",
        events(
            [
                start(),
                *block(0, HM),
                *opened(1, text("At noon.")),
                delta(1, "citations_delta", citation={"type": "web_search_result_location", "encrypted_index": SEALED}),
                {"type": "content_block_stop", "index": 1},
                *ending("end_turn"),
            ]
        ),
        [text("At noon.")],
        [HM, text("At noon.")],
    ),
    _came(
        "a delta of a kind that nobody knows leaves its value on the block",
        events([start(), *_HM, *_CALL[:-1], delta(1, "seal_delta", seal=SEALED, empty=None), _CALL[-1], *ending()]),
        [_BREST],
        [HM, {**_BREST, "seal": SEALED}],
    ),
    _came(
        "events that fit nowhere are passed over",
        events(
            [
                start(),
                {"type": "message_start", "message": None},
                *_HM,
                delta(9, "text_delta", text="?"),
                {"type": "content_block_delta", "index": 0, "delta": None},
                delta(0, "thinking_delta"),
                {"type": "content_block_start", "index": "1", "content_block": text("?")},
                {"type": "content_block_stop", "index": 9},
                {"type": "message_delta", "delta": None, "usage": None},
                {"type": "of tomorrow"},
                *_CALL,
                *ending(),
            ]
        ),
        [_BREST],
        [HM, _BREST],
    ),
    _came(
        "a plain answer with what is no block among its content",
        whole(HM, 7, use("a")),
        [use("a")],
        [HM, use("a")],
    ),
    _came(
        "arguments that are no JSON are known as they came",
        events(
            [
                start(),
                *_HM,
                *_CALL[:1],
                delta(1, "input_json_delta", partial_json='{"at": Brest}'),
                _CALL[-1],
                *ending(),
            ]
        ),
        [{**_BREST, "input": '{"at": Brest}'}],
        [HM, {**_BREST, "input": '{"at": Brest}'}],
    ),
]

_CUT: list[Scenario] = [
    _came(
        "of an answer that was cut off the blocks that had closed stay",
        events([start(), *_HM, *_CALL, *opened(2, AND)], ends=False),
        [_BREST],
        [HM, _BREST],
    ),
    _came(
        "of an answer that was cut off what stands behind an open block is gone",
        events([start(), *opened(0, HM), *_CALL], ends=False),
        [_BREST],
        [_BREST],
        "unknown_turn",
    ),
    _came(
        "thinking that closed without its signature is gone with a cut answer, redacted thinking has none",
        events([start(), *_SEAL, *block(1, think("Half a th")), *block(2, _BREST)], ends=False),
        [_BREST],
        [redacted(SEALED), _BREST],
    ),
    _came(
        "an error in the midst ends an answer, what had closed stays",
        events([start(), *_HM, *_CALL, ERROR], ends=False),
        [_BREST],
        [HM, _BREST],
    ),
    _came(
        "an error behind the end undoes it",
        events([*_ALL, ERROR], ends=False),
        [_BREST],
        [HM, _BREST],
    ),
]

_CUT.append(
    Scenario(
        "Messages: thinking of which nothing else came goes nowhere",
        ANTHROPIC,
        (Exchange(CLAUDE([ASKED]), events([start(), *_HM, *opened(1, text("At "))], ends=False)),),
        CLAUDE([ASKED, assistant(text("At ")), user("Again.")]),
        None,
    )
)

SCENARIOS = [*_WHOLE, *_CUT]
