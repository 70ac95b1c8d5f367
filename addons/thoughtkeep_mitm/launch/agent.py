"""The agent's process: on the same terminal, in the same process group, as if nobody stood in between."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType

from thoughtkeep_mitm.launch.trouble import NOT_FOUND, NOT_RUNNABLE, Trouble

# What the terminal sends to the agent as well: only it decides what to do.
_ITS_OWN = (signal.SIGINT, signal.SIGQUIT)
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


def check(command: str, base: Mapping[str, str]) -> None:
    """See that a command can be run. Raises Trouble, with the exit status that shells have for it."""
    path = base.get("PATH", os.defpath)
    if shutil.which(command, path=path):
        return
    folders = [""] if "/" in command else path.split(os.pathsep)
    there = next((file for file in (Path(folder, command) for folder in folders) if file.exists()), None)
    if there is None:
        more = "" if "/" in command else " (if it is an alias or a function of your shell, give its path)"
        raise Trouble(f"command not found: {command}{more}", NOT_FOUND)
    raise Trouble(f"{'is a folder' if there.is_dir() else 'not executable'}: {there}", NOT_RUNNABLE)


class Agent:
    """A running command. Use it as a context manager: as long as it is one, signals are the agent's business."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._process: subprocess.Popen[bytes] | None = None
        self._before: dict[int, object] = {}
        self._early: list[signal.Signals] = []

    def __enter__(self) -> "Agent":
        for number in (*_ITS_OWN, *_FORWARDED):
            # What is ignored stays so, for the agent too (nohup); a handler of ours is not inherited.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._forward)
        try:
            # Descriptors that the caller opened are the agent's as well; ours are not inheritable.
            self._process = subprocess.Popen(  # noqa: S603  # what the user wants to run
                self._command, env=self._environment, close_fds=False
            )
        except OSError as fault:
            self._restore()
            name = self._command[0]
            if isinstance(fault, FileNotFoundError):
                raise Trouble(f"{name}: its interpreter (the line with #!) does not exist", NOT_FOUND) from None
            raise Trouble(f"{name} cannot be run: {fault.strerror}", NOT_RUNNABLE) from None
        for early in self._early:
            self._forward(early, None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def wait(self) -> int:
        """The exit status, as shells have it: 128+N for a signal.

        When the agent is stopped we stop too: the shell that waits for us wants the terminal back.
        """
        assert self._process is not None
        pid = self._process.pid
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                time.sleep(0.05)  # it may be going on already, where both of us were stopped and continued
                changed, now = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
                if not changed or os.WIFSTOPPED(now):
                    os.kill(os.getpid(), signal.SIGTSTP)
                    continue
                if os.WIFCONTINUED(now):
                    continue
                status = now
            code = os.waitstatus_to_exitcode(status)
            self._process.returncode = code  # so that subprocess does not look for it any more
            return code if code >= 0 else 128 - code

    def _forward(self, number: int, _: FrameType | None) -> None:
        if number not in _FORWARDED:
            return
        if self._process is None:
            self._early.append(signal.Signals(number))
        elif self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave
        self._before.clear()
