"""A row of the matrix: a fault, and what has to become of it, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Row:
    """`name` is what the command calls it; `client` is what the client must see, `kept` what must be kept of it."""

    name: str
    fault: str
    client: str
    kept: str

    @property
    def expected(self) -> str:
        return f"{self.client}; {self.kept}"

    def __str__(self) -> str:
        return f"{self.fault}: {self.expected}"


def table(rows: Iterable[Row]) -> pytest.MarkDecorator:
    """One test a row, which gets it as `row`."""
    return pytest.mark.parametrize("row", list(rows), ids=str)
