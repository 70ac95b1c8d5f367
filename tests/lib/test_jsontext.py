"""JSON as text: what can be read, what is written, and which spellings of a value are the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.jsontext import (
    Growing,
    NotJson,
    arguments,
    canonical,
    dumps,
    is_whole,
    loads,
    loads_exact,
    settled,
    strings,
)

TEXTS = st.text(st.characters(codec=None), max_size=8)  # lone surrogates included
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))


def nested(depth: int) -> dict[str, Any]:
    """An object in an object in an object."""
    outer: dict[str, Any] = {"leaf": "words"}
    for _ in range(depth):
        outer = {"a": outer}
    return outer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b' {"a": [1, 2.5, true, null]} ', {"a": [1, 2.5, True, None]}),
        (b'"\\ud800"', "\ud800"),  # orjson refuses it
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"[" * 1500 + b"]" * 1500, None),  # orjson refuses more than 1024 levels, Python may
    ],
    ids=["plain", "lone surrogate", "duplicate key", "nested"],
)
def test_what_either_parser_reads_is_read(text: bytes, value: object) -> None:
    for load in (loads, loads_exact):
        try:
            found = load(text)
        except NotJson:
            assert value is None
        else:
            assert found == value or value is None


@pytest.mark.parametrize(
    "text",
    [b"", b" ", b"{", b"nul", b"{'a': 1}", b"\xff", b'"\xed\xa0\x80"', b"\xef\xbb\xbf{}", b'{"a": 1}x', b"[" * 100_000],
    ids=repr,
)
def test_what_is_no_json_is_named_so_and_nothing_else(text: bytes) -> None:
    with pytest.raises(NotJson):
        loads(text)
    with pytest.raises(NotJson):
        loads_exact(text)


def test_a_number_with_more_digits_than_python_converts_is_no_json() -> None:
    with pytest.raises(NotJson):
        loads_exact(b"[" + b"1" * 5000 + b"]")


@given(st.integers(-(2**80), 2**80))
def test_exact_reading_keeps_every_digit(number: int) -> None:
    assert loads_exact(b'{"n": %d}' % number) == {"n": number}


@given(VALUES)
def test_what_is_written_is_compact_utf8_and_reads_back(value: object) -> None:
    text = dumps(value)
    assert loads_exact(text.encode("utf-8")) == value
    assert len(text) <= len(json.dumps(value))


def test_only_a_text_with_lone_surrogates_is_written_in_escapes() -> None:
    assert dumps({"a": "é\u2028"}) == '{"a":"é\u2028"}'
    assert dumps({"a": "é\ud800"}) == '{"a":"\\u00e9\\ud800"}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_no_word_for_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps({"a": value})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":[2]}', '{ "b" : [ 2 ],\n "a" : 1 }'),
        ('{"a":1}', '{"a":1.0}'),
        ('{"a":1e2}', '{"a":100}'),
        ('{"a":0}', '{"a":-0.0}'),
        ('{"a":"é"}', '{"a":"\\u00e9"}'),
        ('{"id":1234567890123456789}', '{"id":1234567890123456800}'),  # what JSON.parse and JSON.stringify make of it
        ('{"id":-1234567890123456789}', '{"id":-1234567890123456800}'),
        ('{"id":123456789012345678901234}', '{"id":1.2345678901234568e+23}'),
    ],
)
def test_two_spellings_of_the_same_arguments_are_one(one: str, other: str) -> None:
    assert arguments(one) == arguments(other)
    assert arguments(json.loads(one)) == arguments(json.loads(other)) == arguments(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1}', '{"a":2}'),
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":1}', '{"a":true}'),
        ('{"a":[1,2]}', '{"a":[2,1]}'),
        ('{"a":1.5}', '{"a":1}'),
        ('{"a":""}', "{}"),
        ('{"a":null}', "{}"),
        ("0", "{}"),
        ("false", "{}"),
        ('{"id":9007199254740991}', '{"id":9007199254740990}'),
    ],
)
def test_other_arguments_are_other_arguments(one: str, other: str) -> None:
    assert arguments(one) != arguments(other)


@pytest.mark.parametrize("raw", ["", " ", "\n", "{}", " { } ", "[]", "null", '""', {}, [], None])
def test_no_arguments_have_one_spelling(raw: object) -> None:
    assert arguments(raw) == "{}"


@pytest.mark.parametrize("raw", ["{'a': 1}", "ls -l", '{"a":', "*** Begin Patch\n*** End Patch", "\ud800"])
def test_arguments_that_are_no_json_are_themselves_without_the_spaces_around(raw: str) -> None:
    assert arguments(raw) == raw
    assert arguments(f"\n {raw} ") == raw


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_text_and_object_of_the_same_arguments_are_the_same(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=3, sort_keys=True), dumps(value)):
        assert arguments(text) == arguments(value)


@given(VALUES)
def test_the_canonical_form_is_its_own_canonical_form(value: object) -> None:
    assert canonical(json.loads(canonical(value))) == canonical(value)


def test_arguments_nested_too_deep_to_sort_are_told_apart_by_their_words() -> None:
    deep = nested(20_000)
    assert arguments(deep) == '["words"]'
    assert arguments(deep) != arguments({})
    text = '{"a":' * 20_000 + "1" + "}" * 20_000
    assert arguments(text) == arguments(f" {text} ")


def test_integers_past_the_largest_double_stay_themselves() -> None:
    assert canonical(10**400) == "1" + "0" * 400
    assert canonical(-(10**400)) == "-1" + "0" * 400


@pytest.mark.parametrize(
    ("raw", "whole"),
    [("{}", True), ('{"a":1}', True), ('{"a":1} ', True), ('"x"', True), ("", False), ('{"a":', False), ("{}{", False)],
)
def test_arguments_are_whole_when_they_are_one_json_value(raw: str, whole: bool) -> None:
    assert is_whole(raw) is whole


def test_long_arguments_are_treated_as_short_ones() -> None:
    words = "word " * 1000
    assert arguments(f'{{ "b": 1.0, "a": "{words}" }}') == f'{{"a":"{words}","b":1}}'
    assert arguments(f" {words}") == words.strip()


@pytest.mark.parametrize(
    ("value", "leaves"),
    [
        ("a", ["a"]),
        (None, []),
        (3, []),
        ({"k": "a", "l": ["b", {"m": "c"}], "n": 1}, ["a", "b", "c"]),
        (("a", ["b", ""]), ["a", "b", ""]),
    ],
)
def test_strings_are_found_in_their_order(value: object, leaves: list[str]) -> None:
    assert strings(value) == leaves


def test_strings_are_found_at_any_depth() -> None:
    assert strings(nested(100_000)) == ["words"]


@given(st.lists(TEXTS, max_size=5))
def test_a_text_on_its_way_settles_to_all_its_pieces(pieces: list[str]) -> None:
    growing = Growing()
    value = {"k": [growing, 1, None], "text": "a"}
    growing.parts += pieces
    assert settled(value) == {"k": ["".join(pieces), 1, None], "text": "a"}
    assert value["k"] == [growing, 1, None]
    assert "".join(strings(value)) == "".join([*pieces, "a"])
