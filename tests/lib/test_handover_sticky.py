"""A handover stays: the same prefix on every later turn, and only for the very conversation that it was made of."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from desk import SUMMARY, Desk, Sent, told
from tongues import (
    CHAT,
    MESSAGES,
    RESPONSES,
    TONGUES,
    Call,
    Document,
    Event,
    Image,
    Results,
    Says,
    System,
    Tongue,
    User,
)
from wellformed import faults

from thoughtkeep.handover.prompt import TAG

type Json = Any

OWN = [f"c2lnbmVkLWJ5LXRoZS1uZXctbW9kZWwtYW5kLW5vLW90aGVy{number:02}" for number in range(20)]


def a_call(number: int) -> Call:
    return Call(f"call{number:05}", "look", {"at": f"place {number}"})


HISTORY: list[Event] = [
    System("You are Q. Today is Monday."),
    User("Look at the first place."),
    Says("", [a_call(1)], "b3BhcXVlLXN0YXRlLW9mLXRoZS1vbGQtbW9kZWwtMDE", "Hm."),
    Results(("call00001", "an old oak")),
    Says("There is an oak.", (), "b3BhcXVlLXN0YXRlLW9mLXRoZS1vbGQtbW9kZWwtMDI", "Well."),
]
BORDER: list[Event] = [*HISTORY, User("And the second one?")]
LATER: list[Event] = [
    Says("", [a_call(2)], OWN[0], "Let me see."),
    Results(("call00002", "a new elm")),
    Says("I see an elm.", (), OWN[1], "Fine."),
    User("And the third?"),
    Says("", [a_call(3), a_call(4)], OWN[2], "Two."),
    Results(("call00003", "a birch"), ("call00004", "a beech")),
    Says("A birch and a beech.", (), OWN[3], "Done."),
    User("Thanks."),
]

every_tongue = pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)


@pytest.fixture
def desk() -> Iterator[Desk]:
    with Desk(skip_value="off") as made:
        yield made


def switched(desk: Desk, tongue: Tongue, events: Sequence[Event] = BORDER) -> Sent:
    """The maker has made the history, the target has taken over."""
    desk.teach(tongue, events)
    desk.answering(tongue)
    sent = desk.switch(tongue, events)
    assert sent.reason == "switch"
    return sent


def at_the_end(body: Json, tongue: Tongue) -> bytes:
    """A request whose last message is written with other spaces."""
    raw = json.dumps(body).encode()
    last = told(raw, tongue.list_key)[-1]
    return raw.replace(last.encode(), json.dumps(json.loads(last), indent=3).encode())


@pytest.mark.parametrize("write", [lambda body, _: json.dumps(body).encode(), at_the_end], ids=["as before", "spaced"])
@every_tongue
def test_the_prefix_is_the_same_bytes_on_every_later_turn_and_the_new_models_state_is_put_back_behind_it(
    tongue: Tongue, write: Callable[[Json, Tongue], bytes], desk: Desk
) -> None:
    url, model, headers = tongue.target
    prefix = told(switched(desk, tongue).body, tongue.list_key)
    events = list(BORDER)
    for event in LATER:
        if isinstance(event, Says):
            body = tongue.body(model, events)
            desk.exchange(url, headers, body, tongue.answer(event))
        events.append(event)
        if isinstance(event, Says):
            continue
        sent = desk.send(url, headers, write(tongue.body(model, events), tongue))
        assert sent.reason == "handover_reused"
        now = told(sent.body, tongue.list_key)
        assert now[: len(prefix)] == prefix
        assert faults(tongue.name, sent.json) == [] or tongue is CHAT  # which has state on its messages
        own = [said.state for said in events if isinstance(said, Says) and said.state in OWN]
        assert [state for state in own if state in sent.body.decode()] == own
        prefix = now[:-1]  # its end was written with other spaces, or will be
    assert len(desk.summaries) == 1


def changed(position: int, *events: Event) -> list[Event]:
    """The conversation with something else in one place of its history."""
    return [*HISTORY[:position], *events, *HISTORY[position + 1 :], BORDER[-1], LATER[0], LATER[1]]


CHANGES: dict[str, list[Event]] = {
    "other first words": changed(1, User("Look at the very first place.")),
    "another result": changed(3, Results(("call00001", "a young oak"))),
    "another answer": changed(4, Says("There is a tree.")),
    "another question at the border": [*HISTORY, User("And the last one?"), *LATER[:2]],
    "rewound before the border": [*HISTORY[:4], Says("An oak."), User("And the second one?"), *LATER[:2]],
    "compacted": [HISTORY[0], User("Summary: they looked at an oak. And the second one?"), *LATER[:2]],
    "a message more in the history": [*HISTORY[:2], User("Please."), *HISTORY[2:], BORDER[-1], *LATER[:2]],
}


@pytest.mark.parametrize("tongue", [CHAT, RESPONSES], ids=lambda tongue: tongue.name)
@pytest.mark.parametrize("events", CHANGES.values(), ids=CHANGES)
def test_a_client_that_changes_what_stands_before_the_border_gets_its_own_history(
    events: list[Event], tongue: Tongue, desk: Desk
) -> None:
    url, model, headers = tongue.target
    switched(desk, tongue)
    said = LATER[0]
    assert isinstance(said, Says)
    desk.exchange(url, headers, tongue.body(model, BORDER), tongue.answer(said))
    sent = desk.send(url, headers, tongue.body(model, events))
    assert sent.reason in ("same_model", "no_prior_turn")
    assert TAG not in sent.body.decode()
    own = [message for message in tongue.messages(sent.json) if message.get("type") != "reasoning"]
    assert len(own) == len(tongue.messages(tongue.body(model, events)))
    assert len(desk.summaries) == 1


OTHER_CALL = Says("", [Call("other", "look", {"at": "place 1"})])

VOLATILE: dict[str, tuple[list[Event], list[Event]]] = {
    "the date in the system prompt": (BORDER, [System("You are Q. Today is Tuesday."), *BORDER[1:]]),
    "a reminder": (
        [*HISTORY[:1], User("<system-reminder>one</system-reminder>\nLook at the first place."), *BORDER[2:]],
        [*HISTORY[:1], User("<system-reminder>two</system-reminder>\nLook at the first place."), *BORDER[2:]],
    ),
    "call ids": (
        BORDER,
        [
            *HISTORY[:2],
            Says("", [Call("other", "look", {"at": "place 1"})]),
            Results(("other", "an old oak")),
            *BORDER[4:],
        ],
    ),
}


@every_tongue
@pytest.mark.parametrize("name", VOLATILE)
def test_what_clients_change_from_request_to_request_does_not_part_a_conversation_from_its_summary(
    name: str, tongue: Tongue, desk: Desk
) -> None:
    first, later = VOLATILE[name]
    switched(desk, tongue, first)
    sent = desk.switch(tongue, [*later, *LATER[:2]])
    assert sent.reason == "handover_reused"
    assert SUMMARY.splitlines()[0] in json.dumps(sent.json, ensure_ascii=False)


def test_a_cache_mark_that_moves_on_does_not_part_a_conversation_from_its_summary(desk: Desk) -> None:
    events = [*HISTORY, User("Is this an oak?", Image("b2Fr"))]
    desk.teach(MESSAGES, events)
    desk.answering(MESSAGES)
    url, model, headers = MESSAGES.target
    body = MESSAGES.body(model, events)
    body["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    assert desk.send(url, headers, body).reason == "switch"
    later = MESSAGES.body(model, [*events, *LATER[:2]])
    later["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    sent = desk.send(url, headers, later)
    assert sent.reason == "handover_reused"
    assert faults("messages", sent.json) == []


def shown(tongue: Tongue, data: str) -> dict[str, list[Event]]:
    """Conversations that differ in nothing but a document."""
    rest = BORDER[2:]
    return {
        "text": [User("What does it say?", f"The document: {data}"), *rest],
        "file": [User("What does it say?", Document(data)), *rest],
        "image": [User("What does it say?", Image(data)), *rest],
        "image at the border": [*HISTORY, User("And this?", Image(data))],
        "image alone": [User(Image(data)), *rest],
    }


@every_tongue
@pytest.mark.parametrize("name", list(shown(CHAT, "")))
def test_two_conversations_with_the_same_answers_and_different_documents_never_share_a_summary(
    name: str, tongue: Tongue, desk: Desk
) -> None:
    for number, data in enumerate(("Zmlyc3QgZG9jdW1lbnQ", "c2Vjb25kIGRvY3VtZW50")):
        events = shown(tongue, data)[name]
        desk.teach(tongue, events)
        desk.answering(tongue, f"SUMMARY-{number}")
        sent = desk.switch(tongue, events)
        assert sent.reason == "switch"
        assert f"SUMMARY-{number}" in sent.body.decode()


def _result_parts(tongue: Tongue, body: Json, data: str) -> None:
    """Put a screenshot into the result of the history's call."""
    messages = tongue.messages(body)
    if tongue is MESSAGES:
        source = {"type": "base64", "media_type": "image/png", "data": data}
        messages[2]["content"][0]["content"] = [{"type": "text", "text": "seen"}, {"type": "image", "source": source}]
    elif tongue is CHAT:
        url = {"url": f"data:image/png;base64,{data}"}
        messages[3]["content"] = [{"type": "text", "text": "seen"}, {"type": "image_url", "image_url": url}]
    elif tongue is RESPONSES:
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{data}"}
        messages[2]["output"] = [{"type": "input_text", "text": "seen"}, image]
    else:
        part = messages[2]["parts"][0]["functionResponse"]
        part["parts"] = [{"inlineData": {"mimeType": "image/png", "data": data}}]


@every_tongue
def test_two_conversations_that_differ_in_a_screenshot_among_the_results_never_share_a_summary(
    tongue: Tongue, desk: Desk
) -> None:
    url, model, headers = tongue.target
    for number, data in enumerate(("Zmlyc3Qgc2NyZWVu", "c2Vjb25kIHNjcmVlbg")):
        answered = tongue.body(tongue.maker[1], HISTORY[:4])
        _result_parts(tongue, answered, data)
        said = HISTORY[4]
        assert isinstance(said, Says)
        desk.exchange(tongue.maker[0], tongue.maker[2], answered, tongue.answer(said))
        desk.answering(tongue, f"SUMMARY-{number}")
        body = tongue.body(model, BORDER)
        _result_parts(tongue, body, data)
        sent = desk.send(url, headers, body)
        assert sent.reason == "switch"
        assert f"SUMMARY-{number}" in sent.body.decode()


@every_tongue
def test_a_question_that_is_edited_and_sent_again_on_the_switch_gets_the_new_question(
    tongue: Tongue, desk: Desk
) -> None:
    switched(desk, tongue)
    sent = desk.switch(tongue, [*HISTORY, User("And the SEVENTH one?")])
    text = sent.body.decode()
    assert (text.count("And the SEVENTH one?"), text.count("And the second one?")) == (1, 0)
    assert "SUMMARY-4711" in text


@every_tongue
def test_the_very_request_again_gets_the_very_bytes_again(tongue: Tongue, desk: Desk) -> None:
    first = switched(desk, tongue)
    again = desk.switch(tongue, BORDER)
    assert (again.reason, again.body) == ("handover_reused", first.body)
    assert len(desk.summaries) == 1


@every_tongue
def test_requests_that_come_together_share_one_summary(tongue: Tongue, desk: Desk) -> None:
    desk.teach(tongue, BORDER)
    desk.answering(tongue)
    url, model, headers = tongue.target
    sent = desk.together(url, headers, [tongue.body(model, BORDER)] * 3)
    assert len(desk.summaries) == 1
    assert [one.reason for one in sent] == ["switch"] * 3
    assert len({one.body for one in sent}) == 1


def test_another_tenant_asks_for_a_summary_of_its_own(desk: Desk) -> None:
    """The same words under another credential: who made them is known, what was made of them is not."""
    switched(desk, CHAT)
    url, model, _ = CHAT.target
    desk.answering(CHAT, "ANOTHER-SUMMARY")
    sent = desk.send(url, {"authorization": "Bearer sk-or-two"}, CHAT.body(model, BORDER))
    assert sent.reason == "switch"
    assert "ANOTHER-SUMMARY" in sent.body.decode()
    assert "SUMMARY-4711" not in sent.body.decode()
