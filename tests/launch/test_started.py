"""The proxy that the launcher starts or joins: what goes through it, and what is said of it at the end."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from e2e.kit import ADDON, REDIRECT, Talk, keeper
from e2e.upstream import read_request
from launch.conftest import Called
from launch.kit import CERTIFICATE, LLM, OTHER, PATIENCE, Desk, Site, agent, listens, said, talking

KEPT = "thoughtkeep: 2 exchanges, 1 turn kept, 1 request restored (store: ~/.thoughtkeep/store.sqlite3)"


def test_state_is_kept_from_one_launch_to_the_next_and_told_of_in_one_line(
    desk: Desk, talk: Talk, upstream: Site
) -> None:
    first, second = talking(talk)[:-1], [*talking(talk)[:-2], talk.second.decode()]
    store = "(store: ~/.thoughtkeep/store.sqlite3)"
    ran = desk.run(*upstream.options, *first)
    assert (ran.returncode, ran.stdout) == (0, "200\n")
    assert said(ran) == [f"thoughtkeep: 1 exchange, 1 turn kept, 0 requests restored {store}"]
    ran = desk.run(*upstream.options, *second)
    assert talk.restored(upstream.upstream.requests[1].body)
    assert said(ran) == [f"thoughtkeep: 1 exchange, 0 turns kept, 1 request restored {store}"]


def test_other_hosts_pass_undecrypted_and_that_is_said(desk: Desk, upstream: Site) -> None:
    desk.more = {"SSL_CERT_FILE": str(upstream.certificate)}
    ran = desk.run(*upstream.options, *agent(CERTIFICATE, OTHER))
    assert ran.stdout.strip() == upstream.digest
    (line,) = said(ran)
    assert line == (
        f"thoughtkeep: no request to an LLM came through the proxy: {OTHER} passed undecrypted; "
        f"--host {OTHER} has that host looked into"
    )


@pytest.mark.parametrize("options", [["--host", "*.example.org"], ["--all-hosts"]])
def test_hosts_that_are_looked_into_show_a_certificate_of_ours(options: list[str], desk: Desk, upstream: Site) -> None:
    ran = desk.run(*upstream.options, *options, *agent(CERTIFICATE, OTHER))
    assert re.fullmatch(r"[0-9a-f]{64}", ran.stdout.strip())
    assert ran.stdout.strip() != upstream.digest


def test_whom_the_user_trusts_mitmproxy_trusts_too(desk: Desk, talk: Talk, upstream: Site) -> None:
    """A company's authority, say, which stands between it and the provider."""
    desk.more = {"NODE_EXTRA_CA_CERTS": str(upstream.certificate)}
    ran = desk.run(*upstream.options[:4], *talking(talk))
    assert ran.stdout == "200\n200\n"


@contextmanager
def company(port: int) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """A proxy that leads every tunnel to one port, and writes down what it was asked and with which credential."""
    asked: list[tuple[str, str]] = []

    def carry(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def serve(raw: socket.socket) -> None:
        with raw, socket.create_connection(("127.0.0.1", port), PATIENCE) as inside:
            request = read_request(raw)
            if request is None:
                return
            asked.append((request.target, request.header("proxy-authorization") or ""))
            raw.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=carry, args=(inside, raw), daemon=True)
            back.start()
            carry(raw, inside)
            back.join(PATIENCE)

    def accept() -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            raw.settimeout(PATIENCE)
            threading.Thread(target=serve, args=(raw,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1], asked
        listener.shutdown(socket.SHUT_RDWR)


def test_a_proxy_that_the_user_has_is_gone_through(desk: Desk, talk: Talk, upstream: Site) -> None:
    code = f"import subprocess, sys, os\n{CERTIFICATE}\nsubprocess.run(sys.argv[2:], check=True)\n" + (
        "print(subprocess.run(['ps', '-eo', 'args'], capture_output=True, text=True).stdout.count('hu' + 'sh'))"
    )
    with company(upstream.port) as (port, asked):
        desk.more = {"HTTPS_PROXY": f"http://me:hush@127.0.0.1:{port}", "SSL_CERT_FILE": str(upstream.certificate)}
        ran = desk.run(*agent(code, OTHER, *talking(talk)))
    assert ran.stdout == f"{upstream.digest}\n200\n200\n0\n"
    assert talk.restored(upstream.upstream.requests[1].body)
    assert [target for target, _ in asked][:2] == [f"{OTHER}:443", f"{LLM}:443"]
    assert {credential for _, credential in asked} == {"Basic bWU6aHVzaA=="}
    assert said(ran) == [KEPT]


def test_one_that_mitmproxy_cannot_use_is_said(desk: Desk, call: Called) -> None:
    desk.more = {"HTTPS_PROXY": "socks5://me:hush@127.0.0.1:1"}
    status, (line,) = call("true")
    assert line.startswith("thoughtkeep: HTTPS_PROXY names a socks5 proxy; only http and https proxies will do")
    assert (status, "hush" in line) == (2, False)


def test_an_agent_joins_a_proxy_that_runs(desk: Desk, call: Called, talk: Talk, upstream: Site) -> None:
    options = ["-s", REDIRECT, "--set", upstream.options[3], "--set", "ssl_insecure=true"]
    with keeper(*options) as proxy:
        ca = proxy.folder / "conf" / "mitmproxy-ca-cert.pem"
        ran = desk.run("--proxy", proxy.url, "--ca", ca, *talking(talk))
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "200\n200\n", "")
        assert talk.restored(upstream.upstream.requests[1].body)
        assert listens(proxy.port)
        assert call("--proxy", proxy.url, "--ca", "/nonexistent.pem", "true") == (
            125,
            [
                "thoughtkeep: the certificate of the proxy's authority is not there: /nonexistent.pem (--ca FILE names "
                "another)"
            ],
        )
        told = [f"thoughtkeep: no certificate is in {REDIRECT}"]
        assert call("--proxy", f"127.0.0.1:{proxy.port}", "--ca", REDIRECT, "true") == (125, told)
    told = [f"thoughtkeep: no proxy answers at 127.0.0.1:{proxy.port}: Connection refused"]
    assert call("--proxy", proxy.url, "true") == (125, told)


def test_the_page_of_mitmweb_is_told_and_answers(desk: Desk) -> None:
    with desk.running("--web", *agent("input()")) as launcher:
        assert launcher.stderr is not None
        line = launcher.stderr.readline()
        found = re.fullmatch(r"thoughtkeep: mitmweb is at (http://127\.0\.0\.1:\d+/\?token=[0-9a-f]+)\n", line)
        assert found is not None
        assert httpx.get(found[1], trust_env=False).status_code == 200
        assert httpx.get(found[1].partition("?")[0], trust_env=False).status_code == 403
        launcher.communicate("\n", timeout=PATIENCE)
        assert launcher.returncode == 0
    assert not listens(urlsplit(found[1]).port or 0)


#: Has a talk with the provider at its base URL.
BASED = """
import os, sys
assert "SSL_CERT_FILE" not in os.environ
sys.argv[1] = os.environ["OPENAI_BASE_URL"] + sys.argv[1]
"""


def test_agents_with_a_base_url_need_no_certificate(desk: Desk, talk: Talk, upstream: Site) -> None:
    command = talking(talk, "/chat/completions")
    command[2] = BASED + command[2]
    url = f"https://127.0.0.1:{upstream.port}/v1/"
    ran = desk.run("--reverse", url, "--set", "ssl_insecure=true", *command)
    assert (ran.returncode, ran.stdout) == (0, "200\n200\n")
    assert talk.restored(upstream.upstream.requests[1].body)
    assert {request.target for request in upstream.upstream.requests} == {"/v1/chat/completions"}
    assert said(ran) == [KEPT]


def test_an_agent_that_does_not_trust_the_proxy_is_told_of(desk: Desk, upstream: Site) -> None:
    code = "import os; os.environ['SSL_CERT_FILE'] = os.environ['OTHER']\n" + CERTIFICATE
    desk.more = {"OTHER": str(upstream.certificate)}
    ran = desk.run(*upstream.options, *agent(code, LLM))
    assert ran.returncode == 1
    ours = [line for line in said(ran) if line.startswith("thoughtkeep: ")]
    assert len(ours) == 2
    assert ours[0].startswith(
        f"thoughtkeep: the agent does not trust mitmproxy's certificate for {LLM}: start it with "
    )
    assert str(desk.ca) in ours[0]
    assert "try --reverse" in ours[1]


def test_the_log_goes_to_a_file_and_warnings_are_repeated_at_the_end(desk: Desk, tmp_path: Path) -> None:
    damaged, log = tmp_path / "store.sqlite3", tmp_path / "log"
    damaged.write_bytes(b"no database" * 1000)
    log.write_text("what was there\n")
    ran = desk.run("--set", f"thoughtkeep_store=sqlite:///{damaged}", "--log", log, "true")
    assert "store.sqlite3" in said(ran)[0]
    assert (ran.returncode, len(said(ran))) == (0, 2)
    assert re.match(r"what was there\n[\s\S]*HTTP\(S\) proxy listening at 127\.0\.0\.1:", log.read_text())


def test_the_log_goes_to_the_terminal(desk: Desk) -> None:
    assert "HTTP(S) proxy listening at 127.0.0.1:" in desk.run("--verbose", "true").stderr


def test_options_win_over_a_configuration_file(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "config.yaml").write_text(
        f"listen_port: 1\nthoughtkeep_store: redis://x\nallow_hosts: [x]\nscripts: [{ADDON}]\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    options = ["--port", free, "--set", f"confdir={folder}", "--set", "thoughtkeep_store=memory:"]
    code = "import os; print(os.environ['NODE_EXTRA_CA_CERTS'], os.environ['HTTPS_PROXY'])"
    ran = desk.run(*options, *agent(code))
    assert ran.stdout == f"{folder}/mitmproxy-ca-cert.pem http://127.0.0.1:{free}\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--port", "{port}"], "port {port} is taken; give another, or --proxy 127.0.0.1:{port} to join it"),
        (["--port", "1", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["--set", "nonsense=1"], "mitmdump did not start: no such option: nonsense"),
        (["--set", "thoughtkeep_ttl_days=0"], "mitmdump did not start: thoughtkeep_ttl_days: Input should be greater"),
        (["--set", "anticache=perhaps"], "mitmdump did not start: mitmdump: Failed to parse option anticache: "),
        (["--script", "{folder}/broken.py"], "mitmdump did not start: error in script {folder}/broken.py; too bad"),
        (
            ["--web", "--set", "web_port={port}"],
            "mitmweb did not start: Web server failed to listen on 127.0.0.1:{port}",
        ),
        (["--log", "/nonexistent/log"], "--log: /nonexistent/log cannot be written: No such file or directory"),
        (["--ca", "/nonexistent.pem"], "the certificate of the proxy's authority is not there: /nonexistent.pem"),
    ],
)
def test_a_proxy_that_does_not_start_is_said_with_its_reason(
    options: list[str], told: str, port: int, call: Called, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError('too bad')")
    names = {"folder": tmp_path, "port": port}
    status, (line,) = call(*(word.format(**names) for word in options), *agent("print('started')"))
    assert line.startswith(f"thoughtkeep: {told.format(**names)}")
    assert status == (2 if "--nonsense" in options else 125)


def test_a_proxy_that_fails_while_the_agent_runs_is_said(desk: Desk, tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("import os\ndef http_connect(flow):\n    print('no more', flush=True)\n    os._exit(3)\n")
    ran = desk.run("--script", script, *agent(CERTIFICATE, LLM))
    assert said(ran)[-1] == "thoughtkeep: mitmdump failed while the agent ran: no more"
    assert ran.returncode == 1
