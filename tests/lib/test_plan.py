"""What is decided about a request: its edits, and why state that was due stays away."""

from typing import Any

import pytest
from lab import CREDENTIAL, Asked, Lab, plain, written
from scenarios.chat_words import DEEPSEEK, GOOGLE, UNKNOWN, VERTEX, assistant, call, tool, user, whole

from thoughtkeep.turns import Json, Op

MESSAGES = "https://api.anthropic.com/v1/messages"
RESPONSES = "https://api.openai.com/v1/responses"
ASKED = user("begin")


def ask(lab: Lab, url: str, *messages: Json, model: str = "gemini-3-pro", **more: Json) -> Asked:
    return lab.ask(url, CREDENTIAL, written({"model": model, "messages": list(messages), **more}))


def signed(lab: Lab, url: str, *before: Json, model: str = "gemini-3-pro", call_id: str = "c1") -> Json:
    """A call that the provider signs; returns what a lossy client keeps of it."""
    asked = ask(lab, url, *before, model=model)
    lab.answer(
        asked, whole(assistant(None, call(call_id, extra_content={"google": {"thought_signature": "QUFBQQ=="}})))
    )
    return assistant(None, call(call_id))


def test_a_plan_names_each_edit_with_its_place_and_its_reason() -> None:
    lab = Lab()
    lossy = signed(lab, GOOGLE, ASKED)
    plan = ask(lab, GOOGLE, ASKED, lossy, tool("c1")).plan
    (edit,) = plan.edits
    assert (edit.op, edit.at, edit.key) == (Op.PUT, ("messages", 1, "tool_calls", 0), "extra_content")
    assert edit.reason
    assert (plan.missed, plan.known) == ((), ("exchange1-0",))


def test_a_turn_that_lost_nothing_is_known_and_left() -> None:
    lab = Lab()
    lab.answer(ask(lab, UNKNOWN, ASKED), whole(assistant("Hello.")))
    plan = ask(lab, UNKNOWN, ASKED, assistant("Hello."), user("more")).plan
    assert (plan.edits, plan.missed, plan.known) == ((), (), ("exchange1-0",))


def test_a_turn_whose_state_the_client_has_is_not_missed_though_it_may_not_go() -> None:
    lab = Lab()
    signed(lab, VERTEX, ASKED)
    full = assistant(None, call("c1", extra_content={"google": {"thought_signature": "QUFBQQ=="}}))
    assert ask(lab, GOOGLE, ASKED, full, tool("c1")).missed == ()


MISSED: list[tuple[str, str, str, dict[str, Any], tuple[str, ...]]] = [
    ("another provider", VERTEX, "gemini-3-pro", {}, ("other_provider",)),
    ("another model", GOOGLE, "gemma-9", {}, ("other_model",)),
    ("the same", GOOGLE, "gemini-3-flash", {}, ()),
]


@pytest.mark.parametrize(("_name", "url", "model", "more", "missed"), MISSED)
def test_what_stays_away_is_named(
    _name: str, url: str, model: str, more: dict[str, Any], missed: tuple[str, ...]
) -> None:
    lab = Lab()
    lossy = signed(lab, GOOGLE, ASKED)
    asked = ask(lab, url, ASKED, lossy, tool("c1"), model=model, **more)
    assert asked.missed == missed
    assert bool(asked.plan.edits) != bool(missed)


def test_an_unknown_turn_is_named_only_where_its_loss_is_refused() -> None:
    lab = Lab()
    lossy = assistant(None, call("c1"))
    assert ask(lab, GOOGLE, ASKED, lossy, tool("c1")).missed == ("unknown_turn",)
    assert ask(lab, GOOGLE, ASKED, lossy, tool("c1"), model="gemma-9").missed == ()
    assert ask(lab, UNKNOWN, ASKED, lossy, tool("c1")).missed == ()
    assert ask(lab, GOOGLE, ASKED, assistant("Hello."), user("more")).missed == ()
    brought = assistant(None, call("c1", extra_content={"google": {"thought_signature": "QkJCQg=="}}))
    assert ask(lab, GOOGLE, ASKED, brought, tool("c1")).missed == ()
    brought = assistant(None, call("c1"), reasoning_content="")
    assert ask(lab, DEEPSEEK, ASKED, brought, tool("c1"), model="deepseek-chat").missed == ()


def test_state_of_one_format_has_no_place_in_another() -> None:
    lab = Lab()
    lossy = signed(lab, UNKNOWN, ASKED)
    assert lossy["tool_calls"][0]["function"]["arguments"] == '{"city":"Oslo","days":2}'
    block = {"type": "tool_use", "id": "c1", "name": "forecast", "input": {"city": "Oslo", "days": 2}}
    body = {
        "model": "gemini-3-pro",
        "max_tokens": 10,
        "messages": [ASKED, {"role": "assistant", "content": [block]}, user("more")],
    }
    asked = lab.ask("https://gateway.example/v1/messages", CREDENTIAL, written(body))
    assert (asked.plan.edits, asked.missed) == ((), ("other_format",))
    assert asked.plan.known


def test_where_the_server_holds_the_conversation_nothing_is_put_back() -> None:
    lab = Lab()
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAAB-opaque-value-of-length"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
    ]
    body = {"model": "gpt-5", "input": [{"role": "user", "content": "begin"}]}
    asked = lab.ask(RESPONSES, CREDENTIAL, written(body))
    lab.answer(asked, plain({"object": "response", "status": "completed", "output": items}))
    output = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    more = {**body, "input": [*body["input"], items[1], output]}
    assert lab.ask(RESPONSES, CREDENTIAL, written(more)).plan.edits
    held = lab.ask(RESPONSES, CREDENTIAL, written({**more, "previous_response_id": "resp_1"})).plan
    assert (held.edits, held.missed) == ((), ())
    assert held.known


# -- models that bind their thinking to what stands before it --------------------------------------------------------

BINDING = "claude-fable-5-1"


def thought(number: int) -> Json:
    return {"type": "thinking", "thinking": f"Thought {number}.", "signature": f"c2lnbmF0dXJlLW51bWJlci0{number}"}


def use(number: int) -> Json:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "f", "input": {"n": number}}


def outcome(number: int) -> Json:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "x"}]}


def claude(lab: Lab, *messages: Json, system: str = "Be brief.", model: str = BINDING) -> Asked:
    body = {
        "model": model,
        "max_tokens": 100,
        "system": system,
        "thinking": {"type": "adaptive"},
        "messages": list(messages),
    }
    return lab.ask(MESSAGES, CREDENTIAL, written(body))


def answered(lab: Lab, messages: list[Json], number: int, model: str = BINDING) -> list[Json]:
    """One step: the model thinks and calls; returns what a client that loses all thinking has then."""
    asked = claude(lab, *messages, model=model)
    reply = {"type": "message", "role": "assistant", "model": model, "content": [thought(number), use(number)]}
    lab.answer(asked, plain({**reply, "stop_reason": "tool_use"}))
    return [*messages, {"role": "assistant", "content": [use(number)]}, outcome(number)]


def two_steps(lab: Lab, model: str = BINDING) -> list[Json]:
    return answered(lab, answered(lab, [ASKED], 1, model), 2, model)


def test_behind_the_request_it_was_made_for_bound_thinking_goes_back() -> None:
    lab = Lab()
    asked = claude(lab, *two_steps(lab))
    assert [edit.value for edit in asked.plan.edits] == [thought(1), thought(2)]
    assert (asked.missed, asked.plan.since) == ((), 0)


def test_behind_another_system_prompt_none_goes_back() -> None:
    lab = Lab()
    asked = claude(lab, *two_steps(lab), system="Be long.")
    assert (asked.plan.edits, set(asked.missed)) == ((), {"prefix_changed"})


def test_where_the_newest_does_not_fit_none_goes_back() -> None:
    lab = Lab()
    messages = two_steps(lab)
    asked = claude(lab, *messages[:2], outcome(7), *messages[3:])
    assert (asked.plan.edits, asked.missed) == ((), ("prefix_changed", "prefix_changed"))


def test_thinking_that_was_missing_when_a_later_one_was_made_stays_away() -> None:
    lab = Lab()
    first = [ASKED, {"role": "assistant", "content": [use(1)]}, outcome(1)]
    messages = answered(lab, first, 2)
    answered(lab, [ASKED], 1)
    asked = claude(lab, *messages)
    assert [edit.value for edit in asked.plan.edits] == [thought(2)]
    assert (asked.missed, asked.plan.since) == (("prefix_changed",), 1)


def test_turns_without_thinking_bind_nothing() -> None:
    lab = Lab()
    asked = claude(lab, ASKED)
    lab.answer(asked, plain({"type": "message", "role": "assistant", "model": BINDING, "content": [use(1)]}))
    messages = answered(lab, [ASKED, {"role": "assistant", "content": [use(1)]}, outcome(1)], 2)
    asked = claude(lab, *messages)
    assert [edit.value for edit in asked.plan.edits] == [thought(2)]
    assert asked.missed == ()


def test_thinking_that_binds_to_nothing_goes_back_behind_any_prompt() -> None:
    lab = Lab()
    messages = two_steps(lab, "claude-sonnet-4-5")
    asked = claude(lab, *messages, system="Be long.", model="claude-sonnet-4-5")
    assert [edit.value for edit in asked.plan.edits] == [thought(1), thought(2)]
