"""One value that a request lacks, echoes, or echoes damaged: what stays, and what is put in its place."""

import base64
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.mend import damaged, essence, is_filler, mend, same_words
from thoughtkeep.turns import Edit, Op

Json = Any

SIGNATURE = base64.b64encode(bytes(range(200, 248))).decode()
URLSAFE = SIGNATURE.replace("+", "-").replace("/", "_")
OTHER = base64.b64encode(bytes(range(48))).decode()
PROSE = "First I read a.py, then I fix it."

FILLERS = [
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
    "(reasoning unavailable)",
    ".",
]

TEXT = {"type": "reasoning.text", "text": "First read.", "signature": SIGNATURE, "format": "f", "index": 0, "id": "r1"}
MORE = {"type": "reasoning.text", "text": " Then fix.", "signature": OTHER, "format": "f", "index": 1, "id": "r2"}
SEALED = {"type": "reasoning.encrypted", "data": SIGNATURE, "id": "r1", "format": "f", "index": 0}

LEFT: dict[str, tuple[Json, Json]] = {
    "an equal value": (SIGNATURE, SIGNATURE),
    "the other alphabet": (URLSAFE, SIGNATURE),
    "the other alphabet without padding": (URLSAFE.rstrip("="), SIGNATURE),
    "another well-formed value": (OTHER, SIGNATURE),
    "another text": ("I do something else.", PROSE),
    "a longer text": (PROSE + " And test it.", PROSE),
    "another kind of value": (7, SIGNATURE),
    "a value where an empty one was issued": (SIGNATURE, ""),
    "an equal empty value": ("", ""),
    "an equal empty list": ([], []),
    "an equal number": (0, 0),
    "another number": (1, 0),
    "false": (False, True),
    "a null where a null was issued": (None, None),
    "a value where a null was issued": (SIGNATURE, None),
    "an object that has all": ({"google": {"s": SIGNATURE}}, {"google": {"s": SIGNATURE}}),
    "an object that has all and more": ({"google": {"s": SIGNATURE, "x": 1}, "y": 2}, {"google": {"s": SIGNATURE}}),
    "an object without the issued null": ({"google": {"s": SIGNATURE}}, {"google": {"s": SIGNATURE, "x": None}}),
    "an object with another value": ({"google": {"s": OTHER}}, {"google": {"s": SIGNATURE}}),
    "a text in the place of an object": ("x", {"google": {}}),
    "a list in the place of an object": ([], {"google": {}}),
    "an object in the place of a list": ({}, [TEXT]),
    "a short word in the place of a short word": ("a b", "abcdefg"),
    "the same entries": ([TEXT, SEALED], [TEXT, SEALED]),
    "entries with other labels": ([{**TEXT, "format": None, "index": 7, "id": "x"}], [TEXT]),
    "entries without labels": ([{"type": "reasoning.text", "text": TEXT["text"], "signature": SIGNATURE}], [TEXT]),
    "entries with nulls": ([{**TEXT, "data": None, "summary": ""}], [TEXT]),
    "entries with nulls within": (
        [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "a", "signature": None}]}],
        [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}]}],
    ),
    "entries in the other alphabet": ([{**SEALED, "data": URLSAFE}], [SEALED]),
    "foreign entries": ([{"type": "reasoning.text", "text": "Other words.", "signature": OTHER}], [TEXT]),
    "foreign entries beside the issued": ([TEXT, {"type": "reasoning.encrypted", "data": OTHER}], [TEXT]),
    "entries of another field": ([{"type": "reasoning.summary", "summary": TEXT["text"]}], [TEXT]),
    "foreign entries that are texts": (["other"], ["one"]),
    "entries where none were issued": ([TEXT], []),
}

REPLACED: dict[str, tuple[Json, Json]] = {
    "nothing": (None, SIGNATURE),
    "nothing for a number": (None, 0),
    "nothing for an empty text": (None, ""),
    "nothing for an empty list": (None, []),
    "nothing for an object": (None, {"google": {}}),
    "an empty text": ("", SIGNATURE),
    "spaces": (" \n", PROSE),
    "a beginning": (SIGNATURE[:30], SIGNATURE),
    "a beginning in the other alphabet": (URLSAFE[:30], SIGNATURE),
    "the beginning of a text": ("First I read", PROSE),
    "a text without its last space": (PROSE, PROSE + "\n"),
    "no base64": (SIGNATURE[:20] + "…", SIGNATURE),
    "a redaction": ("[REDACTED]", SIGNATURE),
    "padding alone": ("==", SIGNATURE),
    "an object without it": ({"google": {}}, {"google": {"s": SIGNATURE}}),
    "an object without the vendor": ({}, {"google": {"s": SIGNATURE}}),
    "an object with an empty one": ({"google": {"s": ""}}, {"google": {"s": SIGNATURE}}),
    "no entries": ([], [TEXT]),
    "empty entries where none were issued": ([{"type": "reasoning.text", "text": ""}], []),
    "the first of the entries": ([TEXT], [TEXT, MORE]),
    "the last of the entries": ([MORE], [TEXT, MORE]),
    "entries twice": ([TEXT, TEXT], [TEXT]),
    "entries in another order": ([MORE, TEXT], [TEXT, MORE]),
    "an entry without its signature": ([{"type": "reasoning.text", "text": TEXT["text"]}], [TEXT]),
    "an entry in fragments": (
        [{"type": "reasoning.text", "text": "First "}, {"type": "reasoning.text", "text": "read."}],
        [TEXT],
    ),
    "two entries glued together": ([{**TEXT, "text": f"{TEXT['text']}{MORE['text']}"}], [TEXT, MORE]),
    "an entry cut short": ([{**SEALED, "data": SIGNATURE[:20]}], [SEALED]),
    "an entry with a skip value": ([{**SEALED, "data": "skip_thought_signature_validator"}], [SEALED]),
    "entries that are texts, fewer": (["one"], ["one", "two"]),
    "no base64 of eight letters": ("a b", "abcdefgh"),
} | {f"the filler {filler}": (filler, SIGNATURE) for filler in FILLERS}


@pytest.mark.parametrize(("have", "issued"), LEFT.values(), ids=LEFT)
def test_it_stays_if_it_is(have: Json, issued: Json) -> None:
    assert not damaged(have, issued)


@pytest.mark.parametrize(("have", "issued"), REPLACED.values(), ids=REPLACED)
def test_it_is_damaged_if_it_is(have: Json, issued: Json) -> None:
    assert damaged(have, issued)


@pytest.mark.parametrize(
    ("text", "filler"),
    [
        *((filler, True) for filler in FILLERS),
        (" skip_thought_signature_validator\n", True),
        ("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I", True),
        (base64.urlsafe_b64encode(b"context_engineering_is_the_way_to_go").decode(), True),
        ("", True),
        ("\t ", True),
        ("..", False),
        ("skip", False),
        (SIGNATURE, False),
    ],
)
def test_fillers_are_known_raw_and_encoded(text: str, filler: bool) -> None:
    assert is_filler(text) is filler


# -- edits ------------------------------------------------------------------------------------------------------------

AT = ("messages", 1)


def edits(have: dict[str, Json], issued: dict[str, Json], snake: bool = False) -> list[tuple[Json, str, Json]]:
    spelled = {"thoughtSignature": "thought_signature", "functionCall/sig": "function_call/sig"}
    made = list(mend(AT, have, issued, "why", lambda key: spelled.get(key, key) if snake else key))
    assert all(edit.op is Op.PUT and edit.reason == "why" for edit in made)
    return [(edit.at, edit.key, edit.value) for edit in made]


@pytest.mark.parametrize(
    ("have", "issued", "made"),
    [
        ({}, {}, []),
        ({"x": 1}, {"a": SIGNATURE}, [(AT, "a", SIGNATURE)]),
        ({"a": None}, {"a": SIGNATURE}, [(AT, "a", SIGNATURE)]),
        ({"a": SIGNATURE}, {"a": SIGNATURE}, []),
        ({}, {"a": None}, []),
        ({}, {"a": "", "b": []}, [(AT, "a", ""), (AT, "b", [])]),
        ({"b": OTHER}, {"a": SIGNATURE, "b": SIGNATURE}, [(AT, "a", SIGNATURE)]),
        ({"d": [TEXT]}, {"d": [TEXT, MORE]}, [(AT, "d", [TEXT, MORE])]),
        (
            {"extra": {"mine": 1, "google": {"s": "", "x": 2}}},
            {"extra": {"google": {"s": SIGNATURE, "t": SIGNATURE}}},
            [(AT, "extra", {"mine": 1, "google": {"s": SIGNATURE, "x": 2, "t": SIGNATURE}})],
        ),
        (
            {"extra": {"google": {"s": OTHER}}},
            {"extra": {"google": {"s": SIGNATURE}, "vertex": {"s": SIGNATURE}}},
            [(AT, "extra", {"google": {"s": OTHER}, "vertex": {"s": SIGNATURE}})],
        ),
        ({}, {"function/token": SIGNATURE}, [((*AT, "function"), "token", SIGNATURE)]),
        ({"function/token": SIGNATURE}, {"function/token": SIGNATURE}, []),
    ],
    ids=[
        "nothing was issued",
        "it is missing",
        "it is null",
        "it is there",
        "a null was issued",
        "empty values were issued",
        "another value is there",
        "entries are missing",
        "the client has keys of its own",
        "the client has another value and lacks one",
        "it stands one object deeper",
        "it stands there one object deeper",
    ],
)
def test_what_is_put_where(have: dict[str, Json], issued: dict[str, Json], made: list[Json]) -> None:
    assert edits(have, issued) == made


@pytest.mark.parametrize(
    ("have", "snake", "key"),
    [
        ({}, False, "thoughtSignature"),
        ({}, True, "thought_signature"),
        ({"thoughtSignature": ""}, True, "thoughtSignature"),
        ({"thought_signature": ""}, True, "thought_signature"),
        ({"thought_signature": "", "thoughtSignature": ""}, True, "thought_signature"),
    ],
)
def test_a_key_is_written_as_the_client_spells_it_there_or_elsewhere(have: Json, snake: bool, key: str) -> None:
    assert edits(have, {"thoughtSignature": SIGNATURE}, snake) == [(AT, key, SIGNATURE)]


@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature"])
def test_a_value_is_found_under_either_spelling(key: str) -> None:
    assert edits({key: SIGNATURE}, {"thoughtSignature": SIGNATURE}, snake=True) == []


def test_the_object_around_a_key_is_spelled_as_the_client_spells_it() -> None:
    assert edits({}, {"functionCall/sig": SIGNATURE}, snake=True) == [((*AT, "function_call"), "sig", SIGNATURE)]


# -- for all values ---------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["", ".", "a", PROSE, PROSE[:9], SIGNATURE, SIGNATURE[:9], URLSAFE, OTHER, "[REDACTED]"])
LEAVES = st.none() | st.booleans() | st.integers(0, 2) | WORDS
KEYS = st.sampled_from(["type", "text", "data", "id", "signature"])
VALUES = st.recursive(LEAVES, lambda one: st.lists(one, max_size=3) | st.dictionaries(KEYS, one, max_size=3))
STATES = st.dictionaries(st.sampled_from(["a", "b", "function/c"]), VALUES, max_size=3)


def applied(have: dict[str, Json], made: list[Edit]) -> dict[str, Json]:
    """The state that the request has after the edits."""
    return have | {"/".join(map(str, (*edit.at[len(AT) :], edit.key))): edit.value for edit in made}


@given(VALUES)
def test_a_whole_copy_is_never_damaged(value: Json) -> None:
    assert not damaged(deepcopy(value), value)


@given(STATES, STATES)
def test_mending_twice_changes_nothing_more(have: dict[str, Json], issued: dict[str, Json]) -> None:
    mended = applied(have, list(mend(AT, have, issued, "")))
    assert list(mend(AT, mended, issued, "")) == []


@given(STATES, STATES)
def test_mending_takes_no_key_of_the_clients_away(have: dict[str, Json], issued: dict[str, Json]) -> None:
    mended = applied(have, list(mend(AT, have, issued, "")))
    assert mended.keys() == have.keys() | {key for key, value in issued.items() if value is not None}
    assert all(mended[key] == have[key] for key in have.keys() - issued.keys())


@given(VALUES)
def test_the_essence_of_an_essence_is_itself(value: Json) -> None:
    assert essence(essence(value)) == essence(value)


def test_words_are_the_same_but_for_white_space_and_tags_around_thinking_before_them() -> None:
    assert same_words("First  read.\n", "First read.")
    assert same_words("<think>hm</think>\nDone.", "Done.")
    assert not same_words("First read.", "First write.")


def test_a_value_nested_too_deep_to_be_compared_is_left_alone() -> None:
    deep: Json = SIGNATURE
    for _ in range(5000):
        deep = {"a": deep}
    assert list(mend((), {"deep": deep, "one": None}, {"deep": deep, "one": "1"}, "r")) == [
        Edit(Op.PUT, (), key="one", value="1", reason="r")
    ]
