"""Fuzzing one target for a while, in a process of its own."""

import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from fuzz.promises import LONGEST
from fuzz.targets import Target

ROOT = Path(__file__).resolve().parents[2]

#: Seconds that libFuzzer waits for one input, and megabytes that all of it may take.
_PATIENCE, _MEMORY = 30, 2048

#: What libFuzzer saves an input for, by the beginning of the file's name. A slow one that ended is no finding.
_SAVED = ("crash-", "timeout-", "oom-", "leak-")


@dataclass(frozen=True, slots=True)
class Report:
    """What came of it: inputs tried, edges of the code seen, the input that broke a promise, and all that was said."""

    executions: int
    edges: int
    finding: Path | None
    output: str

    @property
    def failed(self) -> bool:
        """Whether it found something, or did not run."""
        return self.finding is not None or not self.executions

    @property
    def fault(self) -> str:
        """What was wrong, in the words of the exception or of libFuzzer."""
        told = self.output.partition("=== Uncaught Python exception: ===")[2] or self.output[-3000:]
        return told.partition("==ERROR: libFuzzer")[0].strip()


def missing() -> str:
    """Why nothing can be fuzzed here; empty where it can."""
    if find_spec("atheris"):
        return ""
    here = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return f"fuzzing needs atheris, which is there for Linux on x86_64 with Python 3.12 and 3.13 (this is {here})"


def fuzz(target: Target, corpus: Path, findings: Path, *, seconds: int, runs: int = -1, seed: int = 0) -> Report:
    """Fuzz a target for so many seconds, or so many inputs at most; the corpus grows in its folder.

    With a `seed` the inputs are the same each time, as long as the code is.
    """
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    for data in target.inputs().values():
        (corpus / sha256(data).hexdigest()[:40]).write_bytes(data)
    before = _saved(findings)
    options = [
        f"-max_total_time={seconds}",
        f"-runs={runs}",
        f"-seed={seed}",
        f"-max_len={LONGEST}",
        f"-timeout={_PATIENCE}",
        f"-rss_limit_mb={_MEMORY}",
        f"-artifact_prefix={findings}/",
        "-print_final_stats=1",
    ]
    command = [sys.executable, "-m", "fuzz.runner", target.name, *options, str(corpus)]
    path = os.pathsep.join(str(ROOT / name) for name in ("lib", "addons", "tests"))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    if seed:
        environment["PYTHONHASHSEED"] = str(seed)  # the same inputs each time
    done = subprocess.run(command, env=environment, capture_output=True, cwd=findings, check=False)
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    new = sorted(_saved(findings) - before)
    if done.returncode and not new:  # it found what it had found before, or could not begin
        named = re.findall(r"Test unit written to (.+)", output)
        new = [Path(named[-1])] if named else []
    executed = re.findall(r"number_of_executed_units: (\d+)", output)
    edges = re.findall(r"cov: (\d+)", output)
    return Report(int(executed[-1]) if executed else 0, int(edges[-1]) if edges else 0, new[0] if new else None, output)


def _saved(folder: Path) -> set[Path]:
    return {path for path in folder.iterdir() if path.name.startswith(_SAVED)}
