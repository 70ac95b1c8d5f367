"""The naive agent against every strict provider, in every proxy mode: it fails without the addon, finishes with it."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from e2e.kit import EVERY_WAY, Talk, agent, assert_all_restored, assert_not_restored, keeper, redirect
from e2e.upstream import Upstream, make_certificate, tls_front
from providers import PROVIDERS, Provider
from proxy import Proxy

OFF = {"x-thoughtkeep": "off"}


@dataclass(frozen=True)
class Setup:
    """A way through the proxy: its address if the client is told one, and the address the client asks at.

    `base` is empty where the client asks at the provider's real host.
    """

    proxy: str | None
    base: str

    def url(self, provider: Provider, mode: str) -> str:
        return self.base + provider.dialect.modes[mode].path if self.base else provider.url(mode, real=True)


@pytest.fixture(scope="module")
def bare(stage: Mapping[str, Provider]) -> Iterator[Proxy]:
    """A proxy without the addon."""
    with Proxy(*redirect(next(iter(stage.values())).port)) as running:
        yield running


@pytest.fixture(scope="module", params=["regular", "reverse", "reverse, host kept", "upstream"])
def setup(request: pytest.FixtureRequest, bare: Proxy, stage: Mapping[str, Provider]) -> Iterator[Setup]:
    port = next(iter(stage.values())).port
    reverse: list[str | Path] = ["--mode", f"reverse:http://127.0.0.1:{port}"]
    words: dict[str, list[str | Path]] = {
        "regular": redirect(port),
        "reverse": reverse,
        "reverse, host kept": [*reverse, "--set", "keep_host_header=true"],
        "upstream": ["--mode", f"upstream:{bare.url}"],
    }
    with keeper(*words[request.param]) as proxy:
        yield Setup(None, proxy.url) if request.param.startswith("reverse") else Setup(proxy.url, "")


@pytest.mark.parametrize(("name", "mode"), EVERY_WAY)
def test_the_naive_agent_finishes_in_every_proxy_mode(
    name: str, mode: str, setup: Setup, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    assert_all_restored(provider, agent(provider, mode, setup.url(provider, mode), proxy=setup.proxy))


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_naive_agent_fails_in_every_proxy_mode_where_it_asks_for_no_help(
    name: str, setup: Setup, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    url = setup.url(provider, "streamed")
    assert_not_restored(provider, agent(provider, "streamed", url, proxy=setup.proxy, headers=OFF))
    for exchange in provider.exchanges:
        assert not [header for header, _ in exchange.headers if header.lower().startswith("x-thoughtkeep")]


@pytest.mark.parametrize(("name", "mode"), EVERY_WAY)
def test_at_an_address_of_no_known_provider_what_came_goes_back_all_the_same(
    name: str, mode: str, proxy: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    assert_all_restored(provider, agent(provider, mode, provider.url(mode), proxy=proxy.url))


@pytest.mark.parametrize(("name", "mode"), EVERY_WAY)
def test_the_naive_agent_fails_behind_a_proxy_without_the_addon(
    name: str, mode: str, bare: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    assert_not_restored(provider, agent(provider, mode, provider.url(mode, real=True), proxy=bare.url))


def test_inside_an_intercepted_tls_connection_the_naive_agent_finishes(
    tmp_path: Path, providers: Mapping[str, Provider]
) -> None:
    provider = providers["gemini"]
    with (
        tls_front(provider.port, make_certificate(tmp_path, provider.dialect.host)) as port,
        keeper(*redirect(port), "--ssl-insecure", "--set", "connection_strategy=lazy") as proxy,
    ):
        trusting = ssl.create_default_context(cafile=str(authority(proxy)))
        for mode in provider.dialect.modes:
            provider.reset()
            url = provider.url(mode, real=True).replace("http://", "https://")
            assert_all_restored(provider, agent(provider, mode, url, proxy=proxy.url, verify=trusting))
        # Connected before the request is read, the redirected address would have taken the place of the host.
        assert "gemini-3-pro-preview at generativelanguage.googleapis.com" in proxy.log()


def test_an_http2_client_gets_its_state_back() -> None:
    talks = [Talk(streamed=True), Talk(streamed=False)]
    with Upstream(talks[0].answer) as upstream, keeper("--mode", f"reverse:{upstream.url}") as proxy:
        url = f"https://127.0.0.1:{proxy.port}{Talk.path}"
        context = OnlyHttp2(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(authority(proxy))
        with httpx.Client(http1=False, http2=True, verify=context, trust_env=False) as asking:
            for talk in talks:
                upstream.script = talk.answer
                first = asking.post(url, content=talk.first, headers=talk.headers)
                assert (first.status_code, first.http_version) == (200, "HTTP/2")
                assert first.content == (b"".join(talk.stream) if talk.streamed else talk.plain)
                assert asking.post(url, content=talk.second, headers=talk.headers).status_code == 200
                sent = upstream.requests[-1]
                assert talk.restored(sent.body)
                assert sent.header("content-length") == str(len(sent.body))


class OnlyHttp2(ssl.SSLContext):
    """httpx names HTTP/1.1 first, and mitmproxy takes what is named first."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        super().set_alpn_protocols(["h2"])


def authority(proxy: Proxy) -> Path:
    """What a client must trust that goes through this proxy."""
    return proxy.folder / "conf" / "mitmproxy-ca-cert.pem"
