"""Upstreams that keep their connections if not told otherwise: HTTP/1.1 in the clear or inside TLS, HTTP/2 inside TLS.

They are `Upstream`s, with scripts and lines as there. `names` has the name that each connection's TLS handshake asked
for, `on` the number of the connection that each request came on. `Many` and `demand` are scripts for them.
"""

from __future__ import annotations

import contextlib
import gzip
import select
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import ProtocolError

from e2e.kit import Talk
from e2e.upstream import PATIENCE, Line, Request, Script, Upstream, read_request

JSON = {"content-type": "application/json"}
#: An answer in which there is nothing.
DONE = b'{"choices":[]}'
_MISSING = b'{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}'

#: Headers of one HTTP/1 connection, which HTTP/2 forbids.
_HOP = ("connection", "transfer-encoding", "keep-alive")


class Steady(Upstream):
    """An HTTP/1.1 server whose connections stay as long as `stays`; inside TLS if it has a certificate."""

    protocols: tuple[str, ...] = ()
    stays = True

    def __init__(
        self, script: Script, certificate: Path | None = None, address: tuple[str, int] = ("127.0.0.1", 0)
    ) -> None:
        super().__init__(script, address)
        self.names: list[str] = []
        self.on: list[int] = []
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
            self._context.sni_callback = _note
            if self.protocols:
                self._context.set_alpn_protocols(list(self.protocols))

    def forget(self) -> None:
        """Begin to write down anew."""
        for notes in (self.requests, self.names, self.on):
            notes.clear()

    def _serve(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            sock.settimeout(PATIENCE)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is None:
                self._talk(sock, self._connected(""))
            else:
                with self._context.wrap_socket(sock, server_side=True) as inside:
                    self._talk(inside, self._connected(getattr(inside, "asked_for", "")))

    def _connected(self, name: str) -> int:
        with self._lock:
            self.names.append(name)
            return len(self.names)

    def _got(self, request: Request, number: int) -> None:
        with self._lock:
            self.requests.append(request)
            self.on.append(number)

    def _talk(self, sock: socket.socket, number: int) -> None:
        while (request := read_request(sock)) is not None:
            self._got(request, number)
            self.script(request, (SteadyLine if self.stays else Line)(sock, self._closing))
            if not self.stays:
                return


def _note(sock: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
    sock.asked_for = name or ""  # type: ignore[attr-defined]


class SteadyLine(Line):
    """A connection that stays behind the answer."""

    def begin(self, headers: Mapping[str, str], status: str = "200 OK") -> None:
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items())]
        self.send("\r\n".join([*lines, "", ""]).encode())


class Http2(Steady):
    """An HTTP/2 server inside TLS; each request is answered in a thread of its own."""

    protocols = ("h2",)

    def _talk(self, sock: socket.socket, number: int) -> None:
        _Connection(self, sock, number).run()


class _Connection:
    """One HTTP/2 connection. What reads and what writes take turns: neither TLS nor h2 bears both at once."""

    def __init__(self, upstream: Http2, sock: socket.socket, number: int) -> None:
        self.upstream, self.sock, self.number = upstream, sock, number
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.turn = threading.Condition()
        self.gone: set[int] = set()
        self.over = False
        self._asked: dict[int, tuple[list[tuple[str, str]], bytearray]] = {}

    def run(self) -> None:
        try:
            with self.turn:
                self.h2.initiate_connection()
                self.flush()
            while not self.upstream._closing.is_set() and self._read():
                pass
        except ProtocolError:
            pass
        finally:
            with self.turn:
                self.over = True
                self.turn.notify_all()

    def _read(self) -> bool:
        if not self.sock.pending() and not select.select([self.sock], [], [], 0.1)[0]:  # type: ignore[attr-defined]
            return True
        with self.turn:
            data = self.sock.recv(65536)
            for event in self.h2.receive_data(data) if data else ():
                self._take(event)
            self.flush()
            self.turn.notify_all()
        return bool(data)

    def _take(self, event: object) -> None:
        match event:
            case RequestReceived(stream_id=stream, headers=headers):
                self._asked[stream] = ([(str(name), str(value)) for name, value in headers], bytearray())
            case DataReceived(stream_id=stream, data=data, flow_controlled_length=length):
                self._asked[stream][1].extend(data)
                self.h2.acknowledge_received_data(length, stream)
            case StreamEnded(stream_id=stream):
                fields, body = self._asked.pop(stream)
                named = dict(fields)
                head = f"{named[':method']} {named[':path']} HTTP/2\r\n".encode()
                request = Request(head, tuple(fields), bytes(body))
                self.upstream._got(request, self.number)
                threading.Thread(target=self._answer, args=(request, stream), daemon=True).start()
            case StreamReset(stream_id=stream):
                self.gone.add(stream)
            case ConnectionTerminated():
                self.over = True

    def _answer(self, request: Request, stream: int) -> None:
        with contextlib.suppress(OSError, ProtocolError):
            self.upstream.script(request, Http2Line(self, stream))

    def flush(self) -> None:
        if data := self.h2.data_to_send():
            self.sock.sendall(data)


class Http2Line(Line):
    """The stream on which one answer is due."""

    def __init__(self, connection: _Connection, stream: int) -> None:
        super().__init__(connection.sock, connection.upstream._closing)
        self._connection, self._stream = connection, stream

    def begin(self, headers: Mapping[str, str], status: str = "200 OK") -> None:
        fields = [(name.lower(), value) for name, value in headers.items() if name.lower() not in _HOP]
        with self._connection.turn:
            self._connection.h2.send_headers(self._stream, [(":status", status.split()[0]), *fields])
            self._connection.flush()

    def send(self, data: bytes) -> None:
        """Send data as far as the other side has room for it, and wait for more."""
        connection = self._connection
        until = time.monotonic() + PATIENCE
        with connection.turn:
            while data:
                if self._left() or time.monotonic() > until:
                    raise BrokenPipeError
                h2 = connection.h2
                room = min(h2.local_flow_control_window(self._stream), h2.max_outbound_frame_size)
                if room <= 0:
                    connection.turn.wait(0.1)
                    continue
                h2.send_data(self._stream, data[:room])
                data = data[room:]
                connection.flush()

    def chunk(self, data: bytes) -> None:
        if data:
            return self.send(data)
        with self._connection.turn:
            self._connection.h2.end_stream(self._stream)
            return self._connection.flush()

    def answer(self, body: bytes, headers: Mapping[str, str], status: str = "200 OK") -> None:
        super().answer(body, headers, status)
        self.chunk(b"")

    def wait_until_left(self) -> bool:
        with self._connection.turn:
            return bool(self._connection.turn.wait_for(self._left, PATIENCE))

    def _left(self) -> bool:
        return self._connection.over or self._stream in self._connection.gone or self._closing.is_set()


class Many:
    """An upstream's part in many talks at a time; what is about none of them gets `OTHER`."""

    OTHER = b"something else"

    def __init__(self, *talks: Talk) -> None:
        self.talks = talks

    def __call__(self, request: Request, line: Line) -> None:
        body = gzip.decompress(request.body) if request.header("content-encoding") == "gzip" else request.body
        talk = next((talk for talk in self.talks if talk.name.encode() in body), None)
        if talk is None or request.target != talk.path:
            line.answer(self.OTHER, {"content-type": "text/plain"})
        elif b"tool_call_id" in body:
            line.answer(DONE, JSON)
        else:
            talk.answer(request, line)


def answered(talk: Talk) -> bytes:
    """What the client must get to its first request."""
    return b"".join(talk.stream) if talk.streamed else talk.plain


def demand(request: Request, line: Line) -> None:
    """An upstream's part that demands reasoning, whatever it says."""
    if b'"reasoning_content"' in request.body:
        line.answer(DONE, JSON)
    else:
        line.answer(_MISSING, JSON, "400 Bad Request")
