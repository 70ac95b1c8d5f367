"""The proxy harness: a real mitmdump or mitmweb that starts, redirects, restarts and ends as tests need it."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from agentloop import run
from dialogues import DIALOGUES
from providers import PROVIDERS, TASKS, serve
from proxy import Proxy, ProxyFailed

REDIRECT = Path(__file__).parent / "redirect_addon.py"


def test_requests_to_a_real_host_end_at_the_strict_provider_and_no_other_host_is_reached() -> None:
    dialect = PROVIDERS["deepseek"]
    with (
        serve("deepseek") as provider,
        Proxy("-s", REDIRECT, "--set", f"redirect_hosts={dialect.host}={provider.port}") as proxy,
    ):
        dialogue = DIALOGUES["chat"](dialect.model, dialect.extra)
        outcome = run(dialogue, provider.url(real=True), TASKS, streamed=True, proxy=proxy.url)
        assert (outcome.status, outcome.requests) == (400, 2)
        assert ("Host", dialect.host) in provider.exchanges[0].headers
        assert httpx.get("http://example.org/", proxy=proxy.url, trust_env=False).status_code == 502

        port, first, folder = proxy.port, proxy.pid, proxy.folder
        proxy.restart(kill=True)
        assert proxy.port == port
        assert proxy.pid != first
        assert proxy.log().count("listening at") == 2
        last = proxy.pid
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(last, 0)


def test_mitmweb_is_a_proxy_and_has_a_page_that_opens_with_a_token() -> None:
    with Proxy(program="mitmweb") as proxy:
        address = proxy.web_url
        page, _, token = address.partition("?token=")
        assert f":{proxy.port}/" not in page
        proxy.restart()
        assert proxy.web_url == address
        assert httpx.get(address, trust_env=False).status_code == 200
        assert httpx.get(page, trust_env=False).status_code == 403
        assert httpx.get("http://127.0.0.1:1/", proxy=proxy.url, trust_env=False).status_code == 502
        assert token not in proxy.log()
    with pytest.raises(RuntimeError, match="mitmdump has no page"):
        _ = Proxy().web_url


def test_a_proxy_that_does_not_start_says_why() -> None:
    with pytest.raises(ProxyFailed, match=r"ended with status 1[\s\S]*No such script"):
        Proxy("-s", "/nonexistent/addon.py").__enter__()


def test_a_proxy_that_listens_and_then_ends_did_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "broken_addon.py"
    broken.write_text("import a_module_that_is_nowhere\n")
    with pytest.raises(ProxyFailed, match="a_module_that_is_nowhere"):
        Proxy("-s", broken).__enter__()
