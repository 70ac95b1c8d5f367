"""The proxy harness: a real mitmdump that starts, redirects, restarts and ends as tests need it."""

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


def test_a_proxy_that_does_not_start_says_why() -> None:
    with pytest.raises(ProxyFailed, match=r"ended with status 1[\s\S]*No such script"):
        Proxy("-s", "/nonexistent/addon.py").__enter__()


def test_a_proxy_that_listens_and_then_ends_did_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "broken_addon.py"
    broken.write_text("import a_module_that_is_nowhere\n")
    with pytest.raises(ProxyFailed, match="a_module_that_is_nowhere"):
        Proxy("-s", broken).__enter__()
