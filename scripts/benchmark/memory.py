"""How much memory processes take: from /proc, which Linux has; elsewhere nothing is told."""

import os
from contextlib import suppress
from pathlib import Path

from benchmark.wire import cpu_of


class Family:
    """A process and all its descendants."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def members(self) -> list[int]:
        """The processes that there are now."""
        parents: dict[int, list[int]] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError, IndexError):
                parent = int((folder / "stat").read_text("ascii", "replace").rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(folder.name))
        found, at = [self._pid], 0
        while at < len(found):
            found += parents.get(found[at], [])
            at += 1
        return found

    def resident(self) -> float:
        """Megabytes in memory now."""
        return sum(_status(pid, "VmRSS") for pid in self.members())

    def peak(self) -> float:
        """The most megabytes since `begin`; of several processes the sum of what each had at most."""
        return sum(_status(pid, "VmHWM") for pid in self.members())

    def begin(self) -> float:
        """Have `peak` count from now on. Returns the megabytes now."""
        for pid in self.members():
            with suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5", "ascii")
        return self.resident()

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        return sum(cpu_of(pid) for pid in self.members())


def is_told() -> bool:
    """Whether this system tells."""
    return _status(os.getpid(), "VmHWM") > 0


def _status(pid: int, name: str) -> float:
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0
