"""The fault matrix: each row plays one fault through a real proxy, and says whether anything was lost or harmed."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
for folder in ("addons", "lib", "tests"):
    sys.path.insert(0, str(ROOT / folder))

import pytest  # noqa: E402

from faults.report import BROKEN, HELD, SKIPPED, Report  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the rows and return the exit code: 0 only if none is broken."""
    parser = argparse.ArgumentParser(
        prog="scripts/faults",
        description="Plays faults of stores, upstreams, clients, summarisers, clocks and of the proxy itself through a "
        "real mitmdump on 127.0.0.1, and prints for each what has to become of it and whether it did. The proxy must "
        "log no stack trace, and serve and restore a fresh conversation afterwards, in every row.",
        epilog="Exits with 0 if no row is broken, 1 if one is, 2 if there is no such row.",
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="a row, or what rows' names begin with (default: all)")
    parser.add_argument("--list", action="store_true", help="name the rows and play none")
    chosen = parser.parse_args(arguments)

    report = Report(chosen.rows, sys.stdout, shutil.get_terminal_size((150, 24)).columns, chosen.list)
    began = time.monotonic()
    os.chdir(ROOT)
    # What pytest itself would say is said by the table.
    with contextlib.redirect_stdout(io.StringIO()) as said:
        told = pytest.main(
            ["tests/faults", "-p", "no:cacheprovider", "--tb=short", "--capture=sys", "-q"], plugins=[report]
        )
    if report.unknown:
        print(f"scripts/faults: no such row: {report.unknown} (--list names them)", file=sys.stderr)
        return 2
    for failure in report.failures:
        print(f"\n{failure}", file=sys.stderr)
    if chosen.list and not report.failures:
        return 0
    counts = ", ".join(f"{report.counts[outcome]} {outcome}" for outcome in (HELD, BROKEN, SKIPPED))
    print(f"\n{report.counts.total()} faults: {counts}; {time.monotonic() - began:.0f} s")
    if report.counts[BROKEN] or report.failures:
        return 1
    if told != pytest.ExitCode.OK:  # nothing that a row could have told
        print(said.getvalue(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
