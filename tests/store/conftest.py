from pathlib import Path

import pytest

from .kit import Backend


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each backend in turn."""
    return Backend(request.param, tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Backend:
    """The backend that is a file."""
    return Backend("sqlite", tmp_path)
