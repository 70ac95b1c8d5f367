"""Codex's WebSocket, switched off: refused at once at the Responses API, and left alone anywhere else."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from e2e.kit import backstage, client, keeper
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy

UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "authorization": "Bearer sk-one",
}


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with keeper("--set", "thoughtkeep_websocket=off") as refusing:
        yield refusing


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    def answer(_: Request, line: Line) -> None:
        line.answer(b"the upstream's own", {"content-type": "text/plain"}, "404 Not Found")

    with Upstream(answer) as running:
        yield running


def ask(proxy: Proxy, upstream: Upstream, path: str, method: str = "GET", **changed: str) -> httpx.Response:
    with client(proxy) as asking:
        return asking.request(method, upstream.url + path, headers={**UPGRADE, **changed})


@pytest.mark.parametrize("path", ["/v1/responses", "/backend-api/codex/responses", "/responses?model=gpt"])
@pytest.mark.parametrize("named", ["websocket", "WebSocket"])
def test_an_upgrade_at_the_responses_api_is_answered_426_at_once(
    path: str, named: str, proxy: Proxy, upstream: Upstream
) -> None:
    answer = ask(proxy, upstream, path, upgrade=named)
    assert answer.status_code == 426
    assert b"server-sent events" in answer.content
    assert not upstream.requests


@pytest.mark.parametrize(
    ("path", "method", "changed"),
    [
        ("/v1/realtime", "GET", {}),
        ("/v1/responses/resp_1", "GET", {}),
        ("/v1/my-responses-not", "GET", {}),
        ("/v1/responses", "GET", {"upgrade": "h2c"}),
        ("/v1/responses", "POST", {}),
        ("/v1/responses", "GET", {"x-thoughtkeep": "off"}),
    ],
)
def test_other_upgrades_reach_the_upstream(
    path: str, method: str, changed: dict[str, str], proxy: Proxy, upstream: Upstream
) -> None:
    answer = ask(proxy, upstream, path, method, **changed)
    assert (answer.status_code, answer.content) == (404, b"the upstream's own")
    assert len(upstream.requests) == 1


def test_a_plain_get_reaches_the_upstream(proxy: Proxy, upstream: Upstream) -> None:
    with client(proxy) as asking:
        assert asking.get(f"{upstream.url}/v1/responses").status_code == 404


@pytest.mark.parametrize("options", [{"thoughtkeep_replay": "off"}, {"thoughtkeep_filter": "~u elsewhere"}])
def test_what_is_switched_off_or_filtered_out_refuses_no_upgrade(
    options: dict[str, str], proxy: Proxy, upstream: Upstream
) -> None:
    try:
        assert backstage(proxy, **options).status_code == 200
        assert ask(proxy, upstream, "/v1/responses").status_code == 404
    finally:
        backstage(proxy, thoughtkeep_replay="on", thoughtkeep_filter="")


def test_switched_on_the_upgrade_reaches_the_upstream(proxy: Proxy, upstream: Upstream) -> None:
    backstage(proxy, thoughtkeep_websocket="on")
    try:
        assert ask(proxy, upstream, "/v1/responses").status_code == 404
    finally:
        backstage(proxy, thoughtkeep_websocket="off")
