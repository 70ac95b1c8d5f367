"""Items of OpenAI's Responses shape whose reasoning is missing or refused."""

import pytest
from refused import OTHER, RESPONSES, SIGNED, function, items, mended, output, reasoning

from thoughtkeep.rescue.fault import FaultKind
from thoughtkeep.turns import Json

WORDS = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]}
NAMED = {**WORDS, "id": "msg_1"}
MORE = {"role": "user", "content": "more"}

A, B = function("fc_a", "a"), function("fc_b", "b")
BARE_A, BARE_B = function("", "a"), function("", "b")
RS_A, RS_B = reasoning("rs_a", SIGNED), reasoning("rs_b", OTHER)

MISSING: list[tuple[str, Json, tuple[str, ...], Json]] = [
    (
        "the named one, and all others of a turn without reasoning",
        items(A, output("a"), B, output("b"), NAMED, MORE),
        ("fc_a",),
        items(BARE_A, output("a"), BARE_B, output("b"), WORDS, MORE),
    ),
    (
        "of a turn with reasoning only the named one",
        items(A, RS_B, B, output("a"), output("b")),
        ("fc_a",),
        items(BARE_A, RS_B, B, output("a"), output("b")),
    ),
    (
        "a turn that has its reasoning stays whole",
        items(RS_A, A, output("a"), B, output("b")),
        ("fc_b",),
        items(RS_A, A, output("a"), BARE_B, output("b")),
    ),
    ("what has no id asks for nothing", items(BARE_A, output("a")), ("fc_a",), items(BARE_A, output("a"))),
]

REFUSED: list[tuple[str, Json, tuple[str, ...], Json]] = [
    (
        "the named item goes, and the ids of what it led to",
        items(RS_A, A, output("a"), RS_B, NAMED, B, output("b")),
        ("rs_b",),
        items(RS_A, A, output("a"), WORDS, BARE_B, output("b")),
    ),
    (
        "all go where none is named",
        items(RS_A, A, output("a"), RS_B, B, output("b")),
        (),
        items(BARE_A, output("a"), BARE_B, output("b")),
    ),
    (
        "an item without its ciphertext is known by its id",
        items(reasoning("rs_a"), A, output("a"), MORE),
        ("rs_a",),
        items(BARE_A, output("a"), MORE),
    ),
    (
        "what the next item led to keeps its id",
        items(RS_A, A, RS_B, B, output("a"), output("b")),
        ("rs_a",),
        items(BARE_A, RS_B, B, output("a"), output("b")),
    ),
    ("what has no id has none to lose", items(RS_A, BARE_A, output("a")), ("rs_a",), items(BARE_A, output("a"))),
    ("where nothing of the kind stands nothing goes", items(A, output("a")), ("rs_x",), items(A, output("a"))),
]

CASES: list[tuple[FaultKind, str, Json, tuple[str, ...], Json]] = [
    *(("reasoning_missing", *case) for case in MISSING),
    *(("reasoning_refused", *case) for case in REFUSED),
]


@pytest.mark.parametrize(("kind", "_rule", "body", "named", "fixed"), CASES)
def test_what_asks_for_lost_reasoning_goes(
    kind: FaultKind, _rule: str, body: Json, named: tuple[str, ...], fixed: Json
) -> None:
    assert mended(RESPONSES, body, kind, named).body == fixed


@pytest.mark.parametrize(("kind", "_rule", "body", "named", "fixed"), CASES)
def test_it_goes_again_from_what_was_learnt_whatever_a_later_error_named(
    kind: FaultKind, _rule: str, body: Json, named: tuple[str, ...], fixed: Json
) -> None:
    marks = mended(RESPONSES, body, kind, named).marks
    assert mended(RESPONSES, body, kind, ("rs_z", "fc_z"), only=marks).body == fixed
    assert mended(RESPONSES, fixed, kind, named, only=marks).body == fixed
    assert mended(RESPONSES, body, kind, named, only=()).body == body


@pytest.mark.parametrize(("kind", "_rule", "body", "named", "fixed"), CASES)
def test_calls_and_their_results_stay_pairs(
    kind: FaultKind, _rule: str, body: Json, named: tuple[str, ...], fixed: Json
) -> None:
    calls = [item["call_id"] for item in fixed["input"] if item.get("type") == "function_call"]
    results = [item["call_id"] for item in fixed["input"] if item.get("type") == "function_call_output"]
    assert sorted(calls) == sorted(results)
    assert calls == [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
