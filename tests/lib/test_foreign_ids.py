"""Call ids that a target refuses: made legal, told apart, and in pairs with their results."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from desk import Desk, Sent
from spoken import Call, Event, Results, Says, System, User
from tongues import CHAT, MESSAGES, RESPONSES, Tongue
from wellformed import IDS, faults

from thoughtkeep import identity
from thoughtkeep.endpoint import recognise
from thoughtkeep.foreign import LEGAL, clean
from thoughtkeep.profiles import NEUTRAL, PROFILES, Profile
from thoughtkeep.splice import apply
from thoughtkeep.turns import Facts

type Json = Any

KEY = {"authorization": "Bearer sk-one", "x-api-key": "sk-one"}


@pytest.fixture
def desk() -> Iterator[Desk]:
    with Desk(handover="off", skip_value="off") as made:
        yield made


def profile(name: str) -> Profile:
    return next(each for each in PROFILES if each.name == name)


#: Ids as other providers and gateways make them.
ILLEGAL = [
    "functions.read:0",
    "call_9f__thought__" + "QUJD" * 60,
    "read file",
    "ключ-1",
    "x" * 65,
    "a|b",
    "[id]",
    "chatcmpl-tool-" + "f" * 40,
]
#: A target that checks ids: its tongue, URL and model, and a pattern that is not the formats' own.
CHECKING = [
    (MESSAGES, "https://api.anthropic.com/v1/messages", "claude-opus-4-5", IDS["messages"]),
    (RESPONSES, "https://api.openai.com/v1/responses", "gpt-5.2", ".{1,64}"),
    (CHAT, "https://api.openai.com/v1/chat/completions", "gpt-5.2", ".{1,40}"),
    (CHAT, "https://api.mistral.ai/v1/chat/completions", "mistral-large", "[A-Za-z0-9]{9}"),
]


def looking(*ids: str, later: Sequence[Event] = ()) -> list[Event]:
    """A step for each id, each with a result that says which."""
    events: list[Event] = [System("You are Q."), User("Look.")]
    for number, call_id in enumerate(ids):
        events += [Says("", [Call(call_id, "look", {"at": number})]), Results((call_id, f"result {number}"))]
    return [*events, *later]


def pairs(tongue: Tongue, sent: Sent) -> dict[str, tuple[Json, Json]]:
    """The arguments and the result of each call of a request, by its id; fails for an id that is there twice."""
    calls: dict[str, Json] = {}
    results: dict[str, Json] = {}
    for message in tongue.messages(sent.json):
        blocks = message["content"] if isinstance(message.get("content"), list) else []
        for block in [message, *(message.get("tool_calls") or []), *blocks]:
            kind = block.get("type", block.get("role"))
            if kind in ("tool_use", "function", "function_call"):
                name = block.get("call_id") or block["id"]
                assert name not in calls
                arguments = block.get("function", block).get("arguments") or json.dumps(block.get("input"))
                calls[name] = json.loads(arguments)["at"]
            elif kind in ("tool_result", "tool", "function_call_output"):
                name = block.get("tool_use_id") or block.get("tool_call_id") or block["call_id"]
                assert name not in results
                results[name] = block.get("output") or block["content"]
    assert set(calls) == set(results)
    return {name: (calls[name], results[name]) for name in calls}


@pytest.mark.parametrize(("tongue", "url", "model", "pattern"), CHECKING, ids=[f"{c[0].name} {c[2]}" for c in CHECKING])
def test_ids_become_legal_stay_pairs_and_are_the_same_on_later_turns(
    tongue: Tongue, url: str, model: str, pattern: str, desk: Desk
) -> None:
    events = looking(*ILLEGAL)
    first = desk.send(url, KEY, tongue.body(model, events))
    made = pairs(tongue, first)
    assert [name for name in made if not re.fullmatch(pattern, name)] == []
    assert list(made.values()) == [(number, f"result {number}") for number in range(len(ILLEGAL))]
    if pattern != "[A-Za-z0-9]{9}":
        assert faults(tongue.name, first.json) == []
    later = [Says("Seen."), User("Again."), *looking("functions.read:1", "call00001")[2:]]
    second = desk.send(url, KEY, tongue.body(model, looking(*ILLEGAL, later=later)))
    again = pairs(tongue, second)
    assert list(again)[: len(made)] == list(made)
    assert len(again) == len(made) + 2


@pytest.mark.parametrize("tongue", [MESSAGES, CHAT, RESPONSES], ids=lambda tongue: tongue.name)
def test_legal_ids_stay_as_they_are(tongue: Tongue, desk: Desk) -> None:
    url, model = {"messages": CHECKING[0], "responses": CHECKING[1], "chat": CHECKING[2]}[tongue.name][1:3]
    body = tongue.body(model, looking("toolu_01", "call-2", "x" * 40))
    assert desk.send(url, KEY, body).body == json.dumps(body).encode()
    illegal = tongue.body("m", looking(*ILLEGAL))
    assert (
        desk.send("https://llm.example.org" + url[url.index("/v1") :], KEY, illegal).body
        == json.dumps(illegal).encode()
    )


#: Ids that repeat: how often each call has one, step by step, and whether Anthropic's come out legal in any case.
REPEATED = {
    "in every step": [["call_0"], ["call_0"], ["call_0"]],
    "within a batch": [["read", "read", "read"]],
    "within a batch and again": [["read", "read"], ["read"], ["x"]],
    "illegal, within a batch": [["a b", "a b"], ["a b"]],
    "that clean to the same": [["a b", "a.b", "a_b"]],
    "numbered already": [["a", "a", "a_2"], ["a_3", "a"]],
}


@pytest.mark.parametrize("name", REPEATED)
def test_an_id_that_repeats_becomes_several_each_with_its_own_result(name: str, desk: Desk) -> None:
    events: list[Event] = [User("Look.")]
    count = 0
    for step in REPEATED[name]:
        numbers = range(count, count + len(step))
        count += len(step)
        events.append(Says("", [Call(each, "look", {"at": n}) for n, each in zip(numbers, step, strict=True)]))
        events.append(Results(*((each, f"result {n}") for n, each in zip(numbers, step, strict=True))))
    _, url, model, _ = CHECKING[0]
    sent = desk.send(url, KEY, MESSAGES.body(model, events))
    assert faults("messages", sent.json) == []
    made = pairs(MESSAGES, sent)
    assert list(made.values()) == [(number, f"result {number}") for number in range(count)]
    legal = [each for step in REPEATED[name] for each in step if each.replace("_", "").isalnum()]
    assert set(legal) <= set(made)  # the first of them keeps it


def test_illegal_ids_of_one_batch_that_are_the_same_are_told_apart_by_their_order(desk: Desk) -> None:
    long = "y" * 50
    events = [User("Look."), Says("", [Call(long, "look", {"at": n}) for n in range(3)])]
    events.append(Results(*((long, f"result {n}") for n in range(3))))
    _, url, model, _ = CHECKING[2]
    made = pairs(CHAT, desk.send(url, KEY, CHAT.body(model, events)))
    assert list(made.values()) == [(n, f"result {n}") for n in range(3)]


def test_a_thousand_repetitions_of_an_id_still_find_a_name_each(desk: Desk) -> None:
    events = [User("Look."), Says("", [Call("a", "look", {"at": n}) for n in range(1005)])]
    events.append(Results(*(("a", f"result {n}") for n in range(1005))))
    _, url, model, _ = CHECKING[0]
    made = pairs(MESSAGES, desk.send(url, KEY, MESSAGES.body(model, events)))
    assert list(made.values()) == [(n, f"result {n}") for n in range(1005)]


def test_a_provider_whose_pattern_nothing_meets_gets_the_ids_as_they_are() -> None:
    body = MESSAGES.body("m", looking("a b"))
    endpoint = recognise("POST", "/v1/messages", body)
    assert endpoint is not None
    ask = endpoint.format.read(body, endpoint)
    walked = identity.trail(b"key", ask)
    odd = replace(NEUTRAL, ids=(("messages", "impossible"),))
    assert clean(b"key", ask, walked, [], Facts(), endpoint.format, odd, "x") == []
    assert clean(b"key", ask, walked, [], Facts(), endpoint.format, replace(NEUTRAL, ids=(("chat", "y"),)), "x") == []


def test_a_call_without_an_id_and_a_result_without_a_call_are_left_alone() -> None:
    body = MESSAGES.body("m", looking("", "a b", later=[Results(("never called", "x"))]))
    endpoint = recognise("POST", "/v1/messages", body)
    assert endpoint is not None
    ask = endpoint.format.read(body, endpoint)
    edits = clean(b"key", ask, identity.trail(b"key", ask), [], Facts(), endpoint.format, profile("anthropic"), "x")
    assert {edit.reason for edit in edits} == {LEGAL}
    sent = json.loads(apply(json.dumps(body).encode(), edits))
    told = json.dumps(sent)
    assert (told.count('"a b"'), told.count('"a_b"'), told.count('"never called"')) == (0, 2, 1)
    assert sent["messages"][1] == body["messages"][1]


def test_an_item_whose_call_id_is_renamed_loses_its_own_id() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "x" * 70, "name": "look", "arguments": '{"at":1}'}
    result = {"type": "function_call_output", "call_id": "x" * 70, "output": "blue"}
    body = {"model": "gpt-5.2", "input": [{"role": "user", "content": "Look."}, call, result]}
    with Desk(handover="off") as desk:
        sent = desk.send("https://api.openai.com/v1/responses", KEY, body).json["input"]
    assert "id" not in sent[1]
    assert sent[1]["call_id"] == sent[2]["call_id"]
    assert len(sent[1]["call_id"]) <= 64


def test_ids_before_a_border_count_but_are_not_changed() -> None:
    body = MESSAGES.body("m", looking("a b", "a_b", "a b"))
    endpoint = recognise("POST", "/v1/messages", body)
    assert endpoint is not None
    ask = endpoint.format.read(body, endpoint)
    walked = identity.trail(b"key", ask)
    whole, behind = (
        clean(b"key", ask, walked, [], Facts(), endpoint.format, profile("anthropic"), "x", start) for start in (0, 2)
    )
    assert [edit.value for edit in whole] == ["a_b_2", "a_b_2", "a_b_3", "a_b_3"]
    assert behind == whole[2:]
