"""Clients that refuse mitmproxy's certificate are told of, once a host; those that merely hang up are not."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest

from e2e.kit import AMPLE, backstage, keeper, logged
from proxy import Proxy

WORDS = "the agent does not trust mitmproxy's certificate for "


@pytest.fixture(scope="module")
def lazy() -> Iterator[Proxy]:
    """A proxy that shows its certificate before it asks for any host, of which there is none."""
    with keeper("--set", "connection_strategy=lazy") as running:
        yield running


def tunnel(proxy: Proxy, host: str) -> socket.socket:
    raw = socket.create_connection(("127.0.0.1", proxy.port), AMPLE)
    raw.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
    assert b" 200 " in raw.recv(65536)
    return raw


def shake(proxy: Proxy, host: str, context: ssl.SSLContext, name: str | None = None) -> None:
    with tunnel(proxy, host) as raw, context.wrap_socket(raw, server_hostname=name or host) as inside:
        assert inside.version()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_that_does_not_trust_is_told_of_once_a_host(version: ssl.TLSVersion, lazy: Proxy) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which trusts nobody
    context.maximum_version = version
    before, start = counted(lazy), len(lazy.log())
    hosts = [f"{version.name.lower().replace('_', '-')}-{letter}.invalid" for letter in "ab"]
    for host in [*hosts, *hosts]:
        with pytest.raises(ssl.SSLCertVerificationError):
            shake(lazy, host, context)
    line = logged(lazy, WORDS + hosts[1], start)
    file = lazy.folder / "conf" / "mitmproxy-ca-cert.pem"
    assert file.exists()
    assert line.partition("thoughtkeep: ")[2] == (
        f"{WORDS}{hosts[1]}: start it with the variable NODE_EXTRA_CA_CERTS (Node, Bun), SSL_CERT_FILE (Python, Rust, "
        f"Go) or CODEX_CA_CERTIFICATE (Codex) set to {file}"
    )
    assert counted(lazy) == before + 4
    assert [lazy.log().count(WORDS + host) for host in hosts] == [1, 1]


def counted(proxy: Proxy) -> int:
    return int(backstage(proxy).json().get("certificates_refused", 0))


def test_a_client_that_trusts_is_not_told_of(lazy: Proxy) -> None:
    before, start = counted(lazy), len(lazy.log())
    shake(lazy, "trusting.invalid", ssl.create_default_context(cafile=lazy.folder / "conf" / "mitmproxy-ca-cert.pem"))
    logged(lazy, "client disconnect", start)
    assert (counted(lazy), lazy.log().count(f"{WORDS}trusting")) == (before, 0)


def test_a_client_that_hangs_up_is_not_told_of(lazy: Proxy) -> None:
    before, start = counted(lazy), len(lazy.log())
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    hello = context.wrap_bio(incoming, outgoing, server_hostname="leaving.invalid")
    with pytest.raises(ssl.SSLWantReadError):
        hello.do_handshake()
    words = outgoing.read()
    for part in (words, words[:20]):
        with tunnel(lazy, "leaving.invalid") as raw:
            raw.sendall(part)
            if part == words:
                assert raw.recv(65536)
    logged(lazy, "The client disconnected during the handshake", start)
    assert (counted(lazy), lazy.log().count(f"{WORDS}leaving")) == (before, 0)


def test_a_host_without_a_name_is_told_of_by_its_address(lazy: Proxy) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(lazy, "192.0.2.7", context)
    assert logged(lazy, f"{WORDS}192.0.2.7: ")
