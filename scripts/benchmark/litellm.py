"""thoughtkeep beside LiteLLM's proxy: the same requests through both, a bare mitmdump, and none, to one upstream.

All listen on loopback and have one process to work in. Rounds go to each in turn; what a proxy adds is its time less
that of the direct connection with as many clients.
"""

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

from benchmark import course, crowd, gateway, table, traffic
from benchmark.crowd import Failed, Spent, percentile
from benchmark.gateway import Gateway, Unavailable
from benchmark.memory import Family
from benchmark.provider import DEFAULT
from benchmark.service import Service
from proxy import Proxy, ProxyFailed

#: Seconds in which everything is measured, the making of LiteLLM's environment aside.
LIMIT = 200

#: Clients at a time, rounds, and events of an answer.
CLIENTS = (1, 16)
ROUNDS, QUICK_ROUNDS = 3, 1
EVENTS = 120

#: Seconds that one exchange may take.
PATIENCE = 60.0

_TALK = "first"
_HEAD = (
    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer {key}\r\n"
    "Accept: */*\r\nUser-Agent: bench\r\n{extra}Content-Length: {length}\r\n\r\n"
)


@dataclass
class Way:
    """One way to the upstream: its port and path, who of it is measured, and for how long a round."""

    name: str
    title: str
    port: int
    path: str
    key: str
    pid: int
    seconds: float
    state: int | None = None
    idle: float = 0.0
    peak: float = 0.0
    reasoning: int = 0
    unchanged: bool = False
    found: dict[int, Spent] = field(default_factory=dict)

    def request(self, body: bytes, extra: str = "") -> bytes:
        """A request that goes this way."""
        return _HEAD.format(path=self.path, key=self.key, extra=extra, length=len(body)).encode() + body


def main(arguments: Sequence[str]) -> int:
    """Measure all ways and print what came out. 0 if everything could be measured."""
    parser = course.parser(
        "litellm",
        "The same streamed exchanges through LiteLLM's proxy, a bare mitmdump and one with thoughtkeep, next to none: "
        "rate, added latency, CPU and memory. Takes about two minutes.",
        f"LiteLLM {gateway.VERSION} is installed into .bench on first use, which takes a minute or two and some "
        "700 MB. While it is measured, nothing leaves this machine.",
    )
    options = parser.parse_args(arguments)
    began, faults, ways, facts = time.monotonic(), [], list[Way](), ""
    try:
        with course.within(gateway.MAKING):
            course.say(f"LiteLLM {gateway.VERSION}")
            gateway.install()
        with course.within(LIMIT), ExitStack() as stack:
            facts = course.facts()
            ways = stack.enter_context(_ways())
            _measure(ways, options.quick)
    except (Unavailable, ProxyFailed, Failed, course.Late, OSError) as fault:
        faults.append(str(fault))
    if ways and all(way.found for way in ways):
        print(facts)
        _show(ways)
    return course.end(options, facts, faults, began, {"figures": [row for way in ways for row in _rows(way, ways[0])]})


# -- the ways ---------------------------------------------------------------------------------------------------------


@contextmanager
def _ways() -> Iterator[list[Way]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thoughtkeep-bench-")))
        talk = traffic.talk(_TALK, 12, 1_900, 30_000, streamed=True)
        answers = {DEFAULT: traffic.chat_stream(EVENTS)}
        for number, turn in enumerate(talk.turns):
            answers[f"{_TALK}/{number}"] = traffic.plain_answer(turn, "tool_calls" if "tool_calls" in turn else "stop")
        file = folder / "answers.json"
        file.write_text(json.dumps({name: [one.kind, one.chunks] for name, one in answers.items()}), "utf-8")
        upstream = stack.enter_context(Service("provider.py", file))
        mode = ("--mode", f"reverse:{upstream.url}")
        store = f"thoughtkeep_store=sqlite:///{folder}/store.sqlite3"
        bare = stack.enter_context(Proxy(*mode, "-s", course.BARE))
        addon = stack.enter_context(Proxy(*mode, "-s", course.ADDON, "--set", store))
        course.say("starting LiteLLM")
        lite = stack.enter_context(Gateway(folder, upstream.url))
        key, chat = "sk-bench-0123456789abcdef", gateway.CHAT
        turns = len(talk.turns)
        ways = [
            Way("direct", "direct connection", upstream.port, chat, key, 0, 1.5, 0),
            Way("bare", "mitmdump, bare", bare.port, chat, key, bare.pid, 3, 0),
            Way("addon", "mitmdump with thoughtkeep", addon.port, chat, key, addon.pid, 3, turns),
            Way("litellm", "LiteLLM, chat completions", lite.port, chat, lite.key, lite.pid, 8),
            Way(
                "litellm-through", "LiteLLM, pass_through_endpoints", lite.port, gateway.THROUGH, lite.key, lite.pid, 5
            ),
        ]
        for number, body in enumerate(talk.plays):  # the proxy sees each answer as it came about
            extra = f"x-bench-answer: {_TALK}/{number}\r\nx-thoughtkeep: observe\r\n"
            crowd.once(addon.port, ways[2].request(body, extra))
        yield ways
        faults = course.warnings(addon.log())
        if faults:
            raise Failed(faults[0])


def _measure(ways: Sequence[Way], quick: bool) -> None:
    body = traffic.talk(_TALK, 12, 1_900, 30_000, streamed=True).bodies["none"]
    told = b""
    for way in ways:
        way.idle = Family(way.pid).begin() if way.pid else 0.0
        way.reasoning, answer = _look(way, body)
        told = told or answer
        way.unchanged = answer == told
    for number in range(QUICK_ROUNDS if quick else ROUNDS):
        for clients in CLIENTS:
            course.say(f"round {number + 1}, clients: {clients}")
            for way in ways:
                _round(way, way.request(body), clients, quick)


def _look(way: Way, body: bytes) -> tuple[int, bytes]:
    """Go a way once. How many turns' reasoning arrived, and a digest of what came back. Raises Failed."""
    connection = HTTPConnection("127.0.0.1", way.port, timeout=PATIENCE)
    try:
        headers = {"content-type": "application/json", "authorization": f"Bearer {way.key}"}
        connection.request("POST", way.path, body, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200 or b"call_00_bench" not in answer or b"[DONE]" not in answer:
            raise Failed(f"{way.title}: status {response.status}, and no whole answer: {answer[-300:]!r}")
        state = response.getheader("x-bench-state") or response.getheader("llm_provider-x-bench-state") or 0
        return int(state), hashlib.sha256(answer).digest()
    finally:
        connection.close()


def _round(way: Way, sent: bytes, clients: int, quick: bool) -> None:
    family = Family(way.pid)
    seconds = min(way.seconds, 3) if quick else way.seconds
    cpu: Callable[[], float] = family.cpu if way.pid else lambda: 0.0
    try:
        spent = crowd.play([way.port] * clients, [[sent]] * clients, seconds, cpu, way.state)
    except Failed as fault:
        raise Failed(f"{way.title}: {fault}") from None
    if spent.missed * 100 > len(spent.wholes):
        raise Failed(f"{way.title}: {spent.missed} of {len(spent.wholes)} requests arrived without their reasoning")
    way.found.setdefault(clients, Spent()).add(spent)
    way.peak = family.peak() if way.pid else 0.0


# -- what comes out ---------------------------------------------------------------------------------------------------


def _rows(way: Way, direct: Way) -> Iterator[dict[str, object]]:
    for clients, spent in way.found.items():
        base = direct.found[clients]
        yield {
            "way": way.name,
            "title": way.title,
            "clients": clients,
            "exchanges": len(spent.wholes),
            "rate": spent.rate,
            "first_p50_added_ms": percentile(spent.firsts, 50) - percentile(base.firsts, 50),
            "first_p99_added_ms": percentile(spent.firsts, 99) - percentile(base.firsts, 99),
            "whole_p50_added_ms": percentile(spent.wholes, 50) - percentile(base.wholes, 50),
            "whole_p99_added_ms": percentile(spent.wholes, 99) - percentile(base.wholes, 99),
            "cpu_ms": spent.cpu / len(spent.wholes) * 1e3,
            "idle_mb": way.idle,
            "peak_mb": way.peak,
            "reasoning_arrived": way.reasoning,
            "answer_unchanged": way.unchanged,
        }


def _show(ways: Sequence[Way]) -> None:
    lines = []
    for clients in CLIENTS:
        for way in ways:
            row = next(row for row in _rows(way, ways[0]) if row["clients"] == clients)
            added = [f"{row[name]:+.1f} ms" for name in row if name.endswith("_added_ms")] if way.pid else [""] * 4
            cpu = f"{row['cpu_ms']:.2f} ms" if way.pid else ""
            lines.append((way.title, f"{clients}", f"{row['exchanges']}", f"{row['rate']:.1f}", *added, cpu))
    table.show(("way", "clients", "exchanges", "a second", "first p50", "p99", "whole p50", "p99", "CPU each"), lines)
    size = len(traffic.talk(_TALK, 12, 1_900, 30_000, streamed=True).bodies["none"])
    print(
        f"Requests of {size / 1e3:.0f} kB, 12 turns, without their reasoning; streamed answers of {EVENTS} events, with"
    )
    print("a tool call. first, whole: the first byte of an answer and all of it, added to the direct connection's with")
    print(
        "as many clients. With several clients each waits for the others: a slow proxy's time is mostly waiting then."
    )
    table.show(
        ("way", "memory idle", "peak", "turns whose reasoning arrived", "answer unchanged"),
        [
            (
                way.title,
                f"{way.idle:.0f} MB",
                f"{way.peak:.0f} MB",
                f"{way.reasoning} of 12",
                "yes" if way.unchanged else "no",
            )
            for way in ways
            if way.pid
        ],
    )
    print("Memory is of the process and its children. Both of LiteLLM's ways are one process, measured in turn.")
    sys.stdout.flush()
