"""What goes upstream on a switch, for every shape of conversation in every format, with a summary and without one."""

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from desk import SUMMARY, Desk, Sent
from tongues import (
    CHAT,
    CODE_ASSIST,
    GEMINI,
    MESSAGES,
    RESPONSES,
    TONGUES,
    Call,
    Developer,
    Document,
    Event,
    Image,
    Results,
    Says,
    System,
    Tongue,
    User,
)
from wellformed import cache_marks, faults

from thoughtkeep.handover.prompt import TAG

type Json = Any

# Opaque values of the model that made the history: none of them may reach another.
SIGNED = [f"c2lnbmVkLWJ5LXRoZS1tYWtlci1hbmQtbm9ib2R5LWVsc2U{number:02}" for number in range(40)]
LATEST = "LATEST-WORDS-4711: and what about b.py?"
REMINDER = "<system-reminder>\nThe clock says noon.\n</system-reminder>"
CAT = "aVZCT1J3MEtHZ28tY2F0"


def says(number: int, text: str = "", *calls: Call) -> Says:
    return Says(text or ("" if calls else f"Answer {number}."), calls, SIGNED[number], f"Thought {number}.")


def call(number: int, name: str = "read") -> Call:
    return Call(f"call{number:05}", name, {"path": f"src/file{number}.py"})


def result(number: int) -> tuple[str, str]:
    return f"call{number:05}", f"RESULT-{number}: x = 1/0"


START: list[Event] = [System("You are Q."), User("Fix the bug in a.py.")]
TALKED: list[Event] = [*START, says(0), User("Is it all?"), says(1)]


def loop(steps: int, first: int = 0) -> list[Event]:
    events: list[Event] = []
    for number in range(first, first + steps):
        events += [says(number, "", call(number)), Results(result(number))]
    return events


@dataclass(frozen=True)
class Shape:
    """A conversation at a switch: what is decided, the user's latest words, and what else must be there or gone."""

    events: Sequence[Event]
    latest: str = LATEST
    reason: str = "switch"
    there: Sequence[str] = ()
    gone: Sequence[str] = ()
    tongues: Sequence[Tongue] = TONGUES
    keys: dict[str, Json] = field(default_factory=dict)


APART = (CHAT, RESPONSES)
WITHIN = (MESSAGES, GEMINI, CODE_ASSIST)
FIRST = "Fix the bug in a.py."
STARTED = "Go on from here"

SHAPES = {
    "plain": Shape([*TALKED, User(LATEST)], gone=[STARTED]),
    "in the middle of a tool loop": Shape(
        [*START, *loop(1)], FIRST, there=["RESULT-0: x = 1/0", "src/file0.py", STARTED]
    ),
    "thirty steps into a tool loop": Shape(
        [*START, *loop(30)], FIRST, there=["RESULT-29: x = 1/0", "src/file29.py"], gone=["RESULT-28", "src/file0.py"]
    ),
    "parallel calls open": Shape(
        [*START, says(0, "I read two.", call(0), call(1)), Results(result(0), result(1))],
        FIRST,
        there=["RESULT-0: x = 1/0", "RESULT-1: x = 1/0", "I read two."],
    ),
    "two calls of one name and the same arguments open": Shape(
        [*START, says(0, "", Call("call00000", "run"), Call("call00001", "run")), Results(result(0), result(1))],
        FIRST,
        there=["RESULT-0: x = 1/0", "RESULT-1: x = 1/0"],
    ),
    "a tail of nothing but results, turns before it": Shape(
        [*TALKED, User(LATEST), *loop(3, 10)], there=["RESULT-12: x = 1/0"], gone=["RESULT-11", FIRST]
    ),
    "an image in the latest turn": Shape([*TALKED, User(LATEST, Image(CAT))], there=[CAT]),
    "an image alone as the latest turn": Shape([*TALKED, User(Image(CAT))], "", there=[CAT]),
    "an image in the latest turn of an open tool loop": Shape(
        [*TALKED, User(LATEST, Image(CAT)), *loop(2, 10)], there=[CAT, "RESULT-11: x = 1/0"]
    ),
    "an image in the history only": Shape(
        [START[0], User("What is this?", Image(CAT)), says(0), User(LATEST)], gone=[CAT, "What is this?"]
    ),
    "a document in the latest turn": Shape([*TALKED, User(Document(CAT), LATEST)], there=[CAT]),
    "a system prompt and the first words": Shape(START, FIRST, "no_prior_turn"),
    "one message": Shape([User(LATEST)], reason="no_prior_turn"),
    "a developer's message in front": Shape([Developer("Be brief."), *TALKED[1:], User(LATEST)], there=["Be brief."]),
    "a developer's message in the middle": Shape(
        [*START, says(0), Developer("You are another model now."), User(LATEST)],
        there=["You are another model now."],
        tongues=APART,
    ),
    "a developer's message inside the latest turn": Shape(
        [*START, says(0), User("FIRST-HALF of the wish."), Developer("A note."), User(LATEST)],
        there=["FIRST-HALF of the wish.", "A note."],
        tongues=APART,
    ),
    "two messages of the user in a row": Shape(
        [*START, says(0), User("FIRST-HALF of the wish."), User(LATEST)],
        there=["FIRST-HALF of the wish."],
        tongues=APART,
    ),
    "a reminder in a message of its own behind the latest words": Shape(
        [*TALKED, User(LATEST), User(REMINDER)], there=["The clock says noon."], tongues=APART
    ),
    "an end on a message of the assistant": Shape(
        [*TALKED, User(LATEST), Says("The answer begins so:")], reason="ends_on_assistant"
    ),
    "an end on an open call": Shape([*TALKED, User(LATEST), says(3, "", call(3))], reason="ends_on_assistant"),
    "a state that the server keeps": Shape(
        [*TALKED, User(LATEST)],
        reason="server_state",
        tongues=[RESPONSES],
        keys={"previous_response_id": "resp_7"},
    ),
    "words beside results, in one message": Shape(
        [*START, says(0, "", call(0)), Results(result(0), words=[LATEST])], tongues=WITHIN
    ),
    "words behind results": Shape([*START, says(0, "", call(0)), Results(result(0), words=[LATEST])], tongues=APART),
    "a reminder beside the latest words": Shape([*TALKED, User(REMINDER, LATEST)], there=["The clock says noon."]),
    "a reminder in the latest words": Shape([*TALKED, User(f"{REMINDER}\n{LATEST}")], there=["The clock says noon."]),
    "a reminder beside the results": Shape(
        [*TALKED, User(LATEST), says(2, "", call(2)), Results(result(2), words=[REMINDER])],
        there=["RESULT-2: x = 1/0", STARTED],
    ),
    "nothing but a reminder behind the last answer": Shape(
        [*START, says(0), User(LATEST), says(1), User(REMINDER)], there=["Answer 1.", STARTED]
    ),
}

CASES = [
    pytest.param(tongue, shape, id=f"{tongue.name}: {name}")
    for name, shape in SHAPES.items()
    for tongue in shape.tongues
]


@pytest.fixture
def desk() -> Iterator[Desk]:
    # Google's stand-in for signatures is another matter, and has its own tests.
    with Desk(skip_value="off") as made:
        yield made


def prepared(desk: Desk, tongue: Tongue, shape: Shape) -> None:
    """The maker has said what was said, the summariser is there."""
    desk.teach(tongue, shape.events)
    desk.answering(tongue)


def conversation(tongue: Tongue, body: Json) -> tuple[list[Json], Json]:
    """The messages of a request, and the request without them."""
    rest = copy.deepcopy(body)
    return tongue.messages(body), (rest[tongue.inner] if tongue.inner else rest).pop(tongue.list_key) and rest


def systems(messages: Sequence[Json]) -> list[Json]:
    return [message for message in messages if message.get("role") in ("system", "developer")]


@pytest.mark.parametrize("echoes", [False, True], ids=["drops state", "echoes state"])
@pytest.mark.parametrize(("tongue", "shape"), CASES)
def test_a_switch_sends_a_sound_request_of_the_summary_and_the_latest_turn(
    tongue: Tongue, shape: Shape, echoes: bool, desk: Desk
) -> None:
    prepared(desk, tongue, shape)
    body = tongue.body(tongue.target[1], shape.events, echoes=echoes, **shape.keys)
    sent = desk.send(tongue.target[0], tongue.target[2], body)
    assert sent.reason == shape.reason
    if shape.reason != "switch":
        assert desk.summaries == []
        assert_full_history(tongue, shape, body, sent)
        return
    text = sent.body.decode()
    messages, rest = conversation(tongue, sent.json)
    before, rest_before = conversation(tongue, body)
    assert faults(tongue.name, sent.json) == []
    assert rest == rest_before
    assert systems(messages) == systems(before)
    assert not [each for each in SIGNED if each in text]
    assert [message for message in messages if message.get("role") in ("assistant", "model")] == []
    assert text.count(TAG) == 1
    assert text.count("SUMMARY-4711") == 1
    assert text.index(TAG) < text.index("SUMMARY-4711")
    if shape.latest:
        assert text.count(shape.latest) == 1
        assert text.index("SUMMARY-4711") < text.index(shape.latest)
    for words in shape.there:
        assert text.count(words) == 1, words
    for words in shape.gone:
        assert words not in text
    assert cache_marks(sent.json) <= cache_marks(body)
    assert len(desk.summaries) == 1


@pytest.mark.parametrize("echoes", [False, True], ids=["drops state", "echoes state"])
@pytest.mark.parametrize(("tongue", "shape"), CASES)
def test_without_a_summary_the_clients_own_request_goes_but_for_what_is_foreign(
    tongue: Tongue, shape: Shape, echoes: bool, desk: Desk
) -> None:
    prepared(desk, tongue, shape)
    body = tongue.body(tongue.target[1], shape.events, echoes=echoes, **shape.keys)
    with desk.failing():
        sent = desk.send(tongue.target[0], tongue.target[2], body)
    assert sent.reason == ("summary_failed" if shape.reason == "switch" else shape.reason)
    assert_full_history(tongue, shape, body, sent)


def assert_full_history(tongue: Tongue, shape: Shape, body: Json, sent: Sent) -> None:
    """The client's bytes; where it echoes state of the maker that was captured, the same without that."""
    text = sent.body.decode()
    raw = json.dumps(body).encode()
    known = [event for event in [e for e in shape.events if isinstance(e, Says)][-2:] if event.state]
    if "previous_response_id" in body or not any(event.state in raw.decode() for event in known):
        assert sent.body == raw
        return
    assert not [event for event in known if event.state in text]
    bare = [Says(e.text, e.calls) if e in known else e for e in shape.events]
    assert sent.json == tongue.body(tongue.target[1], bare, echoes=True, **shape.keys)


@pytest.mark.parametrize(("tongue", "shape"), [case for case in CASES if case.values[1].reason == "switch"])  # type: ignore[union-attr]
def test_the_form_with_a_message_of_the_assistant_leaves_the_users_words_as_they_are(
    tongue: Tongue, shape: Shape
) -> None:
    with Desk(summary_role="assistant") as desk:
        prepared(desk, tongue, shape)
        body = tongue.body(tongue.target[1], shape.events)
        sent = desk.send(tongue.target[0], tongue.target[2], body)
        assert sent.reason == "switch"
        assert faults(tongue.name, sent.json, starts_with_model=True) == []
        messages, rest = conversation(tongue, sent.json)
        before, rest_before = conversation(tongue, body)
        assert rest == rest_before
        spoken = [message for message in messages if message.get("role") not in ("system", "developer")]
        assert spoken[0]["role"] in ("assistant", "model")
        assert TAG in json.dumps(spoken[0])
        assert SUMMARY.splitlines()[1] in json.dumps(spoken[0], ensure_ascii=False)
        assert TAG not in json.dumps(spoken[1:])
        if not any(isinstance(event, Results) for event in shape.events) and STARTED not in shape.there:
            assert all(message in before for message in spoken[1:])


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_the_transcript_holds_all_of_the_history_and_none_of_the_state(tongue: Tongue, desk: Desk) -> None:
    events = [*TALKED, User("Look again."), *loop(3, 10), says(7), User(LATEST)]
    desk.teach(tongue, events)
    desk.answering(tongue)
    desk.switch(tongue, events, echoes=True)
    (asked,) = desk.summaries
    words = json.dumps(asked.body, ensure_ascii=False)
    for each in ("Fix the bug in a.py.", "Answer 0.", "Look again.", "src/file12.py", "RESULT-12", "Answer 7."):
        assert words.count(each) == 1, each
    for each in (*SIGNED, "Thought", LATEST, "call000"):
        assert each not in words
