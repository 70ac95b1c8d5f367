"""The strict providers of Anthropic's shape: what they refuse besides missing thinking, and how they stream it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest

from dialogues import DIALOGUES, Dialogue, MessagesDialogue
from echoes import ECHOES, Change, play
from providers import PROVIDERS, TASKS, Provider, serve
from providers.messages import THOUGHTS

MODIFIED = "blocks in the latest assistant message cannot be modified"
STRANGER = "Invalid `signature` in `thinking` block"
CLAUDES = ["anthropic", "anthropic-bound", "vertex-anthropic"]

Blocks = list[dict[str, Any]]


def answer(change: Callable[[Blocks], Any], number: int = 0) -> Change:
    """A change to the blocks of an answer with calls; what the change returns takes their place."""

    def made(history: list[dict[str, Any]]) -> None:
        message = [m for m in history if m["role"] == "assistant"][number]
        changed = change(message["content"])
        message["content"] = message["content"] if changed is None else changed

    return made


def edited(key: str, value: Any, number: int = 0) -> Change:
    """A change of one key of a block in the first answer."""
    return answer(lambda blocks: [{**b, key: value} if n == number else b for n, b in enumerate(blocks)])


def error(outcome: Any) -> str:
    assert outcome.status == 400
    return str(json.loads(outcome.error)["error"]["message"])


def thoughts(blocks: Blocks) -> Blocks:
    return [block for block in blocks if block["type"] in THOUGHTS]


@pytest.mark.parametrize("name", CLAUDES)
@pytest.mark.parametrize("mode", ["plain", "streamed"])
def test_an_answer_interleaves_thinking_with_text_and_calls(name: str, mode: str) -> None:
    seen = played(name, mode)
    kinds = [[block["type"] for block in message["content"]] for message in seen]
    last = ["text", "thinking", "tool_use"] if name == "anthropic-bound" else ["thinking", "text", "tool_use"]
    assert kinds == [
        ["thinking", "text", "tool_use", "thinking", "tool_use"],
        ["redacted_thinking", "redacted_thinking", "thinking", "tool_use"],
        ["thinking", "text"],
        last,
        ["thinking", "text"],
    ]
    marks = [b.get("signature") or b["data"] for message in seen for b in thoughts(message["content"])]
    assert len(set(marks)) == len(marks) == 8


def played(name: str, mode: str) -> list[dict[str, Any]]:
    """The answers of a whole run, as a faithful client keeps them."""
    made: list[Dialogue] = []

    def kind(*words: Any) -> Dialogue:
        made.append(ECHOES["messages"](*words))
        return made[0]

    with serve(name) as provider:
        assert play(provider, mode, {"messages": kind}).done
    return [message for message in made[0].history if message["role"] == "assistant"]


def test_omitted_thinking_has_a_signature_and_no_text() -> None:
    seen = played("anthropic", "omitted-streamed")
    found = [b for message in seen for b in message["content"] if b["type"] == "thinking"]
    assert len(found) == 6
    assert all(block["thinking"] == "" and block["signature"] for block in found)


def test_text_put_into_an_omitted_block_is_not_looked_at() -> None:
    with serve("anthropic") as provider:
        assert play(provider, "omitted", change=edited("thinking", "[omitted]")).done
        assert provider.issued[0].returned == 4


@pytest.mark.parametrize("name", CLAUDES)
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (edited("thinking", "something else"), MODIFIED),
        (edited("signature", "EjRW++++////AAAA"), STRANGER),
        (edited("signature", ""), STRANGER),
        (answer(lambda blocks: [b for n, b in enumerate(blocks) if n != 3]), MODIFIED),
        (answer(lambda blocks: [*thoughts(blocks), *(b for b in blocks if b["type"] not in THOUGHTS)]), MODIFIED),
        (answer(lambda blocks: [blocks[3], *blocks[1:3], blocks[0], blocks[4]]), MODIFIED),
        (answer(lambda blocks: [blocks[0], *blocks]), MODIFIED),
        (edited("cache_control", {"type": "ephemeral"}), "0.thinking.cache_control: Extra inputs are not permitted"),
        (answer(lambda blocks: blocks[0].pop("signature") and None), "0.thinking.signature: Field required"),
    ],
    ids=["edited", "foreign", "empty", "part", "moved", "swapped", "doubled", "marked", "unsigned"],
)
def test_thinking_that_is_not_as_it_was_issued_is_refused(name: str, change: Change, text: str) -> None:
    with serve(name) as provider:
        assert text in error(play(provider, "plain", change=change))
        assert len(provider.exchanges) == 2


def test_a_run_that_lacks_a_redacted_block_or_is_out_of_order_is_refused() -> None:
    for change in (lambda b: b[1:], lambda b: [b[2], *b[:2], b[3]], lambda b: [b[1], b[0], *b[2:]]):
        with serve("anthropic") as provider:
            assert MODIFIED in error(play(provider, "adaptive", change=answer(change, 1), at=3))


def test_a_redacted_block_that_is_altered_is_refused() -> None:
    with serve("anthropic") as provider:
        change = answer(lambda blocks: [{**blocks[0], "data": "EjRW++++////AAAA"}, *blocks[1:]], 1)
        text = "messages.3.content.0: Invalid `data` in `redacted_thinking` block"
        assert error(play(provider, "plain", change=change, at=3)) == text


def test_thinking_of_another_answer_is_refused() -> None:
    def change(history: list[dict[str, Any]]) -> None:
        history[3]["content"] = [history[1]["content"][0], *history[3]["content"][2:]]

    with serve("anthropic") as provider:
        assert MODIFIED in error(play(provider, "plain", change=change, at=3))


def test_thinking_of_an_earlier_turn_may_be_missing_but_must_be_right() -> None:
    def drop(history: list[dict[str, Any]]) -> None:
        for message in history:
            if message["role"] == "assistant":
                message["content"] = [b for b in message["content"] if b["type"] not in THOUGHTS]

    for name in CLAUDES:
        with serve(name) as provider:
            assert play(provider, "plain", change=drop, at=4).done
    with serve("anthropic") as provider:
        assert STRANGER in error(play(provider, "plain", change=edited("thinking", "else"), at=4))


def test_a_text_that_the_client_moved_or_left_out_is_no_fault() -> None:
    with serve("anthropic") as provider:
        change = answer(lambda blocks: [b for b in blocks if b["type"] != "text"])
        assert play(provider, "plain", change=change).done
        assert provider.issued[0].returned == 4


def split(history: list[dict[str, Any]]) -> None:
    blocks = history[1]["content"]
    history[1:2] = [{"role": "assistant", "content": blocks[:2]}, {"role": "assistant", "content": blocks[2:]}]


def split_batch(history: list[dict[str, Any]]) -> None:
    blocks, results = history[1]["content"], history[2]["content"]
    history[1:3] = [
        {"role": "assistant", "content": blocks[:3]},
        {"role": "user", "content": results[:1]},
        {"role": "assistant", "content": blocks[3:]},
        {"role": "user", "content": results[1:]},
    ]


@pytest.mark.parametrize("name", CLAUDES)
@pytest.mark.parametrize("change", [split, split_batch])
def test_a_reply_that_is_split_is_refused(name: str, change: Change) -> None:
    with serve(name) as provider:
        text = error(play(provider, "plain", change=change))
        assert "found `tool_use`" in text or MODIFIED in text


def drop_result(history: list[dict[str, Any]]) -> None:
    history[-1]["content"].pop()


def drop_calls(history: list[dict[str, Any]]) -> None:
    del history[-2]


def rename_result(history: list[dict[str, Any]]) -> None:
    history[-1]["content"][-1]["tool_use_id"] = "another"


@pytest.mark.parametrize("name", CLAUDES)
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (drop_result, "`tool_use` ids were found without `tool_result` blocks immediately after"),
        (drop_calls, "unexpected `tool_use_id` found in `tool_result` blocks"),
        (rename_result, "unexpected `tool_use_id` found in `tool_result` blocks: another"),
    ],
)
def test_dangling_calls_and_orphan_results_are_refused(name: str, change: Change, text: str) -> None:
    with serve(name) as provider:
        assert text in error(play(provider, "plain", change=change))
        assert provider.refusals[0].kind == "pairing"


@pytest.mark.parametrize(
    ("call_id", "text"),
    [("call:1", "should match pattern"), ("x" * 65, "should match pattern"), ("", "should match pattern")],
)
def test_an_id_of_a_call_has_its_letters_and_its_length(call_id: str, text: str) -> None:
    with serve("anthropic") as provider:
        assert text in error(play(provider, "plain", change=edited("id", call_id, 2)))


def test_an_id_of_a_call_is_unique() -> None:
    def change(history: list[dict[str, Any]]) -> None:
        history[1]["content"][4]["id"] = history[1]["content"][2]["id"]

    with serve("anthropic") as provider:
        assert "ids must be unique" in error(play(provider, "plain", change=change))


def test_results_may_come_in_messages_of_their_own() -> None:
    def change(history: list[dict[str, Any]]) -> None:
        history[2:] = [{"role": "user", "content": [block]} for block in history[2]["content"]]

    with serve("anthropic") as provider:
        assert play(provider, "plain", change=change).done


@pytest.mark.parametrize(
    "change",
    [
        answer(lambda blocks: ""),
        answer(lambda blocks: []),
        answer(lambda blocks: [*blocks[:1], {"type": "text", "text": ""}, *blocks[2:]]),
        answer(lambda blocks: [None]),
        answer(lambda blocks: [{"type": "image"}]),
        edited("thoughtSignature", "s", 2),
        lambda history: history[1].update(reasoning_content="r"),
    ],
)
def test_empty_content_and_keys_of_others_are_refused(change: Change) -> None:
    with serve("anthropic") as provider:
        assert play(provider, "plain", change=change).status == 400
        assert provider.refusals[0].kind == "shape"


@pytest.mark.parametrize("setting", [None, {"type": "disabled"}])
def test_without_thinking_nothing_is_issued_or_demanded(setting: Any) -> None:
    with serve("anthropic") as provider:
        assert play(provider, "plain", DIALOGUES, extra={"thinking": setting}).done
        assert not provider.issued


def test_thinking_is_refused_in_the_newest_answer_once_it_is_off() -> None:
    with serve("anthropic") as provider:
        dialogue = ECHOES["messages"](provider.dialect.model, provider.dialect.extra)

        def off(history: list[dict[str, Any]]) -> None:
            dialogue.extra["thinking"] = {"type": "disabled"}

        outcome = play(provider, "plain", {"messages": lambda *_: dialogue}, change=off)
        assert "messages.1.content.0: When thinking is disabled, an `assistant` message in" in error(outcome)


@pytest.mark.parametrize(
    ("name", "extra", "text"),
    [
        ("anthropic", {"thinking": {"type": "enabled"}}, "budget_tokens"),
        ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, "must be greater than"),
        ("anthropic", {"thinking": "yes"}, "thinking.type"),
        ("anthropic", {"max_tokens": None}, "max_tokens: Field required"),
        ("anthropic", {"store": False}, "store: Extra inputs are not permitted"),
        ("vertex-anthropic", {"model": "claude-sonnet-4-6"}, "model: Extra inputs are not permitted"),
        ("vertex-anthropic", {"anthropic_version": None}, "anthropic_version: Field required"),
    ],
)
def test_a_body_that_asks_wrongly_is_refused(name: str, extra: Mapping[str, Any], text: str) -> None:
    with serve(name) as provider:
        assert text in error(play(provider, "plain", extra=extra))


# -- a model that binds its thinking ----------------------------------------------------------------------------------


def marked(history: list[dict[str, Any]]) -> None:
    history[0]["content"] = [{"type": "text", "text": TASKS[0], "cache_control": {"type": "ephemeral"}}]


def rephrased(history: list[dict[str, Any]]) -> None:
    history[0]["content"] += " "


def other_result(history: list[dict[str, Any]]) -> None:
    history[2]["content"][0]["content"] = '{"city": "Paris", "degrees": 19}'


@pytest.mark.parametrize(("change", "fits"), [(marked, True), (rephrased, False), (other_result, False)])
def test_a_bound_block_goes_only_behind_what_it_was_made_for(change: Change, fits: bool) -> None:
    with serve("anthropic-bound") as provider:
        outcome = play(provider, "plain", change=change, at=3)
        if fits:
            assert outcome.done
        else:
            assert "The block is bound to a different conversation." in error(outcome)


@pytest.mark.parametrize("key", ["system", "tools"])
def test_a_bound_block_is_bound_to_system_and_tools_too(key: str) -> None:
    class Changing(ECHOES["messages"]):  # type: ignore[misc]
        def body(self, streamed: bool) -> dict[str, Any]:
            body: dict[str, Any] = super().body(streamed)
            return {**body, key: body[key][:-1]} if len(self.history) > 1 else body

    with serve("anthropic-bound") as provider:
        assert "bound to a different conversation" in error(play(provider, "plain", {"messages": Changing}))
    with serve("anthropic") as provider:
        assert play(provider, "plain", {"messages": Changing}).done


def without_thinking_of(number: int) -> Change:
    return answer(lambda blocks: [b for b in blocks if b["type"] not in THOUGHTS], number)


@pytest.mark.parametrize(("number", "fits"), [(0, True), (1, False)])
def test_only_a_leading_run_of_thinking_may_be_missing_before_a_bound_block(number: int, fits: bool) -> None:
    """Request 4 is the first of the second turn: nothing of the first is demanded any more."""
    with serve("anthropic-bound") as provider:
        outcome = play(provider, "plain", change=without_thinking_of(number), at=4)
        assert outcome.done == fits


def test_a_bound_model_reads_its_own_blocks_and_those_of_one_other_model() -> None:
    for model, fits in (("claude-opus-5", True), ("claude-sonnet-4-6", False)):
        with serve("anthropic-bound") as provider:
            dialogue = ECHOES["messages"](model, provider.dialect.extra)

            def switch(history: list[dict[str, Any]], dialogue: Any = dialogue, name: str = "claude-fable-5-1") -> None:
                dialogue.model = name

            outcome = play(provider, "plain", {"messages": lambda *_, d=dialogue: d}, change=switch)
            assert outcome.done == fits
            assert fits or STRANGER in error(outcome)


# -- the stream -------------------------------------------------------------------------------------------------------


def stream(name: str, mode: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of the first answer: the names on their `event:` lines, and their data."""
    dialect = PROVIDERS[name]
    how = dialect.modes[mode]
    dialogue = MessagesDialogue(dialect.model if how.model_in_body else None, dialect.extra_of(mode))
    dialogue.ask(TASKS[0])
    with serve(name) as provider:
        text = httpx.post(provider.url(mode), json=dialogue.body(True), trust_env=False).text
    lines = [event.split("\n") for event in text.removesuffix("\n\n").split("\n\n")]
    assert all(len(event) == 2 for event in lines)
    return [(head.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for head, data in lines]


@pytest.mark.parametrize(("name", "mode"), [("anthropic", "streamed"), ("vertex-anthropic", "adaptive-streamed")])
def test_a_stream_names_its_events_and_signs_a_block_in_its_last_delta(name: str, mode: str) -> None:
    events = stream(name, mode)
    assert all(head == data["type"] for head, data in events)
    assert [data["type"] for _, data in events].count("ping") == 2
    assert events[0][1]["message"]["content"] == []
    assert events[-1][0] == "message_stop"
    first = [data for _, data in events if data.get("index") == 0]
    assert first[0]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert [e["delta"]["type"] for e in first[1:-1]] == ["thinking_delta", "thinking_delta", "signature_delta"]


def test_a_stream_of_omitted_thinking_has_no_delta_but_the_signature() -> None:
    first = [data for _, data in stream("anthropic", "omitted-streamed") if data.get("index") == 0]
    assert [event["delta"]["type"] for event in first[1:-1]] == ["signature_delta"]


def test_vertex_names_its_model_in_the_path() -> None:
    provider = Provider(PROVIDERS["vertex-anthropic"])
    assert provider.url("plain", real=True).endswith("/publishers/anthropic/models/claude-sonnet-4-6:rawPredict")
    assert provider.url("streamed", real=True).endswith(":streamRawPredict")
