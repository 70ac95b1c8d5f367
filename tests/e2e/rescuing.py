"""What the end-to-end tests of rescue share: histories that began without the proxy, and state that went bad.

`begin` plays the first request of a conversation, without a proxy so that nothing is stored of it, or through one;
`resume` plays what follows. `spoil` makes a strict provider forget what it issued: from then on it refuses that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx

from agentloop import Outcome, run
from dialogues import DIALOGUES, Dialogue
from e2e.kit import client
from providers import TASKS, Issued, Provider
from proxy import Proxy


def fresh(provider: Provider, mode: str, model: str = "") -> Dialogue:
    """A conversation in which nothing has been said."""
    dialect = provider.dialect
    named = (model or dialect.model) if dialect.modes[mode].model_in_body else None
    return DIALOGUES[dialect.shape](named, dialect.extra_of(mode))


def begin(provider: Provider, mode: str, proxy: str | None = None, model: str = "") -> Dialogue:
    """A conversation after its first answer, with the results of its calls. No other one begins with its words."""
    dialogue = fresh(provider, mode, model)
    task = f"{TASKS[0]} ({uuid4().hex})"
    outcome = go_on(provider, mode, dialogue, proxy, task, url="" if proxy else provider.url(mode), max_requests=1)
    assert (outcome.status, len(outcome.calls)) == (0, 2), outcome
    provider.exchanges.clear()
    return dialogue


def resume(
    provider: Provider, mode: str, dialogue: Dialogue, proxy: str | None, *tasks: str, url: str = "", **options: Any
) -> Outcome:
    """Go on where a conversation stands, inside its open turn, then with further tasks."""
    ask = dialogue.ask

    def say_nothing(words: str) -> None:
        dialogue.ask = ask  # type: ignore[method-assign]

    dialogue.ask = say_nothing  # type: ignore[method-assign]
    return go_on(provider, mode, dialogue, proxy, "", *tasks, url=url, **options)


def go_on(
    provider: Provider, mode: str, dialogue: Dialogue, proxy: str | None, *tasks: str, url: str = "", **options: Any
) -> Outcome:
    """Give the agent further tasks. `url` is where it asks, the provider's real host if it is not said."""
    dialect = provider.dialect
    options["headers"] = {**dialect.headers, **options.get("headers", {})}
    where = url or provider.url(mode, real=True)
    return run(dialogue, where, tasks, streamed=dialect.modes[mode].streamed, proxy=proxy, **options)


def spoil(provider: Provider, *records: Issued) -> None:
    """Make the provider refuse these values from now on, or all that it has issued."""
    ledger = provider.ledger
    gone = {id(record) for record in records}
    for values in (ledger._by_value, ledger._newest):
        for key in [key for key, record in values.items() if not gone or id(record) in gone]:
            del values[key]  # type: ignore[attr-defined]
    ledger.issued[:] = [record for record in ledger.issued if gone and id(record) not in gone]
    provider.exchanges.clear()


def post(proxy: Proxy, url: str, body: bytes, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """Send one request through the proxy."""
    with client(proxy, headers={"content-type": "application/json"}) as asking:
        return asking.post(
            url, content=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )


def statuses(provider: Provider) -> list[int]:
    """What the provider answered, request by request."""
    return [exchange.status for exchange in provider.exchanges]
