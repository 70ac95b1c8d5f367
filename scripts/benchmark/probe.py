"""What others notice: a stream whose events leave every few milliseconds, whatever else a proxy has to do.

`probe.py`, in a process of its own, is both ends of that stream, the upstream and the client: so the delay of an event
is told by one clock. It prints the port of its upstream; a line with a proxy's port begins the stream, the next line
ends it, and then a line of JSON tells the delays. Events leave on time also when earlier ones have not arrived.
"""

import json
import select
import socket
import sys
import time
from collections import deque

#: Seconds between two events, and that the end may take.
EVERY = 0.005
PATIENCE = 30.0

_MARK = b"~"
_EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"~"}}]}\n\n'
_CHUNK = b"%x\r\n%s\r\n" % (len(_EVENT), _EVENT)
_LAST = b"data: [DONE]\n\n"
_BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"Say something, slowly."}]}'


def play(proxy: int, listener: socket.socket) -> list[float]:
    """Stream through a proxy until a line comes on standard input. The delays of the events, in seconds."""
    port = listener.getsockname()[1]
    head = f"POST http://127.0.0.1:{port}/v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(_BODY)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxy), PATIENCE) as client:
        client.sendall(head.encode() + _BODY)
        upstream = listener.accept()[0]
        with upstream:
            for each in (client, upstream):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            have = b""
            while not have.endswith(_BODY):
                have += upstream.recv(65_536)
            upstream.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            delays = _run(client, upstream)
            upstream.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(_LAST), _LAST))
    return delays


def _run(client: socket.socket, upstream: socket.socket) -> list[float]:
    sent: deque[float] = deque()
    delays: list[float] = []
    due, over = time.perf_counter(), 0.0
    while True:
        now = time.perf_counter()
        if over and (not sent or now > over + PATIENCE):
            return delays + [now - one for one in sent]
        if not over and now >= due:
            sent.append(now)
            upstream.sendall(_CHUNK)
            due += EVERY
        watched = [client] if over else [client, sys.stdin]
        ready, _, _ = select.select(watched, (), (), 1.0 if over else max(0.0, due - time.perf_counter()))
        if client in ready:
            data = client.recv(1 << 20)
            if not data:
                raise ConnectionError("the proxy closed the stream of the probe")
            arrived = time.perf_counter()
            for _ in range(data.count(_MARK)):
                delays.append(arrived - sent.popleft())
        if sys.stdin in ready:
            sys.stdin.readline()
            over = time.perf_counter()


def main() -> None:
    """Serve until standard input ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(PATIENCE)  # a proxy that does not come on is an error, not a wait
    print(listener.getsockname()[1], flush=True)
    for line in sys.stdin:
        print(json.dumps(play(int(line), listener)), flush=True)


if __name__ == "__main__":
    main()
