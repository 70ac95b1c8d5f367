"""What tests of agents say of a run: that it ended well, what came back, and how a conversation changed hands."""

from __future__ import annotations

import json
from itertools import pairwise

from agents.stage import SUMMARY, Actor, Run, Stage
from e2e.switching import TAG, told
from providers import Exchange


def well(run: Run, words: str) -> None:
    """The agent ended by itself, without an error, and said these words."""
    assert run.ended, run.err[-2000:]
    assert run.status == 0, run.err[-2000:] + run.out[-2000:]
    assert words in run.out


def whole(actor: Actor) -> None:
    """Nothing was refused, and every value that is demanded came back each time that it was due, and no stand-in."""
    assert not actor.refusals
    assert actor.skips == 0
    demanded = [record for record in actor.issued if record.demanded]
    assert len(demanded) > 1
    assert all(record.returned == record.due > 0 for record in demanded)


def refused(actor: Actor, run: Run) -> None:
    """The first request that had lost state was refused for that, and the agent could not go on."""
    assert run.ended
    assert run.status != 0
    assert {refusal.kind for refusal in actor.refusals} == {"missing"}
    assert actor.exchanges[0].status == 200
    assert actor.exchanges[1].status == 400
    assert not [record for record in actor.issued if record.returned]


def by(actor: Actor, model: str) -> list[Exchange]:
    """The exchanges of the play that a model has, each of which went well."""
    found = [
        each for each in actor.exchanges if json.loads(each.body).get("model") == model or f"/{model}:" in each.target
    ]
    assert found
    assert all(each.status == 200 for each in found)
    return found


def handed_over(stage: Stage, actor: Actor, model: str, key: str, first: str) -> list[Exchange]:
    """One summary was asked for, of the model that takes over, and every request of it has that in place of `first`.

    Returns those requests.
    """
    assert len(actor.summaries) == 1
    assert model in actor.summaries[0].target + actor.summaries[0].body.decode()
    assert len([each for each in stage.sent if each.own]) == 1
    asked = by(actor, model)
    summary = SUMMARY.splitlines()[-1]
    for each in asked:
        text = each.body.decode()
        assert text.count(TAG) == 1
        assert text.count(summary) == 1
        assert first not in text
        assert any(TAG in entry for entry in told(each, key))
    return asked


def chained(asked: list[Exchange], key: str) -> None:
    """Each request begins with all of the one before it, to the byte."""
    for earlier, later in pairwise(asked):
        before = told(earlier, key)
        assert told(later, key)[: len(before)] == before


def not_handed_over(stage: Stage, actor: Actor) -> None:
    """No summary was asked for, and none was told."""
    assert not actor.summaries
    assert not [each for each in stage.sent if each.own]
    assert not [each for each in actor.arrived if TAG.encode() in each.body]
