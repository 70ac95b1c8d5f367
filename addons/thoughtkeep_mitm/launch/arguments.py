"""The command line: our options, then the command and everything that is the command's."""

import argparse
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from thoughtkeep_mitm.launch import hosts
from thoughtkeep_mitm.launch.environment import proxy_at
from thoughtkeep_mitm.launch.trouble import USAGE, Trouble

DEFAULT_CA = Path("~/.mitmproxy/mitmproxy-ca-cert.pem")

_USAGE = "%(prog)s [options] COMMAND [ARGUMENT ...]"

_ABOUT = """\
Runs a command-line agent behind thoughtkeep. A proxy of its own is started for it, on this machine alone, and ends with
it; the variables that make the agent use and trust it are set for the agent alone. Only LLM providers' hosts are looked
into, everything else passes undecrypted.
"""

_MORE = """\
examples:
  %(prog)s claude
  %(prog)s --web codex exec "mend the tests"
  %(prog)s --host llm.example.com opencode
  %(prog)s --reverse https://openrouter.ai/api/v1 aider --model openai/z-ai/glm-4.7
  %(prog)s --reverse http://127.0.0.1:8000/v1 my-agent     a server on this machine, which no proxy is asked for
  %(prog)s --set thoughtkeep_store=memory: -- ./agent.py --verbose

Reasoning state is kept in ~/.thoughtkeep/store.sqlite3, mitmproxy's certificates and config.yaml are in ~/.mitmproxy.
If HTTPS_PROXY is set already (a company's proxy), that is where the started proxy connects through; with --reverse it
connects directly.

The exit status is the agent's, 128+N if signal N ended it; 2: wrong usage, 125: the proxy failed, 126: the command
cannot be run, 127: it does not exist.
"""


class Arguments(argparse.Namespace):
    """What the command line says."""

    proxy: str | None
    ca: Path | None
    reverse: str | None
    hosts: list[str]
    all_hosts: bool
    port: int
    web: bool
    options: list[str]
    scripts: list[Path]
    verbose: bool
    log: Path | None
    command: list[str]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Trouble(f"{message} (see {self.prog} --help)", USAGE)


def parse(words: Sequence[str], prog: str) -> Arguments:
    """Read the command line. Raises Trouble; ends the program where it asks for help or the version."""
    parser = _Parser(
        prog=prog,
        usage=_USAGE,
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    valued = [
        parser.add_argument("--host", action="append", dest="hosts", default=[], metavar="PATTERN", help=_HOST),
        parser.add_argument("--reverse", metavar="URL", help=_REVERSE),
        parser.add_argument("--proxy", metavar="URL", help=_PROXY),
        parser.add_argument("--ca", type=Path, metavar="FILE", help=_CA),
        parser.add_argument(
            "--port", type=_port, default=0, metavar="N", help="the proxy's port (default: a free one)"
        ),
        parser.add_argument("--set", action="append", dest="options", default=[], metavar="NAME=VALUE", help=_SET),
        parser.add_argument(
            "--script", action="append", dest="scripts", default=[], type=Path, metavar="FILE", help=_SCRIPT
        ),
        parser.add_argument("--log", type=Path, metavar="FILE", help="append the proxy's log to a file"),
    ]
    parser.add_argument("--all-hosts", action="store_true", help="look into all hosts, not LLM providers' alone")
    parser.add_argument("--web", action="store_true", help="mitmweb: its page's address is printed, with its token")
    parser.add_argument("--verbose", action="store_true", help="the proxy's log goes to stderr")
    ours, command = _split(words, {name for action in valued for name in action.option_strings})
    found = parser.parse_args(ours, Arguments())
    if not command:
        raise Trouble(f"no command was given\n{parser.format_usage().rstrip()}", USAGE)
    found.command = command
    try:
        _check(found)
    except ValueError as fault:
        parser.error(str(fault))
    return found


def _split(words: Sequence[str], valued: set[str]) -> tuple[list[str], list[str]]:
    """Our words and the command's: it begins at `--` or at the first word that is neither an option nor its value."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            return list(words[:at]), list(words[at + 1 :])
        at += 2 if words[at] in valued else 1
    return list(words[:at]), list(words[at:])


def _check(found: Arguments) -> None:
    """What argparse does not see. Raises ValueError."""
    apart = {
        "--web": found.web,
        "--port": found.port,
        "--set": found.options,
        "--script": found.scripts,
        "--verbose": found.verbose,
        "--log": found.log,
        "--host": found.hosts,
        "--all-hosts": found.all_hosts,
    }
    given = [name for name, value in apart.items() if value]
    if found.proxy is not None:
        proxy_at(found.proxy, "--proxy")
        if given or found.reverse is not None:
            named = ", ".join([*(["--reverse"] if found.reverse is not None else []), *given])
            raise ValueError(f"--proxy joins a proxy that runs already: {named} would be for one that is started")
    if found.reverse is not None:
        origin(found.reverse)
        unfit = [name for name in ("--host", "--all-hosts") if name in given] + (["--ca"] if found.ca else [])
        if unfit:
            raise ValueError(f"--reverse is for one host and needs no certificate: {', '.join(unfit)} has no sense")
    if found.verbose and found.log:
        raise ValueError("--verbose and --log: the log goes to one place")
    hosts.allowed(found.hosts)
    for option in found.options:
        name = option.partition("=")[0]
        if not name.isidentifier():
            raise ValueError(f"--set takes NAME=VALUE, not {option!r}")
        if name in _OURS:
            raise ValueError(f"--set {name}: that is for {_OURS[name]} to say")
    for script in found.scripts:
        if not script.is_file():
            raise ValueError(f"--script: no such file: {script}")


def origin(url: str) -> tuple[str, str]:
    """A provider's URL as its origin and its path. Raises ValueError."""
    words = f"--reverse takes a provider's base URL, such as https://openrouter.ai/api/v1, not {url!r}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(words) from None
    if parts.username or parts.password:
        raise ValueError("--reverse: credentials have no place in the URL, they are the agent's")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ValueError(words)
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}", parts.path.rstrip("/")


def _port(word: str) -> int:
    port = int(word) if word.isascii() and word.isdigit() else 0
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError(f"not a port: {word!r}")
    return port


def _version() -> str:
    try:
        return f"thoughtkeep {metadata.version('thoughtkeep')}, mitmproxy {metadata.version('mitmproxy')}"
    except metadata.PackageNotFoundError as fault:
        return f"thoughtkeep ({fault.name} is not installed as a package)"


# mitmproxy's options that are not for --set.
_OURS = {
    "mode": "--reverse and HTTPS_PROXY",
    "listen_host": "the launcher alone",
    "listen_port": "--port",
    "allow_hosts": "--host and --all-hosts",
    "scripts": "--script",
}

_HOST = "look into this host too; * for any characters, :PORT for one port alone; may be given more than once"
_REVERSE = (
    "for agents that take a base URL rather than a proxy: OPENAI_BASE_URL, OPENAI_API_BASE, ANTHROPIC_BASE_URL and "
    "GOOGLE_GEMINI_BASE_URL lead through the proxy to URL; needs no certificate"
)
_PROXY = "join a proxy that runs already (URL or HOST:PORT) instead of starting one"
_CA = f"the certificate of the proxy's authority (default: mitmproxy's own, {DEFAULT_CA})"
_SET = "an option of mitmproxy or of thoughtkeep; may be given more than once"
_SCRIPT = "a further addon for mitmproxy; may be given more than once"
