"""Conversations that a strict provider refuses are rescued once, and go on as if nothing had been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from e2e.kit import EVERY_WAY, FINISHED, backstage, keeper, redirect
from e2e.rescuing import begin, go_on, resume, spoil, statuses
from providers import TASKS, Provider
from proxy import Proxy

SKIPS = ("gemini", "code-assist", "google-compat", "openrouter-gemini")


@pytest.fixture(scope="module")
def real(stage: Mapping[str, Provider]) -> Iterator[Proxy]:
    """A proxy for which the providers are at their real hosts."""
    with keeper(*redirect(next(iter(stage.values())).port)) as running:
        yield running


def ways(*names: str) -> list[tuple[str, str]]:
    return [(name, mode) for name, mode in EVERY_WAY if name in names]


# -- history that nobody has the state of -----------------------------------------------------------------------------

CLAUDES = ("anthropic", "anthropic-bound", "vertex-anthropic")


@pytest.mark.parametrize(("name", "mode"), ways("vertex-compat", "deepseek", "openai-responses", *CLAUDES))
def test_a_conversation_that_began_without_the_proxy_is_rescued_once(
    name: str, mode: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    dialogue = begin(provider, mode)
    if name == "deepseek":
        spoil(provider)  # its words are made up anew: only an answer of another model's may be without
    outcome = resume(provider, mode, dialogue, real.url, TASKS[1])
    assert (outcome.done, outcome.error, outcome.texts) == (True, "", FINISHED)
    assert [refusal.kind for refusal in provider.refusals] == ["missing"]
    assert statuses(provider)[:2] == [400, 200]


@pytest.mark.parametrize(("name", "mode"), ways(*SKIPS))
def test_where_a_stand_in_is_known_the_conversation_is_not_even_refused(
    name: str, mode: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    outcome = resume(provider, mode, begin(provider, mode), real.url, TASKS[1])
    assert (outcome.done, outcome.error, outcome.texts) == (True, "", FINISHED)
    assert provider.refusals == []
    assert provider.skips > 0


@pytest.mark.parametrize(("name", "mode"), ways("google-compat", "code-assist"))
def test_a_model_whose_name_does_not_tell_that_it_demands_signatures_is_rescued_once(
    name: str, mode: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    outcome = resume(provider, mode, begin(provider, mode, model="gemini-flash-latest"), real.url, TASKS[1])
    assert (outcome.done, outcome.error, outcome.texts) == (True, "", FINISHED)
    assert [refusal.kind for refusal in provider.refusals] == ["missing"]
    assert statuses(provider)[:2] == [400, 200]


@pytest.fixture
def no_stand_ins(real: Proxy) -> Iterator[Proxy]:
    assert backstage(real, thoughtkeep_skip_value="off").status_code == 200
    yield real
    assert backstage(real, thoughtkeep_skip_value="auto").status_code == 200


@pytest.mark.parametrize(("name", "mode"), ways(*SKIPS))
def test_with_stand_ins_turned_off_none_is_sent_not_even_after_a_refusal(
    name: str, mode: str, no_stand_ins: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    outcome = resume(provider, mode, begin(provider, mode), no_stand_ins.url)
    assert (outcome.done, outcome.status, statuses(provider), provider.skips) == (False, 400, [400], 0)
    dialogue = begin(provider, mode, no_stand_ins.url)
    spoil(provider)
    outcome = resume(provider, mode, dialogue, no_stand_ins.url)
    assert (outcome.done, outcome.status, statuses(provider), provider.skips) == (False, 400, [400, 400], 0)
    assert [refusal.kind for refusal in provider.refusals] == ["corrupt", "missing"]
    assert "orrupt" in outcome.error or "not valid" in outcome.error


@pytest.mark.parametrize(("name", "mode"), ways("databricks", "openrouter-claude"))
def test_where_nothing_can_stand_for_what_is_missing_the_client_is_told(
    name: str, mode: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    outcome = resume(provider, mode, begin(provider, mode), real.url)
    assert (outcome.done, outcome.status, outcome.requests) == (False, 400, 1)
    assert statuses(provider) == [400]


# -- state that went bad ----------------------------------------------------------------------------------------------

OLD = ("gemini", "code-assist", "google-compat", "vertex-compat", "openrouter-gemini", "openrouter-claude")
OLD += ("databricks", "xai-responses", *CLAUDES)


@pytest.mark.parametrize(("name", "mode"), ways(*OLD))
def test_state_of_earlier_turns_that_is_refused_is_given_up(
    name: str, mode: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    dialogue = begin(provider, mode, real.url)
    assert resume(provider, mode, dialogue, real.url).done
    spoil(provider)
    outcome = go_on(provider, mode, dialogue, real.url, TASKS[1])
    assert (outcome.done, outcome.error, outcome.texts) == (True, "", FINISHED[1:])
    assert [refusal.kind for refusal in provider.refusals] == ["corrupt"]
    assert statuses(provider)[:2] == [400, 200]


LOOP = ("gemini", "code-assist", "google-compat", "openrouter-gemini", "xai-responses", *CLAUDES)


@pytest.mark.parametrize(("name", "mode"), ways(*LOOP))
def test_state_of_the_current_turn_that_is_refused_is_replaced_or_thinking_is_turned_off(
    name: str, mode: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    dialogue = begin(provider, mode, real.url)
    spoil(provider)
    outcome = resume(provider, mode, dialogue, real.url, TASKS[1])
    assert (outcome.done, outcome.error, outcome.texts) == (True, "", FINISHED)
    assert [refusal.kind for refusal in provider.refusals] == ["corrupt"]
    assert statuses(provider)[:2] == [400, 200]


@pytest.mark.parametrize(("name", "mode"), ways("openai-responses"))
def test_of_several_reasoning_items_only_the_one_that_is_named_is_given_up(
    name: str, mode: str, real: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    dialogue = begin(provider, mode, real.url)
    kept, lost = (record for record in provider.issued if record.demanded)
    spoil(provider, lost)
    outcome = resume(provider, mode, dialogue, real.url, TASKS[1])
    assert (outcome.done, outcome.error, outcome.texts) == (True, "", FINISHED)
    assert [refusal.code for refusal in provider.refusals] == ["invalid_encrypted_content"]
    assert kept.returned == kept.due


# -- reverse mode -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vertex-compat", "anthropic", "openai-responses"])
def test_in_reverse_mode_conversations_are_rescued_too(name: str, providers: Mapping[str, Provider]) -> None:
    provider = providers[name]
    words = ["--mode", f"reverse:http://{provider.dialect.host}", "--set", "connection_strategy=lazy"]
    with keeper(*words, *redirect(provider.port)) as proxy:
        for mode in ("plain", "streamed"):
            provider.reset()
            dialogue = begin(provider, mode)
            url = proxy.url + provider.dialect.modes[mode].path
            outcome = resume(provider, mode, dialogue, None, TASKS[1], url=url)
            assert (outcome.done, outcome.error, outcome.texts) == (True, "", FINISHED)
            assert statuses(provider)[:2] == [400, 200]
            assert statuses(provider).count(400) == 1


def test_what_was_learnt_outlives_the_proxy(providers: Mapping[str, Provider], tmp_path: object) -> None:
    provider = providers["anthropic"]
    with keeper(*redirect(provider.port), store=f"sqlite:///{tmp_path}/store.sqlite3") as proxy:
        dialogue = begin(provider, "streamed")
        assert not resume(provider, "streamed", dialogue, proxy.url, max_requests=1).done
        assert statuses(provider) == [400, 200]
        proxy.restart(kill=True)
        assert resume(provider, "streamed", dialogue, proxy.url).done
        assert statuses(provider) == [400, 200, 200]
