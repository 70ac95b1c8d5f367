"""The benchmark: what thoughtkeep costs mitmdump, told by two mitmdumps side by side.

One ("bare") passes everything on; the other ("addon") is the same with thoughtkeep and an SQLite store. The same
requests go to both in turn, so that whatever else the machine does meets both; what counts is the ratio or the
difference within each round. Everything runs on loopback, against an upstream in a process of its own.
"""

import argparse
import gc
import json
import os
import platform
import pstats
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from mitmproxy import version

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lib")]

from benchmark import bounds, cores, filling, handover, litellm, measures, sharing, traffic  # noqa: E402
from benchmark.measures import Figure, Measure, Result  # noqa: E402
from benchmark.profile_addon import HOST as PROFILE_HOST  # noqa: E402
from benchmark.service import Service  # noqa: E402
from benchmark.wire import Side, Upstream, cpu_of  # noqa: E402
from proxy import Proxy, ProxyFailed  # noqa: E402

#: Seconds in which everything is measured, and how many more until the benchmark gives up as a whole.
LIMIT, QUICK_LIMIT = 130, 32
MERCY = 7

#: What is measured beside, each with figures of its own.
SUBCOMMANDS = {"bounds": bounds.main, "handover": handover.main, "litellm": litellm.main, "redis": sharing.main}

#: Functions that a profile shows.
SHOWN = 25


class Late(Exception):
    """The time is over. Not an OSError, as TimeoutError is: no measure may take it for a fault of its own."""


@dataclass(frozen=True)
class Row:
    """One figure of one measure, as printed and as written to JSON."""

    measure: str
    title: str
    figure: str
    unit: str
    bare: float
    addon: float
    compared: str
    change: float
    lowest: float
    highest: float
    rounds: int
    aim: float | None
    met: bool | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark. 0 if everything could be measured, whatever came out."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0] in SUBCOMMANDS:
        return SUBCOMMANDS[given[0]](given[1:])
    options = _options(arguments)
    # Both end it through its context managers, so that nothing is left behind.
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGALRM, _late)
    limit = (QUICK_LIMIT if options.quick else LIMIT) + options.turns // 500
    signal.alarm(limit + MERCY)
    gc.disable()  # a collection in the client would look like a slow proxy
    began = time.monotonic()
    talks = measures.make_talks()
    results: list[Result] = []
    warnings: list[str] = []
    facts = ""
    try:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thoughtkeep-bench-")))
            upstream = stack.enter_context(Upstream(folder, measures.answers(list(talks.values()), options.quick)))
            probe = stack.enter_context(Service("probe.py"))
            chosen = _chosen(measures.make(talks, upstream, probe, options.quick), options)
            url = f"sqlite:///{folder}/store.sqlite3"
            facts = _facts(filling.fill(url, options.turns) if options.turns else "")
            profile = folder / "profile" if options.profile else None
            addon = Side("addon", stack.enter_context(_addon(upstream, probe, url, options.turns, profile)))
            bare = None if profile else Side("bare", stack.enter_context(_bare(upstream, probe)))
            for size, talk in talks.items():
                if any(measure.name.startswith(size) for measure in chosen):
                    measures.teach(addon, talk)
            proxies = [side.proxy.pid for side in (addon, bare) if side is not None]
            if stack.enter_context(cores.apart(proxies, (upstream.pid, probe.pid))):
                facts += "; the proxies on a core of their own"
            print(facts, flush=True)
            if bare is None or profile is not None:
                return _profiled(chosen, addon, profile or folder)
            try:
                for measure in chosen:
                    results.append(_measured(measure, bare, addon, began + limit))
            finally:  # what is to come only tidies up
                signal.alarm(0)
                warnings += _warnings(addon.proxy.log())
    except Late as error:
        warnings.append(str(error))
    except ProxyFailed as error:
        print(f"FAILED: mitmdump did not start: {error}", file=sys.stderr)
        return 1
    rows = [row for result in results for row in _rows(result)]
    if rows:
        _table(rows)
    faults = [f"{result.measure.name}: {result.fault}" for result in results if result.fault] + warnings
    for fault in faults:
        print(f"FAILED {fault}")
    print(f"{time.monotonic() - began:.0f} s.")
    if options.json:
        found = {"machine": facts, "quick": options.quick, "turns": options.turns, "faults": faults}
        options.json.write_text(json.dumps({**found, "figures": [vars(row) for row in rows]}, indent=1) + "\n")
    return 1 if faults else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = (
        "burst-chat, burst-gemini, burst-details, joined-chat, one-by-one, first-byte, {60k,1m,10m}-{same,last,all}, "
        "and {1m,10m}-others"
    )
    parser = argparse.ArgumentParser(
        prog="bench",
        description="Measures what thoughtkeep costs mitmdump: the same traffic through one mitmdump without and one "
        "with it, in turn, on loopback. Takes about two minutes.",
        epilog=f"Measures: {names}. A name stands for all that begin with it. Subcommands measure something else, see "
        "--help of each: `bench handover`, the bytes of a conversation that moves from model to model; `bench "
        "litellm`, LiteLLM's proxy beside both; `bench bounds`, memory and disk where answers are too large; `bench "
        "redis`, proxies that share a server.",
    )
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help="only these (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: half a minute, wider spread")
    parser.add_argument("--turns", type=int, default=0, metavar="N", help="put N turns into the store beforehand")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="compare nothing; run the addon's side of the chosen measures under cProfile and show where its time goes",
    )
    options = parser.parse_args(arguments)
    if options.turns < 0:
        parser.error("--turns is 0 or more")
    options.error = parser.error
    return options


def _chosen(known: Sequence[Measure], options: argparse.Namespace) -> list[Measure]:
    wanted = options.measures
    unknown = [name for name in wanted if not any(measure.name.startswith(name) for measure in known)]
    if unknown:
        options.error(f"no such measure: {', '.join(unknown)}; there are {', '.join(m.name for m in known)}")
    return [measure for measure in known if not wanted or measure.name.startswith(tuple(wanted))]


def _facts(filled: str) -> str:
    told = [
        f"{os.cpu_count()} cores",
        f"load {os.getloadavg()[0]:.1f}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"mitmproxy {version.VERSION}",
        f"{platform.system()} {platform.machine()}",
    ]
    if not cpu_of(os.getpid()):
        told.append("no /proc and no psutil: CPU is not measured, and shown as 0")
    if filled:
        told.append(f"store filled with {filled}")
    return "; ".join(told)


# -- the sides --------------------------------------------------------------------------------------------------------


def _proxy(upstream: Upstream, probe: Service, *words: str | Path) -> Proxy:
    hosts = [host for host, _ in (traffic.CHAT, traffic.ENTRIES, traffic.GEMINI)]
    redirect = ",".join([*(f"{host}={upstream.port}" for host in hosts), f"127.0.0.1={probe.port}"])
    return Proxy(*words, "-s", ROOT / "tests" / "redirect_addon.py", "--set", f"redirect_hosts={redirect}")


def _bare(upstream: Upstream, probe: Service) -> Proxy:
    return _proxy(upstream, probe, "-s", ROOT / "scripts" / "benchmark" / "bare_addon.py")


def _addon(upstream: Upstream, probe: Service, store: str, turns: int, profile: Path | None) -> Proxy:
    words: list[str | Path] = ["-s", ROOT / "addons" / "addon.py", "--set", f"thoughtkeep_store={store}"]
    words += ["--set", f"thoughtkeep_max_store_mb={filling.room_for(turns)}"]
    if profile:
        words += ["-s", ROOT / "scripts" / "benchmark" / "profile_addon.py", "--set", f"bench_profile={profile}"]
    return _proxy(upstream, probe, *words)


def _measured(measure: Measure, bare: Side, addon: Side, deadline: float) -> Result:
    if sys.stderr.isatty():
        print(f"\r\033[K{measure.title} …", end="", file=sys.stderr, flush=True)
    result = measures.run(measure, bare, addon, deadline)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    gc.collect()
    return result


def _warnings(log: str) -> list[str]:
    """What the addon's log tells that would make the figures worthless."""
    lines = log.splitlines()
    found = {
        "answers were not captured": [line for line in lines if "thoughtkeep: end" in line and "captured 0" in line],
        "faults in the addon": [line for line in lines if "thoughtkeep: fault" in line],
        "captures stopped": [line for line in lines if "capture stopped" in line],
        "the store was too slow": [line for line in lines if "did not answer in time" in line],
    }
    return [f"{len(hits)} times: {what}, such as: {hits[0][-160:]}" for what, hits in found.items() if hits]


# -- what comes out ---------------------------------------------------------------------------------------------------


def _rows(result: Result) -> list[Row]:
    return [_row(result, figure) for figure in result.measure.figures] if result.addon else []


def _row(result: Result, figure: Figure) -> Row:
    pairs = [(figure.of(b), figure.of(a)) for b, a in zip(result.bare, result.addon, strict=False)]
    if figure.compared == "ratio":
        changes = [addon / bare if bare else 0.0 for bare, addon in pairs]
    else:
        changes = [addon - bare for bare, addon in pairs]
    change = median(changes)
    met = None
    if figure.aim is not None:
        met = change >= figure.aim if figure.more_is_better else change <= figure.aim
    return Row(
        result.measure.name,
        result.measure.title,
        figure.label,
        figure.unit,
        median(bare for bare, _ in pairs),
        median(addon for _, addon in pairs),
        figure.compared,
        change,
        min(changes),
        max(changes),
        len(pairs),
        figure.aim,
        met,
    )


def _table(rows: Sequence[Row]) -> None:
    head = ("measure", "", "bare", "addon", "change", "spread", "aim", "")
    lines = []
    for number, row in enumerate(rows):
        ratio = row.compared == "ratio"
        sign = "" if ratio else "+"
        lines.append(
            (
                row.figure if number and rows[number - 1].measure == row.measure else f"{row.title}: {row.figure}",
                f"({row.measure})" if not number or rows[number - 1].measure != row.measure else "",
                f"{row.bare:.2f} {row.unit}",
                f"{row.addon:.2f} {row.unit}",
                f"x {row.change:.3f}" if ratio else f"{row.change:+.2f} {row.unit}",
                f"{row.lowest:{sign}.2f} to {row.highest:{sign}.2f}",
                "" if row.aim is None else _aim(row),
                "" if row.met is None else "met" if row.met else "NOT met",
            )
        )
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    print()
    for line in [head, tuple("-" * width for width in widths), *lines]:
        cells = [
            cell.rjust(width) if 2 <= at <= 5 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    print()
    print("bare, addon: medians of the rounds. change: median of the rounds' ratios or differences, addon to bare;")
    print("spread: the lowest and the highest of them.")


def _aim(row: Row) -> str:
    if row.compared == "ratio":
        return f"{'>=' if row.figure == 'events/s' else '<='} {row.aim:.2f}"
    return f"<= {row.aim:+g} {row.unit}"


# -- profiles ---------------------------------------------------------------------------------------------------------


def _profiled(chosen: Sequence[Measure], addon: Side, file: Path) -> int:
    for measure in chosen:
        measure.play(addon)
        addon.client.ask(traffic.request(PROFILE_HOST, "/start", b"{}", ""))
        began, exchanges = time.monotonic(), 0
        while exchanges < 3 or (time.monotonic() - began < 2 and exchanges < 40):
            exchanges += len(measure.play(addon).firsts) or 1
        addon.client.ask(traffic.request(PROFILE_HOST, "/stop", b"{}", ""))
        print(f"\n{measure.name}: {measure.title}; {exchanges} exchanges, all figures in ms an exchange")
        _show(pstats.Stats(str(file)), exchanges)
    return 0


def _show(stats: pstats.Stats, exchanges: int) -> None:
    """The functions of ours that take longest with all that they call, and what of others' they call."""
    ours, others = [], []
    for place, (_, calls, own, total, callers) in stats.stats.items():
        if "thoughtkeep" in place[0]:
            ours.append((total, own, calls, f"{Path(place[0]).name}:{place[1]} {place[2]}"))
        else:
            by_us = [found for caller, found in callers.items() if "thoughtkeep" in caller[0]]
            if by_us:
                total, own, calls = (sum(found[at] for found in by_us) for at in (3, 2, 0))
                others.append((total, own, calls, f"{Path(place[0]).name}:{place[2]}"))
    for title, found, shown in (("functions", ours, SHOWN), ("called from them", others, SHOWN // 2)):
        print(f"\n{'with calls':>12}{'itself':>10}{'calls':>10}  {title}")
        for total, own, calls, name in sorted(found, reverse=True)[:shown]:
            print(f"{total / exchanges * 1e3:12.3f}{own / exchanges * 1e3:10.3f}{calls / exchanges:10.1f}  {name}")


def _leave(signum: int, frame: object) -> None:
    raise SystemExit(128 + signum)


def _late(signum: int, frame: object) -> None:
    raise Late("not finished in time: the machine is too busy to measure on")


if __name__ == "__main__":
    sys.exit(main())
