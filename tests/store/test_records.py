"""A turn that was written down reads as it was, and what is not such a record is refused."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtkeep.turns import Call, Kept, Kind, Owner, Piece, Turn
from thoughtkeep_store import records
from thoughtkeep_store.found import origin_of

from .kit import kept

text = st.text(st.characters(), max_size=20)  # lone surrogates too
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**200), max_value=2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
states = st.dictionaries(text, json_values, max_size=3)
texts = st.lists(text, max_size=3).map(tuple)
calls = st.builds(Call, text, text, text)
pieces = st.builds(Piece, st.sampled_from(Kind), text, st.none() | calls, states, json_values)
turns = st.builds(Turn, st.lists(pieces, max_size=3).map(tuple), states, text, texts, st.booleans())
stored = st.builds(
    Kept,
    id=text,
    tenant=text,
    owner=st.builds(Owner, text, text, text, text),
    format=text,
    root=text,
    lineage=text,
    after=texts,
    context=text,
    near=text,
    thinking=st.sampled_from(["on", "off", "absent"]),
    made=st.floats(0, 1e11),
    turn=turns,
    call_ids=texts,
    values=texts,
)


@given(stored)
@settings(deadline=None, max_examples=150)
def test_any_turn_reads_as_it_was_written(turn):
    record = records.encode(turn)
    back = records.decode(*record)
    assert back == turn
    assert repr(back) == repr(turn)  # 1 and True and 1.0 are equal, and not the same
    assert records.decode_head(record.head) == (turn.id, turn.tenant, turn.root, origin_of(turn))


@pytest.mark.parametrize(
    "value",
    [
        2**64,
        -(10**400),
        "\ud800",
        "\udc00\ud800",
        chr(0xD83D) + chr(0xDE00),
        "",
        [],
        {},
        None,
        1.1e-300,
        "\0",
        "\u2028",
    ],
)
def test_values_that_encoders_trip_over_survive(value):
    turn = kept(state={"k": value, "deep": [{"k": [value]}]})
    assert records.decode(*records.encode(turn)) == turn


def test_deep_nesting_survives():
    value: list = []
    for _ in range(500):
        value = [value]
    turn = kept(state={"k": value})
    assert records.decode(*records.encode(turn)) == turn


def test_the_place_in_a_request_is_not_stored():
    turn = kept()
    placed = replace(turn, turn=replace(turn.turn, pieces=tuple(replace(p, at=("m", 0)) for p in turn.turn.pieces)))
    assert records.decode(*records.encode(placed)) == turn


def test_a_head_holds_no_state():
    head = records.encode(kept(text="secret words", state={"sig": "secret state"})).head
    assert b"secret" not in head


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes"])
def test_what_is_not_json_is_not_written(value):
    with pytest.raises((ValueError, TypeError)):
        records.encode(kept(state={"k": value}))


good = records.encode(kept())


def changed(part: bytes, **values) -> bytes:
    return json.dumps({**json.loads(part), **values}).encode()


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"", good.body),
        (b"\xff\xfe", good.body),
        (good.head[:-5], good.body),
        (good.head, good.body[:-5]),
        (b"[" * 100_000, good.body),
        (b"[]", good.body),
        (b"{}", good.body),
        (None, good.body),
        (changed(good.head, v=records.RECORD_VERSION + 1), good.body),
        (changed(good.head, v="1"), good.body),
        (changed(good.head, made="when?"), good.body),
        (changed(good.head, owner=None), good.body),
        (good.head, changed(good.body, v=records.RECORD_VERSION + 1)),
        (good.head, changed(good.body, pieces=[{"kind": "of another age"}])),
    ],
)
def test_what_is_no_record_is_unreadable(head, body):
    with pytest.raises(records.Unreadable):
        records.decode(head, body)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        changed(good.head, id=5),
        changed(good.head, tenant=None),
        changed(good.head, root=1),
        changed(good.head, after="x"),
    ],
)
def test_what_is_no_head_is_unreadable(head):
    with pytest.raises(records.Unreadable):
        records.decode_head(head)


def test_what_is_said_of_an_unreadable_record_holds_nothing_of_it():
    with pytest.raises(records.Unreadable) as caught:
        records.decode(changed(good.head, made="secret"), good.body)
    assert str(caught.value) == "wrong at made"
