"""Proxies that many rows share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.stage import bare, keeping
from proxy import Proxy


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy with thoughtkeep, its store in a file."""
    with keeping(tmp_path_factory.mktemp("faults") / "state.sqlite3") as running:
        yield running


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy without thoughtkeep."""
    with bare() as running:
        yield running
