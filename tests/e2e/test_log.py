"""What the log says of each exchange, and what it never says."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from e2e.kit import EVERY_WAY, Talk, agent, assert_all_restored, client, wait_for
from e2e.upstream import Line, Request, Upstream
from providers import TASKS, Provider
from proxy import Proxy

LINE = re.compile(
    r"thoughtkeep: (start|end) \[([0-9a-f]{8})\] (\w+) (\S+) at 127\.0\.0\.1, "
    r"(?:(stream|plain), (\d+) assistant turns so far"
    r"|status (\S+), captured (\d+), restored (\d+)(?:, tokens \d+)?, \d+ ms)$",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    ("name", "mode"), [("gemini", "array"), ("deepseek", "streamed"), ("openrouter-claude", "plain")]
)
def test_each_exchange_has_a_pair_of_lines_with_one_id(
    name: str, mode: str, proxy: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    before = len(proxy.log())
    assert_all_restored(provider, agent(provider, mode, provider.url(mode), proxy=proxy.url))
    log = "".join(line for line in proxy.log()[before:].splitlines(True) if f" {provider.dialect.model} " in line)
    found = LINE.findall(log)
    assert [line[0] for line in found] == ["start", "end"] * 5
    for number, (start, end) in enumerate(zip(found[::2], found[1::2], strict=True)):
        assert start[1:4] == end[1:4]
        assert start[4:6] == ("plain" if mode == "plain" else "stream", str(number))
        assert end[6:8] == ("200", "1")
        assert (int(end[8]) > 0) == (number > 0)
    assert len({line[1] for line in found}) == 5
    assert "due and not restored" not in log


@pytest.mark.parametrize("streamed", [True, False])
def test_the_start_is_told_before_the_upstream_sees_the_request(streamed: bool, proxy: Proxy) -> None:
    """So a start without an end is a stalled exchange."""
    talk = Talk(streamed=streamed)
    before = len(proxy.log())
    told: list[str] = []

    def answer(request: Request, line: Line) -> None:
        told.append(proxy.log()[before:])
        talk.answer(request, line)

    with Upstream(answer) as upstream, client(proxy, headers=talk.headers) as asking:
        asking.post(upstream.url + talk.path, content=talk.first)
    assert "thoughtkeep: start" in told[0]
    assert "thoughtkeep: end" not in told[0]


def test_an_exchange_that_breaks_off_has_its_end_too(proxy: Proxy) -> None:
    talk = Talk()
    before = len(proxy.log())
    with Upstream(lambda _request, _line: None) as upstream, client(proxy, headers=talk.headers) as asking:
        assert asking.post(upstream.url + talk.path, content=talk.first).status_code == 502
    wait_for(lambda: "thoughtkeep: end" in proxy.log()[before:])
    found = LINE.findall(proxy.log()[before:])
    assert [(line[0], line[6]) for line in found] == [("start", ""), ("end", "disconnected")]
    assert found[0][1] == found[1][1]


def test_state_that_is_due_and_not_restored_has_one_line_that_says_why(proxy: Proxy) -> None:
    """Here the turn was made at one provider, and goes on at another."""
    talk = Talk()
    with (
        Upstream(talk.answer) as first,
        Upstream(talk.answer) as second,
        client(proxy, headers=talk.headers) as asking,
    ):
        asking.post(first.url + talk.path, content=talk.first)
        before = len(proxy.log())
        asking.post(second.url + talk.path, content=talk.second)
        assert second.requests[0].body == talk.second
    lines = [line for line in proxy.log()[before:].splitlines() if "due and not restored" in line]
    assert len(lines) == 1
    assert lines[0].endswith("state is due and not restored: other_provider (1)")


@pytest.mark.parametrize(("name", "mode"), EVERY_WAY)
def test_no_credential_signature_or_word_of_a_prompt_is_logged(
    name: str, mode: str, proxy: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    before = len(proxy.log())
    outcome = agent(provider, mode, provider.url(mode), proxy=proxy.url)
    log = proxy.log()[before:]
    secrets = [str(record.value)[:24] for record in provider.issued if len(str(record.value)) > 12]
    secrets += ["made-up", *TASKS, *outcome.texts, "You are a helpful assistant", "Paris", "degrees"]
    assert len(secrets) > 8
    assert not [secret for secret in secrets if secret in log]


def test_names_from_outside_cannot_forge_lines_or_reach_the_terminal(proxy: Proxy) -> None:
    talk = Talk()
    body = talk.first.replace(b'"model-1"', b'"m\\n[00:00:00.000] thoughtkeep: forged\\u001b[2J' + b"x" * 5000 + b'"')
    before = len(proxy.log())
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        asking.post(upstream.url + talk.path, content=body)
    ours = [line for line in proxy.log()[before:].splitlines() if "thoughtkeep: " in line]
    assert len(ours) == 2
    assert all(len(line) < 400 and "\x1b" not in line for line in ours)
