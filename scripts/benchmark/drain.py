"""Clients of answers that are too large to be held: each byte is looked at as it comes, and none is kept."""

import socket
import threading
import time
from dataclasses import dataclass
from hashlib import sha256

_ROOM = 1 << 20

#: Seconds for each wait.
PATIENCE = 120.0


@dataclass(frozen=True)
class Drained:
    """What came of an answer, and how many seconds it took."""

    size: int
    sha256: str
    seconds: float


def drain(proxy: int, port: int, headers: str, number: int = 0) -> Drained:
    """Ask an upstream's port through a proxy, and read the chunked answer to its end. Raises OSError."""
    body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"Question %d, to be told at length"}]}'
    body %= number
    head = f"POST http://127.0.0.1:{port}/v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += f"Content-Type: application/json\r\nAccept-Encoding: gzip, br, zstd\r\nContent-Length: {len(body)}\r\n"
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", proxy), PATIENCE) as sock:
        sock.sendall(f"{head}{headers}\r\n".encode() + body)
        reader = _Chunks(sock)
        while reader.more():
            pass
    return Drained(reader.size, reader.digest.hexdigest(), time.perf_counter() - began)


def together(proxy: int, port: int, headers: str, number: int) -> list[Drained | OSError]:
    """The same by so many clients at once."""
    found: list[Drained | OSError] = []

    def one(own: int) -> None:
        try:
            found.append(drain(proxy, port, headers, own))
        except OSError as error:
            found.append(error)

    threads = [threading.Thread(target=one, args=(own,), daemon=True) for own in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class _Chunks:
    """Reads an answer with chunked transfer coding."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._have = bytearray()
        self.size = 0
        self.digest = sha256()
        while (end := self._have.find(b"\r\n\r\n")) < 0:
            self._receive()
        status = bytes(self._have[: self._have.find(b"\r\n")])
        if b" 200 " not in status:
            raise ConnectionError(f"the proxy answered {status.decode('latin-1')}")
        del self._have[: end + 4]

    def more(self) -> bool:
        """Take what is here, then wait for more. False when the answer was at its end."""
        at, have = 0, self._have
        whole = []
        while (line := have.find(b"\r\n", at)) >= 0:
            length = int(have[at:line], 16)
            if line + 4 + length > len(have):
                break
            if not length:
                self._count(whole)
                return False
            whole.append(bytes(have[line + 2 : line + 2 + length]))
            at = line + 4 + length
        self._count(whole)
        del have[:at]
        self._receive()
        return True

    def _count(self, whole: list[bytes]) -> None:
        data = b"".join(whole)
        self.size += len(data)
        self.digest.update(data)

    def _receive(self) -> None:
        data = self._sock.recv(_ROOM)
        if not data:
            raise ConnectionError("the proxy closed in the middle of an answer")
        self._have += data
