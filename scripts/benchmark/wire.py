"""The ends of the wire: the client, the upstream's process, and the two proxies that are compared."""

import json
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from benchmark.service import Service
from benchmark.traffic import Answer
from proxy import Proxy

#: Seconds for each wait of the client.
TIMEOUT = 30.0
_END = b"\r\n0\r\n\r\n"
_ROOM = 1 << 20


class Upstream(Service):
    """The upstream, which knows these answers. Use it as a context manager."""

    def __init__(self, folder: Path, answers: Mapping[str, Answer]) -> None:
        file = folder / "answers.json"
        file.write_text(json.dumps({name: [one.kind, one.chunks] for name, one in answers.items()}), "utf-8")
        super().__init__("upstream.py", file)

    def ready(self) -> None:
        """Let the next chunk of an answer come that waits for it."""
        os.write(self._in, b".")


class Client:
    """One connection to a proxy, kept alive.

    Of the last request `state` tells how many turns' state the upstream found in it, `arrived` after how many seconds
    all of it was there.
    """

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._room = memoryview(bytearray(_ROOM))
        self.state = 0
        self.arrived = 0.0

    def ask(self, request: bytes) -> tuple[float, float]:
        """Send a request and read its answer. Seconds to the first byte of the body, and to the end."""
        began = time.monotonic()
        self._socket.sendall(request)
        rest, length = self._head()
        self.arrived -= began
        while not rest:
            rest = self._socket.recv(_ROOM)
        first = time.monotonic()
        if length is None:
            last = rest[-7:]
            while not last.endswith(_END):
                size = self._socket.recv_into(self._room)
                if not size:
                    raise ConnectionError("the proxy closed in the middle of an answer")
                last = (last + bytes(self._room[max(0, size - 7) : size]))[-7:]
        else:
            left = length - len(rest)
            while left > 0:
                left -= self._socket.recv_into(self._room) or left + 1
            if left:
                raise ConnectionError("the proxy closed in the middle of an answer, or sent too much")
        return first - began, time.monotonic() - began

    def ask_one_by_one(self, request: bytes, events: int, upstream: Upstream) -> list[float]:
        """Send a request and have its events come one by one. Seconds from being ready for each to having it."""
        self._socket.sendall(request)
        rest, _ = self._head()
        if rest:
            raise ConnectionError("an event came that was not asked for")
        spent = []
        receive, now, ready = self._socket.recv, time.perf_counter, upstream.ready
        for _ in range(events):
            began = now()
            ready()
            have = receive(_ROOM)
            while not have.endswith(b"\n\n\r\n"):
                if not (more := receive(_ROOM)):
                    raise ConnectionError("the proxy closed in the middle of an answer")
                have += more
            spent.append(now() - began)
        ready()
        while not have.endswith(_END):
            if not (more := receive(_ROOM)):
                raise ConnectionError("the proxy closed in the middle of an answer")
            have += more
        return spent

    def _head(self) -> tuple[bytes, int | None]:
        """Read the head. What came behind it, and the length of the body where it is told."""
        have = b""
        while (end := have.find(b"\r\n\r\n")) < 0:
            if not (more := self._socket.recv(_ROOM)):
                raise ConnectionError("the proxy closed before an answer")
            have += more
        status, *lines = have[:end].split(b"\r\n")
        headers = {line.partition(b":")[0].lower(): line.partition(b":")[2].strip() for line in lines}
        if b" 200 " not in status:
            raise ConnectionError(f"the proxy answered {status.decode('latin-1')}")
        self.state = int(headers.get(b"x-bench-state", 0))
        self.arrived = int(headers.get(b"x-bench-at", 0)) / 1e9
        length = headers.get(b"content-length")
        return have[end + 4 :], None if length is None else int(length)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


class Side:
    """One of the proxies that are compared, with a client's connection to it."""

    def __init__(self, name: str, proxy: Proxy) -> None:
        self.name = name
        self.proxy = proxy
        self.client = Client(proxy.port)

    def cpu(self) -> float:
        """Seconds of CPU that the proxy's process has taken so far; 0 where nothing tells."""
        return cpu_of(self.proxy.pid)


def cpu_of(pid: int) -> float:
    """Seconds of CPU of a process, from /proc or psutil; 0 where there is neither."""
    with suppress(OSError, ValueError):  # to the nanosecond, where the kernel counts so
        return (
            sum(int(file.read_text("ascii").split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
        )
    with suppress(OSError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    with suppress(ImportError):
        import psutil

        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0
