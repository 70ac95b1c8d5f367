"""The benchmark's subcommands: what they say of themselves, and what they refuse. No figure stands in a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SUBCOMMANDS = ("bounds", "handover", "litellm", "redis")


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "bench.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_each_subcommand_tells_what_it_does_and_is_named_where_it_is_looked_for(name: str) -> None:
    told = bench(name, "--help")
    assert told.returncode == 0
    assert f"usage: bench {name}" in told.stdout
    assert "--json FILE" in told.stdout
    assert f"`bench {name}`" in " ".join(bench("--help").stdout.split())
    assert f"scripts/bench {name}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("litellm", "--unheard"), "unrecognized arguments: --unheard"),
        (("redis", "--json"), "expected one argument"),
        (("bounds", "nothing"), "no such bound: nothing; there are parallel, large"),
    ],
)
def test_what_does_not_exist_is_refused_with_a_reason(words: tuple[str, ...], said: str) -> None:
    told = bench(*words)
    assert told.returncode == 2
    assert said in told.stderr
    assert "Traceback" not in told.stderr
