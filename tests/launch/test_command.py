"""The agent's process: what it is given, what comes back, and that signals are its own business."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from e2e.kit import Talk, wait_for
from e2e.upstream import make_certificate
from launch.conftest import Called
from launch.kit import LLM, PATIENCE, TALK, Desk, Site, agent, dumped, listens, said
from thoughtkeep_mitm.launch.environment import ADDING, variables

#: Writes everything that a process is given.
SHOW = """
import json, os, sys
found = {"words": sys.argv[1:], "stdin": sys.stdin.read(), "cwd": os.getcwd(), "group": os.getpgid(0)}
found["environment"], found["parents"] = dict(os.environ), os.getpgid(os.getppid())
found["bundle"] = open(os.environ["SSL_CERT_FILE"]).read()
found["descriptors"] = sorted(map(int, os.listdir("/proc/self/fd"))) if os.path.isdir("/proc/self/fd") else []
print(json.dumps(found))
"""

#: Says where its proxy is, and ends with a status of its own on a signal.
WAIT = """
import os, signal, sys, time
def leave(number, _):
    print("signal", signal.Signals(number).name, flush=True)
    sys.exit(40 + number)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, leave)
print(os.environ["HTTPS_PROXY"], flush=True)
time.sleep(60)
"""


def test_what_is_given_is_handed_on_and_the_status_comes_back(desk: Desk) -> None:
    desk.more = {"NO_PROXY": ".corp.example", "UNTOUCHED": "é"}
    before = desk.environment
    ran = desk.run("--set", "thoughtkeep_store=memory:", *agent(SHOW, "--web", "--", "a b", ""), stdin="some\nwords")
    assert ran.returncode == 0
    found = dumped(ran)
    assert found["words"] == ["--web", "--", "a b", ""]
    assert (found["stdin"], found["cwd"]) == ("some\nwords", str(desk.folder))
    assert found["group"] == found["parents"]
    assert len(found["descriptors"]) <= 4  # its own three, and that of the listing
    ours = found["environment"]
    names = variables(ours["HTTPS_PROXY"], desk.ca, Path(ours["SSL_CERT_FILE"]), before)
    assert {name: ours[name] for name in names} == names
    others = {name: value for name, value in ours.items() if name not in names and name != "LC_CTYPE"}
    assert others == {name: value for name, value in before.items() if name not in names and name != "LC_CTYPE"}
    assert desk.ca.read_text().strip() in found["bundle"]
    assert len(found["bundle"]) > 10 * len(desk.ca.read_text())
    assert not listens(urlsplit(ours["HTTPS_PROXY"]).port or 0)
    assert len(said(ran)) == 1


def test_certificates_that_the_user_named_stay_trusted(desk: Desk, joining: list[str], tmp_path: Path) -> None:
    desk.more = {ADDING: str(make_certificate(tmp_path, "corp.example"))}
    own = tmp_path.joinpath("upstream.pem").read_text().partition("-----BEGIN CERTIFICATE-----\n")[2]
    code = "import os; print(open(os.environ['NODE_EXTRA_CA_CERTS']).read(), open(os.environ['SSL_CERT_FILE']).read())"
    ran = desk.run(*joining, *agent(code))
    assert ran.stdout.count(own.strip()) == 2
    assert ran.stdout.count("the proxy's") == 2
    assert "PRIVATE" not in ran.stdout


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
    ],
)
def test_the_exit_status_is_the_agents(code: str, status: int, desk: Desk, joining: list[str]) -> None:
    ran = desk.run(*joining, *agent(code))
    assert (ran.returncode, ran.stderr) == (status, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_to_the_launcher_reach_the_agent(number: signal.Signals, desk: Desk, joining: list[str]) -> None:
    def heed() -> None:
        signal.signal(number, signal.SIG_DFL)  # under nohup it is ignored, and stays so for whoever is started

    with desk.running(*joining, *agent(WAIT), preexec_fn=heed) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline()
        os.kill(launcher.pid, number)
        told, _ = launcher.communicate(timeout=PATIENCE)
        assert told == f"signal {number.name}\n"
        assert launcher.returncode == 40 + number


#: Lives through Ctrl-C, and asks on behind it.
STUBBORN = f"""
import signal, time
interrupts = []
signal.signal(signal.SIGINT, lambda *_: interrupts.append(print("interrupted", flush=True)))
print("ready", flush=True)
while not interrupts:
    time.sleep(0.02)
{TALK}
"""


def test_ctrl_c_is_the_agents_and_the_proxy_works_on(desk: Desk, talk: Talk, upstream: Site) -> None:
    ours, theirs = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    words = [f"https://{LLM}{Talk.path}", talk.first.decode(), talk.second.decode()]
    options = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    with desk.running(
        *upstream.options,
        *agent(STUBBORN, *words),
        process_group=None,
        start_new_session=True,
        preexec_fn=take_terminal,
        **options,
    ) as launcher:
        os.close(theirs)
        wait_until_read(ours, b"ready")
        os.write(ours, b"\x03")
        shown = wait_until_read(ours, b"restored")
        assert launcher.wait(PATIENCE) == 0
    os.close(ours)
    assert shown.count(b"interrupted") == 1
    assert shown.count(b"200") == 2
    assert b"Traceback" not in shown
    assert talk.restored(upstream.upstream.requests[1].body)


def wait_until_read(terminal: int, words: bytes) -> bytes:
    shown, deadline = b"", time.monotonic() + PATIENCE
    while words not in shown:
        assert select.select([terminal], [], [], max(deadline - time.monotonic(), 0))[0], shown
        shown += os.read(terminal, 4096)
    return shown


def test_when_the_agent_stops_the_launcher_does_so_that_the_shell_comes_back(desk: Desk, joining: list[str]) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); print('on again')"
    with desk.running(*joining, *agent(code)) as launcher:
        _, status = os.waitpid(launcher.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        os.killpg(launcher.pid, signal.SIGCONT)  # as `fg` does
        told, _ = launcher.communicate(timeout=PATIENCE)
        assert (told, launcher.returncode) == ("on again\n", 0)


def test_a_launcher_that_is_killed_leaves_no_proxy_and_no_file(desk: Desk) -> None:
    with desk.running(*agent(WAIT)) as launcher:
        assert launcher.stdout is not None
        proxy = urlsplit(launcher.stdout.readline().strip())
        assert list(desk.temporary.iterdir())
        assert listens(proxy.port or 0)
        os.kill(launcher.pid, signal.SIGKILL)
        wait_for(lambda: not listens(proxy.port or 0))
        wait_for(lambda: not list(desk.temporary.iterdir()))
        os.killpg(launcher.pid, signal.SIGTERM)  # the agent lives on: end it


def test_an_interrupt_before_there_is_an_agent_ends_it_all(desk: Desk) -> None:
    with desk.running(*agent("print('started')")) as launcher:
        wait_for(lambda: list(desk.temporary.iterdir()))
        os.kill(launcher.pid, signal.SIGINT)
        told, errors = launcher.communicate(timeout=PATIENCE)
        assert (told, errors, launcher.returncode) == ("", "", 130)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Commands that cannot be run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "plain").write_text("words")
    for name, text in (("lost", "#!/nonexistent/interpreter\n"), ("noise", "\x00\x01")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        (
            "no-such-agent",
            127,
            "command not found: no-such-agent (if it is an alias or a function of your shell, give ",
        ),
        ("./no-such-agent", 127, "command not found: ./no-such-agent"),
        ("plain", 126, "not executable: {bin}/plain"),
        ("{bin}/plain", 126, "not executable: {bin}/plain"),
        ("{bin}", 126, "is a folder: {bin}"),
        ("lost", 127, "lost: its interpreter (the line with #!) does not exist"),
        ("noise", 126, "noise cannot be run: Exec format error"),
    ],
)
def test_a_command_that_cannot_be_run_is_said_as_shells_do(
    command: str, status: int, told: str, desk: Desk, joining: list[str], call: Called, odd: Path
) -> None:
    desk.more = {"PATH": f"{odd}:{os.environ['PATH']}"}
    ended, (line,) = call(*joining, command.format(bin=odd))
    assert ended == status
    assert line.startswith(f"thoughtkeep: {told.format(bin=odd)}")


def test_descriptors_that_the_caller_opened_are_the_agents_too(desk: Desk, joining: list[str]) -> None:
    reading, writing = os.pipe()
    code = f"import os; os.write({writing}, b'through')"
    with desk.running(*joining, *agent(code), pass_fds=[writing]) as launcher:
        os.close(writing)
        assert launcher.wait(PATIENCE) == 0
        assert os.read(reading, 100) == b"through"
    os.close(reading)


def test_the_script_works_from_any_directory_and_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(Path(__file__).parents[2] / "scripts" / "agent")
    ran = subprocess.run(
        [tmp_path / "linked", "--help"], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
    )
    assert ran.returncode == 0
    assert ran.stdout.startswith("usage: scripts/agent [options] COMMAND [ARGUMENT ...]\n")
    assert "\n  scripts/agent claude\n" in ran.stdout
