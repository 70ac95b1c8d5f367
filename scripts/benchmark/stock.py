"""What turns in the store cost: the proxy's memory with many of them, and the file when there are too many."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmark import course, crowd, traffic
from benchmark.filling import CONVERSATION, conversation
from benchmark.filling import HOST as FILLING
from benchmark.memory import Family
from benchmark.provider import DEFAULT
from benchmark.service import Service
from benchmark.wire import Client
from proxy import Proxy
from thoughtkeep_store import open_store, opening

#: Turns in the store at each look at the proxy, and how many are put before a request waits for them.
STEPS, QUICK_STEPS = (0, 10_000, 30_000, 100_000), (0, 2_000, 5_000, 10_000)
PORTION = 2_000

#: Megabytes that the proxy may take more with the most turns than with fewer: by then what it keeps at hand is full.
FLAT = 32.0

#: The bound of the store's size in megabytes, and the turns that are put into it, about twice as many as it holds.
BOUND, OVER = 16, 16_000

#: What the file may take beyond the bound, as a share of it: pages that are partly used, and those kept free.
SLACK = 0.25

#: Megabytes that SQLite's write-ahead log may take beside it.
LOG = opening.JOURNAL_LIMIT / 1e6

#: Clients at a time, and seconds that they ask.
CLIENTS, SECONDS = 8, 4.0


@dataclass(frozen=True)
class Row:
    """One figure, as printed and as written to JSON."""

    bound: str
    title: str
    unit: str
    bare: float | None
    addon: float | None
    aim: str = ""
    met: bool | None = None


def in_store(folder: Path, quick: bool) -> Iterator[Row]:
    """The proxy's memory, idle and at work, as turns are put into the store that it has open."""
    steps = QUICK_STEPS if quick else STEPS
    talk = traffic.talk("stock", 12, 1_900, 30_000, streamed=True)
    answers = {DEFAULT: traffic.chat_stream(120)}
    for number, turn in enumerate(talk.turns):
        answers[f"stock/{number}"] = traffic.plain_answer(turn, "tool_calls" if "tool_calls" in turn else "stop")
    file = folder / "stock.json"
    file.write_text(json.dumps({name: [one.kind, one.chunks] for name, one in answers.items()}), "utf-8")
    store = folder / "stock.sqlite3"
    with Service("provider.py", file) as upstream:
        with Proxy("-s", course.BARE) as proxy:
            bare = _at_work(proxy, upstream, talk.bodies["none"], 0)
        with _filled(store, 512) as proxy:
            for number, body in enumerate(talk.plays):
                extra = f"x-bench-answer: stock/{number}\r\nx-thoughtkeep: observe\r\n"
                crowd.once(proxy.port, request(upstream.port, body, extra))
            before, have = 0.0, 0
            for turns in steps:
                course.say(f"{turns} turns")
                _fill(proxy, have, turns)
                idle, peak, took = _at_work(proxy, upstream, talk.bodies["none"], len(talk.turns))
                have = turns
                flat = turns == steps[-1] and not quick
                words = f"{turns:,} turns in the store"
                yield Row("turns", f"{words}: memory before work", "MB", None if have else bare[0], idle)
                met = peak - before <= FLAT if flat else None
                aim = f"<= {before:.0f} + {FLAT:.0f}" if flat else ""
                before = peak
                yield Row("turns", "at work, at most", "MB", None if have else bare[1], peak, aim, met)
                yield Row("turns", f"exchange with {CLIENTS} clients, p50", "ms", None if have else bare[2], took)
    if have:
        yield Row("turns", "the file, a turn", "bytes", None, _size(store) / have)


def over_bound(folder: Path, quick: bool) -> Iterator[Row]:
    """A store that gets more than it may hold: what the file takes, and which conversations are left."""
    store, turns = folder / "bound.sqlite3", OVER // 2 if quick else OVER
    bound = BOUND // 2 if quick else BOUND
    most, log = 0.0, 0.0
    with _filled(store, bound) as proxy:
        for first in range(0, turns, PORTION // 4):
            _fill(proxy, first, first + PORTION // 4)
            most = max(most, store.stat().st_size / 1e6)
            log = max(log, _size(store) / 1e6 - store.stat().st_size / 1e6)
        time.sleep(1)
    left = asyncio.run(_left(store, turns // CONVERSATION))
    aim = bound * (1 + SLACK)
    gone = next((number for number, here in enumerate(left) if here), len(left))
    # At the border one conversation may be on its way.
    whole = all(here == CONVERSATION for here in left[gone + 1 :]) and 0 < gone < len(left)
    title = f"bound of {bound} MB, {turns:,} turns put"
    yield Row("size", f"{title}: the file at most", "MB", None, most, f"<= {aim:.0f}", most <= aim)
    yield Row("size", "its write-ahead log beside it, at most", "MB", None, log, f"<= {LOG:.0f}", log <= LOG)
    yield Row("size", "the file in the end", "MB", None, _size(store) / 1e6, f"<= {aim:.0f}", _size(store) / 1e6 <= aim)
    yield Row("size", f"oldest conversations gone, of {len(left)}", "", None, gone)
    yield Row("size", "all later ones whole", "", None, float(whole), "= 1", whole)


def request(port: int, body: bytes, extra: str = "") -> bytes:
    """A request through a proxy to an upstream's port."""
    return traffic.request(f"127.0.0.1:{port}", traffic.CHAT[1], body, DEFAULT, extra=extra)


def _filled(store: Path, megabytes: int) -> Proxy:
    words = ["--set", f"thoughtkeep_store=sqlite:///{store}", "--set", f"thoughtkeep_max_store_mb={megabytes}"]
    filler = course.ROOT / "scripts" / "benchmark" / "filling_addon.py"
    return Proxy("-s", course.ADDON, "-s", filler, *words)


def _fill(proxy: Proxy, first: int, turns: int) -> None:
    client = Client(proxy.port)
    try:
        for start in range(first, turns, PORTION):
            client.ask(traffic.request(FILLING, f"/{start}-{min(start + PORTION, turns)}", b"{}", ""))
    finally:
        client.close()


def _at_work(proxy: Proxy, upstream: Service, body: bytes, state: int) -> tuple[float, float, float]:
    """Megabytes before, at most, and the median of an exchange in ms."""
    family = Family(proxy.pid)
    idle = family.begin()
    sent = [request(upstream.port, body)]
    spent = crowd.play([proxy.port] * CLIENTS, [sent] * CLIENTS, SECONDS, state=state)
    if spent.missed * 100 > len(spent.wholes):
        raise crowd.Failed(f"{spent.missed} of {len(spent.wholes)} requests arrived without their reasoning")
    return idle, family.peak(), median(spent.wholes) * 1e3


def _size(store: Path) -> int:
    return sum(path.stat().st_size for path in store.parent.glob(store.name + "*"))


async def _left(file: Path, conversations: int) -> Sequence[int]:
    """How many turns each conversation still has, the oldest first."""
    store = open_store(f"sqlite:///{file}", ttl=1e9, max_bytes=1 << 40, on_fault=print)
    try:
        return [len(await store.conversation(*conversation(store.key, number))) for number in range(conversations)]
    finally:
        await store.close()
