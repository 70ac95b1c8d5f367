"""The matrix as a table: a pytest plugin that picks rows by name, and prints what became of each as it comes."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

import pytest

from faults.row import Row

HELD, BROKEN, SKIPPED = "held", "BROKEN", "skipped"


class Unknown(Exception):
    """A name that no row has, nor any row's name begins with."""


def row_of(item: pytest.Item) -> Row | None:
    """The row that a test plays; None of a test that plays none."""
    spec = getattr(item, "callspec", None)
    row = spec.params.get("row") if spec else None
    return row if isinstance(row, Row) else None


def chosen(rows: Sequence[Row], names: Iterable[str]) -> set[str]:
    """The names of the rows that are called so, or whose names begin so. All of them without names. Raises Unknown."""
    asked = list(names) or [""]
    found = {name: {row.name for row in rows if row.name == name or row.name.startswith(name)} for name in asked}
    if unknown := [name for name in asked if not found[name]]:
        raise Unknown(", ".join(unknown))
    return set().union(*found.values())


@dataclass(eq=False)  # pytest asks for plugins that can be told apart
class Report:
    """Prints a line for each row on `out`, `width` letters wide. With `listing` the rows are named, and none is played.

    `unknown` says which names no row has; then none is played either.
    """

    names: Sequence[str]
    out: TextIO
    width: int
    listing: bool = False
    unknown: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    _rows: dict[str, Row] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)
    _outcome: dict[str, str] = field(default_factory=dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the rows that were asked for."""
        rows = {item.nodeid: row for item in items if (row := row_of(item)) is not None}
        try:
            names = chosen(list(rows.values()), self.names)
        except Unknown as unknown:
            self.unknown, names = str(unknown), set()
        self._rows = {node: row for node, row in rows.items() if row.name in names}
        items[:] = [] if self.listing else [item for item in items if item.nodeid in self._rows]
        if self.listing and not self.unknown:
            for row in self._rows.values():
                print(f"{row.name:28} {row.fault}", file=self.out)
        elif items:
            self._line("fault", "expected", "outcome", "seconds")
            self._line(*("-" * width for width in (*self._widths, 10, 7)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of a part of a row, and print the row with its last one."""
        if report.nodeid not in self._rows:
            return
        node = report.nodeid
        self._seconds[node] = self._seconds.get(node, 0.0) + report.duration
        if report.failed:
            self._outcome[node] = BROKEN
            self.failures.append(f"{self._rows[node]}\n{report.longreprtext}")
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "no reason"
            self._outcome.setdefault(node, f"{SKIPPED}: {str(reason).removeprefix('Skipped: ')}")
        if report.when == "teardown":
            row, outcome = self._rows[node], self._outcome.get(node, HELD)
            self.counts[outcome.partition(":")[0]] += 1
            self._line(row.fault, row.expected, outcome, f"{self._seconds[node]:7.1f}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be read is a fault of its own."""
        if report.failed:
            self.failures.append(report.longreprtext)

    @property
    def _widths(self) -> tuple[int, int]:
        room = max(self.width - 28, 60)
        return room * 2 // 5, room - room * 2 // 5

    def _line(self, fault: str, expected: str, outcome: str, seconds: str) -> None:
        widths = (*self._widths, 10)
        cells = [textwrap.wrap(text, width) for text, width in zip((fault, expected, outcome), widths, strict=True)]
        cells.append([seconds])
        for number in range(max(map(len, cells))):
            texts = [cell[number] if number < len(cell) else "" for cell in cells]
            line = " | ".join(f"{text:{width}}" for text, width in zip(texts, (*widths, 7), strict=True))
            print(line.rstrip(" "), file=self.out, flush=True)
