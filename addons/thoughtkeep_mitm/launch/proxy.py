"""mitmproxy as the launcher runs it: started in the background, waited for, and ended with the launcher."""

import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from thoughtkeep_mitm.launch import leash
from thoughtkeep_mitm.launch.trouble import Trouble

HERE = Path(__file__).resolve().parent
SCRIPTS = (HERE / "leash.py", HERE.parent / "script.py")

# Seconds that mitmproxy may take to listen, and to end (the leash's grace is over by then).
STARTUP = 30.0
ENDING = leash.GRACE + 2

# This interpreter's mitmproxy, wherever its script was installed, and none of the working directory (-P).
_START = "import sys; sys.argv[0] = {0!r}; from mitmproxy.tools.main import {0}; {0}()"

# What of the log's end is no reason for anything.
_NOISE = re.compile(
    r"Loading script |Errors? logged during startup|.* listening at |keeping reasoning state in "
    r"|(client|server) (dis)?connect"
)
_TIME = re.compile(r"^(\x1b\[[0-9;]*m)*\[[0-9:.]+\](\[[^ ]*\]|\x1b\[[0-9;]*m)* ")
_PREFIX = re.compile(r"^(thoughtkeep|Addon error|(\w+\.)*\w*(Error|Exception)): (\[Errno \d+\] )?")
_CHAINED = re.compile(r"The above exception was the direct cause|During handling of the above exception")
_LINES = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be started."""

    folder: Path
    """The launcher's temporary folder."""

    log: int
    """A file descriptor for all that mitmproxy says."""

    trusted: Path
    """Whom upstream servers are believed through, unless an option says otherwise."""

    program: Literal["mitmdump", "mitmweb"] = "mitmdump"
    port: int = 0
    mode: str = "regular"
    auth: str = ""
    allow: str = ""
    scripts: Sequence[Path] = ()
    options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """Where it listens, where mitmweb's page is, and the folder of its certificates."""

    port: int
    web: str
    confdir: str


@dataclass(frozen=True, slots=True)
class Report:
    """What it did."""

    counts: Mapping[str, int] = field(default_factory=dict)
    store: str = ""
    connected: Sequence[str] = ()
    """The hosts that clients wanted tunnels to."""

    requests: int = 0
    """The requests that were looked at."""

    warnings: Sequence[str] = ()
    more_warnings: int = 0


class Launched:
    """A running mitmproxy. Use it as a context manager. Raises Trouble on entering."""

    def __init__(self, plan: Plan, base: Mapping[str, str], log: Path | None) -> None:
        self._plan, self._base, self._log = plan, base, log
        self._from = log.stat().st_size if log else 0
        self._pipe, self._theirs = socket.socketpair()
        self._heard = b""
        self._process: subprocess.Popen[bytes] | None = None
        self.ready = Ready(0, "", "")

    def __enter__(self) -> "Launched":
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def end(self) -> Report | None:
        """End it, and return what it did; None if it had ended by itself."""
        try:
            self._pipe.sendall(leash.END)
        except OSError:
            return None
        told = self._line(ENDING)
        self._stop()
        return Report(**told) if told else None

    def reason(self) -> str:
        """The last that it said, as far as it tells a reason."""
        if self._log is None:
            return "see its log above"
        with self._log.open("rb") as file:
            file.seek(self._from)
            return reason_in(file.read().decode("utf-8", "replace")) or "it gave no reason"

    def _start(self) -> None:
        plan = self._plan
        wanted = {
            "fd": self._theirs.fileno(),
            "folder": str(plan.folder),
            "set": list(plan.options),
            "auth": plan.auth,
            "trusted": str(plan.trusted),
        }
        env = {**self._base, leash.VARIABLE: json.dumps(wanted), "PYTHONUNBUFFERED": "1"}
        # In a session of its own: the terminal's Ctrl-C is the agent's.
        self._process = subprocess.Popen(  # noqa: S603  # this interpreter, and words that were checked
            _command(plan),
            stdin=subprocess.DEVNULL,
            stdout=plan.log,
            stderr=plan.log,
            env=env,
            pass_fds=[self._theirs.fileno()],
            start_new_session=True,
        )
        self._theirs.close()
        told = self._line(STARTUP) or {"faults": []}
        if "faults" in told:
            ended = self._settled(2.0)
            words = "did not start" if ended is not None else f"does not listen after {STARTUP:g} s"
            why = reason_in("\n".join(told["faults"])) or self.reason()
            raise Trouble(f"{plan.program} {words}: {why}")
        self.ready = Ready(**told)

    def _line(self, patience: float) -> dict[str, Any] | None:
        """The next that the proxy tells; None if it ends or says nothing in time."""
        deadline = time.monotonic() + patience
        while b"\n" not in self._heard:
            self._pipe.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                data = self._pipe.recv(65536)
            except OSError:
                return None
            if not data:
                return None
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told

    def _settled(self, patience: float) -> int | None:
        if self._process is not None:
            try:
                return self._process.wait(patience)
            except subprocess.TimeoutExpired:
                return None
        return None

    def _stop(self) -> None:
        """See it end: of its own accord if it was told to, else because our end of the pair closes; by force if not."""
        self._theirs.close()
        self._pipe.close()
        if self._process is not None and self._settled(ENDING) is None:
            self._process.kill()
            self._process.wait()


def reason_in(log: str) -> str:
    """The last lines of a log as one, without times, stack traces and what is no reason for anything."""
    kept: list[str] = []
    inside = False
    for line in log.splitlines():
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif _CHAINED.match(line):
            del kept[-1:]  # what follows says it better
        elif not inside or not line.startswith((" ", "\t")):
            inside = False
            plain = _PREFIX.sub("", _TIME.sub("", line).strip())
            if plain and not _NOISE.match(plain):
                kept.append(plain)
    return "; ".join(list(dict.fromkeys(kept))[-_LINES:])


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, for a program that cannot choose one itself."""
    # Not one of those that systems give out by themselves: another process could be given it before it is used.
    for port in random.sample(range(20000, 30000), 100):
        if taken("127.0.0.1", port) is None:
            return port
    raise Trouble("no port is free for mitmweb's page; name one: --set web_port=PORT")


def taken(host: str, port: int) -> OSError | None:
    """Why a port cannot be listened on; None if it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError as fault:
            return fault
    return None


def _command(plan: Plan) -> list[str]:
    words = [sys.executable, "-P", "-c", _START.format(plan.program)]
    words += ["--listen-host", "127.0.0.1", "--listen-port", str(plan.port), "--mode", plan.mode]
    for script in (*SCRIPTS, *plan.scripts):
        words += ["-s", os.fspath(script)]
    if plan.allow:
        words += ["--allow-hosts", plan.allow]
    if plan.program == "mitmweb":
        words += ["--no-web-open-browser"]
        if not any(option.startswith("web_port=") for option in plan.options):
            words += ["--web-port", str(free_port())]
    for option in plan.options:
        words += ["--set", option]
    return words
