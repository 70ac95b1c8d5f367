"""OpenAI's WebSocket before a strict provider of Responses: a connection remembers what was said on it.

Each `response.create` becomes a request for a stream that tells the whole conversation, as the service itself knows it,
and the events of the answer become frames. A request that only warms up is answered here.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from agents.stage import Actor
from e2e.upstream import PATIENCE
from providers import Site

type Json = Any

#: Frames that clients sent, over all connections of a test.
FRAMES: list[Json] = []


@contextmanager
def socket_front(port: int, certificate: Path) -> Iterator[int]:
    """A TLS port that speaks the WebSocket and asks the provider on a plain port of this machine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    FRAMES.clear()

    def refuse(line: ServerConnection, request: Request) -> Response | None:
        """Whatever else an agent asks for has no place here."""
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return None
        return line.respond(404, "nothing here\n")

    def talk(line: ServerConnection) -> None:
        known: dict[str, list[Json]] = {}
        try:
            for text in line:
                frame = json.loads(text)
                FRAMES.append(frame)
                for event in _answer(frame, known, port):
                    line.send(json.dumps(event))
        except ConnectionClosed:
            return

    with serve(talk, "127.0.0.1", 0, ssl=context, process_request=refuse, max_size=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.socket.getsockname()[1])
        server.shutdown()


class SocketSite:
    """An actor's site that speaks nothing but the WebSocket. Use it as a context manager, as the stage does."""

    def __init__(self, actor: Actor, certificate: Path) -> None:
        self._actor, self._certificate = actor, certificate
        self._closing = ExitStack()
        self.port = 0

    def __enter__(self) -> SocketSite:
        with ExitStack() as opening:
            site = opening.enter_context(Site(self._actor, lifetime=600))
            self.port = opening.enter_context(socket_front(site.port, self._certificate))
            self._closing = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()


def _answer(frame: Json, known: dict[str, list[Json]], port: int) -> Iterator[Json]:
    going = frame.pop("previous_response_id", None)
    whole = [*known.get(going, []), *frame["input"]]
    if frame.pop("generate", True) is False:
        yield from _warmed(frame, whole, known)
        return
    body = {key: value for key, value in frame.items() if key != "type"} | {"input": whole, "stream": True}
    answer = httpx.post(
        f"http://127.0.0.1:{port}/v1/responses",
        json=body,
        headers={"authorization": "Bearer sk-made-up", "host": "api.openai.com"},
        timeout=PATIENCE,
        trust_env=False,
    )
    if answer.status_code != 200:
        yield {"type": "error", "status": answer.status_code, **answer.json()}
        return
    for event in _events(answer.text):
        yield event
        if event["type"] == "response.completed":
            known[event["response"]["id"]] = [*whole, *event["response"]["output"]]


def _warmed(frame: Json, whole: Sequence[Json], known: dict[str, list[Json]]) -> Iterator[Json]:
    name = f"resp_{uuid4().hex}"
    known[name] = list(whole)
    head = {"id": name, "object": "response", "model": frame["model"], "output": []}
    usage = {"input_tokens": 1, "output_tokens": 0, "total_tokens": 1}
    yield {"type": "response.created", "response": {**head, "status": "in_progress"}}
    yield {"type": "response.completed", "response": {**head, "status": "completed", "usage": usage}}


def _events(text: str) -> Iterator[Json]:
    for line in text.splitlines():
        if line.startswith("data:") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data:"))
