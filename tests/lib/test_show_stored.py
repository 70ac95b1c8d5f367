"""Stored turns for people and for programs: words and calls, and of state never more than its size and digest."""

import json
from typing import Any

from thoughtkeep.handover import record, switch
from thoughtkeep.handover.record import Handover
from thoughtkeep.rescue import lesson
from thoughtkeep.rescue.fault import Fault
from thoughtkeep.rescue.lesson import Lesson
from thoughtkeep.show.stored import turns_json, turns_page
from thoughtkeep.turns import Call, Kept, Kind, Owner, Piece, Turn

SEAL = "c2VhbA" * 20
ROOT = "0123456789abcdef" * 2


def kept(number: int, **more: Any) -> Kept:
    call = Piece(Kind.CALL, call=Call(f"call_{number}", "look", '{"at":"the sky"}'), state={"signature": SEAL})
    turn = Turn(
        (Piece(Kind.TEXT, f"Answer {number}."), call), {"reasoning_content": f"Thought {number}."}, f"Thought {number}."
    )
    fields = {"made": 1_800_000_000.0 + number, "turn": turn, **more}
    return Kept(
        id=f"turn-{number}",
        tenant="tenant-digest",
        owner=Owner("openrouter.ai", "model-1", "served-1", "upstream-1"),
        format="chat",
        root=ROOT,
        lineage="l",
        after=(),
        context="c",
        near="n",
        thinking="absent",
        **fields,
    )


NOTES = [
    record.to_kept(Handover("what happened", 1_800_000_005.0, "model-0"), "p", "tenant-digest", ROOT, "model-1"),
    lesson.to_kept(
        Lesson(Fault("signature", ()), (SEAL,)), "p", "tenant-digest", ROOT, "h", "model-1", 1_800_000_006.0
    ),
    switch.to_kept("model-2", "p", "tenant-digest", ROOT, 1_800_000_007.0),
]


def test_turns_are_told_oldest_first_with_who_made_them_and_what_was_noted_between() -> None:
    lines = turns_page([*NOTES, kept(9), kept(1)])
    assert lines[0] == "conversation 0123456789abcdef: 2 turns"
    text = "\n".join(lines)
    order = [
        "turn 1 by served-1 at upstream-1 \u00b7 openrouter.ai, 2027-01-15 08:00:01Z",
        "Thought 1.",
        "Answer 1.",
        'call look {"at":"the sky"}   [call_1]',
        "signature \u2039120 characters",
        "handover to model-1, 2027-01-15 08:00:05Z",
        "rescue to model-1",
        "switch to model-2",
        "turn 2 by",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert SEAL not in text


def test_a_turn_that_broke_off_says_so() -> None:
    assert any(
        ", cut off " in line for line in turns_page([kept(1, turn=Turn((Piece(Kind.TEXT, "x"),), complete=False))])
    )


def test_no_turns_are_told_as_none() -> None:
    assert turns_page([]) == ["no turns are known"]
    assert turns_json([]) == {"format": 1, "conversation": "", "turns": [], "notes": []}


def test_an_export_holds_the_words_and_calls_but_no_state_and_no_tenant() -> None:
    told = turns_json([*NOTES, kept(9), kept(1)])
    assert [turn["id"] for turn in told["turns"]] == ["turn-1", "turn-9"]
    first = told["turns"][0]
    assert first["text"] == "Answer 1."
    assert first["reasoning"] == "Thought 1."
    assert first["calls"] == [{"id": "call_1", "name": "look", "arguments": {"at": "the sky"}}]
    assert [(state["key"], state["size"]) for state in first["state"]] == [
        ("reasoning_content", 10),
        ("signature", 120),
    ]
    assert first["time"] == "2027-01-15 08:00:01Z"
    assert told["notes"] == [
        {
            "kind": "handover",
            "model": "model-1",
            "time": "2027-01-15 08:00:05Z",
            "from": "model-0",
            "summary": "what happened",
        },
        {"kind": "rescue", "model": "model-1", "time": "2027-01-15 08:00:06Z", "fault": "signature"},
        {"kind": "switch", "model": "model-2", "time": "2027-01-15 08:00:07Z"},
    ]
    text = json.dumps(told)
    assert SEAL not in text
    assert "tenant" not in text


def test_reasoning_that_stands_in_blocks_is_exported_too() -> None:
    turn = Turn((Piece(Kind.THOUGHT, "Hm."), Piece(Kind.CALL, call=Call("", "run", "not json"))))
    told = turns_json([kept(1, turn=turn)])["turns"][0]
    assert told["reasoning"] == "Hm."
    assert told["calls"] == [{"id": "", "name": "run", "arguments": "not json"}]


def test_a_time_that_no_calendar_knows_is_told_as_such() -> None:
    assert turns_json([kept(1, made=1e300)])["turns"][0]["time"] == "at no known time"
