"""Proxies and providers that many tests share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from e2e.kit import keeper
from providers import PROVIDERS, Provider, Site
from proxy import Proxy


@pytest.fixture(scope="session")
def stage() -> Iterator[Mapping[str, Provider]]:
    """All strict providers on one site."""
    providers = {name: Provider(dialect) for name, dialect in PROVIDERS.items()}
    with Site(*providers.values(), lifetime=600):
        yield providers


@pytest.fixture
def providers(stage: Mapping[str, Provider]) -> Mapping[str, Provider]:
    """All strict providers, having issued nothing yet."""
    for provider in stage.values():
        provider.reset()
    return stage


@pytest.fixture(scope="session")
def proxy() -> Iterator[Proxy]:
    """A proxy with the addon, its store in memory, for all that needs nothing of its own."""
    with keeper() as running:
        yield running
