"""Google's documented stand-in: for which calls, in which place, and never where something stands."""

import json
from typing import Any

import pytest
from lab import CREDENTIAL, Asked, Lab, written
from refused import NATIVE, OLD_NATIVE, OTHER, SIGNED, SKIP, entry, read, signed, talk
from scenarios import chat_words as chat
from scenarios import gemini_words as gemini

from thoughtkeep.rescue.skip import demands_signature, open_steps, put_skip
from thoughtkeep.turns import Edit, Json, Op

CALL, RESULT = gemini.call("tide"), gemini.results(gemini.result("tide"))
SNAKE_CALL: Json = {"function_call": {"name": "tide", "args": {}}, "thought_signature": ""}


def steps_of(url: str, body: Json) -> list[int]:
    return open_steps(read(url, body)[0])


def skips(url: str, body: Json, **options: bool) -> list[Edit]:
    """The stand-ins for all open steps of a request."""
    ask, profile = read(url, body)
    return [edit for number in open_steps(ask) for edit in put_skip(ask, ask.said[number], profile, **options)]


# -- which steps ------------------------------------------------------------------------------------------------------

REMINDER = "<system-reminder>Mind the time.</system-reminder>"
PLACES: list[tuple[str, list[Json], list[int]]] = [
    ("a call behind the newest words", [chat.assistant(None, chat.call("c1")), chat.tool("c1")], [0]),
    (
        "each step behind them",
        [
            chat.assistant(None, chat.call("c1")),
            chat.tool("c1"),
            chat.assistant("So", chat.call("c2")),
            chat.tool("c2"),
        ],
        [0, 1],
    ),
    ("not before them", [chat.assistant(None, chat.call("c1")), chat.tool("c1"), chat.user("And now?")], []),
    ("words of the assistant are no step", [chat.assistant("Hello.")], []),
    (
        "a reminder is nobody's words",
        [chat.assistant(None, chat.call("c1")), chat.tool("c1"), chat.user(REMINDER)],
        [0],
    ),
    (
        "nor is a message of the system",
        [chat.assistant(None, chat.call("c1")), chat.tool("c1"), {"role": "system", "content": "Be brief."}],
        [0],
    ),
    (
        "only the newest of the user's words count",
        [
            chat.assistant(None, chat.call("c1")),
            chat.tool("c1"),
            chat.user("And now?"),
            chat.assistant(None, chat.call("c2")),
            chat.tool("c2"),
        ],
        [1],
    ),
]


@pytest.mark.parametrize(("_rule", "messages", "steps"), PLACES)
def test_the_current_turn_holds_the_calls_behind_the_users_newest_words(
    _rule: str, messages: list[Json], steps: list[int]
) -> None:
    assert steps_of(chat.GOOGLE, talk("gemini-3-pro", *messages)) == steps


def test_results_and_words_in_one_message_are_the_users_words() -> None:
    spoken = gemini.results(gemini.result("tide"), {"text": "And now?"})
    assert steps_of(NATIVE, gemini.ASKING([gemini.ASKED, gemini.model(CALL), spoken])) == []
    assert steps_of(NATIVE, gemini.ASKING([gemini.ASKED, gemini.model(CALL), RESULT])) == [0]


def test_a_conversation_that_the_user_has_not_begun_is_all_of_one_turn() -> None:
    body = {"model": "gemini-3-pro", "messages": [chat.assistant(None, chat.call("c1")), chat.tool("c1")]}
    assert steps_of(chat.GOOGLE, body) == [0]


# -- which models -----------------------------------------------------------------------------------------------------

DEMANDING = ["gemini-3-pro-preview", "google/gemini-3.1-flash", "models/Gemini-4-Pro", "gemini-10-pro", "x-gemini-9"]
NOT_DEMANDING = ["gemini-2.5-pro", "gemini-2.0-flash-001", "gemini-1.5-pro", "gemini-flash-latest", "gpt-5", "gemma-3"]


@pytest.mark.parametrize(("models", "demand"), [(DEMANDING, True), (NOT_DEMANDING, False)])
def test_gemini_demands_signatures_from_its_third_generation_on(models: list[str], demand: bool) -> None:
    assert [demands_signature(model) for model in models] == [demand] * len(models)


# -- where ------------------------------------------------------------------------------------------------------------

STAND_IN = {"extra_content": {"google": {"thought_signature": SKIP}}}
AT_CALL = ("messages", 1, "tool_calls", 0)


def two_calls(model: str, *, first: Json = None, **message: Json) -> Json:
    calls = (first or chat.call("c1"), chat.call("c2"))
    return talk(model, chat.assistant(None, *calls, **message), chat.tool("c1"), chat.tool("c2"))


SURFACES: list[tuple[str, str, Json, Edit]] = [
    (
        "Gemini API",
        NATIVE,
        gemini.ASKING([gemini.ASKED, gemini.model({"text": "So."}, CALL, CALL), RESULT]),
        Edit(Op.PUT, ("contents", 1, "parts", 1), key="thoughtSignature", value=SKIP),
    ),
    (
        "Gemini API in snake case",
        NATIVE,
        {"contents": [gemini.ASKED, gemini.model(SNAKE_CALL), RESULT], "generation_config": {}},
        Edit(Op.PUT, ("contents", 1, "parts", 0), key="thought_signature", value=SKIP),
    ),
    (
        "Code Assist",
        gemini.CODE_ASSIST,
        gemini.wrapped("gemini-3-pro")([gemini.ASKED, gemini.model(CALL), RESULT]),
        Edit(Op.PUT, ("request", "contents", 1, "parts", 0), key="thoughtSignature", value=SKIP),
    ),
    (
        "Google compat",
        chat.GOOGLE,
        two_calls("gemini-3-pro"),
        Edit(Op.PUT, AT_CALL, key="extra_content", value=STAND_IN["extra_content"]),
    ),
    (
        "Vertex compat",
        chat.VERTEX,
        two_calls("google/gemini-3-pro"),
        Edit(Op.PUT, AT_CALL, key="extra_content", value=STAND_IN["extra_content"]),
    ),
    (
        "OpenRouter",
        chat.OPENROUTER,
        two_calls("google/gemini-3-pro"),
        Edit(Op.PUT, ("messages", 1), key="reasoning_details", value=[entry("c1")]),
    ),
]


def plain(edits: list[Edit]) -> list[tuple[Op, Any, str, Json]]:
    assert all(edit.reason for edit in edits)
    return [(edit.op, edit.at, edit.key, edit.value) for edit in edits]


@pytest.mark.parametrize(("_surface", "url", "body", "edit"), SURFACES)
def test_the_stand_in_goes_on_the_first_call_in_the_targets_own_place(
    _surface: str, url: str, body: Json, edit: Edit
) -> None:
    assert plain(skips(url, body)) == [(edit.op, edit.at, edit.key, edit.value)]


EMPTY: list[tuple[str, str, Json]] = [
    ("an empty object", chat.GOOGLE, two_calls("gemini-3-pro", first=chat.call("c1", extra_content={}))),
    (
        "an empty signature",
        chat.GOOGLE,
        two_calls("gemini-3-pro", first=chat.call("c1", extra_content={"google": {"thought_signature": ""}})),
    ),
    ("no object", chat.GOOGLE, two_calls("gemini-3-pro", first=chat.call("c1", extra_content="x"))),
    ("no entries", chat.OPENROUTER, two_calls("gemini-3-pro", reasoning_details=[])),
    ("no list", chat.OPENROUTER, two_calls("gemini-3-pro", reasoning_details="x")),
    (
        "words alone",
        chat.OPENROUTER,
        two_calls("gemini-3-pro", reasoning_details=[{"type": "reasoning.text", "text": "Hm."}, "x"]),
    ),
]


@pytest.mark.parametrize(("_rule", "url", "body"), EMPTY)
def test_what_is_no_signature_is_no_reason_to_send_none(_rule: str, url: str, body: Json) -> None:
    assert len(skips(url, body)) == 1


def test_what_stands_beside_a_signature_stays() -> None:
    body = two_calls("gemini-3-pro", first=chat.call("c1", extra_content={"google": {"thought_signature": ""}, "x": 1}))
    (edit,) = skips(chat.GOOGLE, body)
    assert edit.value == {"google": {"thought_signature": SKIP}, "x": 1}


STANDING: list[tuple[str, str, Json]] = [
    ("Gemini API", NATIVE, gemini.ASKING([gemini.ASKED, gemini.model(gemini.call("tide", **gemini.SIGNED)), RESULT])),
    ("Gemini API", NATIVE, gemini.ASKING([gemini.ASKED, gemini.model(gemini.call("tide", **gemini.SNAKE)), RESULT])),
    ("Google compat", chat.GOOGLE, two_calls("gemini-3-pro", first=signed("c1", SIGNED))),
    ("Vertex compat", chat.VERTEX, two_calls("gemini-3-pro", first=signed("c1", SIGNED, "vertex"))),
    ("OpenRouter", chat.OPENROUTER, two_calls("gemini-3-pro", reasoning_details=[entry("c1", SIGNED)])),
    (
        "OpenRouter, another vendor's",
        chat.OPENROUTER,
        two_calls("gemini-3-pro", reasoning_details=[{"type": "reasoning.text", "text": "Hm.", "signature": SIGNED}]),
    ),
]


@pytest.mark.parametrize(("_surface", "url", "body"), STANDING)
def test_where_a_signature_stands_none_is_put_unless_it_was_refused(_surface: str, url: str, body: Json) -> None:
    assert skips(url, body) == []
    assert skips(url, body, demanded=True) == []
    assert [SKIP in str(edit.value) for edit in skips(url, body, replace=True)] == [True]


ELSEWHERE = [chat.DATABRICKS, chat.LITELLM, chat.VERCEL, chat.COPILOT, chat.UNKNOWN, chat.OPENAI, chat.DEEPSEEK]


@pytest.mark.parametrize("url", ELSEWHERE)
def test_where_nobody_documents_a_stand_in_none_is_put(url: str) -> None:
    body = two_calls("gemini-3-pro")
    assert skips(url, body) + skips(url, body, replace=True) + skips(url, body, demanded=True) == []


@pytest.mark.parametrize(
    ("url", "body"),
    [
        (OLD_NATIVE, gemini.ASKING([gemini.ASKED, gemini.model(CALL), RESULT])),
        (chat.GOOGLE, two_calls("gemini-2.5-flash")),
        (chat.OPENROUTER, two_calls("google/gemini-2.5-pro")),
        (chat.OPENROUTER, two_calls("anthropic/claude-sonnet-4.6")),
    ],
)
def test_a_model_that_demands_none_gets_none_unless_it_did_demand_one(url: str, body: Json) -> None:
    assert skips(url, body) + skips(url, body, replace=True) == []
    assert len(skips(url, body, demanded=True)) == 1


def test_a_stand_in_that_vertex_overlooked_goes_under_both_names() -> None:
    body = two_calls("gemini-3-pro", first=signed("c1", SKIP))
    both = {"google": {"thought_signature": SKIP}, "vertex": {"thought_signature": SKIP}}
    assert [edit.value for edit in skips(chat.VERTEX, body, demanded=True)] == [both]
    assert [edit.value for edit in skips(chat.VERTEX, two_calls("gemini-3-pro"), demanded=True)] == [both]
    again = two_calls("gemini-3-pro", first=chat.call("c1", extra_content=both))
    assert skips(chat.VERTEX, again, demanded=True) == []
    assert skips(chat.VERTEX, body) + skips(chat.GOOGLE, body, demanded=True) == []


# -- in a plan --------------------------------------------------------------------------------------------------------

CLAUDE = "anthropic/claude-sonnet-4.6"
GEMINI = "google/gemini-3-pro"
CLAUDES: Json = {"type": "reasoning.text", "text": "Hm.", "signature": OTHER, "format": "anthropic-claude-v1"}


def asked(lab: Lab, model: str, *messages: Json, skip: bool = True, url: str = chat.OPENROUTER) -> Asked:
    return lab.ask(url, CREDENTIAL, written(talk(model, *messages)), skip=skip)


def sent(found: Asked) -> Json:
    return read(chat.OPENROUTER, json.loads(found.sent))[0].said[0].messages[0].state


def taught(model: str, **message: Json) -> Lab:
    """A lab that has seen this model make the first step."""
    lab = Lab()
    lab.answer(asked(lab, model, skip=False), chat.whole(chat.assistant(None, chat.call("c1"), **message)))
    return lab


STEP = (chat.assistant(None, chat.call("c1")), chat.tool("c1"))


def test_a_plan_has_stand_ins_only_where_they_are_allowed() -> None:
    assert asked(Lab(), GEMINI, *STEP, skip=False).plan.edits == ()
    assert sent(asked(Lab(), GEMINI, *STEP)) == {"reasoning_details": [entry("c1")]}


def test_a_plan_has_none_for_a_step_that_is_known_with_or_without_state() -> None:
    assert asked(taught(GEMINI), GEMINI, *STEP).plan.edits == ()
    lab = taught(GEMINI, reasoning_details=[entry("c1", SIGNED)])
    assert sent(asked(lab, GEMINI, *STEP)) == {"reasoning_details": [entry("c1", SIGNED)]}


def test_a_plan_has_one_for_a_step_of_another_model_even_one_without_state() -> None:
    assert sent(asked(taught("gpt-4o"), GEMINI, *STEP)) == {"reasoning_details": [entry("c1")]}
    lab = taught(CLAUDE, reasoning_details=[CLAUDES])
    assert sent(asked(lab, GEMINI, *STEP)) == {"reasoning_details": [entry("c1")]}


def test_a_stand_in_takes_the_place_of_foreign_state_that_is_taken_out() -> None:
    lab = taught(CLAUDE, reasoning_details=[CLAUDES])
    echoed = (chat.assistant(None, chat.call("c1"), reasoning_details=[CLAUDES]), chat.tool("c1"))
    assert sent(asked(lab, GEMINI, *echoed)) == {"reasoning_details": [entry("c1")]}
    assert "reasoning_details" not in sent(asked(lab, GEMINI, *echoed, skip=False))


def test_no_stand_in_is_put_before_the_first_turn_that_goes_out_nor_behind_an_answer_of_the_past() -> None:
    past = (*STEP, chat.assistant("At six."), chat.user("And now?"))
    assert asked(Lab(), GEMINI, *past).plan.edits == ()
