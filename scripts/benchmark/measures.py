"""What is measured: each measure plays one round on one side; its figures say what the rounds amount to."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Literal

from benchmark import traffic
from benchmark.service import Service
from benchmark.traffic import Answer, Echo, Talk, request
from benchmark.wire import Side, Upstream

#: Events of a stream.
EVENTS = 10_000
QUICK_EVENTS = 2_000

#: Rounds that a measure has at least, whatever the time.
FEWEST = 2

_ECHOES: Mapping[str, tuple[Echo, str]] = {
    "same": ("all", "nothing to change"),
    "last": ("all but last", "last turn to restore"),
    "all": ("none", "every turn to restore"),
}
_SPOKEN = {"60k": "60 kB", "1m": "1 MB", "10m": "10 MB"}


@dataclass(frozen=True)
class Sample:
    """One round on one side: seconds of each exchange or event, seconds of CPU, and how many units it was.

    Of exchanges also the seconds until the request was at the upstream, and until the answer began.
    """

    seconds: Sequence[float]
    cpu: float
    units: int
    arrivals: Sequence[float] = ()
    firsts: Sequence[float] = ()


@dataclass(frozen=True)
class Figure:
    """What is read from a sample, and what it is compared by: the addon's over the bare one, or less the bare one."""

    label: str
    unit: str
    of: Callable[[Sample], float]
    compared: Literal["ratio", "added"]
    aim: float | None = None
    more_is_better: bool = False


@dataclass(frozen=True)
class Measure:
    """One thing to measure, in at most `rounds` rounds a side and about `seconds` seconds altogether."""

    name: str
    title: str
    play: Callable[[Side], Sample]
    figures: Sequence[Figure]
    rounds: int
    seconds: float


@dataclass
class Result:
    """The samples of a measure, a side a list; a fault where it did not do what it should."""

    measure: Measure
    bare: list[Sample] = field(default_factory=list)
    addon: list[Sample] = field(default_factory=list)
    fault: str = ""


class Wrong(Exception):
    """An exchange went through, but was not what is measured."""


def run(measure: Measure, bare: Side, addon: Side, deadline: float) -> Result:
    """Measure, the two sides in turn: whatever else the machine does meets both. Ends by `deadline`, more or less."""
    result = Result(measure)
    if time.monotonic() > deadline:
        result.fault = "not measured, the time was over"
        return result
    until = min(deadline, time.monotonic() + measure.seconds)
    try:
        for side in (bare, addon):  # what is met for the first time is not counted
            measure.play(side)
        while len(result.addon) < measure.rounds:
            pair = [(bare, result.bare), (addon, result.addon)]
            for side, samples in pair if len(result.addon) % 2 == 0 else reversed(pair):
                samples.append(measure.play(side))
            if time.monotonic() > until and len(result.addon) >= FEWEST:
                break
    except (Wrong, OSError) as error:
        result.fault = str(error)
    return result


def answers(talks: Sequence[Talk], quick: bool) -> dict[str, Answer]:
    """What the upstream has to know."""
    known = {
        "chat": traffic.chat_stream(EVENTS),
        "one by one": traffic.chat_stream(QUICK_EVENTS if quick else EVENTS),
        "entries": traffic.entries_stream(EVENTS),
        "gemini": traffic.gemini_stream(EVENTS),
        "short": traffic.chat_stream(20),
        "small": traffic.plain_answer({"role": "assistant", "content": "Done.", "reasoning_content": "All is well."}),
    }
    for talk in talks:
        for number, turn in enumerate(talk.turns):
            finish = "tool_calls" if "tool_calls" in turn else "stop"
            known[f"{talk.name}/{number}"] = traffic.plain_answer(turn, finish)
    return known


def make_talks() -> dict[str, Talk]:
    """The conversations, by the name of their size."""
    return {
        "60k": traffic.talk("60k", 12, 1_900, 30_000),
        "1m": traffic.talk("1m", 160, 5_200, 40_000),
        "10m": traffic.talk("10m", 200, 47_500, 60_000),
        "first": traffic.talk("first", 12, 1_900, 30_000, streamed=True),
    }


def teach(side: Side, talk: Talk) -> None:
    """Have a proxy see all answers of a conversation, as they came about; nothing is restored meanwhile."""
    host, path = traffic.CHAT
    for number, body in enumerate(talk.plays):
        side.client.ask(request(host, path, body, f"{talk.name}/{number}", extra="x-thoughtkeep: observe\r\n"))


def make(talks: Mapping[str, Talk], upstream: Upstream, probe: Service, quick: bool) -> list[Measure]:
    """All measures, in their order."""
    rounds, share = (3, 0.2) if quick else (11, 1.0)
    found = [
        _burst("burst-chat", "chat completions", "chat", traffic.CHAT, rounds, 7 * share),
        _burst("burst-gemini", "Gemini", "gemini", traffic.GEMINI, rounds, 7 * share),
        _burst("burst-details", "reasoning_details", "entries", traffic.ENTRIES, rounds, 7 * share),
        _burst("joined-chat", "chat completions, chunks of 64 kB", "chat", traffic.CHAT, rounds, 2 * share, "joined"),
        _one_by_one(upstream, QUICK_EVENTS if quick else EVENTS, rounds, 18 * share),
        _first(talks["first"], 10 if quick else 30, rounds, 5 * share),
    ]
    for size, number, aim, seconds in (("60k", 30, 1.0, 3), ("1m", 12, 6.0, 5), ("10m", 3, 60.0, 6)):
        exchanges = max(2, number // 3) if quick else number
        found += [_requests(talks[size], size, name, exchanges, aim, rounds, seconds * share) for name in _ECHOES]
    found += [_others(talks[size], size, probe, number, rounds, 5 * share) for size, number in (("1m", 12), ("10m", 3))]
    return found


def _burst(
    name: str, title: str, answer: str, target: tuple[str, str], rounds: int, seconds: float, pace: str = "burst"
) -> Measure:
    sent = request(*target, traffic.question(answer, f"Say something long about {title}."), answer, pace)

    def play(side: Side) -> Sample:
        before = side.cpu()
        _, whole = side.client.ask(sent)
        return Sample([whole], side.cpu() - before, EVENTS)

    aim = 0.95 if pace == "burst" else None
    figures = [
        Figure("events/s", "k/s", lambda s: s.units / sum(s.seconds) / 1e3, "ratio", aim, more_is_better=True),
        Figure("CPU an event", "µs", lambda s: s.cpu / s.units * 1e6, "ratio"),
    ]
    return Measure(name, f"stream in a burst, {title}", play, figures, rounds, seconds)


def _one_by_one(upstream: Upstream, events: int, rounds: int, seconds: float) -> Measure:
    sent = request(*traffic.CHAT, traffic.question("chat", "Say something long, slowly."), "one by one", "receipt")

    def play(side: Side) -> Sample:
        before = side.cpu()
        spent = side.client.ask_one_by_one(sent, events, upstream)
        return Sample(spent, side.cpu() - before, events)

    figures = [
        Figure("CPU an event", "µs", lambda s: s.cpu / s.units * 1e6, "ratio", 1.05),
        Figure("delay p50", "ms", lambda s: median(s.seconds) * 1e3, "added"),
        Figure("delay p99", "ms", lambda s: quantiles(s.seconds, n=100)[98] * 1e3, "added", 0.1),
        Figure("delay, longest", "ms", lambda s: max(s.seconds) * 1e3, "added"),
    ]
    return Measure("one-by-one", "stream one by one, chat completions", play, figures, rounds, seconds)


def _first(talk: Talk, number: int, rounds: int, seconds: float) -> Measure:
    sent = request(*traffic.CHAT, talk.bodies["all"], "short", "first")
    figures = [
        Figure("first byte p50", "ms", lambda s: median(s.firsts) * 1e3, "added", 1.0),
        Figure("whole answer p50", "ms", lambda s: median(s.seconds) * 1e3, "added"),
        _CPU_A_REQUEST,
    ]
    title = f"60 kB request, streamed answer of {20} events"
    return Measure("first-byte", title, _exchanges(sent, number), figures, rounds, seconds)


_CPU_A_REQUEST = Figure("CPU a request", "ms", lambda s: s.cpu / s.units * 1e3, "added")


def _requests(talk: Talk, size: str, name: str, number: int, aim: float | None, rounds: int, seconds: float) -> Measure:
    echo, words = _ECHOES[name]
    sent = request(*traffic.CHAT, talk.bodies[echo], "small")
    lost = {"all": 0, "all but last": 1, "none": len(talk.turns)}[echo]
    figures = [
        Figure("at the upstream p50", "ms", lambda s: median(s.arrivals) * 1e3, "added", aim),
        Figure("whole answer p50", "ms", lambda s: median(s.seconds) * 1e3, "added"),
        _CPU_A_REQUEST,
    ]
    title = f"request of {_SPOKEN[size]}, {len(talk.turns)} turns, {words}"
    play = _exchanges(sent, number, len(talk.turns), lost)
    return Measure(f"{size}-{name}", title, play, figures, rounds, seconds)


def _others(talk: Talk, size: str, probe: Service, number: int, rounds: int, seconds: float) -> Measure:
    sent = request(*traffic.CHAT, talk.bodies["none"], "small")

    def play(side: Side) -> Sample:
        before = side.cpu()
        probe.tell(str(side.proxy.port))
        time.sleep(0.1)
        for _ in range(number):
            side.client.ask(sent)
        probe.tell("")
        delays = probe.told()
        return Sample(delays, side.cpu() - before, len(delays))

    figures = [Figure("longest delay", "ms", lambda s: max(s.seconds) * 1e3, "added", 10.0)]
    return Measure(
        f"{size}-others", f"others' events beside requests of {_SPOKEN[size]}", play, figures, rounds, seconds
    )


def _exchanges(sent: bytes, number: int, turns: int = 0, lost: int = 0) -> Callable[[Side], Sample]:
    """Some exchanges in a row. Of `turns` turns the client leaves out the state of `lost`: seen by the upstream."""

    def play(side: Side) -> Sample:
        before = side.cpu()
        spent = []
        for _ in range(number):
            first, whole = side.client.ask(sent)
            spent.append((side.client.arrived, first, whole))
            want = turns if side.name == "addon" else turns - lost
            if turns and side.client.state != want:
                raise Wrong(f"{side.name}: the state of {side.client.state} turns arrived, not of {want}")
        arrivals, firsts, wholes = zip(*spent, strict=True)
        return Sample(wholes, side.cpu() - before, number, arrivals, firsts)

    return play
