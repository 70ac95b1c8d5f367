"""A server that speaks the Responses API over a WebSocket, as strict as OpenAI's, and a client that speaks to it.

The server answers each `response.create` with a sealed reasoning item and a call, or with a text where the result of a
call was told. It remembers what it said on a connection, and refuses a call whose reasoning item is missing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any
from uuid import uuid4

from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import Server, ServerConnection, serve

from e2e.upstream import PATIENCE
from proxy import Proxy

type Json = Any


class ResponsesSocket:
    """The server. Use it as a context manager. `refuse` may be set to what answers a frame with an error."""

    path = "/v1/responses"

    def __init__(self) -> None:
        self.frames: list[Json] = []
        self.raw: list[bytes] = []
        self.issued: dict[str, Json] = {}
        self.refuse: Callable[[Json], Json | None] = lambda frame: None
        self.connections = 0
        self.headers: list[dict[str, str]] = []
        self._server: Server | None = None

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.socket.getsockname()[1])

    def __enter__(self) -> ResponsesSocket:
        self._server = serve(self._talk, "127.0.0.1", 0, max_size=None, open_timeout=PATIENCE)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.shutdown()

    def _talk(self, line: ServerConnection) -> None:
        self.connections += 1
        assert line.request is not None
        self.headers.append({name.lower(): value for name, value in line.request.headers.raw_items()})
        known: dict[str, list[Json]] = {}
        for text in line:
            raw = text.encode() if isinstance(text, str) else text
            frame = json.loads(raw)
            self.raw.append(raw)
            self.frames.append(frame)
            for event in self._answer(frame, known):
                line.send(json.dumps(event))

    def _answer(self, frame: Json, known: dict[str, list[Json]]) -> Iterator[Json]:
        stream = {"stream_id": frame["stream_id"]} if "stream_id" in frame else {}
        before = known.get(frame.get("previous_response_id") or "", [])
        whole = [*before, *frame["input"]]
        error = self.refuse(frame) or self._missing(whole)
        if error is not None:
            yield {"type": "error", "status": 400, "error": error, **stream}
            return
        name = f"resp_{uuid4().hex}"
        yield {"type": "response.created", "response": {"id": name, "model": frame["model"]}, **stream}
        items = [] if frame.get("generate") is False else self._items(frame["model"], whole)
        for index, item in enumerate(items):
            yield {"type": "response.output_item.done", "output_index": index, "item": item, **stream}
        known[name] = [*whole, *items]
        usage = {"total_tokens": 7}
        response = {"id": name, "model": frame["model"], "status": "completed", "output": items, "usage": usage}
        yield {"type": "response.completed", "response": response, **stream}

    def _items(self, model: str, whole: Sequence[Json]) -> list[Json]:
        number = uuid4().hex
        thought = {
            "type": "reasoning",
            "id": f"rs_{number}",
            "summary": [],
            "encrypted_content": f"gAAAA{model}{number}" * 3,
        }
        last = whole[-1] if whole else {}
        if last.get("type") == "function_call_output":
            part = {"type": "output_text", "text": f"It is {last['output']}.", "annotations": []}
            said = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [part]}
        else:
            said = {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": "look",
                "arguments": '{"at":"the sky"}',
            }
            self.issued[f"call_{number}"] = thought
        return [thought, said]

    def _missing(self, whole: Sequence[Json]) -> Json | None:
        """What is wrong with a history: a call whose reasoning is not right before it."""
        for number, item in enumerate(whole):
            due = self.issued.get(item.get("call_id", "")) if item.get("type") == "function_call" else None
            before = whole[number - 1] if number else {}
            if due is not None and before.get("encrypted_content") != due["encrypted_content"]:
                text = f"Item '{item['id']}' of type 'function_call' was provided without its required 'reasoning' item"
                return {"type": "invalid_request_error", "message": f"{text}: '{due['id']}'."}
        return None


class Talk:
    """A client's connection through the proxy."""

    def __init__(self, line: ClientConnection) -> None:
        self._line = line

    def send(self, items: Sequence[Json], model: str = "gpt-5.2", **more: Json) -> Json:
        """Send a request; the last event of its answer, with all of them under `events`."""
        self._line.send(json.dumps({"type": "response.create", "model": model, "input": items, "store": False, **more}))
        return self.receive()

    def receive(self) -> Json:
        """The next answer."""
        events = []
        while True:
            event = json.loads(self._line.recv(timeout=PATIENCE))
            events.append(event)
            if event["type"] in ("response.completed", "error"):
                return {**event, "events": events}


@contextmanager
def talking(proxy: Proxy, server: ResponsesSocket, key: str = "sk-socket", **headers: str) -> Iterator[Talk]:
    """A connection to the server behind the proxy."""
    told = {"authorization": f"Bearer {key}", "openai-beta": "responses_websockets=2026-02-06", **headers}
    url = f"ws://127.0.0.1:{server.port}{server.path}"
    with connect(url, proxy=proxy.url, additional_headers=told, max_size=None, open_timeout=PATIENCE) as line:
        yield Talk(line)


def user(text: str) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def output(answer: Json) -> list[Json]:
    """The items of an answer."""
    return list(answer["response"]["output"])


def result(answer: Json, text: str = "blue") -> Json:
    """The result of an answer's call."""
    return {"type": "function_call_output", "call_id": output(answer)[-1]["call_id"], "output": text}
