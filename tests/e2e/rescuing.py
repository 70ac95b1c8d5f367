"""What the end-to-end tests of rescue share: histories that began without the proxy, and state that went bad.

`begin` plays the first request of a conversation without any proxy, so that nothing is stored of it; `resume` plays all
that follows through one. `spoil` makes a strict provider forget what it issued: from then on it refuses that.
"""

from __future__ import annotations

from typing import Any

import httpx

from agentloop import Outcome, run
from dialogues import DIALOGUES, Dialogue
from e2e.kit import client
from providers import TASKS, Provider
from proxy import Proxy


def begin(provider: Provider, mode: str, **extra: Any) -> Dialogue:
    """A conversation whose first answer was never seen by a proxy: the agent has its calls and their results.

    `extra` are body keys beside those of the mode.
    """
    dialect = provider.dialect
    how = dialect.modes[mode]
    keys = {**dialect.extra_of(mode), **extra}
    dialogue = DIALOGUES[dialect.shape](dialect.model if how.model_in_body else None, keys)
    options = {"headers": dialect.headers, "streamed": how.streamed}
    outcome = run(dialogue, provider.url(mode), TASKS[:1], max_requests=1, **options)  # type: ignore[arg-type]
    assert (outcome.status, len(outcome.calls)) == (0, 2), outcome
    provider.exchanges.clear()
    return dialogue


def resume(
    provider: Provider, mode: str, dialogue: Dialogue, proxy: str | None, *tasks: str, url: str = "", **options: Any
) -> Outcome:
    """Go on where a conversation stands, inside its open turn, then with further tasks."""
    ask = dialogue.ask
    dialogue.ask = lambda words: None  # type: ignore[method-assign]  # the user has nothing to add yet

    def ask_from_now_on(words: str) -> None:
        dialogue.ask = ask  # type: ignore[method-assign]

    dialogue.ask = ask_from_now_on  # type: ignore[method-assign]
    return go_on(provider, mode, dialogue, proxy, "", *tasks, url=url, **options)


def go_on(
    provider: Provider, mode: str, dialogue: Dialogue, proxy: str | None, *tasks: str, url: str = "", **options: Any
) -> Outcome:
    """Give the agent further tasks. `url` is where it asks, the provider's real host if it is not said."""
    dialect = provider.dialect
    options["headers"] = {**dialect.headers, **options.get("headers", {})}
    where = url or provider.url(mode, real=True)
    return run(dialogue, where, tasks, streamed=dialect.modes[mode].streamed, proxy=proxy, **options)


def spoil(provider: Provider, *, newest: int = 0) -> None:
    """Make the provider refuse all that it has issued (or the `newest` so many values of it)."""
    ledger = provider.ledger
    gone = {id(record) for record in provider.issued[-newest:]}
    for values in (ledger._by_value, ledger._newest):
        for key in [key for key, record in values.items() if id(record) in gone]:
            del values[key]  # type: ignore[attr-defined]
    ledger.issued[:] = [record for record in ledger.issued if id(record) not in gone]
    provider.exchanges.clear()


def post(proxy: Proxy, url: str, body: bytes, **headers: str) -> httpx.Response:
    """Send one request through the proxy."""
    with client(proxy, headers={"content-type": "application/json"}) as asking:
        return asking.post(
            url, content=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )


def statuses(provider: Provider) -> list[int]:
    """What the provider answered, request by request."""
    return [exchange.status for exchange in provider.exchanges]
