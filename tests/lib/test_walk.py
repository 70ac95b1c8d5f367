"""Where values stand in a text; and that what is remembered of the last text saves work and changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsontexts import BODIES, SPACES, TEXTS, edits_to, parse, places, value_at

from thoughtkeep import walk
from thoughtkeep.splice import apply
from thoughtkeep.turns import END, Edit, Op, Path
from thoughtkeep.walk import Outlines, Unfit, spans


@settings(deadline=None, max_examples=150)
@given(BODIES, st.data())
def test_what_stands_at_a_path_is_the_value_and_no_byte_more(text: str, data: st.DataObject) -> None:
    value = parse(text)
    inside = [path for path in places(value) if path]
    asked = data.draw(st.lists(st.sampled_from(inside), max_size=4)) if inside else []
    found = [text[start:stop] for start, stop in spans(text, asked)]
    assert [parse(told) for told in found] == [value_at(value, path) for path in asked]
    assert found == [told.strip() for told in found]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"a": 1}', ("b",)),
        ('{"a": 1}', ("a", "b")),
        ('{"a": [1]}', ("a", 1)),
        ('{"a": {"b": 1}}', ("a", 0)),
        ("5", ("a",)),
        ('{"a": [', ("a", 0)),
        ("", ("a",)),
        ("[" * 100_000, (0,) * 100_000),
    ],
)
def test_where_there_is_no_such_value_nothing_is_told(text: str, path: Path) -> None:
    with pytest.raises(Unfit):
        spans(text, [path])


# -- what is remembered -----------------------------------------------------------------------------------------------


@st.composite
def conversations(draw: st.DrawFn) -> list[str]:
    """Bodies one after the other: messages are added, changed, left out, respaced; a number gets more digits."""
    parts = [draw(SPACES) + draw(TEXTS) + draw(SPACES) for _ in range(draw(st.integers(1, 5)))]
    head = draw(st.sampled_from(['{"messages":[', '{ "tools": [1], "messages" : [', "[", '{"a":[{"b":[']))
    tail = {"{": "]}", "[": "]"}[head[0]] if "b" not in head else "]}]}"
    bodies = []
    for _ in range(draw(st.integers(2, 5))):
        bodies.append(head + ",".join(parts) + tail)
        at = draw(st.integers(0, len(parts)))
        change = draw(st.sampled_from(["add", "add", "add", "change", "drop", "digit", "space", "head"]))
        if change == "add":
            parts.append(draw(TEXTS))
        elif change == "change":
            parts[at : at + 1] = [draw(TEXTS)]
        elif change == "drop":
            del parts[at : at + 1]
        elif change == "head":
            head = " " + head
        else:
            parts[at : at + 1] = [
                f"{part}{'7' if change == 'digit' and part[-1:].isdigit() and part.strip() not in ('0', '-0') else ' '}"
                for part in parts[at : at + 1]
            ]
    return bodies


@settings(deadline=None, max_examples=300)
@given(conversations(), st.data())
def test_what_is_remembered_of_the_last_body_changes_nothing(bodies: list[str], data: st.DataObject) -> None:
    outlines = Outlines()
    for body in bodies:
        edits = data.draw(edits_to(body))
        try:
            plain = apply(body.encode(), edits)
        except Unfit:
            with pytest.raises(Unfit):
                apply(body.encode(), edits, outlines, "one")
        else:
            assert apply(body.encode(), edits, outlines, "one") == plain


def _body(count: int) -> bytes:
    return b'{"messages":[%s]}' % b",".join(b'{"role":"user","content":"%d"}' % number for number in range(count))


@pytest.fixture
def skipped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The values that were passed over."""
    seen = []
    skip = walk._skip

    def noted(text: str, at: int) -> object:
        value, end = skip(text, at)
        seen.append(text[at:end])
        return value, end

    monkeypatch.setattr(walk, "_skip", noted)
    return seen


def test_only_what_is_new_is_walked(skipped: list[str]) -> None:
    outlines = Outlines()
    edit = Edit(Op.INSERT, ("messages", 0), index=0)
    put = [Edit(Op.PUT, ("messages", 50), key="new", value=1)]
    apply(_body(100), put, outlines, "one")
    assert len(skipped) > 100
    skipped.clear()
    more = apply(_body(103), put, outlines, "one")
    assert skipped == ['"messages"', *(f'{{"role":"user","content":"{number}"}}' for number in (50, 100, 101, 102))]
    assert more == apply(_body(103), put)
    skipped.clear()
    apply(_body(103), put, outlines, "another")
    assert len(skipped) > 100
    with pytest.raises(Unfit):
        apply(_body(103), [edit], outlines, "one")


def test_where_it_was_changed_it_is_walked_from_there(skipped: list[str]) -> None:
    outlines = Outlines()
    put = [Edit(Op.PUT, ("messages", 3), key="new", value=1)]
    apply(_body(100), put, outlines, "one")
    skipped.clear()
    apply(_body(100).replace(b'"90"', b'"x"'), put, outlines, "one")
    assert len(skipped) == 1 + 1 + 10


def test_edits_outside_of_arrays_leave_it_as_it_is() -> None:
    outlines = Outlines()
    apply(_body(3), [Edit(Op.PUT, (), key="model", value="m")], outlines, "one")
    assert outlines.of("one") is None
    apply(_body(3), [Edit(Op.PUT, ("messages", 0), key="new", value=1)], outlines, "one")
    apply(_body(0), [Edit(Op.INSERT, ("messages",), index=END, value=1)], outlines, "one")
    assert outlines.of("one") is not None
    for body in (_body(0), b'{"messages":{"0":{}}}'):
        with pytest.raises(Unfit):
            apply(body, [Edit(Op.PUT, ("messages", 0), key="new", value=1)], outlines, "one")
        assert outlines.of("one") is None
    apply(b'{"messages":[],"x":[{}]}', [Edit(Op.PUT, ("x", 0), key="new", value=1)], outlines, "one")
    assert outlines.of("one").start == len('{"messages":[],"x":')  # type: ignore[union-attr]


def test_of_the_texts_that_are_too_many_the_oldest_go() -> None:
    outlines = Outlines(max_bytes=30_000)
    put = [Edit(Op.PUT, ("messages", 0), key="new", value=1)]
    for number in range(20):
        apply(_body(20), put, outlines, number)
    assert outlines.of(19) is not None
    assert outlines.of(0) is None
    assert outlines._size <= 30_000
    apply(_body(10_000), put, outlines, 20)
    assert outlines._size == 0
