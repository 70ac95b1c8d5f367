"""Proxies that share a Redis server: what it has to do for them, what it holds, and what its answers take.

Two mitmdumps with thoughtkeep, a server on loopback without persistence, and clients each of whom is an agent with a
conversation of its own, whose reasoning it has dropped: so every exchange asks the store, restores, and is kept.
"""

import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmark import course, crowd, filling, table, traffic
from benchmark.crowd import Failed, percentile
from benchmark.memory import Family
from benchmark.provider import DEFAULT
from benchmark.service import Service
from benchmark.stock import request
from e2e.redis_server import PROGRAM, RedisServer
from proxy import Proxy, ProxyFailed
from thoughtkeep.turns import Keys
from thoughtkeep_store import Store, open_store

#: Seconds in which everything is measured.
LIMIT = 260

#: Turns that the server has when it is looked at.
SIZES, QUICK_SIZES = (1_000, 100_000), (1_000, 5_000)

#: Agents at a time, and turns of their conversations.
AGENTS, TURNS = 8, 12

#: More of them than one proxy can serve.
CROWD = 64

#: Seconds that they ask.
SECONDS, QUICK_SECONDS = 6.0, 2.0

#: Conversations that are looked up.
LOOKUPS, QUICK_LOOKUPS = 500, 100

#: Turns with long reasoning, and its words.
LONG, LONG_WORDS = 500, 1_000

#: Turns that are put before they are waited for.
PORTION = 5_000

_MB = 512
_FAR = 10_000_000


@dataclass(frozen=True)
class Held:
    """What the server holds and how many seconds a lookup of a conversation takes.

    `bytes_a_kb` is what a thousand bytes more of reasoning take.
    """

    turns: int
    bytes_a_turn: float
    bytes_a_kb: float
    cold: Sequence[float]
    warm: Sequence[float]


@dataclass(frozen=True)
class Load:
    """One run of the agents.

    `missed` are requests that left without their reasoning, `away` says how often a proxy took the server for gone.
    """

    store: str
    turns: int
    proxies: int
    agents: int
    exchanges: int
    rate: float
    p50: float
    p99: float
    proxy_cpu: float
    missed: int
    away: int
    scripts: float = 0.0
    script_us: float = 0.0
    commands: float = 0.0
    server_cpu: float = 0.0
    received: float = 0.0
    sent: float = 0.0


def main(arguments: Sequence[str]) -> int:
    """Measure and print what came out. 0 if everything could be measured."""
    parser = course.parser(
        "redis",
        "Two mitmdumps with thoughtkeep that share a Redis server: rate, lookups, what the server does for an exchange "
        "and holds for a turn, with few turns and with many. Takes about two minutes.",
        "It needs redis-server or valkey-server, and starts its own on loopback, without persistence.",
    )
    options = parser.parse_args(arguments)
    began, faults, facts = time.monotonic(), [], course.facts()
    held, loads, restored = list[Held](), list[Load](), 0
    try:
        if PROGRAM is None:
            raise Failed("neither redis-server nor valkey-server is installed")
        with course.within(LIMIT), ExitStack() as stack:
            stage = _Stage(stack, options.quick)
            facts += f"; {stage.server_version()}"
            restored = stage.teach()
            loads.append(stage.load("sqlite", 0, [stage.alone]))
            loads.append(stage.load("redis", 0, stage.proxies[:1], CROWD))
            for turns in QUICK_SIZES if options.quick else SIZES:
                course.say(f"{turns} turns")
                held.append(stage.fill(turns))
                loads.append(stage.load("redis", turns, stage.proxies[:1]))
                loads.append(stage.load("redis", turns, stage.proxies))
            for proxy in (stage.alone, *stage.proxies):
                faults += course.warnings(proxy.log())
    except (ProxyFailed, Failed, course.Late, OSError, RuntimeError) as fault:
        faults.append(str(fault))
    print(facts)
    if loads:
        _show(restored, held, loads)
    figures = {"restored": restored, "held": list(map(vars, held)), "loads": list(map(vars, loads))}
    return course.end(options, facts, faults, began, figures)


class _Stage:
    """All that runs: the upstream, the server, two proxies that share it and one with a file of its own."""

    def __init__(self, stack: ExitStack, quick: bool) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thoughtkeep-bench-")))
        self._quick = quick
        self._have = 0
        self._talks = [traffic.talk(f"agent{number}", TURNS, 1_900, 30_000, streamed=True) for number in range(AGENTS)]
        answers = {DEFAULT: traffic.chat_stream(120)}
        for talk in self._talks:
            for number, turn in enumerate(talk.turns):
                finish = "tool_calls" if "tool_calls" in turn else "stop"
                answers[f"{talk.name}/{number}"] = traffic.plain_answer(turn, finish)
        file = folder / "answers.json"
        file.write_text(json.dumps({name: [one.kind, one.chunks] for name, one in answers.items()}), "utf-8")
        self._upstream = stack.enter_context(Service("provider.py", file))
        self._server = stack.enter_context(RedisServer())
        words = ["-s", course.ADDON, "--set", f"thoughtkeep_max_store_mb={_MB}", "--set"]
        self.alone = stack.enter_context(Proxy(*words, f"thoughtkeep_store=sqlite:///{folder}/store.sqlite3"))
        shared = f"thoughtkeep_store={self._server.url}"
        self.proxies = [stack.enter_context(Proxy(*words, shared)) for _ in range(2)]

    def server_version(self) -> str:
        """What the server is."""
        return f"Redis {self._info('server')['redis_version']}"

    def teach(self) -> int:
        """Have one proxy see all conversations, and the other restore them. How many turns it restored."""
        for talk in self._talks:
            for number, body in enumerate(talk.plays):
                extra = f"x-bench-answer: {talk.name}/{number}\r\nx-thoughtkeep: observe\r\n"
                for proxy in (self.proxies[0], self.alone):
                    crowd.once(proxy.port, request(self._upstream.port, body, extra))
        found = [crowd.once(self.proxies[1].port, request(self._upstream.port, t.bodies["none"])) for t in self._talks]
        return sum(found)

    def load(self, store: str, turns: int, proxies: Sequence[Proxy], agents: int = AGENTS) -> Load:
        """Have agents ask through these proxies, as many through each."""
        families = [Family(proxy.pid) for proxy in proxies]
        ports = [proxies[number % len(proxies)].port for number in range(agents)]
        asked = [[request(self._upstream.port, talk.bodies["none"])] for talk in self._talks]
        sent = [asked[number % len(asked)] for number in range(agents)]
        seconds = QUICK_SECONDS if self._quick else SECONDS
        crowd.play(ports, sent, 0.5, state=TURNS)  # what is met for the first time is not counted
        before, gone = self._counts(), sum(_away(proxy) for proxy in proxies)
        spent = crowd.play(ports, sent, seconds, lambda: sum(family.cpu() for family in families), TURNS)
        number = len(spent.wholes)
        told = [(after - first) / number for first, after in zip(before, self._counts(), strict=True)]
        scripts, busy, commands, cpu, received, given = told if store == "redis" else [0.0] * 6
        return Load(
            store,
            turns,
            len(proxies),
            agents,
            number,
            spent.rate,
            percentile(spent.wholes, 50),
            percentile(spent.wholes, 99),
            spent.cpu / number * 1e3,
            spent.missed,
            sum(_away(proxy) for proxy in proxies) - gone,
            scripts,
            busy / scripts if scripts else 0.0,
            commands,
            cpu * 1e3,
            received,
            given,
        )

    def fill(self, turns: int) -> Held:
        """Put turns of others into the server, and look some up."""
        return asyncio.run(self._fill(turns))

    async def _fill(self, turns: int) -> Held:
        before, first = self._memory(), self._have
        store = self._open()
        try:
            for start in range(first, turns, PORTION):
                await filling.put(store, start, min(start + PORTION, turns))
            self._have = turns
            stats = await store.stats()
        finally:
            await store.close()
        took = (self._memory() - before) / (turns - first)
        more = await self._longer(took, turns)
        store = self._open()  # which has read nothing yet
        try:
            rng, number = random.Random(turns), QUICK_LOOKUPS if self._quick else LOOKUPS
            chosen = [rng.randrange(turns // filling.CONVERSATION) for _ in range(number)]
            asked = [filling.keys(store.key, one) for one in dict.fromkeys(chosen)]
            await store.stats()
            return Held(stats.turns, took, more, await _look(store, asked), await _look(store, asked))
        finally:
            await store.close()

    async def _longer(self, took: float, turns: int) -> float:
        """Put turns with more reasoning, far behind the others. What a thousand bytes more of it take."""
        before, first = self._memory(), _FAR + turns
        store = self._open()
        try:
            await filling.put(store, first, first + LONG, LONG_WORDS)
        finally:
            await store.close()
        letters = (LONG_WORDS - filling.WORDS) * 11
        return ((self._memory() - before) / LONG - took) / letters * 1000

    def _open(self) -> Store:
        return open_store(self._server.url, ttl=7 * 86_400.0, max_bytes=_MB * 1_000_000, on_fault=print)

    def _memory(self) -> int:
        return int(self._info("memory")["used_memory"])

    def _counts(self) -> tuple[float, ...]:
        """Scripts, their µs, all commands in them, seconds of CPU, bytes received and sent, so far."""
        calls, busy, commands = 0.0, 0.0, 0.0
        for name, told in self._info("commandstats").items():
            number, usec = map(float, re.findall(r"(?:^|,)(?:calls|usec)=(\d+)", told))
            if name.startswith(("cmdstat_eval", "cmdstat_fcall")):
                calls, busy = calls + number, busy + usec
            else:
                commands += number
        cpu, stats = self._info("cpu"), self._info("stats")
        seconds = float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])
        received, sent = float(stats["total_net_input_bytes"]), float(stats["total_net_output_bytes"])
        return calls, busy, commands, seconds, received, sent

    def _info(self, section: str) -> dict[str, str]:
        said = self._server.say(f"INFO {section}").decode("utf-8", "replace")
        return dict(line.split(":", 1) for line in said.split("\r\n") if ":" in line)


def _away(proxy: Proxy) -> int:
    return proxy.log().count("until it is back")


async def _look(store: Store, asked: Sequence[Keys]) -> list[float]:
    spent = []
    for keys in asked:
        began = time.perf_counter()
        facts = await store.fetch(keys)
        spent.append(time.perf_counter() - began)
        if len(facts.turns) != filling.CONVERSATION:
            raise Failed(f"a lookup found {len(facts.turns)} turns, not {filling.CONVERSATION}")
    return spent


# -- what comes out ---------------------------------------------------------------------------------------------------


def _show(restored: int, held: Sequence[Held], loads: Sequence[Load]) -> None:
    print(f"\nCaptured at one proxy, restored by the other: {restored} of {AGENTS * TURNS} turns.")
    table.show(
        (
            "store",
            "turns",
            "proxies",
            "agents",
            "exchanges",
            "a second",
            "p50",
            "p99",
            "proxy CPU each",
            "not restored",
        ),
        [tuple(_loaded(load)) for load in loads],
    )
    table.show(
        ("an exchange, to Redis", "turns", "scripts", "a script", "commands in them", "CPU", "bytes to it", "from it"),
        [
            (
                f"from {load.proxies} {'proxy' if load.proxies == 1 else 'proxies'}",
                f"{load.turns:,}",
                f"{load.scripts:.2f}",
                f"{load.script_us:.0f} µs",
                f"{load.commands:.0f}",
                f"{load.server_cpu:.2f} ms",
                f"{load.received:,.0f}",
                f"{load.sent:,.0f}",
            )
            for load in loads
            if load.store == "redis" and load.turns
        ],
    )
    table.show(
        ("Redis holds", "memory a turn", "a kB more", "lookup, first, p50", "p99", "again, p50", "p99"),
        [
            (
                f"{one.turns:,} turns",
                f"{one.bytes_a_turn:,.0f} bytes",
                f"{one.bytes_a_kb:,.0f} bytes",
                *(f"{percentile(times, at):.2f} ms" for times in (one.cold, one.warm) for at in (50, 99)),
            )
            for one in held
        ],
    )
    print(f"Agents' requests have 57 kB and {TURNS} turns without their reasoning, all of which is restored; streamed")
    print(
        "answers of 120 events. A turn that Redis holds has a call and 550 bytes of reasoning; beside it what a kB more"
    )
    print("of it takes. A lookup is of a conversation of 20 such turns, by an idle client.")
    print("Everything is on one machine: with two proxies the cores are the limit, not Redis.")
    sys.stdout.flush()


def _loaded(load: Load) -> Iterator[str]:
    yield load.store
    yield f"{load.turns:,}"
    yield f"{load.proxies}"
    yield f"{load.agents}"
    yield f"{load.exchanges}"
    yield f"{load.rate:.1f}"
    yield f"{load.p50:.1f} ms"
    yield f"{load.p99:.1f} ms"
    yield f"{load.proxy_cpu:.2f} ms"
    yield f"{load.missed}"
