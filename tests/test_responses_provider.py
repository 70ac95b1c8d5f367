"""The strict providers of OpenAI's Responses shape: what they refuse besides missing items, and how they stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
import pytest

from dialogues import DIALOGUES, CustomToolDialogue, Dialogue, ResponsesDialogue
from echoes import ECHOES, Change, EchoCustomTool, EchoResponses, play
from providers import CHUNKINGS, PROVIDERS, TASKS, Provider, serve

OPENAI, XAI = "openai-responses", "xai-responses"
UNVERIFIED = "could not be verified"
FOLLOWER = "of type 'reasoning' was provided without its required following item."
REQUIRED = "was provided without its required 'reasoning' item: 'rs_"

Items = list[dict[str, Any]]


def error(outcome: Any) -> str:
    assert outcome.status in (400, 404)
    found = json.loads(outcome.error)["error"]
    return str(found["message"] if isinstance(found, dict) else found)


def reasoning(items: Items) -> Items:
    return [item for item in items if item.get("type") == "reasoning"]


def edited(key: str, value: Any) -> Change:
    """A change of one key of the first reasoning item; None takes it out."""

    def change(items: Items) -> None:
        item = reasoning(items)[0]
        item[key] = value
        if value is None:
            del item[key]

    return change


def altered(items: Items) -> None:
    item = reasoning(items)[0]
    blob = item["encrypted_content"]
    item["encrypted_content"] = blob[:20] + ("A" if blob[20] != "A" else "B") + blob[21:]


def swapped(items: Items) -> None:
    first, second = reasoning(items)[:2]
    first["encrypted_content"], second["encrypted_content"] = second["encrypted_content"], first["encrypted_content"]


def moved_first(items: Items) -> None:
    items[1:] = [*reasoning(items), *(item for item in items[1:] if item.get("type") != "reasoning")]


def moved_back(items: Items) -> None:
    items[1], items[2] = items[2], items[1]


def doubled(items: Items) -> None:
    items.insert(1, dict(reasoning(items)[0]))


def unfollowed(items: Items) -> None:
    del items[2]["id"]


def second_dropped(items: Items) -> None:
    items.remove(reasoning(items)[1])


def played(name: str, mode: str, kind: type[Dialogue]) -> tuple[Items, Provider]:
    """The items of a whole run, as a client keeps them, and the provider that it asked."""
    made: list[Dialogue] = []

    def making(*words: Any) -> Dialogue:
        made.append(kind(*words))
        return made[0]

    with serve(name) as provider:
        assert play(provider, mode, {provider.dialect.shape: making}).done
    return made[0].history, provider


@pytest.mark.parametrize("mode", ["plain", "streamed"])
def test_openai_reasons_before_messages_and_calls_of_both_kinds(mode: str) -> None:
    items, _ = played(OPENAI, mode, EchoCustomTool)
    kinds = [item.get("type") for item in items if not str(item.get("type")).endswith("_output")]
    turn = ["reasoning", "message", "function_call", "reasoning", "function_call"]
    turn += ["reasoning", "custom_tool_call", "reasoning", "message"]
    assert kinds == [None, *turn, None, "message", "reasoning", "function_call", "reasoning", "message"]
    phases = [item["phase"] for item in items if "phase" in item]
    assert phases == ["commentary", "final_answer", "commentary", "final_answer"]
    ids = [item["id"] for item in items if "id" in item]
    assert {found.partition("_")[0] for found in ids} == {"rs", "msg", "fc", "ctc"}
    assert len(set(ids)) == len(ids) == 14


def test_xai_has_no_phases_and_no_custom_calls() -> None:
    items, _ = played(XAI, "plain", EchoResponses)
    assert not any("phase" in item or item.get("type") == "custom_tool_call" for item in items)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (altered, UNVERIFIED),
        (swapped, UNVERIFIED),
        (edited("encrypted_content", "gAAAAABmadeupbynobodyatall"), UNVERIFIED),
        (edited("encrypted_content", ""), UNVERIFIED),
        (edited("encrypted_content", None), "not found. Items are not persisted when `store` is set to false."),
        (edited("summary", None), "Missing required parameter: 'input[1].summary'."),
        (edited("id", None), REQUIRED),
        (edited("id", "rs_another"), UNVERIFIED),
        (edited("signature", "s"), "Unknown parameter: 'input[1].signature'."),
        (moved_first, FOLLOWER),
        (moved_back, REQUIRED),
        (doubled, "Duplicate item found with id rs_"),
        (unfollowed, FOLLOWER),
        (second_dropped, REQUIRED),
    ],
)
def test_openai_refuses_reasoning_that_is_not_as_it_was_issued(change: Change, text: str) -> None:
    with serve(OPENAI) as provider:
        outcome = play(provider, "streamed", change=change)
        assert outcome.requests == 2
        assert text in error(outcome)


@pytest.mark.parametrize(
    ("change", "status", "code"), [(altered, 400, "invalid_encrypted_content"), (doubled, 400, None)]
)
def test_openai_names_the_fault_in_the_code_where_it_has_a_name(change: Change, status: int, code: str | None) -> None:
    with serve(OPENAI) as provider:
        outcome = play(provider, "plain", change=change)
        assert outcome.status == status
        assert json.loads(outcome.error)["error"]["code"] == code


def test_openai_finds_no_item_by_its_id_alone_and_says_404() -> None:
    with serve(OPENAI) as provider:
        assert play(provider, "plain", change=edited("encrypted_content", None)).status == 404


def test_openai_takes_calls_without_their_ids_and_without_reasoning() -> None:
    """Nothing is refused, since all that is demanded hangs on the ids; but what did not come back is counted."""

    class WithoutIds(CustomToolDialogue):
        def kept(self, items: Sequence[Mapping[str, Any]]) -> Items:
            return [{key: value for key, value in item.items() if key != "id"} for item in super().kept(items)]

    _, provider = played(OPENAI, "plain", WithoutIds)
    assert all(record.due and not record.returned for record in provider.issued if record.demanded)


def test_openai_takes_reasoning_without_ids_before_items_without_ids() -> None:
    class WithoutIds(EchoCustomTool):
        def kept(self, items: Sequence[Mapping[str, Any]]) -> Items:
            return [{key: value for key, value in item.items() if key != "id"} for item in super().kept(items)]

    _, provider = played(OPENAI, "plain", WithoutIds)
    assert all(record.returned == record.due for record in provider.issued)


def test_a_phase_that_is_dropped_is_no_fault_but_counted() -> None:
    class WithoutPhase(EchoCustomTool):
        def kept(self, items: Sequence[Mapping[str, Any]]) -> Items:
            return [{key: value for key, value in item.items() if key != "phase"} for item in super().kept(items)]

    _, provider = played(OPENAI, "plain", WithoutPhase)
    assert not any(record.returned for record in provider.issued if record.kind == "phase")


class FromTheEnd(EchoCustomTool):
    """Keeps the items of the whole response, whose blobs are encrypted once more."""

    def streamed_items(self, payloads: Sequence[Mapping[str, Any]]) -> Items:
        return [dict(item) for item in payloads[-1]["response"]["output"]]


class FromTheBeginning(EchoCustomTool):
    """Keeps the blobs that items have when they are added."""

    def streamed_items(self, payloads: Sequence[Mapping[str, Any]]) -> Items:
        added = {p["item"]["id"]: p["item"] for p in payloads if p["type"] == "response.output_item.added"}
        return [
            {**item, "encrypted_content": added[item["id"]]["encrypted_content"]}
            if item["type"] == "reasoning"
            else item
            for item in super().streamed_items(payloads)
        ]


def test_the_blobs_of_the_whole_response_are_other_ones_and_as_good() -> None:
    items, provider = played(OPENAI, "streamed", FromTheEnd)
    blobs = [item["encrypted_content"] for item in reasoning(items)]
    assert not {record.value for record in provider.issued} & set(blobs)
    assert all(record.returned == record.due for record in provider.issued)


def test_the_blobs_of_added_items_are_no_good() -> None:
    with serve(OPENAI) as provider:
        outcome = play(provider, "streamed", {"responses-custom": FromTheBeginning})
        assert UNVERIFIED in error(outcome)
        assert outcome.requests == 2


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (altered, "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified"),
        (edited("encrypted_content", "made up"), "Could not decrypt the provided encrypted_content."),
        (edited("summary", None), "Could not decode the compaction blob."),
    ],
)
def test_xai_refuses_what_it_cannot_decrypt(change: Change, text: str) -> None:
    with serve(XAI) as provider:
        outcome = play(provider, "streamed", change=change)
        assert text in error(outcome)
        assert json.loads(outcome.error)["code"] == "invalid-argument"


@pytest.mark.parametrize("mode", ["plain", "streamed"])
def test_xai_says_nothing_of_reasoning_that_is_missing_but_counts_it(mode: str) -> None:
    with serve(XAI) as provider:
        assert play(provider, mode, DIALOGUES).done
        demanded = [record for record in provider.issued if record.demanded]
        assert len(demanded) == 4
        assert all(record.due and not record.returned for record in demanded)


@pytest.mark.parametrize("change", [swapped, moved_first])
def test_xai_takes_reasoning_out_of_its_place_but_does_not_count_it_as_returned(change: Change) -> None:
    with serve(XAI) as provider:
        assert play(provider, "plain", change=change).done
        assert provider.issued[0].returned < provider.issued[0].due


def drop_output(items: Items) -> None:
    items.pop()


def drop_calls(items: Items) -> None:
    items[1:] = [item for item in items[1:] if str(item.get("type")).endswith("_output")]


def rename_output(items: Items) -> None:
    items[-1]["call_id"] = "call_another"


@pytest.mark.parametrize("name", [OPENAI, XAI])
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (drop_output, "No tool output found for function call call_"),
        (drop_calls, "No tool call found for function call output with call_id call_"),
        (rename_output, "No tool call found for function call output with call_id call_another"),
    ],
)
def test_dangling_calls_and_orphan_outputs_are_refused(name: str, change: Change, text: str) -> None:
    with serve(name) as provider:
        assert text in error(play(provider, "plain", change=change))
        assert provider.refusals[0].kind == "pairing"


def test_the_output_of_a_custom_tool_is_an_item_of_its_own_kind() -> None:
    def change(items: Items) -> None:
        items[-1]["type"] = "function_call_output"

    with serve(OPENAI) as provider:
        assert "No tool call found for function call output" in error(play(provider, "plain", change=change, at=3))


def test_each_output_may_stand_right_behind_its_call() -> None:
    def change(items: Items) -> None:
        items[4:] = [items[6], items[4], items[5], items[7]]

    for name in (OPENAI, XAI):
        with serve(name) as provider:
            assert play(provider, "plain", change=change).done
            assert all(record.returned == record.due for record in provider.issued if record.demanded)


@pytest.mark.parametrize(
    "change",
    [
        lambda items: items.append(None),
        lambda items: items.append({"type": "hologram"}),
        lambda items: items[1].update(id="thought_1"),
        lambda items: items[3].update(id=items[3]["call_id"]),
        lambda items: items[3].update(arguments="{"),
        lambda items: items[2].update(content=7),
        lambda items: items[2].update(reasoning_content="r"),
    ],
)
def test_items_that_are_none_are_refused(change: Change) -> None:
    with serve(OPENAI) as provider:
        assert play(provider, "plain", change=change).status == 400
        assert provider.refusals[0].kind == "shape"


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ({"model": None}, "'model'"),
        ({"input": []}, "'input'"),
        ({"previous_response_id": "resp_1"}, "Previous response with id 'resp_1' not found."),
    ],
)
def test_a_body_that_asks_wrongly_is_refused(extra: Mapping[str, Any], text: str) -> None:
    with serve(OPENAI) as provider:
        assert text in error(play(provider, "plain", extra=extra))


def test_nothing_is_encrypted_that_was_not_asked_for() -> None:
    with serve(OPENAI) as provider:
        assert play(provider, "streamed", DIALOGUES, extra={"include": []}).done
        assert {record.kind for record in provider.issued} == {"phase"}


# -- the stream -------------------------------------------------------------------------------------------------------


def stream(name: str, mode: str, read: Callable[[str], Any], **options: Any) -> Any:
    """The first answer, read from the text of its stream."""
    dialect = PROVIDERS[name]
    dialogue = ResponsesDialogue(dialect.model, dialect.extra_of(mode))
    dialogue.ask(TASKS[0])
    with serve(name, **options) as provider:
        return read(httpx.post(provider.url(mode), json=dialogue.body(True), trust_env=False).text)


def events(text: str) -> Items:
    return [json.loads(line.removeprefix("data: ")) for line in text.split("\n") if line.startswith("data: ")]


@pytest.mark.parametrize("name", [OPENAI, XAI])
def test_a_stream_names_and_numbers_its_events(name: str) -> None:
    text = stream(name, "streamed", str)
    found = events(text)
    names = [line.removeprefix("event: ") for line in text.split("\n") if line.startswith("event: ")]
    assert names == [event["type"] for event in found]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert names[0] == "response.created"
    assert names[-1] == "response.completed"
    deltas = [event for event in found if "delta" in event]
    assert {event["type"] for event in deltas} == {
        "response.reasoning_summary_text.delta",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
    }
    assert all(event["obfuscation"] for event in deltas)


def test_a_stream_without_obfuscation_has_no_names_either() -> None:
    text = stream(OPENAI, "unnamed", str)
    assert "event:" not in text
    assert "obfuscation" not in text


def test_a_blob_is_shorter_when_added_and_another_one_at_the_end() -> None:
    found = stream(OPENAI, "streamed", events)
    added, done = (
        [
            e["item"]["encrypted_content"]
            for e in found
            if e["type"] == f"response.output_item.{kind}" and "summary" in e["item"]
        ]
        for kind in ("added", "done")
    )
    ends = [item["encrypted_content"] for item in reasoning(found[-1]["response"]["output"])]
    assert [len(blob) for blob in done] == [len(blob) for blob in ends]
    assert all(len(before) < len(after) for before, after in zip(added, done, strict=True))
    assert len({*added, *done, *ends}) == 6


def test_xai_adds_an_item_without_a_blob() -> None:
    added = [e["item"] for e in stream(XAI, "streamed", events) if e["type"] == "response.output_item.added"]
    assert all("encrypted_content" not in item for item in added)


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_the_stream_is_the_same_in_every_cut(chunking: Any) -> None:
    whole = stream(OPENAI, "streamed", events)
    assert stream(OPENAI, "streamed", events, chunking=chunking, gzip=True) == whole


def test_the_shapes_have_a_faithful_client_each() -> None:
    assert set(ECHOES) == set(DIALOGUES)
