"""Whatever is read and written, the promises hold: for known inputs everywhere, for new ones where atheris is."""

from pathlib import Path

import pytest

from fuzz import campaign
from fuzz.targets import FINDINGS, TARGETS, Target

#: Of each target: so many inputs, always the same, for so many seconds at most. Chance is for `scripts/fuzz`.
RUNS, SECONDS = 1_000, 10

EACH = pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))


@EACH
def test_the_promises_hold_for_every_seed_and_every_earlier_finding(target: Target) -> None:
    for name, data in target.inputs().items():
        assert target.check(data), f"{name!r} is no input of {target.name} any more"


def test_every_finding_that_is_kept_belongs_to_a_target() -> None:
    assert {path.name for path in FINDINGS.iterdir()} <= set(TARGETS)


@EACH
@pytest.mark.skipif(bool(campaign.missing()), reason=campaign.missing())
def test_the_promises_hold_for_inputs_that_nobody_thought_of(target: Target, tmp_path: Path) -> None:
    report = campaign.fuzz(target, tmp_path / "corpus", tmp_path, seconds=SECONDS, runs=RUNS, seed=1)
    found = report.finding.read_bytes() if report.finding else b""
    assert not report.failed, f"{target.name} broke with the input {found!r}\n{report.fault}"
    assert report.edges > 20, "the code under test is not looked into"
