"""The strict providers themselves, without thoughtkeep: they let a faithful client through and refuse every other."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from agentloop import run
from dialogues import DIALOGUES
from echoes import ECHOES, Tamper, calls_of, play
from providers import PROVIDERS, SKIP_VALUES, TASKS, Provider, serve

EVERY_WAY = [(name, mode) for name, dialect in PROVIDERS.items() for mode in dialect.modes]
LOUD = [(name, mode) for name, mode in EVERY_WAY if not PROVIDERS[name].silent]
#: Those whose state stands in a field of a message or a call. Blocks and items have modules of their own.
FIELDS = [name for name, dialect in PROVIDERS.items() if not dialect.shape.startswith(("messages", "responses"))]
SIGNED = [name for name in FIELDS if not name.startswith(("openrouter", "deepseek"))]
ARRAYS = ["openrouter-gemini", "openrouter-claude"]

#: What each provider says when its state is missing, and when it is wrong.
TEXTS = {
    "gemini": ("is missing a thought_signature in functionCall parts", "Corrupted thought signature."),
    "code-assist": ("content block is missing a `thought_signature`", "Thought signature is not valid"),
    "google-compat": ("is missing a thought_signature in functionCall parts", "Corrupted thought signature."),
    "vertex-compat": ("content block is missing a `thought_signature`", "Thought signature is not valid"),
    "openrouter-gemini": ("require OpenRouter reasoning details to be preserved", "Corrupted thought signature."),
    "openrouter-claude": ("Expected `thinking` or `redacted_thinking`, but found `tool_use`", "in `thinking` block"),
    "databricks": ("is missing a thought_signature in functionCall parts", "Corrupted thought signature."),
    "deepseek": ("must be passed back to the API", "must be passed back to the API"),
    "anthropic": ("Expected `thinking` or `redacted_thinking`, but found", "in `thinking` block"),
    "anthropic-bound": ("cannot be modified", "in `thinking` block"),
    "vertex-anthropic": ("Expected `thinking` or `redacted_thinking`, but found", "in `thinking` block"),
    "openai-responses": ("was provided without its required 'reasoning' item: 'rs_", "could not be verified"),
}


def holder(name: str, message: dict[str, Any], call: int = 0) -> tuple[dict[str, Any], str]:
    """The object and the key that a message's state sits under, made where it is not there."""
    if name in ARRAYS:
        return message, "reasoning_details"
    if name == "deepseek":
        return message, "reasoning_content"
    found = calls_of(message)[call]
    if name in ("google-compat", "vertex-compat"):
        vendor = name.partition("-")[0]
        return found.setdefault("extra_content", {}).setdefault(vendor, {}), "thought_signature"
    return found, "thoughtSignature"


def alter(name: str, messages: list[dict[str, Any]]) -> None:
    holding, key = holder(name, messages[0])
    if name in ARRAYS:
        entry = holding[key][-1]
        key = "data" if "data" in entry else "signature"
        holding = entry
    value = holding[key]
    holding[key] = value[:20] + ("A" if value[20] != "A" else "B") + value[21:]


def invent(name: str, messages: list[dict[str, Any]]) -> None:
    holding, key = holder(name, messages[0])
    made_up = base64.b64encode(b"\x12made up by nobody at all").decode()
    entry = {"type": "reasoning.encrypted", "data": made_up, "format": "unknown", "index": 0}
    holding[key] = [entry] if name in ARRAYS else made_up


def swap(name: str, messages: list[dict[str, Any]]) -> None:
    first, key = holder(name, messages[0])
    second, _ = holder(name, messages[1])
    second[key] = first[key]


def double_on_sibling(name: str, messages: list[dict[str, Any]]) -> None:
    first, key = holder(name, messages[0])
    sibling, _ = holder(name, messages[0], 1)
    sibling[key] = first[key]


def double_entry(name: str, messages: list[dict[str, Any]]) -> None:
    details = messages[0]["reasoning_details"]
    messages[0]["reasoning_details"] = [*details, details[-1]]


def move_inside(name: str, messages: list[dict[str, Any]]) -> None:
    holding, key = holder(name, messages[0])
    call = calls_of(messages[0])[0]
    inner = call["functionCall"] if "functionCall" in call else call["function"]
    inner[key] = holding.pop(key)


@pytest.mark.parametrize(("name", "mode"), EVERY_WAY)
def test_a_client_that_echoes_everything_is_refused_nothing(name: str, mode: str) -> None:
    with serve(name) as provider:
        outcome = play(provider, mode)
        assert (outcome.done, outcome.error) == (True, "")
        assert outcome.texts == (
            "Paris 18 degrees, Rome 24 degrees; in Rome it is 14:30.",
            "It is 7 degrees in Oslo.",
        )
        assert [call.name for call in outcome.calls] == ["get_weather", "get_weather", "get_time", "get_weather"]
        assert outcome.requests == len(provider.exchanges) == 5
        assert not provider.refusals
        assert provider.skips == 0
        demanded = [record for record in provider.issued if record.demanded]
        assert len(demanded) == (4 if name.endswith("responses") else 3)
        assert all(record.returned == record.due > 0 for record in demanded)


@pytest.mark.parametrize(("name", "mode"), LOUD)
def test_a_client_that_drops_the_state_is_refused_on_the_request_after_its_first_call(name: str, mode: str) -> None:
    with serve(name) as provider:
        outcome = play(provider, mode, DIALOGUES)
        assert (outcome.done, outcome.status, outcome.requests) == (False, 400, 2)
        adaptive = mode.startswith(("adaptive", "omitted"))
        assert ("cannot be modified" if adaptive else TEXTS[name][0]) in unescaped(outcome.error)
        assert [exchange.status for exchange in provider.exchanges] == [200, 400]
        assert [refusal.kind for refusal in provider.refusals] == ["missing"]


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("tamper", [alter, invent])
def test_an_altered_or_invented_value_is_refused(name: str, tamper: Tamper) -> None:
    with serve(name) as provider:
        outcome = play(provider, "streamed", tamper=tamper)
        assert (outcome.status, outcome.requests) == (400, 2)
        assert TEXTS[name][1] in unescaped(outcome.error)
        assert provider.refusals[0].kind == "corrupt"


@pytest.mark.parametrize("name", FIELDS)
def test_the_value_of_another_call_is_refused(name: str) -> None:
    with serve(name) as provider:
        outcome = play(provider, "plain", tamper=swap, at=3)
        assert (outcome.status, outcome.requests) == (400, 3)
        assert TEXTS[name][1] in unescaped(outcome.error)


@pytest.mark.parametrize("name", SIGNED)
def test_a_signature_inside_the_function_object_counts_as_missing(name: str) -> None:
    with serve(name) as provider:
        outcome = play(provider, "plain", tamper=move_inside)
        assert outcome.status == 400
        assert TEXTS[name][0] in unescaped(outcome.error)


@pytest.mark.parametrize("name", SIGNED)
def test_a_parallel_sibling_that_was_unsigned_must_stay_so(name: str) -> None:
    with serve(name) as provider:
        outcome = play(provider, "plain", tamper=double_on_sibling)
        assert outcome.status == 400
        assert TEXTS[name][1] in unescaped(outcome.error)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("mode", ["plain", "streamed"])
def test_an_entry_that_comes_back_twice_is_refused(name: str, mode: str) -> None:
    with serve(name) as provider:
        assert play(provider, mode, tamper=double_entry).status == 400
        assert provider.refusals[0].kind == "corrupt"


@pytest.mark.parametrize("change", [lambda d: d[::-1], lambda d: d[:1], lambda d: d[1:]])
def test_claude_refuses_an_array_that_is_reordered_or_not_whole(change: Callable[[list[Any]], list[Any]]) -> None:
    """The second answer of the scenario holds a signed and a redacted entry."""

    def tamper(name: str, messages: list[dict[str, Any]]) -> None:
        messages[1]["reasoning_details"] = change(messages[1]["reasoning_details"])

    with serve("openrouter-claude") as provider:
        outcome = play(provider, "streamed", tamper=tamper, at=3)
        assert outcome.requests == 3
        assert "cannot be modified" in outcome.error


def test_claude_refuses_reasoning_text_that_comes_without_its_details() -> None:
    def tamper(name: str, messages: list[dict[str, Any]]) -> None:
        messages[0]["reasoning"] = "I need both cities, so I ask for both at once."
        del messages[0]["reasoning_details"]

    with serve("openrouter-claude") as provider:
        assert "Invalid `signature` in `thinking` block" in play(provider, "plain", tamper=tamper).error


def test_openrouter_refuses_an_encrypted_entry_under_an_id_that_no_call_has() -> None:
    def tamper(name: str, messages: list[dict[str, Any]]) -> None:
        messages[0]["reasoning_details"][-1]["id"] = "tool_nobody"

    with serve("openrouter-gemini") as provider:
        assert play(provider, "plain", tamper=tamper).status == 400


@pytest.mark.parametrize("name", SIGNED)
def test_the_url_safe_alphabet_of_the_same_bytes_is_accepted(name: str) -> None:
    def tamper(_: str, messages: list[dict[str, Any]]) -> None:
        holding, key = holder(name, messages[0])
        assert "+" in holding[key]
        assert "/" in holding[key]
        holding[key] = holding[key].replace("+", "-").replace("/", "_").rstrip("=")

    with serve(name) as provider:
        assert play(provider, "plain", tamper=tamper).done


@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("value", SKIP_VALUES)
@pytest.mark.parametrize("encoded", [False, True])
def test_a_documented_skip_value_is_accepted_and_counted(name: str, value: str, encoded: bool) -> None:
    """Vertex AI documents only the second of the two values."""

    def tamper(_: str, messages: list[dict[str, Any]]) -> None:
        holding, key = holder(name, messages[0])
        holding[key] = base64.b64encode(value.encode()).decode() if encoded else value

    with serve(name) as provider:
        outcome = play(provider, "plain", tamper=tamper)
        if name in ("code-assist", "vertex-compat") and value == SKIP_VALUES[0]:
            assert outcome.status == 400
        else:
            assert outcome.done
            assert provider.skips == 4  # the changed history goes with four requests
            assert provider.issued[0].returned == 0


def test_openrouters_skip_entry_is_accepted_and_counted() -> None:
    def tamper(_: str, messages: list[dict[str, Any]]) -> None:
        first = messages[0]["tool_calls"][0]["id"]
        entry = {"type": "reasoning.encrypted", "data": SKIP_VALUES[1], "id": first, "format": "google-gemini-v1"}
        messages[0]["reasoning_details"] = [{**entry, "index": 0}]

    with serve("openrouter-gemini") as provider:
        assert play(provider, "plain", tamper=tamper).done
        assert provider.skips == 4


def test_calls_of_an_earlier_turn_need_no_state_on_gemini_but_do_on_deepseek() -> None:
    def tamper(name: str, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            holding, key = holder(name, message)
            del holding[key]

    for name in FIELDS:
        with serve(name) as provider:
            # Request 4 is the first of the second turn: it holds no call of its own turn yet.
            assert play(provider, "plain", tamper=tamper, at=4).done == (name != "deepseek")


def test_deepseek_wants_nothing_back_while_thinking_is_off() -> None:
    dialect = PROVIDERS["deepseek"]
    with serve("deepseek") as provider:
        dialogue = DIALOGUES["chat"](dialect.model, {"thinking": {"type": "disabled"}})
        assert run(dialogue, provider.url("plain"), TASKS, streamed=False).done
        assert not provider.issued


def split_batch(history: list[dict[str, Any]]) -> None:
    """FC1, FC2, FR1, FR2 becomes FC1, FR1, FC2, FR2."""
    if "parts" in history[1]:
        (first, second), answers = history[1]["parts"][-2:], history[2]["parts"]
        pairs = [
            ({"role": "model", "parts": [c]}, {"role": "user", "parts": [r]})
            for c, r in zip((first, second), answers, strict=True)
        ]
        history[1:3] = [message for pair in pairs for message in pair]
    else:
        calls, results = history[2]["tool_calls"], history[3:5]
        pairs = [({**history[2], "tool_calls": [c]}, r) for c, r in zip(calls, results, strict=True)]
        history[2:5] = [message for pair in pairs for message in pair]


@pytest.mark.parametrize("name", FIELDS)
def test_a_parallel_batch_must_not_be_split_into_steps(name: str) -> None:
    with serve(name) as provider:
        assert_refused_after(provider, split_batch)


def drop_last_result(history: list[dict[str, Any]]) -> None:
    history[-1]["parts"].pop() if "parts" in history[-1] else history.pop()


def drop_calls(history: list[dict[str, Any]]) -> None:
    del history[-2 if "parts" in history[-1] else -3]


def rename_result(history: list[dict[str, Any]]) -> None:
    if "parts" in history[-1]:
        history[-1]["parts"][-1]["functionResponse"] |= {"name": "another", "id": "another"}
    else:
        history[-1]["tool_call_id"] = "another"


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("change", [drop_last_result, drop_calls, rename_result])
def test_dangling_calls_and_orphan_results_are_refused(name: str, change: Callable[[Any], None]) -> None:
    with serve(name) as provider:
        assert_refused_after(provider, change)
        assert provider.refusals[0].kind == "pairing"


def assert_refused_after(provider: Provider, change: Callable[[list[dict[str, Any]]], None]) -> None:
    dialect = provider.dialect
    dialogue = ECHOES[dialect.shape](dialect.model, dialect.extra_of("plain"))
    give = dialogue.give

    def given(results: Any) -> None:
        give(results)
        change(dialogue.history)

    dialogue.give = given  # type: ignore[method-assign]
    outcome = run(dialogue, provider.url("plain"), TASKS, streamed=False, timeout=5.0)
    assert (outcome.status, outcome.requests) == (400, 2)


def test_each_conversation_gets_values_of_its_own() -> None:
    with serve("gemini") as provider:
        play(provider, "plain")
        play(provider, "plain")
        values = [record.value for record in provider.issued]
        assert len(set(values)) == len(values) == 10


def test_values_issued_before_a_reset_are_unknown_behind_it() -> None:
    with serve("gemini") as provider:
        dialogue = ECHOES["gemini"](None)
        assert run(dialogue, provider.url("plain"), TASKS[:1], streamed=False).done
        provider.reset()
        assert "Corrupted" in run(dialogue, provider.url("plain"), TASKS[1:], streamed=False).error


def unescaped(text: str) -> str:
    return text.replace("\\", "")
