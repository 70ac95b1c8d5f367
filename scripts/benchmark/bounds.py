"""Whether what thoughtkeep holds is bounded: memory, the store, and what others notice, whatever an answer is like.

Each answer goes through a bare mitmdump and one with thoughtkeep, both new and one after the other. What is told of
memory is how much the process grew beyond what it took when it was idle.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmark import course, drain, table
from benchmark.crowd import Failed, percentile
from benchmark.memory import Family
from benchmark.service import Service
from benchmark.stock import Row, in_store, over_bound
from proxy import Proxy, ProxyFailed

#: Seconds in which everything is measured.
LIMIT = 280

#: Streams at a time.
STREAMS, QUICK_STREAMS = 200, 50

#: Megabytes that the addon may take beyond the bare proxy for one answer: what it holds of it is bounded by 16 MB, and
#: so is the copy for the views; either is there twice for a moment.
HELD = 64.0

#: Megabytes for each of many streams: the copies of what has come so far, and what was read of it.
A_STREAM = 1.5

#: Milliseconds that other streams' events may be later than with the bare proxy, at worst.
LATER = 250.0

ANSWERS = {
    "large": "stream of 1 GB, events of 64 kB",
    "line": "one line of 50 MB",
    "tiny": "a million tiny events",
    "large+gzip": "gzip, inflates to 1 GB of events",
    "comments+gzip": "gzip, inflates to 1 GB of comments",
    "large+br": "brotli, inflates to 1 GB of events",
    "comments+br": "brotli, inflates to 1 GB of comments",
    "comments+zstd": "zstd, inflates to 1 GB of comments",
}


@dataclass(frozen=True)
class Seen:
    """One side: megabytes that it grew by, the delays of others' events in ms, and whether all bytes came."""

    grown: float
    p50: float
    p99: float
    longest: float
    whole: bool
    seconds: float


def main(arguments: Sequence[str]) -> int:
    """Measure all bounds and print what came out. 0 if everything could be measured, whether bounds hold or not."""
    names = f"parallel, {', '.join(ANSWERS)}, turns, size"
    parser = course.parser(
        "bounds",
        "What is held in memory and on disk, and what others notice, when answers are too large, too many, or bombs: a "
        "bare mitmdump beside one with thoughtkeep. Takes about three minutes.",
        f"Bounds: {names}. A name stands for all that begin with it.",
    )
    parser.add_argument("bounds", nargs="*", metavar="BOUND", help="only these (default: all)")
    options = parser.parse_args(arguments)
    known = ["parallel", *ANSWERS, "turns", "size"]
    if unknown := [name for name in options.bounds if not any(one.startswith(name) for one in known)]:
        parser.error(f"no such bound: {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [name for name in known if not options.bounds or name.startswith(tuple(options.bounds))]
    began, faults, rows, facts = time.monotonic(), [], list[Row](), course.facts()
    try:
        with course.within(LIMIT), tempfile.TemporaryDirectory(prefix="thoughtkeep-bench-") as folder:
            for row in _all(chosen, Path(folder), options.quick):
                rows.append(row)
    except (ProxyFailed, Failed, course.Late, OSError) as fault:
        faults.append(str(fault))
    if rows:
        print(facts)
        _show(rows)
    return course.end(options, facts, faults, began, {"figures": [vars(row) for row in rows]})


def _all(chosen: Sequence[str], folder: Path, quick: bool) -> Iterator[Row]:
    with Service("flood.py", *(["quick"] if quick else [])) as upstream, Service("probe.py") as probe:
        for name in chosen:
            course.say(name)
            if name == "parallel":
                yield from _parallel(upstream, folder, QUICK_STREAMS if quick else STREAMS)
            elif name in ANSWERS:
                yield from _answer(name, upstream, probe, folder)
    if "turns" in chosen:
        yield from in_store(folder, quick)
    if "size" in chosen:
        yield from over_bound(folder, quick)


# -- answers ----------------------------------------------------------------------------------------------------------


@contextmanager
def _side(name: str, folder: Path) -> Iterator[Proxy]:
    """A new proxy of either kind, after its first exchange."""
    words = ["-s", course.BARE]
    if name == "addon":
        words = ["-s", course.ADDON, "--set", f"thoughtkeep_store=sqlite:///{folder}/{time.monotonic_ns()}.sqlite3"]
    with Proxy(*words) as proxy:
        yield proxy
        if found := course.warnings(proxy.log()):
            raise Failed(found[0])


def _parallel(upstream: Service, folder: Path, streams: int) -> Iterator[Row]:
    want = _told(upstream, "parallel")
    grown, whole = {}, {}
    for side in ("bare", "addon"):
        with _side(side, folder) as proxy:
            drain.drain(proxy.port, upstream.port, "")
            family = Family(proxy.pid)
            before = family.begin()
            headers = f"x-bench-flood: parallel\r\nx-bench-together: {streams}\r\n"
            found = drain.together(proxy.port, upstream.port, headers, streams)
            grown[side] = family.peak() - before
            whole[side] = sum(isinstance(one, drain.Drained) and one.sha256 == want["sha256"] for one in found)
    title = f"{streams} streams at once, of {want['size'] / 1e3:.0f} kB each"
    yield Row("parallel", f"{title}: memory grew by", "MB", grown["bare"], grown["addon"])
    more = (grown["addon"] - grown["bare"]) / streams
    yield Row("parallel", "more for each stream", "MB", None, more, f"<= {A_STREAM}", more <= A_STREAM)
    met = whole["addon"] == streams
    yield Row("parallel", "whole and unchanged", "", whole["bare"], whole["addon"], f"= {streams}", met)


def _answer(name: str, upstream: Service, probe: Service, folder: Path) -> Iterator[Row]:
    want = _told(upstream, name)
    seen = {}
    for side in ("bare", "addon"):
        with _side(side, folder) as proxy:
            seen[side] = _seen(proxy, name, upstream, probe, want)
    bare, addon = seen["bare"], seen["addon"]
    yield Row(name, f"{ANSWERS[name]}: memory grew by", "MB", bare.grown, addon.grown)
    more = addon.grown - bare.grown
    yield Row(name, "more than bare", "MB", None, more, f"<= {HELD:.0f}", more <= HELD)
    yield Row(name, "others' events delayed, p99", "ms", bare.p99, addon.p99)
    met = addon.longest <= bare.longest + LATER
    yield Row(name, "longest delay", "ms", bare.longest, addon.longest, f"<= bare + {LATER:.0f}", met)
    yield Row(name, "whole and unchanged", "", float(bare.whole), float(addon.whole), "= 1", addon.whole)
    yield Row(name, "time", "s", bare.seconds, addon.seconds)


def _seen(proxy: Proxy, name: str, upstream: Service, probe: Service, want: dict[str, object]) -> Seen:
    drain.drain(proxy.port, upstream.port, "")
    family = Family(proxy.pid)
    before = family.begin()
    probe.tell(str(proxy.port))
    time.sleep(0.3)
    got = drain.drain(proxy.port, upstream.port, f"x-bench-flood: {name}\r\n")
    time.sleep(0.1)
    probe.tell("")
    delays = probe.told()
    grown = family.peak() - before
    whole = got.sha256 == want["sha256"] and got.size == want["size"]
    return Seen(grown, percentile(delays, 50), percentile(delays, 99), max(delays) * 1e3, whole, got.seconds)


def _told(upstream: Service, name: str) -> dict[str, object]:
    return upstream.get(f"/{name}")


# -- what comes out ---------------------------------------------------------------------------------------------------


def _show(rows: Sequence[Row]) -> None:
    lines = []
    for number, row in enumerate(rows):
        same = number and rows[number - 1].bound == row.bound
        met = "" if row.met is None else "met" if row.met else "NOT met"
        lines.append(
            ("" if same else row.bound, row.title, _value(row.bare, row), _value(row.addon, row), row.aim, met)
        )
    table.show(("bound", "", "bare", "addon", "aim", ""), lines, left=2)
    print("Memory: what the process takes at most beyond what it took before. Others' events: of a stream of one event")
    print("every 5 ms through the same proxy meanwhile.")
    sys.stdout.flush()


def _value(value: float | None, row: Row) -> str:
    if value is None:
        return ""
    digits = 0 if not row.unit or value >= 1000 else 2 if value < 10 else 1
    return f"{value:,.{digits}f} {row.unit}".strip()
