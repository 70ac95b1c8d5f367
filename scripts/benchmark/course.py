"""The course of one subcommand: bounded in time, told on which machine, and written down where that is wanted."""

import argparse
import gc
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mitmproxy import version

from benchmark import memory

ROOT = Path(__file__).resolve().parent.parent.parent

#: The addons of the two sides that are compared.
BARE = ROOT / "scripts" / "benchmark" / "bare_addon.py"
ADDON = ROOT / "addons" / "addon.py"


class Late(Exception):
    """The time is over. Not an OSError, as TimeoutError is: nobody may take it for a fault of a connection."""


def parser(name: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """What reads the command line of a subcommand."""
    made = argparse.ArgumentParser(prog=f"bench {name}", description=description, epilog=epilog)
    made.add_argument("--quick", action="store_true", help="smaller and fewer: to see that it works")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    return made


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raises Late when so many seconds are over, SystemExit when it is to end: either way the contexts tidy up."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGALRM, _late)
    gc.disable()  # a collection in the client would look like a slow proxy
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        gc.enable()
        for number, handler in before.items():
            signal.signal(number, handler)


def facts() -> str:
    """The machine and the versions."""
    told = [
        time.strftime("%Y-%m-%d"),
        f"{os.cpu_count()} cores",
        f"load {os.getloadavg()[0]:.1f}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"mitmproxy {version.VERSION}",
        f"{platform.system()} {platform.machine()}",
    ]
    if not memory.is_told():
        told.append("no /proc: memory is not measured, and shown as 0")
    return "; ".join(told)


def say(words: str) -> None:
    """Tell whoever waits what is being done."""
    print(f"… {words}", file=sys.stderr, flush=True)


def end(
    options: argparse.Namespace, machine: str, faults: Sequence[str], began: float, figures: Mapping[str, Any]
) -> int:
    """Tell what failed, write the figures down. 0 if nothing failed."""
    for fault in faults:
        print(f"FAILED {fault}")
    print(f"{time.monotonic() - began:.0f} s.")
    if options.json:
        found = {"machine": machine, "quick": options.quick, "faults": list(faults), **figures}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if faults else 0


def warnings(log: str) -> list[str]:
    """What an addon's log tells that would make the figures worthless."""
    hits = [line for line in log.splitlines() if "thoughtkeep: fault" in line or "Traceback" in line]
    return [f"{len(hits)} times: faults in the addon, such as: {hits[0][-160:]}"] if hits else []


def _leave(signum: int, frame: object) -> None:
    raise SystemExit(128 + signum)


def _late(signum: int, frame: object) -> None:
    raise Late("not finished in time: the machine is too busy to measure on")
