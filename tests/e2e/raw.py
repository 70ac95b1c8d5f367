"""Clients that say what libraries don't: HTTP/1.1 byte by byte, and HTTP/2 streams that are taken back."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from types import TracebackType

from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded

from e2e.kit import AMPLE
from e2e.upstream import Request, read_message
from e2e.ways import OnlyHttp2
from proxy import Proxy


class Wire:
    """One connection to a proxy. Use it as a context manager."""

    def __init__(self, proxy: Proxy) -> None:
        self.sock = socket.create_connection(("127.0.0.1", proxy.port), AMPLE)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self.sock.makefile("rb")

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self.sock.close()

    def reset(self) -> None:
        """Break the connection off, so that the other side is told of an error and not of an end."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def send(self, *pieces: bytes) -> None:
        """Send each piece by itself."""
        for piece in pieces:
            self.sock.sendall(piece)

    def answer(self) -> Request:
        """The next answer, whole; its `head` begins with the status line."""
        found = read_message(self._file)
        assert found is not None, "the proxy closed the connection"
        return found

    def until(self, words: bytes) -> bytes:
        """What arrives, up to these words and what came along with them."""
        got = b""
        while words not in got:
            more = self._file.read1()
            assert more, "the proxy closed the connection"
            got += more
        return got


def posted(url: str, body: bytes, headers: Mapping[str, str], length: str = "Content-Length") -> bytes:
    """A POST to a proxy as bytes; `length` is how the client writes that header's name."""
    named = {"Host": url.split("/")[2], **headers, length: str(len(body))}
    lines = [f"POST {url} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Wire2:
    """One HTTP/2 connection through a proxy to a server. Use it as a context manager."""

    def __init__(self, proxy: Proxy, host: str) -> None:
        self._host = host
        raw = socket.create_connection(("127.0.0.1", proxy.port), AMPLE)
        raw.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        with raw.makefile("rb") as file:
            connected = read_message(file)
        assert connected is not None
        assert b" 200 " in connected.head
        context = OnlyHttp2.trusting(proxy)
        context.set_alpn_protocols(["h2"])
        self._sock = context.wrap_socket(raw, server_hostname=host.partition(":")[0])
        self._h2 = H2Connection()
        self._h2.initiate_connection()
        self.bodies: dict[int, bytearray] = {}
        self.statuses: dict[int, int] = {}
        self.ended: set[int] = set()
        self._flush()

    def __enter__(self) -> Wire2:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sock.close()

    def ask(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """Send a request; the number of its stream."""
        stream = self._h2.get_next_available_stream_id()
        named = [(":method", "POST"), (":scheme", "https"), (":authority", self._host), (":path", path)]
        self._h2.send_headers(stream, [*named, *headers.items(), ("content-length", str(len(body)))])
        self._h2.send_data(stream, body, end_stream=True)
        self.bodies[stream] = bytearray()
        self._flush()
        return stream

    def take_back(self, stream: int) -> None:
        """Tell the other side that nobody wants this answer any more."""
        self._h2.reset_stream(stream, 8)
        self._flush()

    def until(self, stream: int, words: bytes = b"") -> bytes:
        """The answer up to some words, or to its end."""
        until = time.monotonic() + AMPLE
        while (words not in self.bodies[stream]) if words else (stream not in self.ended):
            assert time.monotonic() < until
            self._take(self._sock.recv(65536))
        return bytes(self.bodies[stream])

    def _take(self, data: bytes) -> None:
        assert data, "the proxy closed the connection"
        for event in self._h2.receive_data(data):
            match event:
                case ResponseReceived(stream_id=stream, headers=headers):
                    self.statuses[stream] = int(dict(headers)[b":status"])
                case DataReceived(stream_id=stream, data=piece, flow_controlled_length=length):
                    self.bodies[stream] += piece
                    self._h2.acknowledge_received_data(length, stream)
                case StreamEnded(stream_id=stream):
                    self.ended.add(stream)
        self._flush()

    def _flush(self) -> None:
        if data := self._h2.data_to_send():
            self._sock.sendall(data)
