"""When a request is a switch, and in which order the reasons count that it is none."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from thoughtkeep.endpoint import recognise
from thoughtkeep.handover.detect import COOL_DOWN, WARM, Decision, detect, replaced_tokens
from thoughtkeep.handover.record import Handover
from thoughtkeep.identity import Trail, trail
from thoughtkeep.replay import Match
from thoughtkeep.turns import Ask, Facts, Kept, Origin, Owner, Turn

type Json = Any

KEY = b"key of the store" * 2
NOW = 1_000_000.0


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def said(text: str) -> Json:
    return {"role": "assistant", "content": text}


TALK: list[Json] = [user("One, " * 100), said("first"), user("Two."), said("second"), user("Three.")]
TOOLS: list[Json] = [{"type": "function", "function": {"name": "look"}}]


@dataclass(frozen=True)
class Scene:
    """A request to model B, and what is known of it.

    `made` are the assistant turns that this tenant's store knows, by number: (model, seconds ago); `others` those that
    only another tenant's does; `stored` the handovers to B by place: (text, seconds ago). `tools` is whether the
    captured requests had any.
    """

    reason: str
    made: Mapping[int, tuple[str, float]] = field(default_factory=dict)
    others: Mapping[int, tuple[str, float]] = field(default_factory=dict)
    stored: Mapping[int, tuple[str, float]] = field(default_factory=dict)
    messages: Sequence[Json] = tuple(TALK)
    model: str = "B"
    body: Mapping[str, Json] = field(default_factory=dict)
    tools: bool = False
    min_tokens: int = 0
    switch_from: str = ""
    skip: bool = False
    border: int | None = None
    source: str = ""

    @property
    def make(self) -> bool:
        return self.reason == "switch"


def read(scene: Scene) -> tuple[Ask, Trail]:
    body = {"model": scene.model, "messages": list(scene.messages), **scene.body}
    endpoint = recognise("POST", "/v1/chat/completions", body)
    assert endpoint is not None
    ask = endpoint.format.read(body, endpoint)
    return dataclasses.replace(
        ask, held=bool(scene.body.get("previous")), folded=bool(scene.body.get("folded"))
    ), trail(KEY, ask)


def kept(number: int, model: str, ago: float, tools: bool) -> Kept:
    owner = Owner("host", model)
    return Kept(f"turn{number}", "t", owner, "chat", "r", "l", (), "c", "n", "absent", NOW - ago, Turn(()), tools=tools)


def decided(scene: Scene) -> Decision:
    ask, walked = read(scene)
    found = [Match(kept(n, model, ago, scene.tools), (n,)) for n, (model, ago) in sorted(scene.made.items())]
    origins = tuple(
        Origin(walked.places[n].lineage, ("elsewhere", walked.places[n].after), Owner("host", model), NOW - ago)
        for n, (model, ago) in scene.others.items()
    )
    stored = {n: Handover(text, NOW - ago) for n, (text, ago) in scene.stored.items()}
    return detect(
        ask,
        walked,
        found,
        Facts(origins=origins),
        stored,
        NOW,
        min_tokens=scene.min_tokens,
        switch_from=scene.switch_from,
        skip=scene.skip,
    )


LONG_AGO = 2 * WARM
BY_A = {0: ("A", LONG_AGO), 1: ("A", LONG_AGO)}

SCENES = {
    "what another model made is a switch": Scene("switch", BY_A, source="A"),
    "what nobody captured is none": Scene("no_prior_turn"),
    "what the same model made is none": Scene("same_model", {1: ("B", 1)}),
    "the newest captured turn counts": Scene("same_model", {0: ("A", 1), 1: ("B", 1)}),
    "the newest captured turn counts, also where one behind it is not known": Scene(
        "switch", {0: ("A", LONG_AGO)}, source="A"
    ),
    "dates and prefixes make no other model": Scene(
        "same_model", {1: ("vendor/model-x-20250101", 1)}, model="model-x:free"
    ),
    "another tenant's turn tells who made it": Scene("switch", others={1: ("A", LONG_AGO)}, source="A"),
    "another tenant's turn of the same model is none": Scene("same_model", others={1: ("B", 1)}),
    "the tenant's own knowledge of a turn counts before another's": Scene("same_model", {1: ("B", 1)}, {1: ("A", 1)}),
    "another tenant's newer turn counts before the tenant's older one": Scene(
        "switch", {0: ("B", LONG_AGO)}, {1: ("A", 1)}, source="A"
    ),
    "a router's word counts before what was captured": Scene("switch", BY_A, switch_from="Z", source="Z"),
    "a router's word counts where the last turn was not captured": Scene(
        "switch", {0: ("B", LONG_AGO)}, switch_from="Z", source="Z"
    ),
    "a router may repeat itself where the last turn is the target's own": Scene(
        "same_model", {1: ("B", LONG_AGO)}, switch_from="Z"
    ),
    "a router may repeat itself behind a border": Scene(
        "handover_reused", {1: ("B", 1)}, stored={1: ("so far", 9)}, switch_from="Z", border=1
    ),
    "a router's word that it is the same model is none": Scene("same_model", BY_A, switch_from="vendor/B"),
    "a router's word needs a history": Scene("no_prior_turn", messages=TALK[:1], switch_from="A"),
    "a stored handover for this very place is used": Scene(
        "handover_reused", BY_A, stored={2: ("so far", LONG_AGO)}, border=2
    ),
    "the longest stored handover is used": Scene(
        "handover_reused", {1: ("B", 1)}, stored={0: ("one", 9), 1: ("two", 9)}, border=1
    ),
    "a stored failure is no handover": Scene(
        "handover_reused", {1: ("B", 1)}, stored={0: ("one", 9), 1: ("", LONG_AGO)}, border=0
    ),
    "only turns behind the border make a switch": Scene(
        "handover_reused", {0: ("A", 1)}, stored={1: ("so far", 9)}, border=1
    ),
    "the new model's turns behind the border make none": Scene(
        "handover_reused", {0: ("A", 1), 1: ("B", 1)}, stored={1: ("so far", 9)}, border=1
    ),
    "another model's turn behind the border makes one that builds on it": Scene(
        "switch", {0: ("B", LONG_AGO), 1: ("A", 1)}, stored={1: ("so far", 9)}, border=1, source="A"
    ),
    "a client that asks for none gets none": Scene("skipped", BY_A, skip=True),
    "a client that asks for none keeps the one it has": Scene(
        "skipped", {1: ("A", 1)}, stored={1: ("so far", 9)}, skip=True, border=1
    ),
    "a client that asks for none at a place that has one keeps it": Scene(
        "handover_reused", BY_A, stored={2: ("so far", 9)}, skip=True, border=2
    ),
    "a place where it failed is left alone": Scene("summary_failed", BY_A, stored={2: ("", COOL_DOWN - 1)}),
    "for a while": Scene("switch", BY_A, stored={2: ("", COOL_DOWN + 1)}, source="A"),
    "where it failed the handover before it goes on": Scene(
        "summary_failed", {1: ("A", 1)}, stored={1: ("so far", 9), 2: ("", 1)}, border=1
    ),
    "a server that keeps the state itself": Scene("server_state", BY_A, body={"previous": "id"}),
    "an end on the assistant": Scene("ends_on_assistant", BY_A, messages=TALK[:-1]),
    "an end on an empty word of the assistant": Scene("ends_on_assistant", BY_A, messages=[*TALK, said("")]),
    "an end on the assistant, a note behind it": Scene(
        "ends_on_assistant", BY_A, messages=[*TALK[:-1], {"role": "system", "content": "Note."}]
    ),
    "no tools where the captured conversation had some": Scene("side_call", BY_A, tools=True),
    "a history that the provider folded away": Scene("folded", BY_A, body={"folded": True}),
    "tools as in the captured conversation": Scene("switch", BY_A, tools=True, body={"tools": TOOLS}, source="A"),
    "no tools as in the captured conversation": Scene("switch", BY_A, source="A"),
    "only the tools behind the border count": Scene(
        "switch", {1: ("A", 1)}, stored={1: ("so far", 9)}, border=1, source="A"
    ),
    "back to a model whose cache is warm": Scene("returned_warm", {0: ("B", WARM - 1), 1: ("A", 1)}),
    "back to one whose cache is cold": Scene("switch", {0: ("B", WARM + 1), 1: ("A", 1)}, source="A"),
    "back to one that another tenant warmed": Scene("returned_warm", {1: ("A", 1)}, {0: ("B", WARM - 1)}),
    "back to a warm one behind a border": Scene(
        "returned_warm",
        {1: ("B", 2), 2: ("A", 1)},
        stored={1: ("so far", 9)},
        messages=[*TALK, said("third"), user("Four.")],
        border=1,
    ),
    "a short history": Scene("below_min_tokens", BY_A, min_tokens=2000),
    "a history that is just long enough": Scene("switch", BY_A, min_tokens=100, source="A"),
    "the latest words are no history": Scene(
        "below_min_tokens", BY_A, messages=[*TALK[:-1], user("Three. " * 4000)], min_tokens=2000
    ),
    "what an earlier summary covers is no history": Scene(
        "below_min_tokens", {1: ("A", 1)}, stored={1: ("so far", 9)}, border=1, min_tokens=100
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_whether_it_is_a_switch(name: str) -> None:
    scene = SCENES[name]
    decision = decided(scene)
    assert (decision.reason, decision.border, decision.make) == (scene.reason, scene.border, scene.make)
    assert decision.source == scene.source
    assert (decision.handover is None) == (scene.border is None)
    if scene.border is not None:
        assert decision.handover == Handover(scene.stored[scene.border][0], NOW - scene.stored[scene.border][1])


#: Each reason with what makes it so, the strongest first: whatever comes behind it in the list cannot change it.
ORDER: list[tuple[str, dict[str, Any]]] = [
    ("skipped", {"skip": True}),
    ("summary_failed", {"stored": {2: ("", 1.0)}}),
    ("server_state", {"body": {"previous": "id"}}),
    ("ends_on_assistant", {"messages": TALK[:-1]}),
    ("side_call", {"tools": True}),
    ("folded", {"body": {"folded": True}}),
    ("returned_warm", {"made": {0: ("B", 1.0), 1: ("A", 1.0)}}),
    ("below_min_tokens", {"min_tokens": 2000}),
]


@pytest.mark.parametrize("place", range(len(ORDER)))
def test_the_reasons_count_in_their_order(place: int) -> None:
    together: dict[str, Any] = {"made": BY_A}
    for _, keys in reversed(ORDER[place:]):
        together |= keys
    assert decided(Scene("", **together)).reason == ORDER[place][0]


def test_no_prior_turn_and_the_same_model_count_before_all_of_them() -> None:
    everything: dict[str, Any] = {}
    for _, keys in ORDER[1:]:
        everything |= keys
    assert decided(Scene("", **everything | {"made": {}})).reason == "no_prior_turn"
    assert decided(Scene("", **everything | {"made": {1: ("B", 1.0)}})).reason == "same_model"


def test_the_tokens_of_a_history_are_a_quarter_of_its_characters_without_system_and_latest_words() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
    messages = [
        {"role": "system", "content": "s" * 400},
        user("u" * 40),
        {"role": "assistant", "content": "a" * 20, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r" * 37},
        said("b" * 40),
        user("l" * 400),
    ]
    ask, _ = read(Scene("", messages=messages))
    # The call and its result count with the name; the call's arguments are 7 characters long.
    assert replaced_tokens(ask, 2) == (40 + 20 + 4 + 7 + 4 + 37 + 40) // 4
    assert replaced_tokens(ask, 2, 1) == (40 + 40) // 4  # the user turn that was kept at the border, and what came then
    assert replaced_tokens(ask, 1) == (20 + 4 + 7 + 4 + 37) // 4
    assert replaced_tokens(read(Scene("", messages=messages[:1]))[0], 0) == 0
