"""The long run of fuzzing: each target for a while, its corpus kept from run to run. See docs/fuzzing.md."""

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lib"), str(ROOT / "addons")]

from fuzz import campaign  # noqa: E402
from fuzz.targets import TARGETS, Target  # noqa: E402

#: Where the corpus grows and findings are saved.
KEPT = ROOT / ".fuzz"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every promise held, 1 if one did not, 2 if it cannot be done."""
    options = _options(arguments)
    if options.input:
        return _replay(TARGETS[options.targets[0]], options.input)
    if why := campaign.missing():
        print(f"fuzz: {why}", file=sys.stderr)
        return 2
    print(f"{'target':<10} {'executions':>11} {'edges':>7} {'seconds':>8}  findings", flush=True)
    failed = [name for name in options.targets or TARGETS if not _fuzz(TARGETS[name], options.seconds)]
    if failed:
        print(f"fuzz: promises were broken: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = "\n".join(f"  {target.name:<10} {target.about}" for target in TARGETS.values())
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz",
        description="Feed made-up inputs to what reads and writes requests and answers; see docs/fuzzing.md.",
        epilog=f"targets:\n{about}\n\nThe corpus is kept in {KEPT}; delete the folder to begin anew.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="only these (default: all, one after another)")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="how long for each target (default: 60)")
    parser.add_argument("--input", type=Path, metavar="FILE", help="judge one input of one TARGET, and do not fuzz")
    options = parser.parse_args(arguments)
    for name in options.targets:
        if name not in TARGETS:
            parser.error(f"no target {name!r}; there are {', '.join(TARGETS)}")
    if options.seconds < 1:
        parser.error("--seconds must be 1 or more")
    if options.input and len(options.targets) != 1:
        parser.error("--input needs one TARGET")
    if options.input and not options.input.is_file():
        parser.error(f"--input: no file {options.input}")
    return options


def _fuzz(target: Target, seconds: int) -> bool:
    """Fuzz a target and tell what came of it. Whether all promises held."""
    began = time.monotonic()
    findings = KEPT / "findings" / target.name
    report = campaign.fuzz(target, KEPT / "corpus" / target.name, findings, seconds=seconds)
    took = round(time.monotonic() - began)
    told = "none" if not report.failed else "1" if report.finding else "did not run"
    print(f"{target.name:<10} {report.executions:>11} {report.edges:>7} {took:>8}  {told}", flush=True)
    if report.failed:
        print(f"\n{report.fault}\n")
    if report.finding:
        print(f"the input is saved:  {report.finding}")
        print(f"to see it once more: scripts/fuzz {target.name} --input {report.finding}\n", flush=True)
    return not report.failed


def _replay(target: Target, file: Path) -> int:
    try:
        read = target.check(file.read_bytes())
    except Exception:
        traceback.print_exc()
        return 1
    print("all promises hold" if read else f"this is no input of {target.name}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
