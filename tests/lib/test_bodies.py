"""Of a body that begins as an earlier one did only the rest is parsed, and it says what it would have said."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsontexts import SPACES, TEXTS

from thoughtkeep import bodies
from thoughtkeep.bodies import COMPARED, Bodies, Parsed
from thoughtkeep.jsontext import NotJson, loads
from thoughtkeep.walk import Unfit, outline_of

AT = ("messages",)


def small(max_bytes: int = bodies.REMEMBERED) -> Bodies:
    """Such as finds bodies of a few bytes worth it."""
    return Bodies(max_bytes, worth=1)


def told(value: Any) -> str:
    """A value to the type: for Python `1` is `True`. Integers past 64 bits may come as floats, see `loads`."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [plain(inner) for inner in value]
        return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value

    return repr(plain(value))


def hear(known: Bodies, body: bytes, name: str = "one") -> Parsed | None:
    """Parse a body as an agent's next request, see to it that it says what it says, remember it. None if it is none."""
    try:
        value = loads(body)
    except NotJson:
        with pytest.raises(NotJson):
            known.parse(name, body)
        return None
    parsed = known.parse(name, body)
    assert told(parsed.json) == told(value)
    known.remember(name, parsed, AT)
    return parsed


@st.composite
def conversations(draw: st.DrawFn) -> list[str]:
    """Bodies one after the other: messages are added, changed, left out, respaced; a number gets more digits."""
    parts = [draw(SPACES) + draw(TEXTS) + draw(SPACES) for _ in range(draw(st.integers(1, 5)))]
    head = draw(st.sampled_from(['{"messages":[', '{ "tools": [1], "messages" : [', '{"messages":[1],"messages":[']))
    tails = st.sampled_from(["]}", '], "é": 1}', '],"messages":[2,3]}', '],"messages":[]}', '],"messages":{}}'])
    texts = []
    for _ in range(draw(st.integers(2, 5))):
        texts.append(head + ",".join(parts) + draw(tails))
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
    return texts


@settings(deadline=None, max_examples=400)
@given(conversations())
def test_a_body_says_what_it_says_whatever_was_heard_before(texts: list[str]) -> None:
    known = small()
    for text in texts:
        parsed = hear(known, text.encode())
        if parsed is None:
            continue
        try:
            outline = outline_of(text.encode(), AT)
        except Unfit:
            outline = None
        assert parsed.outline(AT) == outline


@settings(deadline=None, max_examples=100)
@given(conversations(), st.data())
def test_what_is_no_json_is_none_whatever_was_heard_before(texts: list[str], data: st.DataObject) -> None:
    known, body = small(), texts[0].encode()
    hear(known, body)
    cut = data.draw(st.integers(0, len(body) - 1))
    broken = body[:cut] + data.draw(st.sampled_from([b"", b"\xff", b"x", b"]"])) + body[cut + 1 :]
    hear(known, broken)


def body(count: int, words: str = "", **more: Any) -> bytes:
    messages = [{"role": "user", "content": f"{words}{number}"} for number in range(count)]
    return json.dumps({"model": "m", "messages": messages, **more}).encode()


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what went through the parser."""
    sizes = []

    def noted(text: bytes) -> object:
        sizes.append(len(text))
        return loads(text)

    monkeypatch.setattr(bodies, "loads", noted)
    return sizes


def test_only_what_is_new_is_parsed_and_the_rest_is_the_very_same(loaded: list[int]) -> None:
    known = small()
    before, after = hear(known, body(100, tools=[1])), hear(known, body(103, tools=[2]))
    assert before is not None
    assert after is not None
    assert loaded[0] == len(body(100, tools=[1]))
    assert loaded[1] < 300
    assert all(one is other for one, other in zip(before.json["messages"], after.json["messages"], strict=False))
    assert after.json["tools"] == [2]


def test_from_where_it_was_changed_all_is_parsed(loaded: list[int]) -> None:
    known = small()
    hear(known, body(100))
    hear(known, body(100).replace(b'"90"', b'"x"'))
    assert 10 * 30 < loaded[1] < 15 * 40
    hear(known, body(100).replace(b'"m"', b'"other"'))
    assert loaded[2] == len(body(100)) + 4


def test_the_one_that_has_most_in_common_is_gone_on_from(loaded: list[int]) -> None:
    known = small()
    hear(known, body(40))
    hear(known, body(4).replace(b'"3"', b'"x"'))
    hear(known, body(41))
    assert loaded[2] < 200


def test_less_than_is_worth_it_is_parsed_whole(loaded: list[int]) -> None:
    known = Bodies(worth=len(body(9)))
    hear(known, body(8))
    hear(known, body(9))
    hear(known, body(10))
    assert loaded[1:] == [len(body(9)), len(body(10))]
    hear(known, body(11))
    assert loaded[3] < 200


def test_others_are_not_compared(loaded: list[int]) -> None:
    known = small()
    hear(known, body(9), "one")
    hear(known, body(10), "another")
    assert loaded[1] == len(body(10))


def is_known(known: Bodies, words: str, name: str = "one") -> bool:
    return known.parse(name, body(10, words)).before is not None


def test_several_conversations_are_remembered_and_of_too_many_the_oldest_is_forgotten() -> None:
    known = small()
    for number in range(COMPARED):
        hear(known, body(9, str(number)))
    assert is_known(known, "0")
    hear(known, body(9, "more"))
    assert [is_known(known, words) for words in ("0", "1", "more")] == [False, True, True]


def test_no_more_is_remembered_than_there_is_room_for() -> None:
    room = 3 * (len(body(9, "x")) + 9 * bodies._ELEMENT_BYTES)
    known = small(room)
    for name in "abcd":
        hear(known, body(9, name), name)
    hear(known, body(9, "e"), "b")
    assert [is_known(known, name, name) for name in "abcd"] == [False, True, False, True]
    hear(known, body(9, "x"), "b")
    hear(known, body(9, "y"), "b")
    assert [is_known(known, words, "b") for words in "bexy"] == [False, True, True, True]
    hear(known, body(300, "x"), "x")
    assert not is_known(known, "x", "x")
    hear(known, body(9, "f"), "f")
    assert known._lately.size <= room
    big = body(1) + b" " * room
    hear(known, big, "g")
    assert known.parse("g", big).before is None


def test_a_conversation_that_goes_on_is_remembered_once() -> None:
    known = small()
    for count in range(3, 20):
        hear(known, body(count))
    assert [len(one.messages) for one in known._lately.names["one"]] == [19]
    first, second = (known.parse("one", body(count)) for count in (20, 21))
    for parsed in (first, second):
        known.remember("one", parsed, AT)
    assert [len(one.messages) for one in known._lately.names["one"]] == [20, 21]


def test_a_branch_is_remembered_beside_the_conversation_that_it_left_early() -> None:
    known = small()
    hear(known, body(20))
    branch = json.loads(body(20))
    branch["messages"][3:] = [{"role": "user", "content": "No."}] * 17
    hear(known, json.dumps(branch).encode())
    assert len(known._lately.names["one"]) == 2


@pytest.mark.parametrize("text", [b"[1]", b"{}", b'{"messages":1}', b'{"messages":[]}', b'{"messages":{"a":1}}', b"5"])
def test_what_has_no_messages_is_not_remembered(text: bytes) -> None:
    known = small()
    hear(known, text)
    hear(known, text)
    assert not any(known._lately.names.values())


def test_messages_may_stand_deeper() -> None:
    known, text = small(), b'{"request":{"contents":[1,2,3]},"model":"m"}'
    for _ in range(2):
        parsed = known.parse("one", text)
        assert parsed.json == loads(text)
        known.remember("one", parsed, ("request", "contents"))
    assert parsed.shared == 3
    moved = b'{"request":{"contents":[1,2,3]},"model":"m","request":5}'
    assert known.parse("one", moved).json == loads(moved)


def test_of_two_arrays_each_is_known_by_its_own_elements() -> None:
    known, text = small(), b'{"messages":[1,2,3],"input":[4,5]}'
    for at in (("messages",), ("input",), ("messages",), ("input",)):
        parsed = known.parse("one", text)
        assert parsed.json == loads(text)
        assert parsed.outline(at) == outline_of(text, at)
        known.remember("one", parsed, at)
        assert known.parse("one", text.replace(b"5]", b"5,6]")).json == loads(text.replace(b"5]", b"5,6]"))
