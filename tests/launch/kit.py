"""What the launcher's tests share: the launcher as a real process, small agents, and upstreams behind TLS."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.kit import REDIRECT, Talk
from e2e.upstream import Upstream, make_certificate, tls_front
from thoughtkeep_mitm.launch.environment import ADDING, REPLACING

#: The launcher, as the console script starts it.
LAUNCHER = [
    sys.executable,
    "-P",
    "-c",
    "import sys; from thoughtkeep_mitm.launch.cli import main; sys.exit(main())",
]
#: Seconds that any of it may take.
PATIENCE = 30.0
LLM, OTHER = "api.deepseek.com", "pkg.example.org"

#: An agent that has a talk: `talk.py URL FIRST SECOND`; writes the status of both answers.
TALK = """
import sys, httpx
with httpx.Client(timeout=10) as asking:
    for body in sys.argv[2:]:
        headers = {"authorization": "Bearer sk-one", "content-type": "application/json"}
        print(asking.post(sys.argv[1], content=body.encode(), headers=headers).status_code, flush=True)
"""

#: Writes the digest of the certificate that a host shows behind the proxy, having believed it.
CERTIFICATE = """
import hashlib, os, socket, ssl, sys
from urllib.parse import urlsplit
proxy, host = urlsplit(os.environ["HTTPS_PROXY"]), sys.argv[1]
with socket.create_connection((proxy.hostname, proxy.port), 10) as raw:
    raw.sendall(f"CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n".encode())
    assert b" 200 " in raw.recv(65536)
    with ssl.create_default_context().wrap_socket(raw, server_hostname=host) as inside:
        print(hashlib.sha256(inside.getpeercert(binary_form=True)).hexdigest())
"""


def agent(code: str, *words: str) -> list[str]:
    """A Python program as a command."""
    return [sys.executable, "-c", code, *words]


@dataclass
class Desk:
    """Where the launcher is started: a home, a folder for temporary files, a working directory, an environment."""

    home: Path
    temporary: Path
    folder: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        for name in (*REPLACING, ADDING):
            own.pop(name, None)
        return {**own, "HOME": str(self.home), "TMPDIR": str(self.temporary), **self.more}

    @property
    def ca(self) -> Path:
        return self.home / ".mitmproxy" / "mitmproxy-ca-cert.pem"

    def run(self, *words: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run the launcher to its end."""
        return subprocess.run(
            [*LAUNCHER, *map(str, words)],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.folder,
            timeout=PATIENCE,
            check=False,
        )

    @contextmanager
    def running(self, *words: str | Path, **more: Any) -> Iterator[subprocess.Popen[str]]:
        """The launcher at work, in a process group of its own."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(
            [*LAUNCHER, *map(str, words)],
            text=True,
            env=self.environment,
            cwd=self.folder,
            **{**pipes, "process_group": 0, **more},
        )
        with process:
            try:
                yield process
            finally:
                process.kill()


@dataclass(frozen=True)
class Site:
    """An upstream behind TLS: what it was asked, its certificate, and the launcher's options that lead to it."""

    upstream: Upstream
    certificate: Path
    port: int

    @property
    def digest(self) -> str:
        """Of its certificate, as CERTIFICATE writes it."""
        found = re.search(r"-----BEGIN CERT[\s\S]+", self.certificate.read_text())
        assert found is not None
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(found[0])).hexdigest()

    @property
    def options(self) -> list[str]:
        hosts = ",".join(f"{host}={self.port}" for host in (LLM, OTHER))
        return ["--script", str(REDIRECT), "--set", f"redirect_hosts={hosts}", "--set", "ssl_insecure=true"]


@contextmanager
def site(folder: Path, talk: Talk) -> Iterator[Site]:
    """An upstream that has the other part of a talk, at the LLM's and at the other host."""
    certificate = make_certificate(folder, LLM, OTHER)
    with Upstream(talk.answer) as upstream, tls_front(upstream.port, certificate) as port:
        yield Site(upstream, certificate, port)


def talking(talk: Talk, url: str = f"https://{LLM}{Talk.path}") -> list[str]:
    """An agent's command for a talk."""
    return agent(TALK, url, talk.first.decode(), talk.second.decode())


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def dumped(process: subprocess.CompletedProcess[str]) -> Mapping[str, Any]:
    """The JSON that an agent wrote."""
    told: Mapping[str, Any] = json.loads(process.stdout)
    return told


def said(process: subprocess.CompletedProcess[str]) -> Sequence[str]:
    """The launcher's lines."""
    return process.stderr.splitlines()
