"""Upstreams on loopback that do on the wire what strict providers don't: odd framing, odd codings, silence, hanging up.

An upstream reads whole requests, writes down their bytes, and leaves the answer to a function that has the line in its
hands. Everything is bounded: waits end after `PATIENCE` seconds, or when the upstream is closed.
"""

from __future__ import annotations

import contextlib
import datetime
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

#: Seconds that any wait takes at most.
PATIENCE = 15.0


@dataclass(frozen=True)
class Request:
    """A request as it arrived: its head as bytes, header names in lower case, and the body without its framing."""

    head: bytes
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def target(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)


class Line:
    """The connection on which one answer is due."""

    def __init__(self, sock: socket.socket, closing: threading.Event) -> None:
        self._sock = sock
        self._closing = closing

    def begin(self, headers: Mapping[str, str], status: str = "200 OK") -> None:
        """Send the head of an answer."""
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items()), "connection: close"]
        self.send("\r\n".join([*lines, "", ""]).encode())

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def chunk(self, data: bytes) -> None:
        """Send one chunk of a chunked answer; an empty one ends it."""
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def answer(self, body: bytes, headers: Mapping[str, str], status: str = "200 OK") -> None:
        """Send a whole answer with its length."""
        self.begin({**headers, "content-length": str(len(body))}, status)
        self.send(body)

    def stream(self, pieces: Iterable[bytes], headers: Mapping[str, str] | None = None, *, end: bool = True) -> None:
        """Send an event stream, one chunk a piece; without `end` it stays open."""
        self.begin({"content-type": "text/event-stream", "transfer-encoding": "chunked", **(headers or {})})
        for piece in pieces:
            if piece:
                self.chunk(piece)
        if end:
            self.chunk(b"")

    def reset(self) -> None:
        """Break the connection off, so that the other side is told of an error and not of an end."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()

    def half_close(self) -> None:
        """Say that nothing more comes, and go on listening."""
        self._sock.shutdown(socket.SHUT_WR)

    def wait_until_left(self) -> bool:
        """Hold the connection open until the other side closes it. False if it did not in time."""
        self._sock.settimeout(0.05)
        for _ in range(int(PATIENCE / 0.05)):
            if self._closing.is_set():
                return False
            with contextlib.suppress(TimeoutError):
                try:
                    if not self._sock.recv(1):
                        return True
                except OSError as error:
                    if not isinstance(error, TimeoutError):
                        return True
                    raise
        return False


Script = Callable[[Request, Line], None]


class Upstream:
    """A server on 127.0.0.1 and a free port, one connection a request. Use it as a context manager."""

    def __init__(self, script: Script, address: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self.script = script
        self.requests: list[Request] = []
        self._closing = threading.Event()
        self._listener = socket.create_server(address, backlog=64)
        self._listener.settimeout(0.1)
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._listener.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                sock, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        # Whoever hangs up in the middle of an answer is what some tests are about.
        with sock, contextlib.suppress(OSError):
            sock.settimeout(PATIENCE)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request = read_request(sock)
            if request is not None:
                self.requests.append(request)
                self.script(request, Line(sock, self._closing))


def read_request(sock: socket.socket) -> Request | None:
    """Read one request; None if the other side closes without one."""
    with sock.makefile("rb") as file:
        return read_message(file)


def read_message(file: BinaryIO) -> Request | None:
    """Read one request, or an answer with its framing, and nothing of what stands behind it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = file.readline()
        if not line:
            return None
        head += line
    pairs = [line.split(b":", 1) for line in head.split(b"\r\n")[1:] if line]
    headers = tuple((name.decode().lower(), value.strip().decode()) for name, value in pairs)
    named = dict(headers)
    if named.get("transfer-encoding") == "chunked":
        body = b"".join(_chunks(file.readline, file.read))
    else:
        body = file.read(int(named.get("content-length", "0")))
    return Request(head, headers, body)


def _chunks(readline: Callable[[], bytes], read: Callable[[int], bytes]) -> Iterator[bytes]:
    while size := int(readline().split(b";")[0], 16):
        yield read(size)
        readline()
    readline()


def make_certificate(folder: Path, *names: str) -> Path:
    """Make a certificate that nobody else has signed; returns the file with it and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "upstream.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return pem


@contextmanager
def tls_front(port: int, certificate: Path) -> Iterator[int]:
    """A port that speaks TLS and passes what is inside it on to a plain port of this machine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    closing = threading.Event()

    def serve(raw: socket.socket) -> None:
        with raw, contextlib.suppress(OSError):
            raw.settimeout(PATIENCE)
            with (
                context.wrap_socket(raw, server_side=True) as outside,
                socket.create_connection(("127.0.0.1", port), PATIENCE) as inside,
            ):
                while carry(outside, inside):
                    pass

    def carry(outside: ssl.SSLSocket, inside: socket.socket) -> bool:
        """Pass on what has come, either way. On one thread: OpenSSL's connections are for one at a time."""
        waiting = [outside] if outside.pending() else select.select((outside, inside), (), (), PATIENCE)[0]
        for source, target in ((outside, inside), (inside, outside)):
            if source in waiting:
                data = source.recv(65536)
                if not data:
                    return False
                target.sendall(data)
        return bool(waiting)

    def accept(listener: socket.socket) -> None:
        while not closing.is_set():
            try:
                raw, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            threading.Thread(target=serve, args=(raw,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        closing.set()
