"""Edits into JSON text: the same as on the parsed value, and not a byte of anything else."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsontexts import BODIES, Json, edits_to, parse, places, value_at

from thoughtkeep.splice import Unfit, apply
from thoughtkeep.turns import END, Edit, Op, Path

# -- the naive way ----------------------------------------------------------------------------------------------------


class Naive:
    """Edits made on a parsed value: every container is replaced by one whose elements know where they came from."""

    def __init__(self, value: Json, edits: list[Edit]) -> None:
        self.value, self.edits = value, edits

    def result(self, at: Path = ()) -> Json:
        here = [edit for edit in self.edits if (edit.at[:-1] if edit.op in (Op.REPLACE, Op.REMOVE) else edit.at) == at]
        value = value_at(self.value, at)
        if isinstance(value, dict):
            return self._object(value, at, here)
        if isinstance(value, list):
            return self._array(value, at, here)
        return value

    def _gone(self, at: Path) -> bool:
        return any((edit.op is Op.REMOVE and edit.at == at) or edit.source == at for edit in self.edits)

    def _member(self, at: Path) -> Json:
        new = [edit.value for edit in self.edits if edit.op is Op.REPLACE and edit.at == at]
        return parse(json.dumps(new[-1])) if new else self.result(at)

    def _object(self, value: dict[str, Json], at: Path, here: list[Edit]) -> dict[str, Json]:
        dropped = {edit.key for edit in here if edit.op is Op.DROP}
        kept = [key for key in value if key not in dropped and not self._gone((*at, key))]
        put = {edit.key: parse(json.dumps(edit.value)) for edit in here if edit.op is Op.PUT}
        return {key: self._member((*at, key)) for key in kept} | put

    def _array(self, value: list[Json], at: Path, here: list[Edit]) -> list[Json]:
        made: list[Json] = []
        coming = sorted((edit for edit in here if edit.op in (Op.INSERT, Op.MOVE)), key=lambda edit: edit.index)
        for number in range(len(value) + 1):
            for edit in coming:
                if min(edit.index, len(value)) == number:
                    moves = edit.op is Op.MOVE
                    made.append(self.result(edit.source) if moves else parse(json.dumps(edit.value)))
            if number < len(value) and not self._gone((*at, number)):
                made.append(self._member((*at, number)))
        return made


@settings(deadline=None, max_examples=200)
@given(BODIES, st.data())
def test_edits_to_the_text_are_the_edits_to_the_value(text: str, data: st.DataObject) -> None:
    edits = data.draw(edits_to(text))
    expected = Naive(parse(text), edits).result()
    assert parse(apply(text.encode(), edits)) == expected


# -- bytes ------------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(BODIES, st.data())
def test_what_no_edit_names_keeps_its_very_bytes(text: str, data: st.DataObject) -> None:
    value = parse(text)
    paths = [path for path in places(value) if isinstance(value_at(value, path), (dict, list))]
    at = data.draw(st.sampled_from(paths))
    inner = value_at(value, at)
    edit = (
        Edit(Op.PUT, at, key="a fresh key", value="mark")
        if isinstance(inner, dict)
        else Edit(Op.INSERT, at, index=data.draw(st.integers(0, len(inner))), value="mark")
    )
    after = apply(text.encode(), [edit]).decode()
    before, mark, behind = after.partition('"a fresh key":"mark"' if isinstance(inner, dict) else '"mark"')
    assert mark
    assert not isinstance(inner, dict) or not behind.startswith(",")
    rest = (before.removesuffix(",") + behind) if before.endswith(",") else before + behind.removeprefix(",")
    if inner:
        assert rest == text
    else:  # the white space in an empty container goes
        assert re.sub(r"\s", "", rest) == re.sub(r"\s", "", text)


@given(BODIES)
def test_no_edits_change_nothing(text: str) -> None:
    assert apply(text.encode(), []) == text.encode()


def edit(op: Op, *at: str | int, **rest: Json) -> Edit:
    return Edit(op, at, **rest)


EXACT: dict[str, tuple[str, list[Edit], str]] = {
    "odd spelling stays around a new key": (
        '{ "n":1.10 ,"big":123456789012345678901,\t"s":"\\u00e9\\ud800" }\n',
        [edit(Op.PUT, key="k", value="é")],
        '{ "n":1.10 ,"big":123456789012345678901,\t"s":"\\u00e9\\ud800" ,"k":"é"}\n',
    ),
    "a replaced value keeps the space around it": (
        '{"a" : 1 , "b" : [ 2 , 3 ] }',
        [edit(Op.REPLACE, "a", value={}), edit(Op.REPLACE, "b", 0, value=0)],
        '{"a" : {} , "b" : [ 0 , 3 ] }',
    ),
    "a key that is put again is replaced in its place": (
        '{"a": 1, "b": 2}',
        [edit(Op.PUT, key="a", value=3)],
        '{"a": 3, "b": 2}',
    ),
    "the last of two puts of a key counts": (
        "{}",
        [edit(Op.PUT, key="a", value=1), edit(Op.PUT, key="a", value=2)],
        '{"a":2}',
    ),
    "a dropped key takes its comma along": (
        '{"a": 1, "b": 2, "c": 3}',
        [edit(Op.DROP, key="b")],
        '{"a": 1, "c": 3}',
    ),
    "all members may go": ("[1, 2]", [edit(Op.REMOVE, 0), edit(Op.REMOVE, 1)], "[]"),
    "a key that is not there need not be dropped": ('{"a":1}', [edit(Op.DROP, key="b")], '{"a":1}'),
    "a key is found however it is escaped": (
        '{"\\u0061":{"b":1}}',
        [edit(Op.PUT, "a", key="c", value=2)],
        '{"\\u0061":{"b":1,"c":2}}',
    ),
    "of duplicate keys the last one is changed, as every reader reads it": (
        '{"a":[1],"a":{"b":2}}',
        [edit(Op.PUT, "a", key="c", value=3)],
        '{"a":[1],"a":{"b":2,"c":3}}',
    ),
    "of duplicate keys the first one need not be fit": (
        '{"a":1,"a":{"b":2}}',
        [edit(Op.PUT, "a", key="c", value=3)],
        '{"a":1,"a":{"b":2,"c":3}}',
    ),
    "an edit may lead deep down": (
        '{"messages": [ {"content": [ {"text": "a"} ]} ]}',
        [edit(Op.PUT, "messages", 0, "content", 0, key="k", value=1)],
        '{"messages": [ {"content": [ {"text": "a","k":1} ]} ]}',
    ),
    "of duplicate keys the last one is put": ('{"a":1,"a":2}', [edit(Op.PUT, key="a", value=3)], '{"a":1,"a":3}'),
    "of duplicate keys the last one is replaced": ('{"a":1,"a":2}', [edit(Op.REPLACE, "a", value=3)], '{"a":1,"a":3}'),
    "of duplicate keys none is left when it is dropped": ('{"a":1,"b":0,"a":2}', [edit(Op.DROP, key="a")], '{"b":0}'),
    "inserts at one place keep their order": (
        "[1]",
        [edit(Op.INSERT, index=0, value=number) for number in (7, 8, 9)]
        + [edit(Op.INSERT, index=END, value=number) for number in (4, 5)],
        "[7,8,9,1,4,5]",
    ),
    "inserts and moves at one place keep their order": (
        '[["a"],["b"]]',
        [
            edit(Op.INSERT, 0, index=END, value=1),
            edit(Op.MOVE, 0, index=END, source=(1, 0)),
            edit(Op.INSERT, 0, index=END, value=2),
        ],
        '[["a",1,"b",2],[]]',
    ),
    "an index past the end is the end": ("[1]", [edit(Op.INSERT, index=5, value=2)], "[1,2]"),
    "positions are those before any edit": (
        "[0,1,2,3]",
        [edit(Op.REMOVE, 0), edit(Op.INSERT, index=2, value="x"), edit(Op.REPLACE, 3, value="y")],
        '[1,"x",2,"y"]',
    ),
    "a moved element keeps its text": (
        '{"a": [ ], "b": [ { "n" : 1.10 } , 2 ]}',
        [edit(Op.MOVE, "a", index=END, source=("b", 0))],
        '{"a": [{ "n" : 1.10 }], "b": [ 2 ]}',
    ),
    "an element moves out of a container that goes": (
        '[[1],[{"x":2}]]',
        [edit(Op.MOVE, 0, index=END, source=(1, 0)), edit(Op.REMOVE, 1)],
        '[[1,{"x":2}]]',
    ),
    "a moved element takes its own edits along": (
        '[[1],[{"x":{"y":2}}]]',
        [
            edit(Op.MOVE, 0, index=0, source=(1, 0)),
            edit(Op.PUT, 1, 0, key="k", value=3),
            edit(Op.PUT, 1, 0, "x", key="z", value=4),
        ],
        '[[{"x":{"y":2,"z":4},"k":3},1],[]]',
    ),
    "an element may move within its array, and be named as removed too": (
        "[1,2,3]",
        [edit(Op.MOVE, index=0, source=(2,)), edit(Op.REMOVE, 2)],
        "[3,1,2]",
    ),
    "all elements of an array may move at once": (
        "[1,2,3]",
        [edit(Op.MOVE, index=0, source=(number,)) for number in (2, 0, 1)],
        "[3,1,2]",
    ),
    "a lone surrogate that is written stays escaped": (
        "{}",
        [edit(Op.PUT, key="\ud800", value="\udfff")],
        '{"\\ud800":"\\udfff"}',
    ),
    "control characters in a client's string stay": (
        '{"a":"\x00\t\n"}',
        [edit(Op.PUT, key="k", value=1)],
        '{"a":"\x00\t\n","k":1}',
    ),
    "an integer of more digits than Python converts stays": (
        '{"a":' + "9" * 6000 + "}",
        [edit(Op.PUT, key="k", value=1)],
        '{"a":' + "9" * 6000 + ',"k":1}',
    ),
}


@pytest.mark.parametrize(("text", "edits", "after"), EXACT.values(), ids=EXACT)
def test_edited_text_is_exactly(text: str, edits: list[Edit], after: str) -> None:
    assert apply(text.encode(), edits) == after.encode()


def test_ten_megabytes_keep_their_bytes() -> None:
    message = '{"role": "user", "n": 1.10, "content": "' + "é\\n\\ud800x" * 100 + '"}'
    text = '{"messages": [' + ", ".join([message] * 10_000) + '], "model": "m"}'
    assert len(text.encode()) > 10_000_000
    edits = [Edit(Op.PUT, ("messages", number), key="k", value=1) for number in range(0, 10_000, 2)]
    after = apply(text.encode(), edits).decode()
    assert after.replace(',"k":1}', "}") == text
    assert after.count(',"k":1}') == len(edits)


# -- what does not fit ------------------------------------------------------------------------------------------------

PUT = edit(Op.PUT, key="k", value=1)

BROKEN: dict[str, bytes] = {
    "nothing": b"",
    "only space": b" \n",
    "not UTF-8": b'{"a":"\xff"}',
    "encoded surrogates": b'{"a":"\xed\xa0\x80"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "a plain value": b"1",
    "a word": b"nul",
    "an open object": b"{",
    "an object open behind a key": b'{"a"',
    "an object open behind a colon": b'{"a":',
    "an object open behind a value": b'{"a":1',
    "an open string": b'{"a":"b',
    "a key without quotes": b"{a:1}",
    "a key that is a number": b"{1:2}",
    "a key that is an array": b"{[1]:2}",
    "an array without its bracket": b"x1]",
    "a comma before the end": b'{"a":1,}',
    "no colon": b'{"a" 1}',
    "another sign than a colon": b'{"a";1}',
    "another sign than a comma": b'{"a":1;"b":2}',
    "another sign than a comma in an array": b"[1;2]",
    "no comma": b'{"a":1 "b":2}',
    "another bracket at the end": b'{"a":1]',
    "a leading zero": b'{"a":01}',
    "a lone minus": b'{"a":-}',
    "something behind it": b"{} {}",
    "nesting 100 000 deep": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nesting 100 000 deep without an end": b"[" * 100_000,
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_body_that_is_no_json_is_unfit(body: bytes) -> None:
    for change in (PUT, edit(Op.INSERT, index=0, value=1)):
        with pytest.raises(Unfit):
            apply(body, [change])


DEEP: dict[str, Json] = {}
for _ in range(20_000):
    DEEP = {"a": DEEP}

MISFITS: dict[str, tuple[str, list[Edit]]] = {
    "no such key": ("{}", [edit(Op.PUT, "a", key="k", value=1)]),
    "no such element": ("[1]", [edit(Op.REPLACE, 1, value=1)]),
    "no such element to remove": ("[1]", [edit(Op.REMOVE, 1)]),
    "a position counted from the end": ("[1]", [edit(Op.REPLACE, -1, value=1)]),
    "a key of an array": ("[1]", [edit(Op.REPLACE, "a", value=1)]),
    "a position of an object": ('{"0":1}', [edit(Op.REPLACE, 0, value=1)]),
    "a key put into an array": ("[1]", [PUT]),
    "a key dropped from an array": ("[1]", [edit(Op.DROP, key="a")]),
    "an element inserted into an object": ('{"a":1}', [edit(Op.INSERT, index=0, value=1)]),
    "an element moved into an object": ('{"a":1,"b":[2]}', [edit(Op.MOVE, index=0, source=("b", 0))]),
    "a key put into a plain value": ('{"a":1}', [edit(Op.PUT, "a", key="k", value=1)]),
    "a way through a plain value": ('{"a":"b"}', [edit(Op.PUT, "a", "b", key="k", value=1)]),
    "a key put into a value that goes": ('{"a":"b"}', [edit(Op.PUT, "x", key="k", value=1), edit(Op.REMOVE, "a")]),
    "the whole body replaced": ("{}", [edit(Op.REPLACE, value=1)]),
    "the whole body removed": ("{}", [edit(Op.REMOVE)]),
    "nothing to move": ("[[],[]]", [edit(Op.MOVE, 0, index=0, source=(1, 0))]),
    "no array to move from": ("[[],1]", [edit(Op.MOVE, 0, index=0, source=(1, 0))]),
    "an element moved into itself": ("[[1]]", [edit(Op.MOVE, 0, index=0, source=(0,))]),
    "an element moved into what is within it": ("[[[1]]]", [edit(Op.MOVE, 0, 0, index=0, source=(0,))]),
    "a value that JSON has no word for": ("{}", [edit(Op.PUT, key="k", value=float("nan"))]),
    "a value nested too deep to write": ("{}", [edit(Op.PUT, key="k", value=DEEP)]),
}


@pytest.mark.parametrize(("text", "edits"), MISFITS.values(), ids=MISFITS)
def test_edits_that_do_not_fit_are_unfit(text: str, edits: list[Edit]) -> None:
    with pytest.raises(Unfit):
        apply(text.encode(), edits)


ANY_EDITS = st.lists(
    st.builds(
        Edit,
        st.sampled_from(Op),
        st.lists(st.integers(0, 3) | st.sampled_from(["a", "b", "content"]), max_size=3).map(tuple),
        key=st.sampled_from(["a", "b", "content"]),
        index=st.integers(0, 3),
        value=st.sampled_from([1, {"a": []}]),
        source=st.lists(st.integers(0, 3) | st.just("a"), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=3,
)


@settings(deadline=None, max_examples=150)
@given(BODIES | st.text(max_size=20), ANY_EDITS)
def test_whatever_is_asked_for_the_outcome_is_json_or_unfit(text: str, edits: list[Edit]) -> None:
    try:
        after = apply(text.encode("utf-8", "surrogatepass"), edits)
    except Unfit:
        return
    assert type(parse(after)) is type(parse(text))


def test_an_object_that_moves_takes_along_what_is_added_to_it() -> None:
    edits = [Edit(Op.MOVE, ("a",), index=0, source=("b", 0)), Edit(Op.PUT, ("b", 0), key="new", value="x\ud800")]
    assert apply(b'{"a":[1],"b":[{"c": 2 }]}', edits) == b'{"a":[{"c": 2 ,"new":"x\\ud800"},1],"b":[]}'
