"""Which call a delta of a stream continues, in every way that servers have of telling them apart or not."""

import json
from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.formats.chat_calls import OpenCalls
from thoughtkeep.turns import Json


def delta(name: str = "", arguments: str | None = None, call_id: Json = None, index: Json = None, **more: Json) -> Json:
    inner = {**({"name": name} if name else {}), **({} if arguments is None else {"arguments": arguments})}
    found = {"index": index, "id": call_id, "function": inner or None, **more}
    return {key: value for key, value in found.items() if value is not None}


def told(*deltas: Json, whole: bool = False) -> list[Json]:
    """The calls that the deltas add up to, as a plain answer tells them."""
    calls = OpenCalls()
    for piece in deltas:
        calls.take(piece, whole=whole)
    assert [call.number for call in calls.calls] == list(range(len(calls.calls)))
    return [call.told() for call in calls.calls]


def call(name: str, arguments: str, call_id: str | None = None, **more: Json) -> Json:
    named = {} if call_id is None else {"id": call_id}
    return {**named, "function": {"name": name, "arguments": arguments}, **more}


TELLINGS: list[tuple[str, list[Json], list[Json]]] = [
    (
        "by index, whatever the order",
        [delta("f", "{", "a", 0), delta("g", "[", "b", 1), delta("", "}", index=0), delta("", "]", index=1)],
        [call("f", "{}", "a", index=0), call("g", "[]", "b", index=1)],
    ),
    (
        "an index may begin at 1",
        [delta("f", "", "a", 1), delta("", "{}", index=1)],
        [call("f", "{}", "a", index=1)],
    ),
    (
        "an empty or absent id later on is none",
        [delta("f", "", "a", 0), delta("", "{", "", 0), delta("", "}", index=0)],
        [call("f", "{}", "a", index=0)],
    ),
    (
        "without index another id begins a call",
        [delta("f", "{}", "a"), delta("f", "{}", "b")],
        [call("f", "{}", "a"), call("f", "{}", "b")],
    ),
    (
        "without index and id another name does",
        [delta("f", "{}"), delta("g", "{}")],
        [call("f", "{}"), call("g", "{}")],
    ),
    (
        "without index the same name and id do too, once the arguments are whole",
        [delta("f", "{}", "f"), delta("f", "[]", "f")],
        [call("f", "{}", "f"), call("f", "[]", "f")],
    ),
    (
        "but not before",
        [delta("f", '{"a":', "f"), delta("f", "1}", "f")],
        [call("f", '{"a":1}', "f")],
    ),
    (
        "without index and name the newest call goes on",
        [delta("f", "{}", "a"), delta("g", "[", "b"), delta("", "]")],
        [call("f", "{}", "a"), call("g", "[]", "b")],
    ),
    (
        "without index an id that is known goes on with its call",
        [delta("f", "{", "a"), delta("g", "[", "b"), delta("", "}", "a"), delta("", "]", "b")],
        [call("f", "{}", "a"), call("g", "[]", "b")],
    ),
    (
        "index 0 for all: a name with arguments begins a call once those before are whole",
        [delta("f", "{}", "a", 0), delta("g", "{", "b", 0), delta("", "}", index=0)],
        [call("f", "{}", "a", index=0), call("g", "{}", "b", index=0)],
    ),
    (
        "index 0 for all: another id does, though it comes without arguments",
        [delta("f", "{}", "a", 0), delta("f", "", "b", 0), delta("", "{}", index=0)],
        [call("f", "{}", "a", index=0), call("f", "{}", "b", index=0)],
    ),
    (
        "a server that repeats id and name in every delta does not begin a call with each",
        [delta("f", "", "a", 0), delta("f", "{", "a", 0), delta("f", "}", "a", 0)],
        [call("f", "{}", "a", index=0)],
    ),
    (
        "not even where the last of them says nothing",
        [delta("f", "{}", "a", 0), delta("f", "", "a", 0)],
        [call("f", "{}", "a", index=0)],
    ),
    (
        "what comes without a function belongs to the newest call",
        [delta("f", "{}", "a"), {"extra_content": {"google": {"thought_signature": "s"}}}],
        [call("f", "{}", "a", extra_content={"google": {"thought_signature": "s"}})],
    ),
    (
        "objects grow key by key, other values are replaced unless by nothing",
        [
            delta("f", "{}", "a", 0, extra={"x": 1}, token="s"),
            delta(index=0, extra={"y": 2}, token=""),
            {"index": 0, "token": None, "function": {"name": None, "strict": None}},
        ],
        [
            {
                "index": 0,
                "id": "a",
                "function": {"name": "f", "strict": None, "arguments": "{}"},
                "extra": {"x": 1, "y": 2},
                "token": "s",
            }
        ],
    ),
    (
        "an index that is no number is none",
        [delta("f", "{}", "a", "0"), delta("g", "{}", "b", "0")],
        [call("f", "{}", "a", index="0"), call("g", "{}", "b", index="0")],
    ),
]


@pytest.mark.parametrize(("_rule", "deltas", "calls"), TELLINGS)
def test_deltas_add_up_to_calls(_rule: str, deltas: list[Json], calls: list[Json]) -> None:
    assert told(*deltas) == calls


def test_calls_of_a_plain_answer_are_each_their_own() -> None:
    twice = [delta("f", "{}", "f"), delta("f", "{}", "f"), delta("f", "{}", "f", 0), delta("f", "{}", "f", 0)]
    assert len(told(*twice, whole=True)) == 4


def test_a_custom_tool_tells_its_input() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}
    more = {"id": "a", "custom": {"input": "y"}}
    assert told(custom, more) == [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "xy"}}]
    both = {"custom": {"name": "f"}, "function": {"name": "f", "arguments": "{}"}}
    assert told(both)[0]["function"] == {"name": "f", "arguments": "{}"}


def test_arguments_that_are_an_object_stay_one() -> None:
    assert told({"function": {"name": "f", "arguments": {"a": 1}}}) == [
        {"function": {"name": "f", "arguments": {"a": 1}}}
    ]
    assert told({"function": {"name": "f"}}) == [call("f", "")]


def test_arguments_are_whole_when_they_are_one_json_value() -> None:
    calls = OpenCalls()
    found = calls.take(delta("f", '{"a":"é'), whole=False)
    so_far = [found.is_whole]
    assert calls.take(delta("", '"}'), whole=False) is found
    so_far += [found.is_whole, calls.take(delta("g"), whole=False).is_whole]
    assert so_far == [False, True, False]


Style = Literal["indexed", "unindexed", "zero"]
MADE = st.lists(
    st.tuples(st.sampled_from(["f", "g"]), st.dictionaries(st.sampled_from("ab"), st.text(max_size=5), max_size=2)),
    min_size=1,
    max_size=4,
)


def streamed(made: Sequence[tuple[str, Json]], style: Style, sizes: Sequence[int], ids: bool) -> list[Json]:
    """Calls as a server of this style streams them, their arguments cut in pieces; each in full before the next."""
    deltas = []
    for number, (name, arguments) in enumerate(made):
        index = {"indexed": number, "unindexed": None, "zero": 0}[style]
        text = json.dumps(arguments, ensure_ascii=False)
        size = sizes[number % len(sizes)]
        cut = [text[at : at + size] for at in range(0, len(text), size)]
        deltas.append(delta(name, cut[0], f"id-{number}" if ids else name, index))
        deltas += [delta("", piece, index=index) for piece in cut[1:]]
    return deltas


@given(
    made=MADE,
    style=st.sampled_from(["indexed", "unindexed", "zero"]),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    ids=st.booleans(),
)
def test_calls_come_out_as_they_went_in_however_they_are_numbered_and_cut(
    made: list[tuple[str, Json]], style: Style, sizes: list[int], ids: bool
) -> None:
    found = told(*streamed(made, style, sizes, ids))
    assert [(one["function"]["name"], json.loads(one["function"]["arguments"])) for one in found] == made
