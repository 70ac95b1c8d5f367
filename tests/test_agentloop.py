"""The naive agent reads what providers send: cut anywhere, framed any way, with or without an index."""

from __future__ import annotations

from typing import Any

import pytest

from agentloop import events, run
from dialogues import BadAnswer, Call, CallDeltas, ChatDialogue, GeminiDialogue
from providers import TASKS, serve

STREAM = ': hello\r\n\r\ndata: {"a":"é"}\r\n\r\nevent: x\r\ndata:one\r\ndata: two\r\n\r\ndata: last'.encode()


@pytest.mark.parametrize("ends", [b"\r\n", b"\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_wherever_the_stream_is_cut(ends: bytes, size: int) -> None:
    stream = STREAM.replace(b"\r\n", ends)
    chunks = iter([stream[i : i + size] for i in range(0, len(stream), size)])
    assert list(events(chunks)) == ['{"a":"é"}', "one\ntwo", "last"]


def deltas(*raws: dict[str, Any]) -> list[Call]:
    found = CallDeltas()
    for raw in raws:
        found.add(raw)
    return list(found.finished())


def named(call_id: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": "f", "arguments": arguments}, **more}


def test_whole_calls_without_index_are_calls_of_their_own() -> None:
    assert deltas(named("a", '{"n":1}'), named("b", '{"n":2}')) == [Call("a", "f", {"n": 1}), Call("b", "f", {"n": 2})]


def test_arguments_without_index_or_id_continue_the_last_call() -> None:
    assert deltas(named("a", '{"n"'), {"function": {"arguments": ":1}"}}, {"extra_content": {}}) == [
        Call("a", "f", {"n": 1})
    ]


def test_an_index_used_twice_is_a_new_call_if_the_id_is_new() -> None:
    assert len(deltas(named("a", "{}", index=0), named("b", "{}", index=0))) == 2


def test_calls_that_share_their_id_are_told_apart_by_index_or_completeness() -> None:
    assert len(deltas(named("f", "{}", index=0), named("f", "{}", index=1))) == 2
    assert len(deltas(named("f", "{}"), named("f", "{}"))) == 2


def test_pieces_of_two_calls_may_interleave() -> None:
    first = {"index": 0, "function": {"arguments": "{}"}}
    second = {"index": 1, "id": "", "function": {"arguments": '{"n":2}'}}
    assert deltas(named("a", "", index=0), named("b", "", index=1), second, first) == [
        Call("a", "f", {}),
        Call("b", "f", {"n": 2}),
    ]


def test_the_chat_agent_keeps_only_text_and_calls() -> None:
    dialogue = ChatDialogue("m")
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "thoughtSignature": "s"}
    message = {"content": "hi", "reasoning_content": "r", "reasoning_details": [{}], "tool_calls": [call]}
    dialogue.take([{"choices": [{"message": message}]}], streamed=False)
    assert set(dialogue.history[0]) == {"role", "content", "tool_calls"}
    assert set(dialogue.history[0]["tool_calls"][0]) == {"id", "type", "function"}


def test_the_gemini_agent_keeps_only_text_and_calls() -> None:
    dialogue = GeminiDialogue(None)
    parts = [
        {"text": "hm", "thought": True, "thoughtSignature": "s"},
        {"text": "a"},
        {"text": "b", "thoughtSignature": "s"},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"},
    ]
    dialogue.take([{"candidates": [{"content": {"parts": [part]}}]} for part in parts], streamed=True)
    assert dialogue.history == [
        {"role": "model", "parts": [{"text": "ab"}, {"functionCall": {"name": "f", "args": {}}}]}
    ]


@pytest.mark.parametrize(
    "payload", [{"error": {"message": "no"}}, {"choices": [{"message": {"tool_calls": [named("a", "{")]}}]}]
)
def test_an_answer_that_cannot_be_read_is_no_answer(payload: dict[str, Any]) -> None:
    with pytest.raises(BadAnswer):
        ChatDialogue("m").take([payload], streamed=False)


def test_a_run_is_bounded_and_never_raises() -> None:
    with serve("deepseek") as provider:
        dialogue = ChatDialogue("m", {"thinking": {"type": "disabled"}})
        stopped = run(dialogue, provider.url(), TASKS, streamed=True, max_requests=2)
        assert (stopped.done, stopped.requests, len(stopped.calls)) == (False, 2, 3)
        base = provider.base
    assert run(ChatDialogue("m"), base, TASKS, streamed=True).status == 0
