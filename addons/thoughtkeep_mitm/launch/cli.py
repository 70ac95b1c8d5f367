"""`thoughtkeep COMMAND…`: the order of things, from the command line to the agent's exit status."""

import contextlib
import errno
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from thoughtkeep_mitm.launch import agent, arguments, environment, hosts, summary
from thoughtkeep_mitm.launch.arguments import Arguments
from thoughtkeep_mitm.launch.certificates import certificates, trusted, written
from thoughtkeep_mitm.launch.proxy import Launched, Plan, taken
from thoughtkeep_mitm.launch.trouble import USAGE, Trouble

# Seconds in which a proxy that runs already must take a connection.
_REACHABLE = 5.0


def main(words: Sequence[str] | None = None, prog: str = "thoughtkeep") -> int:
    """Run a command behind thoughtkeep; returns the exit status."""
    try:
        chosen = arguments.parse(sys.argv[1:] if words is None else words, prog)
        base = dict(os.environ)
        agent.check(chosen.command[0], base)
        with tempfile.TemporaryDirectory(prefix="thoughtkeep-", ignore_cleanup_errors=True) as folder:
            run = _joined if chosen.proxy is not None else _started
            return run(chosen, base, Path(folder))
    except Trouble as trouble:
        _say(f"thoughtkeep: {trouble}")
        return trouble.status
    except KeyboardInterrupt:  # before there was an agent, or behind it
        return 130


def _joined(chosen: Arguments, base: dict[str, str], folder: Path) -> int:
    """Run the agent behind a proxy that runs already."""
    given = chosen.proxy or ""
    url = given if "://" in given else f"http://{given}"
    at = urlsplit(environment.proxy_at(url, "--proxy").url)
    try:
        socket.create_connection((at.hostname or "", at.port or 80), _REACHABLE).close()
    except OSError as fault:
        why = fault.strerror or str(fault) or type(fault).__name__
        raise Trouble(f"no proxy answers at {at.hostname}:{at.port}: {why}") from None
    with agent.Agent(chosen.command, base | _trusting(url, chosen.ca or arguments.DEFAULT_CA, base, folder)) as running:
        return running.wait()


@dataclass(frozen=True, slots=True)
class _Log:
    """Where mitmproxy's words go: a descriptor, and the file behind it if it is one."""

    number: int
    path: Path | None


def _started(chosen: Arguments, base: dict[str, str], folder: Path) -> int:
    """Run the agent behind a proxy of its own."""
    if chosen.ca is not None:
        _must_hold_certificates(chosen.ca)
    if chosen.port and (fault := taken("127.0.0.1", chosen.port)) is not None:
        if fault.errno == errno.EADDRINUSE:
            raise Trouble(f"port {chosen.port} is taken; give another, or --proxy 127.0.0.1:{chosen.port} to join it")
        raise Trouble(f"port {chosen.port} cannot be used: {fault.strerror}")
    outer = _outer(base) if chosen.reverse is None else environment.Outer("")
    origin, path = arguments.origin(chosen.reverse) if chosen.reverse is not None else ("", "")
    with _log(chosen, folder) as log:
        plan = Plan(
            folder=folder,
            log=log.number,
            trusted=written(folder / "trusted.pem", trusted(base)),
            program="mitmweb" if chosen.web else "mitmdump",
            port=chosen.port,
            mode=f"reverse:{origin}" if origin else f"upstream:{outer.url}" if outer.url else "regular",
            auth=outer.auth,
            allow="" if origin or chosen.all_hosts else hosts.allowed(chosen.hosts),
            scripts=[script.resolve() for script in chosen.scripts],
            options=chosen.options,
        )
        with Launched(plan, base, log.path) as proxy:
            address = f"http://127.0.0.1:{proxy.ready.port}"
            if chosen.web:
                _say(f"thoughtkeep: mitmweb is at {proxy.ready.web}")
            if origin:
                more = environment.base_urls(address + path, base)
            else:
                ca = chosen.ca or Path(proxy.ready.confdir).expanduser() / arguments.DEFAULT_CA.name
                more = _trusting(address, ca, base, folder)
            with agent.Agent(chosen.command, base | more) as running:
                status = running.wait()
                _tell(proxy, address + path if origin else "", plan.program, verbose=chosen.verbose)
    return status


def _outer(base: Mapping[str, str]) -> environment.Outer:
    try:
        return environment.outer(base) or environment.Outer("")
    except ValueError as fault:
        raise Trouble(f"{fault}; the proxy that is started would have to go through it", USAGE) from None


def _trusting(url: str, ca: Path, base: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The variables for a proxy with this authority, and the files that they name."""
    found = _must_hold_certificates(ca)
    bundle = written(folder / "bundle.pem", [*trusted(base), *found])
    extra = ca.expanduser().resolve()
    if base.get(environment.ADDING):
        extra = written(folder / "extra.pem", [*certificates(Path(base[environment.ADDING])), *found])
    return environment.variables(url, extra, bundle, base)


def _must_hold_certificates(ca: Path) -> list[bytes]:
    path = ca.expanduser()
    if not path.is_file():
        raise Trouble(f"the certificate of the proxy's authority is not there: {path} (--ca FILE names another)")
    found = certificates(path)
    if not found:
        raise Trouble(f"no certificate is in {path}")
    return found


@contextmanager
def _log(chosen: Arguments, folder: Path) -> Iterator[_Log]:
    if chosen.verbose:
        yield _Log(sys.stderr.fileno(), None)
        return
    path = chosen.log.expanduser() if chosen.log else folder / "log"
    try:
        file = path.open("ab")
    except OSError as fault:
        raise Trouble(f"--log: {path} cannot be written: {fault.strerror}") from None
    with file:
        yield _Log(file.fileno(), path)


def _tell(proxy: Launched, reverse: str, program: str, *, verbose: bool) -> None:
    """End the proxy and say what it did. Warnings are in the log, where that is on stderr."""
    report = proxy.end()
    if report is None:
        _say(f"thoughtkeep: {program} failed while the agent ran: {proxy.reason()}")
        return
    for line in summary.lines(report, reverse):
        if not (verbose and line in report.warnings):
            _say(line)


def _say(words: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone
        print(words, file=sys.stderr, flush=True)
