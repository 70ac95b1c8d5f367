"""A conversation that is told again is read only where it is new, and as if it had been read whole."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import Endpoint
from thoughtkeep.identity import trail
from thoughtkeep.profiles import binds_thinking
from thoughtkeep.readings import COMPARED, Readings
from thoughtkeep.turns import Ask, Json

KEY = b"k" * 32
WORDS = st.sampled_from(["", "one", "two", "<system-reminder>x</system-reminder>three"])
VALUES: st.SearchStrategy[Any] = st.sampled_from([1, 1.0, True, 0, False, None, "1", 2**70, [1], {"a": True}])
IDS = st.sampled_from(["c1", "c2", ""])
STATE = st.sampled_from([{}, {}, {"thoughtSignature": "c2lnbmF0dXJl"}, {"reasoning_content": "thought"}])


def _text(kind: str) -> st.SearchStrategy[Json]:
    return st.builds(lambda words: {"type": kind, "text": words}, WORDS)


CHAT = st.one_of(
    st.builds(lambda role, words: {"role": role, "content": words}, st.sampled_from(["user", "system"]), WORDS),
    st.builds(lambda parts: {"role": "user", "content": parts}, st.lists(_text("text") | st.just({"image": 1}))),
    st.builds(lambda id_, words: {"role": "tool", "tool_call_id": id_, "content": words}, IDS, WORDS),
    st.builds(lambda words, state: {"role": "assistant", "content": words, **state}, WORDS, STATE),
    st.builds(
        lambda id_, value, state: {
            "role": "assistant",
            "tool_calls": [{"id": id_, "function": {"name": id_ + "x", "arguments": value}, **state}],
        },
        IDS,
        VALUES,
        STATE,
    ),
    st.just(None),
)
MESSAGES = st.one_of(
    st.builds(lambda words: {"role": "user", "content": words}, WORDS),
    st.builds(lambda words: {"role": "system", "content": words}, WORDS),
    st.builds(
        lambda id_, words, more: {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": id_, "content": words}, *more],
        },
        IDS,
        WORDS,
        st.lists(_text("text"), max_size=1),
    ),
    st.builds(
        lambda id_, value, words: {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl"},
                {"type": "tool_use", "id": id_, "name": "look", "input": {"at": value}},
            ],
        },
        IDS,
        VALUES,
        WORDS,
    ),
)
GEMINI = st.one_of(
    st.builds(lambda words: {"role": "user", "parts": [{"text": words}]}, WORDS),
    st.builds(
        lambda name: {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"is": 1}}}]}, IDS
    ),
    st.builds(
        lambda name, value, state: {
            "role": "model",
            "parts": [{"functionCall": {"name": name, "args": {"at": value}}, **state}],
        },
        IDS,
        VALUES,
        STATE,
    ),
    st.builds(lambda words: {"role": "model", "parts": [{"text": words}]}, WORDS),
    st.just({"role": "user", "parts": []}),
)
RESPONSES = st.one_of(
    st.builds(lambda words: {"role": "user", "content": words}, WORDS),
    st.builds(lambda words: {"type": "message", "role": "assistant", "content": [_output(words)]}, WORDS),
    st.builds(lambda id_: {"type": "reasoning", "id": id_, "encrypted_content": "c2lnbmF0dXJl", "summary": []}, IDS),
    st.builds(lambda id_: {"type": "function_call", "call_id": id_, "name": "look", "arguments": "{}"}, IDS),
    st.builds(lambda id_, words: {"type": "function_call_output", "call_id": id_, "output": words}, IDS, WORDS),
)


def _output(words: str) -> Json:
    return {"type": "output_text", "text": words}


FORMATS = {
    "chat": ("/v1/chat/completions", "messages", CHAT, "some-model"),
    "gemini": ("/v1beta/models/gemini-3-pro:generateContent", "contents", GEMINI, "gemini-3-pro"),
    "messages": ("/v1/messages", "messages", MESSAGES, "claude-opus-4-8"),
    "binding": ("/v1/messages", "messages", MESSAGES, "claude-fable-5-1"),
    "responses": ("/v1/responses", "input", RESPONSES, "gpt-5"),
}
pytest_form = pytest.mark.parametrize("name", FORMATS)


def request(name: str, messages: list[Json]) -> tuple[Endpoint, Json]:
    path, place, _, model = FORMATS[name]
    # Parsed anew each time: nothing is shared between two requests.
    body = {"model": model, "max_tokens": 1, place: copy.deepcopy(messages)}
    endpoint = recognise("POST", path, body)
    assert endpoint is not None
    return endpoint, body


def read(readings: Readings, name: str, messages: list[Json], tenant: str = "t", size: int = 1) -> Ask:
    """Read a request, and see to it that it was read as by somebody who never saw another."""
    endpoint, body = request(name, messages)
    ask, walked = readings.read(KEY, tenant, endpoint, body, size)
    fresh = endpoint.format.read(body, endpoint)
    assert ask == fresh
    frames = endpoint.format.frames(KEY, body, fresh) if binds_thinking(fresh.model) else ()
    assert walked == trail(KEY, fresh, frames)
    return ask


def shared(one: Ask, other: Ask) -> int:
    return sum(a is b for a, b in zip(one.said, other.said, strict=False))


@st.composite
def tellings(draw: st.DrawFn, message: st.SearchStrategy[Json]) -> list[list[Json]]:
    """What an agent may make of its conversation from request to request: more of it, less of it, other words in it."""
    told = draw(st.lists(message, min_size=3, max_size=9))
    requests = [told]
    for _ in range(draw(st.integers(1, 4))):
        told = list(told)
        for _ in range(draw(st.integers(0, 2))):
            place = draw(st.integers(0, len(told)))
            match draw(st.sampled_from(["other", "less", "insert"])):
                case "other" if place < len(told):
                    told[place] = draw(message)
                case "insert":
                    told.insert(place, draw(message))
                case _:
                    told = told[:place]
        requests.append(told := told + draw(st.lists(message, max_size=3)))
    return requests


@pytest_form
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_it_is_read_as_if_it_had_been_read_whole(name: str, data: st.DataObject) -> None:
    readings = Readings()
    for messages in data.draw(tellings(FORMATS[name][2])):
        read(readings, name, messages)


def turns(count: int, words: str = "") -> list[Json]:
    """A conversation of that many rounds of a tool."""
    told: list[Json] = [{"role": "user", "content": f"Go on{words}."}]
    for number in range(count):
        call = {"id": f"c{number}", "function": {"name": "look", "arguments": "{}"}}
        told.append({"role": "assistant", "content": None, "tool_calls": [call]})
        told.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number}"})
    return told


def test_the_turns_of_before_are_the_very_same_but_for_the_last_one() -> None:
    readings = Readings()
    before = read(readings, "chat", turns(5))
    assert shared(before, read(readings, "chat", turns(7))) == 4
    assert shared(before, read(readings, "chat", turns(5))) == 4


def test_a_number_is_not_taken_for_another_that_python_calls_equal() -> None:
    readings = Readings()
    for value in (1, True, 1.0, 2**70, 2**70 + 1, float("inf")):
        call = {"functionCall": {"name": "look", "args": {"at": value}}}
        read(readings, "gemini", [{"role": "model", "parts": [call]}, {"role": "model", "parts": [{"text": "x"}]}])


def test_what_is_nested_too_deep_to_be_compared_is_read_anew() -> None:
    readings = Readings()
    endpoint, body = request("chat", [*turns(3), {"role": "assistant", "content": "x"}])
    deep: Json = "core"
    for _ in range(200_000):
        deep = [deep]
    body["messages"][3]["content"] = deep
    before, _ = readings.read(KEY, "t", endpoint, body, 1)
    other = deep
    for _ in range(200_000 - 5):
        other = other[0]
    for _ in range(200_000 - 5):
        other = [other]
    again = {**body, "messages": [*body["messages"]]}
    again["messages"][3] = {**body["messages"][3], "content": other}
    after, _ = readings.read(KEY, "t", endpoint, again, 1)
    assert (len(after.said), shared(before, after)) == (4, 0)


def test_nothing_is_taken_from_another_tenants_request() -> None:
    readings = Readings()
    before = read(readings, "chat", turns(5))
    assert shared(before, read(readings, "chat", turns(5), tenant="other")) == 0


def test_several_conversations_are_remembered_side_by_side() -> None:
    readings = Readings()
    before = [read(readings, "chat", turns(3, str(number))) for number in range(COMPARED)]
    assert [shared(ask, read(readings, "chat", turns(4, str(n)))) for n, ask in enumerate(before)] == [2] * COMPARED


def test_of_too_many_conversations_the_oldest_is_forgotten() -> None:
    readings = Readings()
    before = [read(readings, "chat", turns(3, str(number))) for number in range(COMPARED + 1)]
    assert shared(before[1], read(readings, "chat", turns(4, "1"))) == 2
    assert shared(before[0], read(readings, "chat", turns(4, "0"))) == 0


def test_no_more_is_remembered_than_there_is_room_for() -> None:
    readings = Readings(max_bytes=20)
    before = [read(readings, "chat", turns(3), tenant=tenant, size=10) for tenant in "abc"]
    assert shared(before[2], read(readings, "chat", turns(4), tenant="c", size=10)) == 2
    assert shared(before[1], read(readings, "chat", turns(4), tenant="b", size=10)) == 2
    assert shared(before[0], read(readings, "chat", turns(4), tenant="a", size=10)) == 0
    whole = read(readings, "chat", turns(3), tenant="d", size=21)
    assert shared(whole, read(readings, "chat", turns(4), tenant="d", size=21)) == 0
    assert shared(before[2], read(readings, "chat", turns(4), tenant="c", size=1)) == 0


def test_of_two_conversations_of_one_tenant_the_older_one_makes_room() -> None:
    readings = Readings(max_bytes=20)
    before = [read(readings, "chat", turns(3, words), size=10) for words in "abc"]
    assert shared(before[2], read(readings, "chat", turns(4, "c"), size=10)) == 2
    assert shared(before[0], read(readings, "chat", turns(4, "a"), size=10)) == 0


def test_a_conversation_that_goes_on_is_remembered_once() -> None:
    readings = Readings(max_bytes=30)
    other = read(readings, "chat", turns(3, "other"), size=10)
    for count in range(3, 20):
        read(readings, "chat", turns(count), size=10)
    assert shared(other, read(readings, "chat", turns(4, "other"), size=10)) == 2


def test_a_branch_is_remembered_beside_the_conversation_that_it_left_early() -> None:
    readings = Readings()
    before = read(readings, "chat", turns(9))
    branch = read(readings, "chat", [*turns(2), {"role": "user", "content": "No."}, *turns(3, "b")[1:]])
    assert shared(before, branch) == 1
    assert shared(before, read(readings, "chat", turns(10))) == 8
