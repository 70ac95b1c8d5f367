"""Every way through a proxy: how it is started, how a client comes through it, and the provider at its other end.

In the clear or inside TLS, where the provider has a certificate for its names and the proxy checks it, in our own
requests too. A `Way` is entered once for many tests.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest

from e2e.kit import AMPLE, REDIRECT, wait_for
from e2e.netns import GATEWAY, PROVIDER, Namespace, NoNamespaces, joined
from e2e.steady import Steady
from e2e.switching import JSON, Session, handing
from e2e.upstream import make_certificate
from proxy import Proxy, free_port

#: A provider that is known, and one that nobody knows.
KNOWN, UNKNOWN = "api.deepseek.com", "plain.invalid"
USER = "alice:secret"


@dataclass(frozen=True)
class Way:
    """A proxy, a client that goes through it, and the upstream where its requests arrive.

    `base` is where the client asks. `host` is what requests call the upstream, and `name` what TLS handshakes call it.
    """

    proxy: Proxy
    asking: httpx.Client
    base: str
    upstream: Steady
    host: str
    name: str

    def post(self, body: bytes, headers: dict[str, str], path: str = "/v1/chat/completions") -> httpx.Response:
        return self.asking.post(self.base + path, content=body, headers=headers)


class Through(Session):
    """A conversation whose client goes a way."""

    def __init__(self, way: Way) -> None:
        super().__init__(way.proxy, way.base)
        self.way = way

    def ask(self, model: str, *, patience: float = 20, **headers: str) -> httpx.Response:
        told = {"authorization": f"Bearer {self.key}", "x-test-name": self.name, **JSON, **headers}
        return self.way.post(self.body(model), told, self.shape.path)


def trusting(proxy: Proxy) -> ssl.SSLContext:
    """What a client has that trusts this proxy and nobody else."""
    return ssl.create_default_context(cafile=_authority(proxy))


def _authority(proxy: Proxy) -> str:
    return str(proxy.folder / "conf" / "mitmproxy-ca-cert.pem")


class OnlyHttp2(ssl.SSLContext):
    """httpx names HTTP/1.1 first, and mitmproxy takes what is named first."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        super().set_alpn_protocols(["h2"])

    @classmethod
    def trusting(cls, proxy: Proxy) -> ssl.SSLContext:
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(_authority(proxy))
        return context


def direct(**options: Any) -> httpx.Client:
    """A client that is told of no proxy."""
    return httpx.Client(**{"trust_env": False, "timeout": 2 * AMPLE, **options})


class Ways:
    """Makes ways; what they need is made where it is first needed, and ends with `stack`."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack = stack
        self.certificate = make_certificate(folder, "localhost", KNOWN)
        self.checks = ["--set", f"ssl_verify_upstream_trusted_ca={self.certificate}"]

    def upstream(self, tls: bool, address: tuple[str, int] = ("127.0.0.1", 0)) -> Steady:
        certificate = self.certificate if tls else None
        return self._stack.enter_context(Steady(lambda request, line: None, certificate, address))

    def proxy(self, *words: str) -> Proxy:
        return self._stack.enter_context(handing(*self.checks, *words))

    def client(self, **options: Any) -> httpx.Client:
        return self._stack.enter_context(direct(**options))

    def regular(self) -> list[Way]:
        proxy = self.proxy()
        asking = self.client(proxy=proxy.url, verify=trusting(proxy))
        return [_local(proxy, asking, self.upstream(tls), tls) for tls in (False, True)]

    def reverse(self, tls: bool, *words: str) -> Way:
        upstream = self.upstream(tls)
        proxy = self.proxy("--mode", f"reverse:{_url(tls)}:{upstream.port}", *words)
        return replace(_local(proxy, self.client(), upstream, tls), base=proxy.url)

    def behind(self, user: str = "") -> list[Way]:
        """Through another proxy, which asks everybody for a name if `user` is one; only it finds the providers."""
        hosts = {UNKNOWN: self.upstream(False), KNOWN: self.upstream(True)}
        for upstream in hosts.values():
            upstream.stays = False  # to a redirected host mitmproxy connects anew each time, and has five at most
        found = ",".join(f"{host}={upstream.port}" for host, upstream in hosts.items())
        words = ["-s", str(REDIRECT), "--set", f"redirect_hosts={found}", "--ignore-hosts", KNOWN]
        other = self._stack.enter_context(Proxy(*words, *(["--proxyauth", user] if user else [])))
        proxy = self.proxy("--mode", f"upstream:{other.url}", *(["--upstream-auth", user] if user else []))
        asking = self.client(proxy=proxy.url, verify=trusting(proxy))
        urls = (f"http://{UNKNOWN}", f"https://{KNOWN}")
        return [
            Way(proxy, asking, url, upstream, host, KNOWN if host == KNOWN else "")
            for url, (host, upstream) in zip(urls, hosts.items(), strict=True)
        ]

    def socks5(self) -> list[Way]:
        proxy = self.proxy("--mode", "socks5")
        asking = self.client(transport=socks(proxy))
        return [_local(proxy, asking, self.upstream(tls), tls) for tls in (False, True)]

    def transparent(self) -> list[Way]:
        """The client asks an address. Raises NoNamespaces."""
        port = free_port()
        client, gateway = self._stack.enter_context(joined(port))
        with gateway.inside():
            plain, inside = self.upstream(False, (PROVIDER, 80)), self.upstream(True, (PROVIDER, 443))
            proxy = self.proxy("--mode", "transparent", "--listen-host", GATEWAY, "-p", str(port))
        asking = self.client(transport=Inside(client, KNOWN, trusting(proxy)), headers={"host": KNOWN})
        return [
            Way(proxy, asking, f"http://{PROVIDER}", plain, KNOWN, ""),
            Way(proxy, asking, f"https://{PROVIDER}", inside, KNOWN, KNOWN),
        ]

    def together(self) -> list[Way]:
        """Three modes of one proxy, for one server."""
        upstream = self.upstream(False)
        ports = [free_port() for _ in range(3)]
        modes = ("regular", f"reverse:{_url(False)}:{upstream.port}", "socks5")
        told = [f"{mode}@{port}" for mode, port in zip(modes, ports, strict=True)]
        proxy = self.proxy(*(word for each in told for word in ("--mode", each)))
        wait_for(lambda: all(f"127.0.0.1:{port}" in proxy.log() for port in ports))
        regular, reverse = (f"http://127.0.0.1:{port}" for port in ports[:2])
        proxy.port = ports[2]
        own = _local(proxy, self.client(proxy=regular), upstream, False)
        other = replace(own, asking=self.client(), base=reverse)
        return [own, other, replace(own, asking=self.client(transport=socks(proxy)))]


#: By name: what makes a way in the clear, and one inside TLS.
WAYS: dict[str, Callable[[Ways], list[Way]]] = {
    "regular": Ways.regular,
    "reverse": lambda ways: [ways.reverse(False), ways.reverse(True)],
    "upstream": Ways.behind,
    "upstream with a password": lambda ways: ways.behind(USER),
    "socks5": Ways.socks5,
    "transparent": Ways.transparent,
}


@contextmanager
def opened(name: str, folder: Path) -> Iterator[list[Way]]:
    """Two ways, or a skipped test where they cannot be gone here."""
    with ExitStack() as stack:
        try:
            pair = WAYS[name](Ways(stack, folder))
        except NoNamespaces as reason:
            pytest.skip(str(reason))
        yield pair


def _url(tls: bool) -> str:
    return "https://localhost" if tls else "http://localhost"


def _local(proxy: Proxy, asking: httpx.Client, upstream: Steady, tls: bool) -> Way:
    """To a provider that is found without anybody's help."""
    host = f"localhost:{upstream.port}"
    return Way(proxy, asking, f"{_url(tls)}:{upstream.port}", upstream, host, "localhost" if tls else "")


class Inside(httpx.HTTPTransport):
    """Makes its connections in a namespace, and calls whoever it asks by a name."""

    def __init__(self, namespace: Namespace, name: str, verify: ssl.SSLContext) -> None:
        super().__init__(verify=verify, trust_env=False)
        self._namespace, self._name = namespace, name

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "sni_hostname": self._name}
        with self._namespace.inside():
            return super().handle_request(request)


def socks(proxy: Proxy, user: str = "") -> httpx.HTTPTransport:
    """A transport through a SOCKS5 proxy; `user` is NAME:PASSWORD."""
    transport = httpx.HTTPTransport(verify=trusting(proxy), trust_env=False)
    transport._pool._network_backend = _Socks(proxy.port, user)
    return transport


class _Socks(httpcore.NetworkBackend):
    """RFC 1928 and 1929, as far as a client needs them that names hosts by name."""

    def __init__(self, port: int, user: str) -> None:
        self._port, self._user = port, user
        self._inner = httpcore.SyncBackend()

    def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.NetworkStream:
        stream = self._inner.connect_tcp("127.0.0.1", self._port, *args, **options)
        method = 2 if self._user else 0
        self._say(stream, bytes([5, 1, method]), bytes([5, method]))
        if self._user:
            name, word = (part.encode() for part in self._user.split(":"))
            self._say(stream, bytes([1, len(name), *name, len(word), *word]), bytes([1, 0]))
        named = host.encode()
        asked = bytes([5, 1, 0, 3, len(named), *named, *port.to_bytes(2, "big")])
        self._say(stream, asked, bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        return stream

    @staticmethod
    def _say(stream: httpcore.NetworkStream, words: bytes, expected: bytes) -> None:
        stream.write(words, AMPLE)
        got = b""
        while len(got) < len(expected) and (more := stream.read(len(expected) - len(got), AMPLE)):
            got += more
        if got != expected:
            raise httpcore.ConnectError(f"the SOCKS proxy said {got!r}")
