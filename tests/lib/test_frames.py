"""Frames of a WebSocket: a request that tells only what is new is read as if it told all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.frames import KEPT, Connection, is_error, own_edits
from thoughtkeep.turns import END, Edit, Op

type Json = Any

USER = {"type": "message", "role": "user", "content": "x"}
DEVELOPER = {"type": "message", "role": "developer", "content": "d"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed"}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "1"}


def ask(items: Json, **more: Json) -> bytes:
    return json.dumps({"type": "response.create", "model": "m", "input": items, **more}).encode()


def answer(connection: Connection, name: str, *items: Json, **more: Json) -> None:
    """What a server says, the items in an order of their own."""

    def say(kind: str, **told: Json) -> None:
        connection.event(json.dumps({"type": kind, **told, **more}).encode())

    say("response.created", response={"id": name})
    say("response.output_text.delta", delta="x")
    for number in reversed(range(len(items))):
        say("response.output_item.done", output_index=number, item=items[number])
    say("response.completed", response={"id": name, "output": []})


def test_a_first_request_is_read_as_it_is() -> None:
    request = Connection().request(ask([USER]))
    assert request is not None
    assert (request.body["input"], request.offset, request.stream, request.body["stream"]) == ([USER], 0, "", True)


def test_a_request_that_goes_on_is_read_with_all_that_went_before() -> None:
    connection = Connection()
    connection.request(ask([USER]))
    answer(connection, "resp_1", THOUGHT, CALL)
    request = connection.request(ask([RESULT], previous_response_id="resp_1"))
    assert request is not None
    assert request.body["input"] == [USER, THOUGHT, CALL, RESULT]
    assert request.offset == 3
    assert request.body["previous_response_id"] == "resp_1"
    answer(connection, "resp_2", CALL)
    third = connection.request(ask("and now?", previous_response_id="resp_2"))
    assert third is not None
    assert third.body["input"] == [
        USER,
        THOUGHT,
        CALL,
        RESULT,
        CALL,
        {"type": "message", "role": "user", "content": "and now?"},
    ]


def test_a_request_after_a_warm_up_has_its_conversation_in_itself() -> None:
    connection = Connection()
    connection.request(ask([DEVELOPER], generate=False))
    answer(connection, "resp_0")
    request = connection.request(ask([USER, CALL, RESULT], previous_response_id="resp_0"))
    assert request is not None
    assert request.body["input"] == [DEVELOPER, USER, CALL, RESULT]
    assert request.offset == 1
    assert "previous_response_id" not in request.body


def test_a_warm_up_of_nothing_is_known_too() -> None:
    connection = Connection()
    connection.request(ask([], generate=False))
    answer(connection, "resp_0")
    request = connection.request(ask([USER], previous_response_id="resp_0"))
    assert request is not None
    assert (request.offset, "previous_response_id" in request.body) == (0, False)


def test_an_unknown_response_to_go_on_from_changes_nothing() -> None:
    request = Connection().request(ask([RESULT], previous_response_id="resp_of_yesterday"))
    assert request is not None
    assert (request.body["input"], request.offset) == ([RESULT], 0)
    assert request.body["previous_response_id"] == "resp_of_yesterday"


def test_conversations_that_share_a_connection_are_kept_apart() -> None:
    connection = Connection()
    connection.request(ask([USER], stream_id="a"))
    connection.request(ask([DEVELOPER], stream_id="b"))
    answer(connection, "resp_a", THOUGHT, stream_id="a")
    answer(connection, "resp_b", CALL, stream_id="b")
    assert connection.stream_of(b'{"type":"x","stream_id":"b"}') == "b"
    for name, first, second in (("a", USER, THOUGHT), ("b", DEVELOPER, CALL)):
        request = connection.request(ask([], previous_response_id=f"resp_{name}", stream_id=name))
        assert request is not None
        assert (request.body["input"], request.stream) == ([first, second], name)


def test_only_the_newest_responses_are_remembered() -> None:
    connection = Connection()
    for number in range(KEPT + 1):
        connection.request(ask([USER]))
        answer(connection, f"resp_{number}", CALL)
    oldest = connection.request(ask([RESULT], previous_response_id="resp_0"))
    newest = connection.request(ask([RESULT], previous_response_id=f"resp_{KEPT}"))
    assert oldest is not None
    assert newest is not None
    assert (oldest.offset, newest.offset) == (0, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"no json",
        b"[]",
        b'{"type":"response.cancel"}',
        b'{"type":"response.create","model":"m"}',
        b'{"type":"response.create","input":5}',
    ],
)
def test_what_is_no_request_is_none(data: bytes) -> None:
    assert Connection().request(data) is None


@pytest.mark.parametrize(
    "data",
    [
        b'"response.completed"',
        b'["response.completed"]',
        b'{"type":"response.completed"',
        b'{"type":"response.completed"}',
        b'{"type":"response.completed","response":{"id":5}}',
        b'{"type":"response.output_item.done","item":{}}',
        b"",
    ],
)
def test_odd_frames_of_a_server_are_passed_over(data: bytes) -> None:
    connection = Connection()
    connection.event(data)
    connection.request(ask([USER]))
    connection.event(data)
    answer(connection, "resp_1")
    assert connection.request(ask([], previous_response_id="resp_1")) is not None


def test_an_error_is_told_by_its_type_at_the_beginning_of_a_frame() -> None:
    assert is_error(b'{"type":"error","status":400}')
    assert is_error(b'{"sequence_number":3,"type" : "response.failed","response":{}}')
    assert not is_error(b'{"type":"response.output_text.delta","delta":"\\"type\\":\\"error\\""}')


EDITS = [
    Edit(Op.PUT, ("input", 3), key="id", value="x"),
    Edit(Op.REMOVE, ("input", 4)),
    Edit(Op.INSERT, ("input",), index=3, value={}),
    Edit(Op.INSERT, ("input",), index=END, value={}),
    Edit(Op.INSERT, ("input", 3, "content"), index=0, value={}),
    Edit(Op.MOVE, ("input",), index=5, source=("input", 4)),
    Edit(Op.PUT, (), key="model", value="n"),
]


def test_edits_of_the_whole_are_counted_as_they_stand_in_the_frame() -> None:
    moved = own_edits(EDITS, 3)
    assert [(edit.at, edit.index, edit.source) for edit in moved] == [
        (("input", 0), 0, ()),
        (("input", 1), 0, ()),
        (("input",), 0, ()),
        (("input",), END, ()),
        (("input", 0, "content"), 0, ()),
        (("input",), 2, ("input", 1)),
        ((), 0, ()),
    ]
    assert own_edits(EDITS, 0) == EDITS


@pytest.mark.parametrize(
    "edit",
    [
        Edit(Op.PUT, ("input", 2), key="id", value="x"),
        Edit(Op.INSERT, ("input",), index=2, value={}),
        Edit(Op.MOVE, ("input",), index=5, source=("input", 1)),
        Edit(Op.PUT, ("input", "odd"), key="x", value=1),
        Edit(Op.MOVE, ("input",), index=5, source=("input", "odd")),
    ],
)
def test_where_one_edit_concerns_what_the_server_has_none_is_made(edit: Edit) -> None:
    assert own_edits([*EDITS, edit], 3) == []


items = st.lists(st.sampled_from([USER, DEVELOPER, THOUGHT, CALL, RESULT, "odd", None, 5]), max_size=4)


@given(st.lists(st.tuples(items, items), min_size=1, max_size=6))
def test_whatever_is_said_the_whole_is_what_was_said_in_order(rounds: list[tuple[list[Json], list[Json]]]) -> None:
    connection, told = Connection(), []
    name: str | None = None
    for number, (asked, answered) in enumerate(rounds):
        request = connection.request(ask(asked, **({"previous_response_id": name} if name else {})))
        assert request is not None
        told += asked
        assert request.body["input"] == told
        assert request.offset == len(told) - len(asked)
        name = f"resp_{number}"
        answer(connection, name, *answered)
        told += answered
