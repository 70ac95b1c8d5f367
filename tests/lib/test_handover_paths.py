"""Conversations that change hands more than once: to a third model, back again, and twice on one path."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from desk import SUMMARY, Desk, Sent
from tongues import CHAT, Call, Event, Results, Says, System, User

from thoughtkeep.handover.detect import COOL_DOWN, WARM
from thoughtkeep.handover.prompt import TAG

type Json = Any

URL, _, KEY = CHAT.target
A, B, C = "anthropic/claude-sonnet-4.5", "google/gemini-3-pro-preview", "openai/gpt-5.2"

STATES = {model: f"c3RhdGUtb2YtdGhlLW1vZGVsLW51bWJlci0{number}" for number, model in enumerate((A, B, C))}


@pytest.fixture
def desk() -> Iterator[Desk]:
    with Desk(skip_value="off") as made:
        made.answering(CHAT)
        yield made


class Talk:
    """One conversation on a desk, as a client tells it that keeps no state."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.events: list[Event] = [System("You are Q.")]
        self._count = 0

    def turn(self, model: str, words: str = "", *, calls: Sequence[Call] = (), **headers: str) -> Sent:
        """The user says something, this model answers with words of its own."""
        self._count += 1
        self.events.append(User(words or f"Question {self._count}."))
        return self.answered(model, calls=calls, **headers)

    def answered(self, model: str, *, calls: Sequence[Call] = (), **headers: str) -> Sent:
        text = "" if calls else f"Answer {self._count}."
        said = Says(text, calls, STATES[model] + str(self._count), f"Thought {self._count}.")
        sent = self.ask(model, answer=CHAT.answer(said), **headers)
        self.events.append(said)
        return sent

    def results(self, *results: tuple[str, str]) -> None:
        self.events.append(Results(*results))

    def ask(self, model: str, *, answer: Json = None, **headers: str) -> Sent:
        sent_headers = {**KEY, **{f"x-thoughtkeep-{name.replace('_', '-')}": value for name, value in headers.items()}}
        body = CHAT.body(model, self.events)
        if answer is None:
            return self.desk.send(URL, sent_headers, body)
        return self.desk.exchange(URL, sent_headers, body, answer)


def roles(sent: Sent) -> list[str]:
    return [message["role"] for message in sent.json["messages"]]


def test_a_third_model_gets_a_summary_of_everything_and_each_keeps_its_own(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    assert talk.turn(B).reason == "switch"
    assert talk.turn(B).reason == "handover_reused"
    third = talk.turn(C)
    assert third.reason == "switch"
    assert roles(third) == ["system", "user"]
    words = json.dumps(desk.summaries[1].body)
    for each in ("Question 1.", "Answer 1.", "Question 2.", "Answer 2.", "Question 3.", "Answer 3."):
        assert words.count(each) == 1
    assert "SUMMARY-4711" not in words  # the summary for one model is not told to another
    assert talk.turn(C).reason == "handover_reused"


def test_back_to_a_model_whose_cache_is_warm_goes_the_full_history_without_anothers_state(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    talk.turn(B)
    desk.clock.now += WARM - 1
    back = talk.turn(A)
    assert back.reason == "returned_warm"
    assert roles(back) == ["system", *["user", "assistant"] * 2, "user"]
    assert STATES[B] not in back.body.decode()
    assert STATES[A] + "1" in back.body.decode()
    assert len(desk.summaries) == 1
    assert talk.turn(A).reason == "same_model"


def test_back_to_a_model_whose_cache_is_cold_goes_a_summary(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    talk.turn(B)
    desk.clock.now += WARM + 1
    back = talk.turn(A)
    assert (back.reason, roles(back)) == ("switch", ["system", "user"])
    assert STATES[A] not in back.body.decode()
    assert len(desk.summaries) == 2


def test_back_to_a_model_that_had_a_handover_while_it_is_warm_goes_the_prefix_it_had(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    first = talk.turn(B)
    talk.turn(A)
    back = talk.turn(B)
    assert back.reason == "returned_warm"
    assert back.json["messages"][:2] == first.json["messages"]
    assert roles(back) == ["system", "user", "assistant", "user", "assistant", "user"]
    assert STATES[B] + "2" in back.body.decode()
    assert STATES[A] not in back.body.decode()


def test_a_second_handover_on_one_path_builds_on_the_first_and_loses_nothing_between_them(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A, "The FIRST wish.")
    talk.turn(B, "The SECOND wish, kept word for word at the border.")
    desk.clock.now += WARM + 1
    talk.turn(A, "The THIRD wish.")
    desk.clock.now += WARM + 1
    desk.answering(CHAT, "The NEWER summary.")
    second = talk.turn(B, "The FOURTH wish.")
    assert (second.reason, roles(second)) == ("switch", ["system", "user"])
    words = desk.summaries[-1].body["messages"][0]["content"]
    assert words.count("SUMMARY-4711") == 1
    for each in ("The SECOND wish", "Answer 2.", "The THIRD wish", "Answer 3."):
        assert words.count(each) == 1, each
    for each in ("The FIRST wish", "Answer 1.", "The FOURTH wish"):
        assert each not in words
    assert words.index("SUMMARY-4711") < words.index("The SECOND wish") < words.index("Answer 2.")
    text = second.body.decode()
    assert text.count(TAG) == 1
    assert "The NEWER summary." in text
    assert "SUMMARY-4711" not in text
    later = talk.turn(B)
    assert later.reason == "handover_reused"
    assert later.json["messages"][:2] == second.json["messages"]


def test_where_the_second_summary_fails_the_first_handover_goes_on(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    first = talk.turn(B)
    desk.clock.now += WARM + 1
    talk.turn(A)
    desk.clock.now += WARM + 1
    with desk.failing():
        second = talk.turn(B)
    assert second.reason == "summary_failed"
    assert second.json["messages"][:2] == first.json["messages"]
    assert second.metadata["handover_fallback_to_full_history"] is True
    later = talk.turn(B)
    assert (later.reason, later.json["messages"][:2]) == ("handover_reused", first.json["messages"])


def test_a_place_at_which_a_summary_failed_is_left_alone_for_a_while(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    talk.events.append(User("Next."))
    with desk.failing():
        assert talk.ask(B).reason == "summary_failed"
        asked = len(desk.summaries)
        desk.clock.now += COOL_DOWN - 1
        again = talk.ask(B)
        assert (again.reason, len(desk.summaries)) == ("summary_failed", asked)
        assert again.metadata["handover_fallback_to_full_history"] is False  # nothing was tried
    desk.clock.now += 2
    assert talk.ask(B).reason == "switch"
    assert talk.ask(B).reason == "handover_reused"


def test_after_a_failed_summary_the_new_model_goes_on_with_the_full_history(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    with desk.failing():
        talk.turn(B)
    later = talk.turn(B)
    assert (later.reason, TAG in later.body.decode()) == ("same_model", False)
    assert STATES[B] + "2" in later.body.decode()


def test_a_switch_inside_a_tool_loop_goes_on_behind_the_same_prefix(desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A, "Fix it.", calls=[Call("c1", "read", {"path": "a.py"})])
    talk.results(("c1", "x = 1/0"))
    first = talk.answered(B, calls=[Call("c2", "edit", {"path": "a.py"})])
    assert (first.reason, roles(first)) == ("switch", ["system", "user"])
    talk.results(("c2", "done"))
    second = talk.answered(B)
    assert (second.reason, roles(second)) == ("handover_reused", ["system", "user", "assistant", "tool"])
    assert second.json["messages"][:2] == first.json["messages"]
    assert second.json["messages"][2]["reasoning_details"]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"handover": "skip"}, "skipped"),
        ({"handover": " Skip"}, "skipped"),
        ({"handover": "no"}, "switch"),
        ({}, "switch"),
    ],
)
def test_a_client_may_ask_for_no_handover(header: dict[str, str], reason: str, desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    sent = talk.turn(B, **header)
    assert sent.reason == reason
    assert not [name for name in sent.headers if name.startswith("x-thoughtkeep")]


def test_a_router_may_say_who_made_a_history_that_nobody_saw(desk: Desk) -> None:
    talk = Talk(desk)
    talk.events += [User("One."), Says("1."), User("Two.")]
    assert talk.ask(B, switch_from=B).reason == "same_model"
    assert talk.ask(B).reason == "no_prior_turn"
    sent = talk.ask(B, switch_from=A)
    assert (sent.reason, roles(sent)) == ("switch", ["system", "user"])
    assert not [name for name in sent.headers if name.startswith("x-thoughtkeep")]
    assert talk.ask(B).reason == "handover_reused"
    talk.answered(B)
    for _ in range(3):  # and say it again
        assert talk.turn(B, switch_from=A).reason == "handover_reused"
    assert len(desk.summaries) == 1


def test_a_router_that_says_so_at_the_first_words_changes_nothing(desk: Desk) -> None:
    talk = Talk(desk)
    talk.events += [User("One.")]
    assert talk.ask(B, switch_from=A).reason == "no_prior_turn"


@pytest.mark.parametrize(
    "other",
    [
        "claude-sonnet-4.5",
        "anthropic/claude-sonnet-4.5:beta",
        "anthropic/claude-sonnet-4.5-20250929",
        "Claude-Sonnet-4.5-latest",
        "claude-sonnet-4.5@20250929",
    ],
)
def test_another_name_of_the_same_model_is_no_switch(other: str, desk: Desk) -> None:
    talk = Talk(desk)
    talk.turn(A)
    talk.events.append(User("Next."))
    assert talk.ask(other).reason == "same_model"


def test_nothing_is_asked_where_handovers_are_off_or_only_observed() -> None:
    for options, reason in (({"handover": "off"}, "off"), ({"replay": "observe"}, "switch")):
        with Desk(**options) as desk:
            talk = Talk(desk)
            talk.turn(A)
            sent = talk.turn(B)
            assert (sent.reason, desk.summaries) == (reason, [])
            assert TAG not in sent.body.decode()


def test_a_history_below_the_minimum_goes_as_it_is() -> None:
    for long, reason in ((False, "below_min_tokens"), (True, "switch")):
        with Desk(handover_min_tokens=500) as desk:
            desk.answering(CHAT, SUMMARY)
            talk = Talk(desk)
            talk.turn(A, "Look. " * (400 if long else 1))
            sent = talk.turn(B, "A very long question, which is not replaced. " * 100)
            assert sent.reason == reason
