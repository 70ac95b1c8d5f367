"""Where values stand in a text; and that an outline which is known already saves work and changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsontexts import BODIES, edits_to, parse, places, value_at

from thoughtkeep import walk
from thoughtkeep.splice import apply
from thoughtkeep.turns import END, Edit, Op, Path
from thoughtkeep.walk import Outline, Unfit, extended, outline_of, spans


@settings(deadline=None, max_examples=150)
@given(BODIES, st.data())
def test_what_stands_at_a_path_is_the_value_and_no_byte_more(text: str, data: st.DataObject) -> None:
    value = parse(text)
    inside = [path for path in places(value) if path]
    asked = data.draw(st.lists(st.sampled_from(inside), max_size=4)) if inside else []
    body = text.encode()
    found = [body[start:stop] for start, stop in spans(body, asked)]
    assert [parse(told) for told in found] == [value_at(value, path) for path in asked]
    assert found == [told.strip() for told in found]


@pytest.mark.parametrize("key", ['"é"', '"\\u00e9"', '"\\u00E9"'])
def test_a_key_is_found_however_it_is_written(key: str) -> None:
    # What é is in UTF-8, read as Latin-1, is a key of its own.
    body = f'{{"Ã©": 1, {key}: 2, "\\u00c3\\u00a9 ": 3}}'.encode()
    ((start, stop),) = spans(body, [("é",)])
    assert body[start:stop] == b"2"
    assert apply(body, [Edit(Op.PUT, (), key="é", value="ü")]) == body.replace(b"2", '"ü"'.encode())


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
        spans(text.encode(), [path])


# -- outlines ---------------------------------------------------------------------------------------------------------


def arrays(text: str) -> list[Path]:
    value = parse(text)
    return [path for path in places(value) if value_at(value, path) and isinstance(value_at(value, path), list)]


@settings(deadline=None, max_examples=300)
@given(BODIES.filter(arrays), st.data())
def test_edits_come_out_the_same_where_an_outline_is_known(text: str, data: st.DataObject) -> None:
    body, edits = text.encode(), data.draw(edits_to(text))
    outline = outline_of(body, data.draw(st.sampled_from(arrays(text))))
    assert outline is not None
    try:
        plain = apply(body, edits)
    except Unfit:
        with pytest.raises(Unfit):
            apply(body, edits, outline)
    else:
        assert apply(body, edits, outline) == plain


@settings(deadline=None, max_examples=150)
@given(BODIES.filter(arrays), st.data())
def test_an_outline_goes_on_where_it_ended(text: str, data: st.DataObject) -> None:
    whole = outline_of(text.encode(), data.draw(st.sampled_from(arrays(text))))
    assert whole is not None
    known = Outline(whole.start, whole.elements[: data.draw(st.integers(1, len(whole.elements)))])
    assert extended(text.encode(), known) == whole


@pytest.mark.parametrize("rest", [b",", b",1", b",1}", b"}", b"", b",]", b" x", b"," + b"[" * 100_000])
def test_an_array_that_does_not_go_on_as_one_has_no_outline(rest: bytes) -> None:
    with pytest.raises(Unfit):
        extended(b"[1" + rest, Outline(0, outline_of(b"[1]", ()).elements))  # type: ignore[union-attr]


def test_what_is_no_array_or_empty_has_no_outline() -> None:
    assert outline_of(b'{"a":[]}', ("a",)) is None
    assert outline_of(b'{"a":{"b":1}}', ("a",)) is None
    for body in (b'{"a":1}', b'{"b":[1]}', b'{"a":['):
        with pytest.raises(Unfit):
            outline_of(body, ("a",))


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


def put(number: int, key: str = "new") -> Edit:
    return Edit(Op.PUT, ("messages", number), key=key, value=1)


def test_of_a_known_array_only_what_is_edited_is_walked(skipped: list[str]) -> None:
    outline = outline_of(_body(100), ("messages",))
    skipped.clear()
    assert apply(_body(100), [put(50), put(60, "role")], outline) == apply(_body(100), [put(50), put(60, "role")])
    assert skipped[:2] == ['"messages"', '{"role":"user","content":"60"}']
    skipped.clear()
    apply(_body(100), [put(50)], outline)
    assert skipped == ['"messages"']
    for misfit in (Edit(Op.INSERT, ("messages", 0), index=0), put(100), Edit(Op.PUT, ("messages", "a"), key="b")):
        with pytest.raises(Unfit):
            apply(_body(100), [misfit], outline)


@pytest.mark.parametrize(
    "element",
    [
        "{}",
        "{ }",
        '{"new":2}',
        '{ "new" : 2}',
        '{"\\u006eew":2}',
        '{"a":"\\u006eew"}',
        '{"a":{"new":3}}',
        '{"a":"\\"new\\""}',
        '{ "a": 1 }',
        '{"é": 1 }',
    ],
)
def test_a_key_is_put_to_a_known_element_as_to_any_other(element: str) -> None:
    body = f'{{"messages":[0,{element},"new"]}}'.encode()
    for key in ("new", "é", "/", "a b"):
        edits = [put(1, key)]
        assert apply(body, edits, outline_of(body, ("messages",))) == apply(body, edits)


def test_edits_outside_of_a_known_array_are_made() -> None:
    edits = [Edit(Op.PUT, (), key="model", value="m"), Edit(Op.INSERT, ("messages",), index=END, value=1)]
    outline = outline_of(_body(2), ("messages",))
    assert apply(_body(2), edits, outline) == _body(2).replace(b"]}", b',1],"model":"m"}')
