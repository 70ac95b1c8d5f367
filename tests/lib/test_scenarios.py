"""What goes upstream, and what is left alone: every rule holds for every scenario of every format."""

import json
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab import (
    OTHER_CREDENTIAL,
    Lab,
    Scenario,
    fresh,
    oddly,
    outcome,
    read,
    untouched,
    without_odd,
    written,
)
from scenarios import SCENARIOS

pytestmark = pytest.mark.parametrize("scenario", [pytest.param(each, id=each.rule) for each in SCENARIOS])


def played(scenario: Scenario) -> Lab:
    lab = Lab()
    lab.play(scenario)
    return lab


def elsewhere(url: str) -> str:
    """The same path at a host that nobody knows."""
    return urlsplit(url)._replace(netloc="elsewhere.test").geturl()


def test_the_request_goes_upstream_as_the_scenario_says(scenario: Scenario) -> None:
    asked = played(scenario).ask(scenario.target, scenario.headers, written(scenario.request), skip=scenario.skip)
    assert json.loads(asked.sent) == scenario.sent
    assert asked.missed == scenario.missed
    if scenario.expected is None:
        assert asked.sent == written(scenario.request)


def test_a_request_that_was_completed_is_complete(scenario: Scenario) -> None:
    lab = played(scenario)
    first = lab.ask(scenario.target, scenario.headers, written(scenario.request), skip=scenario.skip)
    again = lab.ask(scenario.target, scenario.headers, first.sent, skip=scenario.skip)
    assert again.plan.edits == ()
    assert again.sent == first.sent
    assert again.plan.known == first.plan.known


def test_a_client_that_lost_nothing_is_left_alone_to_the_byte(scenario: Scenario) -> None:
    body = written(scenario.sent)
    assert played(scenario).ask(scenario.target, scenario.headers, body, skip=scenario.skip).sent == body


def test_another_credential_gets_nothing(scenario: Scenario) -> None:
    body = written(scenario.request)
    asked = played(scenario).ask(scenario.target, OTHER_CREDENTIAL, body)
    assert (asked.sent, asked.plan.known) == (body, ())


def test_another_provider_gets_nothing(scenario: Scenario) -> None:
    lab, body = played(scenario), written(scenario.request)
    here = lab.ask(scenario.target, scenario.headers, body)
    there = lab.ask(elsewhere(scenario.target), scenario.headers, body)
    assert there.sent == body
    assert len([reason for reason in there.missed if reason == "other_provider"]) >= bool(here.plan.edits)


def test_what_no_edit_names_keeps_its_bytes(scenario: Scenario) -> None:
    lab, body = Lab(), oddly(scenario.request)
    lab.play(scenario, lambda request: oddly(request).encode())  # some models' state is bound to what was asked
    asked = lab.ask(scenario.target, scenario.headers, body.encode(), skip=scenario.skip)
    sent = asked.sent.decode()
    assert without_odd(json.loads(sent)) == scenario.sent
    for message in untouched(asked, scenario.request):
        assert message in sent
    if scenario.expected is None:
        assert sent == body


def test_an_answer_is_the_same_in_one_piece_and_byte_by_byte_and_compressed(scenario: Scenario) -> None:
    lab = Lab()
    for exchange in scenario.exchanges:
        asked = lab.ask(exchange.url or scenario.url, scenario.headers, written(exchange.request))
        reply = exchange.reply
        one = outcome(read(asked, reply))
        assert outcome(read(asked, reply, range(len(reply.body)))) == one
        packed = reply.gzipped()
        assert outcome(read(asked, packed)) == one
        assert outcome(read(asked, packed, range(len(packed.body)))) == one


def test_an_answer_is_known_before_its_last_byte_has_left(scenario: Scenario) -> None:
    lab = Lab()
    for exchange in scenario.exchanges:
        asked = lab.ask(exchange.url or scenario.url, scenario.headers, written(exchange.request))
        answer = fresh(asked, exchange.reply)
        due = [answer.feed(bytes((byte,))) for byte in exchange.reply.body]
        turns = answer.turns()
        answer.close()
        assert answer.ended == exchange.reply.ends
        assert not answer.ended or (any(due) and answer.turns() == turns)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 5000), max_size=12))
def test_an_answer_is_the_same_wherever_it_is_cut(scenario: Scenario, cuts: list[int]) -> None:
    lab = Lab()
    for exchange in scenario.exchanges:
        asked = lab.ask(exchange.url or scenario.url, scenario.headers, written(exchange.request))
        one = outcome(read(asked, exchange.reply))
        assert outcome(read(asked, exchange.reply, cuts)) == one
