"""A JSON array that arrives in pieces: where one element ends and the next begins, cut anywhere."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtkeep.jsonarray import ArrayDecoder
from thoughtkeep.sse import Overlong

LONG = b'{"text": "' + b'x\\"{[' * 20_000 + b'"}'

BODIES: dict[str, tuple[bytes, list[bytes]]] = {
    "nothing has no element": (b"", []),
    "white space has no element": (b" \r\n\t ", []),
    "an empty array has no element": (b" [ \n] ", []),
    "elements stand between commas": (b'[{"a":1},{"b":2}]', [b'{"a":1}', b'{"b":2}']),
    "white space is allowed everywhere": (
        b'\r\n[{"a": 1}\n,\r\n{\n "b": [ 2 ]\n}\t\n ]\n',
        [b'{"a": 1}', b'{\n "b": [ 2 ]\n}'],
    ),
    "brackets within strings are text": (b'[{"a":"}]{[,"},{"}":"]"}]', [b'{"a":"}]{[,"}', b'{"}":"]"}']),
    "an escaped quote does not end a string": (
        rb'[{"a":"\"}"},{"b":"\\"},{"c":"\\\"]"},{"d":"\u0022}"}]',
        [rb'{"a":"\"}"}', rb'{"b":"\\"}', rb'{"c":"\\\"]"}', rb'{"d":"\u0022}"}'],
    ),
    "commas within an element are part of it": (b'[{"a":[1,2,{"b":[]}],"c":3}]', [b'{"a":[1,2,{"b":[]}],"c":3}']),
    "an element may be anything": (
        b'[ 1 , "a,]" , null,[2,[3]] ,-1.5e3, "\\\\",true]',
        [b"1", b'"a,]"', b"null", b"[2,[3]]", b"-1.5e3", b'"\\\\"', b"true"],
    ),
    "missing and superfluous commas do no harm": (b'[,{"a":1} {"b":2},,]', [b'{"a":1}', b'{"b":2}']),
    "a lone object is an array of one": (b' \n{"a":{"b":"}"}}\n', [b'{"a":{"b":"}"}}']),
    "what follows an array is ignored": (b'[{"a":1}]\n]{"b":2},"[', [b'{"a":1}']),
    "what follows a lone object is ignored": (b'{"a":1}{"b":2}[{}]', [b'{"a":1}']),
    "an array may be cut off, and its whole elements count": (b'[{"a":1},{"b":"', [b'{"a":1}']),
    "an array may lack its end": (b'[{"a":1}\n', [b'{"a":1}']),
    "a number that is cut off may be half a number": (b"[1,2", [b"1"]),
    "a lone object that is cut off is none": (b'{"a":1', []),
    "an element may be long": (b"[" + LONG + b"\n,\r\n{}]", [LONG, b"{}"]),
    "bytes of other characters are data": (
        '[{"a":"\u2028\x7f\u00e9"}]'.encode(),
        ['{"a":"\u2028\x7f\u00e9"}'.encode()],
    ),
}
each_body = pytest.mark.parametrize(("body", "elements"), BODIES.values(), ids=BODIES)


def read(pieces: list[bytes]) -> list[bytes]:
    decoder = ArrayDecoder()
    return [element for piece in pieces for element in decoder.feed(piece)] + decoder.close()


def cut(data: bytes, borders: list[int]) -> list[bytes]:
    edges = [0, *sorted(border % (len(data) + 1) for border in borders), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@each_body
def test_a_body_is_read_whole_and_byte_by_byte(body: bytes, elements: list[bytes]) -> None:
    assert read([body]) == elements
    assert read([body[i : i + 1] for i in range(len(body))]) == elements


@settings(deadline=None)
@given(body=st.sampled_from([body for body, _ in BODIES.values()]), borders=st.lists(st.integers(0, 500_000)))
def test_where_a_body_is_cut_makes_no_difference(body: bytes, borders: list[int]) -> None:
    assert read(cut(body, borders)) == read([body])


VALUES = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from('"\\{}[],: \u00e9\nx'), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    array=st.lists(VALUES, max_size=4),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
    borders=st.lists(st.integers(0, 500), max_size=10),
)
def test_the_elements_of_any_array_are_its_elements(
    array: list[object], indent: int | None, ascii_only: bool, borders: list[int]
) -> None:
    body = json.dumps(array, indent=indent, ensure_ascii=ascii_only).encode()
    assert [json.loads(element) for element in read(cut(body, borders))] == array


def test_an_object_comes_with_its_last_byte() -> None:
    decoder = ArrayDecoder()
    assert decoder.feed(b'[{"a":1') == []
    assert decoder.feed(b"}") == [b'{"a":1}']
    assert decoder.feed(b",2") == []
    assert decoder.feed(b"3\n") == []
    assert decoder.feed(b"]") == [b"23"]
    assert decoder.feed(b'[{"b":1}]') == []
    assert decoder.close() == []


@pytest.mark.parametrize("body", [b'"a"', b"1", b"null", b"<html>", b"data: {}", b"}", b"]", b",", b"\xef\xbb\xbf[]"])
def test_a_body_that_is_neither_array_nor_object_is_an_error_at_once(body: bytes) -> None:
    for before in (b"", b" \n"):
        decoder = ArrayDecoder()
        assert decoder.feed(before) == []
        with pytest.raises(ValueError, match="neither"):
            decoder.feed(body)


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("begin", [b'[{"a":"', b'{"a": "', b'["xxxxx', b"[111111"])
def test_more_pending_bytes_than_the_limit_are_overlong(begin: bytes, size: int) -> None:
    decoder = ArrayDecoder(limit=99)
    body = (begin + b"x" * 100)[: 99 + begin.startswith(b"[")]
    for start in range(0, len(body), size):
        assert decoder.feed(body[start : start + size]) == []
    with pytest.raises(Overlong, match="99 bytes"):
        decoder.feed(b"x")


def test_the_limit_counts_neither_what_has_ended_nor_the_elements_of_one_piece() -> None:
    decoder = ArrayDecoder(limit=100)
    element = b'{"a":"' + b"x" * 80 + b'"}'
    assert decoder.feed(b" " * 1000 + b"[") == []
    for _ in range(3):
        assert decoder.feed(element[:50]) == []
        assert decoder.feed(element[50:] + b",") == [element]
    assert decoder.feed((element + b",") * 50) == [element] * 50
    assert decoder.feed(b"]" + b" " * 1000) == []
