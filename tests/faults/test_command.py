"""The command that plays the matrix: it names rows, refuses unknown ones, and says of each what became of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

_SOME = """
import pytest
from faults.row import Row, table

@table([Row("one", "one fault", "unharmed", "nothing lost"), Row("two", "another fault", "harmed", "all lost")])
def test_some(row):
    assert row.name == "one"

@table([Row("three", "a fault that cannot be made", "unharmed", "nothing lost")])
def test_none(row):
    pytest.skip("there is no such disk")

def test_no_row():
    raise RuntimeError
"""

_PLAY = """
import contextlib, io, sys, pytest
from faults.report import Report
report = Report(sys.argv[2:], sys.stdout, 120)
with contextlib.redirect_stdout(io.StringIO()):
    pytest.main([sys.argv[1], "-p", "no:cacheprovider", "--capture=sys"], plugins=[report])
print(report.unknown, dict(report.counts), len(report.failures))
"""


def play(folder: Path, *names: str) -> list[list[str]]:
    """The cells of the lines that are printed for some rows of these names."""
    (folder / "test_some.py").write_text(_SOME)
    command = [sys.executable, "-c", _PLAY, str(folder / "test_some.py"), *names]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT / "tests")}, capture_output=True, text=True, timeout=60
    )
    return [[cell.strip() for cell in line.split(" | ")] for line in done.stdout.splitlines()]


def faults(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "scripts" / "faults", *words], cwd="/", capture_output=True, text=True, timeout=120)


def test_each_row_is_told_with_its_outcome_and_what_is_no_row_is_left_out(tmp_path: Path) -> None:
    head, border, one, two, *three, end = play(tmp_path)
    assert head == ["fault", "expected", "outcome", "seconds"]
    assert set(border[0]) == {"-"}
    assert one[:3] == ["one fault", "unharmed; nothing lost", "held"]
    assert two[:3] == ["another fault", "harmed; all lost", "BROKEN"]
    assert " ".join(cells[2].rstrip(" |") for cells in three) == "skipped: there is no such disk"
    assert end == ["{'held': 1, 'BROKEN': 1, 'skipped': 1} 1"]


def test_rows_are_picked_by_their_names_and_by_how_these_begin(tmp_path: Path) -> None:
    assert [cells[0] for cells in play(tmp_path, "two")[2:-1]] == ["another fault"]
    assert [cells[0] for cells in play(tmp_path, "t", "one")[2:5]] == [
        "one fault",
        "another fault",
        "a fault that cannot be made",
    ]


def test_of_several_names_the_unknown_ones_are_told_and_nothing_is_played(tmp_path: Path) -> None:
    assert play(tmp_path, "one", "nine") == [["nine {} 0"]]


def test_the_command_names_all_rows_once() -> None:
    done = faults("--list")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert (done.returncode, len(names)) == (0, len(set(names)))
    assert {"kill-stream", "store-full", "upstream-reset-in-event", "crowd", "summary-hangs"} <= set(names)


def test_the_command_refuses_a_row_that_does_not_exist() -> None:
    done = faults("kill-stream", "no-such-row")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "scripts/faults: no such row: no-such-row (--list names them)\n"
