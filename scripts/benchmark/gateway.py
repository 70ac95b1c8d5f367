"""LiteLLM's proxy, in an environment of its own that is made on first use: one worker, no database, no network.

It asks nobody but the upstream of the benchmark: its list of prices is the one in the package, its telemetry is off.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.request import ProxyHandler, build_opener

from benchmark.course import ROOT
from proxy import free_port, without_proxies

VERSION = "1.108.7"

#: The environment, in a folder that git ignores.
FOLDER = ROOT / ".bench" / f"litellm-{VERSION}"

#: Seconds that making the environment may take, that the program may take to listen, and to end.
MAKING, STARTING, ENDING = 900, 90, 10

MODEL = "deepseek-reasoner"

#: The paths of its two ways to an upstream.
CHAT, THROUGH = "/v1/chat/completions", "/through/v1/chat/completions"

_MADE = FOLDER / "made"
_QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    "DISABLE_ADMIN_UI": "True",
    "NO_PROXY": "*",
}


class Unavailable(Exception):
    """LiteLLM cannot be installed or does not start; the message says why."""


def install() -> None:
    """Make the environment, unless it is there. Raises Unavailable."""
    if _MADE.exists():
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.parent.mkdir(exist_ok=True)
    environment = FOLDER / "venv"
    pip = [environment / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "-q"]
    steps = [[sys.executable, "-m", "venv", environment], [*pip, f"litellm[proxy]=={VERSION}"]]
    try:
        for step in steps:
            subprocess.run(step, check=True, capture_output=True, text=True, timeout=MAKING)
    except BaseException as error:
        shutil.rmtree(FOLDER, ignore_errors=True)
        raise _unavailable(error) from None
    _MADE.touch()


def _unavailable(error: BaseException) -> BaseException:
    if isinstance(error, subprocess.CalledProcessError):
        tail = "\n".join(error.stderr.splitlines()[-8:])
        return Unavailable(f"litellm[proxy]=={VERSION} cannot be installed:\n{tail}")
    if isinstance(error, subprocess.TimeoutExpired):
        return Unavailable(f"litellm[proxy]=={VERSION} was not installed in {MAKING} seconds")
    return error


class Gateway:
    """The program; use it as a context manager. `folder` holds all it writes. Raises Unavailable on entering."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self.port = free_port()
        self.key = f"sk-{secrets.token_hex(16)}"  # it does not start without one
        self._folder = folder
        self._config = folder / "litellm.json"  # JSON is YAML too
        self._config.write_text(json.dumps(_config(upstream)), "utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its first process."""
        assert self._process
        return self._process.pid

    def __enter__(self) -> Self:
        command = [FOLDER / "venv" / "bin" / "litellm", "--config", self._config, "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--num_workers", "1", "--telemetry", "False"]
        env = without_proxies() | _QUIET | {"LITELLM_MASTER_KEY": self.key, "HOME": str(self._folder)}
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=self._folder,
                start_new_session=True,
            )
        try:
            self._wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _wait(self) -> None:
        assert self._process
        opener, until = build_opener(ProxyHandler({})), time.monotonic() + STARTING
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with opener.open(f"http://127.0.0.1:{self.port}/health/liveliness", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        tail = "\n".join((self._folder / "log").read_text("utf-8", "replace").splitlines()[-15:])
        raise Unavailable(f"LiteLLM did not start in {STARTING} seconds; the end of its log:\n{tail}")

    def _end(self) -> None:
        """End all of its processes: they are a group of their own."""
        process, self._process = self._process, None
        if process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(ENDING)
            except (ProcessLookupError, PermissionError):
                break
            except subprocess.TimeoutExpired:
                continue
        process.wait(ENDING)


def _config(upstream: str) -> object:
    """The upstream as the provider of a model, and as the target of a path that is passed through."""
    model = {"model": f"deepseek/{MODEL}", "api_base": f"{upstream}/v1", "api_key": "sk-bench"}
    through = {"path": THROUGH, "target": f"{upstream}{CHAT}", "headers": {}, "forward_headers": True}
    return {
        "model_list": [{"model_name": MODEL, "litellm_params": model}],
        "general_settings": {"pass_through_endpoints": [through], "disable_spend_logs": True},
    }
