"""Some clients at once, each on a connection of its own: when one has its answer it asks again."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Self

from benchmark.wire import Client


@dataclass
class Spent:
    """Seconds to the first byte and to the end of each exchange, and how long it took altogether.

    `missed` counts requests that did not have the state that they should have as they arrived.
    """

    firsts: list[float] = field(default_factory=list)
    wholes: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0
    missed: int = 0

    def add(self, other: Self) -> None:
        """Count another round in."""
        self.firsts += other.firsts
        self.wholes += other.wholes
        self.seconds += other.seconds
        self.cpu += other.cpu
        self.missed += other.missed

    @property
    def rate(self) -> float:
        """Exchanges a second."""
        return len(self.wholes) / self.seconds


class Failed(Exception):
    """An exchange was not answered as it should be."""


def percentile(seconds: Sequence[float], percent: int) -> float:
    """The value, in ms, that so many percent are not above."""
    return (quantiles(seconds, n=100)[percent - 1] if len(seconds) > 1 else seconds[0]) * 1e3


def play(
    ports: Sequence[int],
    requests: Sequence[Sequence[bytes]],
    seconds: float,
    cpu: Callable[[], float] = lambda: 0.0,
    state: int | None = None,
) -> Spent:
    """A client for each port, which sends its requests over and over for so long. Raises Failed.

    `state` is how many turns' state every request should have as it arrives; `cpu` tells the CPU of who is measured.
    """
    clients = [_Asking(port, sent, state) for port, sent in zip(ports, requests, strict=True)]
    try:
        before, began = cpu(), time.perf_counter()
        until = began + seconds
        threads = [threading.Thread(target=client.ask, args=(until,), daemon=True) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent = Spent(seconds=time.perf_counter() - began, cpu=cpu() - before)
    finally:
        for client in clients:
            client.close()
    for client in clients:
        if client.fault:
            raise Failed(client.fault)
        spent.firsts += client.firsts
        spent.wholes += client.wholes
        spent.missed += client.missed
    return spent


class _Asking:
    def __init__(self, port: int, sent: Sequence[bytes], state: int | None) -> None:
        self._client = Client(port)
        self._sent = sent
        self._state = state
        self.firsts: list[float] = []
        self.wholes: list[float] = []
        self.fault = ""
        self.missed = 0

    def ask(self, until: float) -> None:
        try:
            while time.perf_counter() < until:
                first, whole = self._client.ask(self._sent[len(self.wholes) % len(self._sent)])
                self.missed += self._state is not None and self._client.state != self._state
                self.firsts.append(first)
                self.wholes.append(whole)
        except (OSError, ValueError) as error:
            self.fault = str(error) or type(error).__name__

    def close(self) -> None:
        self._client.close()


def once(port: int, request: bytes) -> int:
    """One exchange. Returns how many turns' state its request had as it arrived. Raises Failed."""
    client = Client(port)
    try:
        client.ask(request)
    except (OSError, ValueError) as error:
        raise Failed(str(error) or type(error).__name__) from None
    finally:
        client.close()
    return client.state
