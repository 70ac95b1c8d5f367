"""What is told of an exchange in a word, in a line, and as a record."""

import json
from typing import Any

import pytest

from thoughtkeep import foreign
from thoughtkeep.handover import rewrite
from thoughtkeep.handover.outcome import Outcome
from thoughtkeep.handover.switch import SWITCHED
from thoughtkeep.rescue import repair, skip
from thoughtkeep.show.story import Story, comment, record, word
from thoughtkeep.turns import Call, Edit, Kept, Kind, Missed, Op, Owner, Piece, Plan, Turn

EDIT = Edit(Op.REMOVE, ("messages", 0), reason=rewrite.REASON)
HANDOVER = Outcome("switch", (EDIT,), 2, True, "", 12_034, 310, 2_100, "gpt-5")


def story(**more: Any) -> Story:
    return Story("id", "tenant-secret", "r" * 32, "chat", "model-1", "host", True, **{"mode": "on", **more})


@pytest.mark.parametrize(
    ("told", "in_a_word", "in_a_line"),
    [
        ({}, "unchanged", ""),
        ({"made": {"call state restored": 2, "message state restored": 1}}, "restored", "restored 3"),
        ({"made": {foreign.TAKEN_OUT: 1, foreign.LEGAL: 2}}, "cleaned", "cleaned 3"),
        ({"made": {skip.REASON: 1}}, "stand-in", "stand-in for 1 lost signature"),
        ({"made": {skip.REASON: 2}}, "stand-in", "stand-in for 2 lost signatures"),
        ({"made": {repair.REASON: 1}}, "unchanged", "without what was refused before"),
        (
            {"made": {rewrite.REASON: 9, "x": 1}, "handover": HANDOVER},
            "handover, restored",
            "handover from gpt-5: 12,034 \u2192 310 tokens \u00b7 restored 1",
        ),
        (
            {"made": {rewrite.REASON: 9}, "handover": Outcome("handover_reused", (EDIT,), 2, tokens_before=10)},
            "handover",
            "handover: 10 \u2192 0 tokens (summary used again)",
        ),
        ({"rescued": "signature, rescued"}, "rescued", "rescued (signature)"),
        ({"rescued": "signature, refused again with status 400"}, "unchanged", ""),
        ({"repaired": 3}, "repaired", "answer made readable"),
        ({"made": {SWITCHED: 1}, "switched_from": "a"}, "switched", "asked model-1 instead of a"),
    ],
)
def test_a_word_and_a_line_say_what_was_done_the_weightiest_first(
    told: dict[str, Any], in_a_word: str, in_a_line: str
) -> None:
    assert word(story(**told)) == in_a_word
    assert comment(story(**told)) == in_a_line


def kept(seal: str) -> Kept:
    pieces = (Piece(Kind.TEXT, "spoken-words"), Piece(Kind.CALL, call=Call("call_1", "run", '{"a":"argument-words"}')))
    turn = Turn(pieces, {"seal": seal}, prose="thought-words")
    return Kept("k", "tenant-secret", Owner("h", "m"), "chat", "r", "l", (), "c", "n", "absent", 1.0, turn)


def test_a_record_has_figures_and_names_but_no_words_no_state_and_no_tenant() -> None:
    told = record(
        story(
            made={"call state restored": 2},
            handover=HANDOVER,
            plan=Plan(missed=(Missed(0, "unknown_turn"), Missed(3, "unknown_turn"))),
            kept=(kept("sealed-state"),),
            known=(kept("sealed-state"),),
            client=b"client-words",
            status="200",
            tokens=17,
            ms=40,
            rescued="signature, rescued",
            stopped="too long",
            switched_from="model-0",
        )
    )
    assert told == {
        "id": "id",
        "conversation": "r" * 16,
        "format": "chat",
        "model": "model-1",
        "host": "host",
        "streamed": True,
        "mode": "on",
        "status": "200",
        "ms": 40,
        "tokens": 17,
        "captured": 1,
        "calls": 1,
        "known": 1,
        "done": {"rescued": 1, "restored": 2},
        "edits": {"call state restored": 2},
        "missed": {"unknown_turn": 2},
        "handover": {
            "reason": "switch",
            "from": "gpt-5",
            "tokens_before": 12_034,
            "tokens_after": 310,
            "summary_ms": 2_100,
            "failed": "",
        },
        "rescue": "signature, rescued",
        "stopped": "too long",
        "switched_from": "model-0",
    }
    text = json.dumps(told)
    assert not any(secret in text for secret in ("words", "sealed", "tenant"))


def test_what_would_have_been_done_is_in_the_record_where_nothing_may_be() -> None:
    plan = Plan(edits=(EDIT, EDIT))
    assert record(story(mode="observe", plan=plan))["due"] == {rewrite.REASON: 2}
    assert "due" not in record(story(plan=plan))


def test_a_record_is_one_line_of_json_whatever_a_model_is_called() -> None:
    told = record(Story("i", "t", "r", "chat", "a\nb\x1b[31m\ud800", "h\r\n", False, "on"))
    json.dumps(told, ensure_ascii=False).encode()
    assert told["model"] == "a\\nb\\x1b[31m\\ud800"
    assert told["host"] == "h\\r\\n"
