"""Exchanges over a WebSocket: the Responses API, one request a frame, one event of its answer a frame.

Codex 0.171 asks for one first. A refused request is rescued here too: its error is held back, the repaired request goes
in its place, and the client sees only that one's answer.
"""

from dataclasses import dataclass, field

from mitmproxy import ctx, http
from mitmproxy.websocket import WebSocketMessage

from thoughtkeep.endpoint import recognise
from thoughtkeep.frames import Connection, is_error, own_edits
from thoughtkeep_mitm import traffic
from thoughtkeep_mitm.control import mode_of
from thoughtkeep_mitm.engine import Engine, Exchange
from thoughtkeep_mitm.guard import guarded
from thoughtkeep_mitm.rescues import Mended


@dataclass(frozen=True, slots=True)
class _Held:
    """An error that the client has not seen, and the request that was sent again."""

    error: bytes
    mended: Mended


@dataclass(slots=True)
class _Socket:
    """One connection: what it has said, the exchanges under way by their stream, and errors that are held back."""

    connection: Connection = field(default_factory=Connection)
    open: dict[str, Exchange] = field(default_factory=dict)
    held: dict[str, _Held] = field(default_factory=dict)


class Sockets:
    """Puts state back into frames, captures it from frames."""

    def __init__(self, engine: Engine) -> None:
        self.name = "thoughtkeep-sockets"
        self.runtime = engine.runtime
        self.engine = engine
        self._sockets: dict[str, _Socket] = {}

    @guarded
    def websocket_start(self, flow: http.HTTPFlow) -> None:
        """A connection to the Responses API is open."""
        if traffic.has_frames(flow.request) and mode_of(self.runtime, flow) != "off":
            self._sockets[flow.id] = _Socket()

    @guarded
    async def websocket_message(self, flow: http.HTTPFlow) -> None:
        """A frame is on its way."""
        socket = self._sockets.get(flow.id)
        message = flow.websocket.messages[-1] if flow.websocket else None
        if socket is None or message is None or not message.is_text or message.injected:
            return
        if message.from_client:
            await self._request(flow, socket, message)
        else:
            await self._event(flow, socket, message)

    async def _request(self, flow: http.HTTPFlow, socket: _Socket, message: WebSocketMessage) -> None:
        request = socket.connection.request(message.content)
        if request is None:
            return
        endpoint = recognise("POST", flow.request.path, request.body)
        if endpoint is None:
            return
        if (before := socket.open.pop(request.stream, None)) is not None:
            self._over(flow, before, "superseded")
        tenant = traffic.tenant_of(self.runtime.store().key, flow)
        body = traffic.Body(tenant, endpoint, message.content, request.body)
        exchange = self.engine.begin(flow, body, mode_of(self.runtime, flow))
        socket.open[request.stream] = exchange
        self.engine.answer(exchange, "text/event-stream", "")
        prepared = await self.engine.prepare(flow, exchange, body, lambda edits: own_edits(edits, request.offset))
        self.engine.telling.planned(flow, exchange.story)
        message.content = prepared.plain

    async def _event(self, flow: http.HTTPFlow, socket: _Socket, message: WebSocketMessage) -> None:
        data = message.content
        stream = socket.connection.stream_of(data)
        exchange = socket.open.get(stream)
        if exchange is None or exchange.answer is None:
            return
        if is_error(data):
            self._refused(flow, socket, stream, exchange, message)
            return
        socket.connection.event(data)
        answer = exchange.answer
        # An event of a stream is one line; JSON may have more, but only between its values.
        due = answer.feed(b"data: " + data.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n\n")
        if due:
            self.engine.commit(exchange, answer)
        if answer.ended:
            del socket.open[stream]
            self._helped(socket.held.pop(stream, None), exchange)
            writing = self.runtime.flushing()
            self.engine.end(flow, exchange, "200")
            await self.engine.durable(writing)

    def _refused(
        self, flow: http.HTTPFlow, socket: _Socket, stream: str, exchange: Exchange, message: WebSocketMessage
    ) -> None:
        """A request failed: once it is sent again, repaired; where that fails too, the client gets the first error."""
        held = socket.held.pop(stream, None)
        if held is not None:
            message.content = held.error
            exchange.rescued = f"{held.mended.fault.kind}, refused again"
        elif exchange.sent is not None:
            mended, why = self.engine.rescues.mend(exchange.sent, 400, message.content.decode("utf-8", "replace"))
            if mended is not None:
                socket.held[stream] = _Held(message.content, mended)
                message.drop()  # type: ignore[no-untyped-call]  # mitmproxy's own
                ctx.master.commands.call("inject.websocket", flow, False, mended.plain)
                return
            exchange.rescued = why
        exchange.journal.rescued(exchange.rescued)
        del socket.open[stream]
        self._over(flow, exchange, "refused")

    def _helped(self, held: _Held | None, exchange: Exchange) -> None:
        if held is not None and exchange.sent is not None:
            exchange.rescued = self.engine.rescues.learn(exchange.sent, held.mended, exchange.lessons)
            exchange.journal.rescued(exchange.rescued)

    def _over(self, flow: http.HTTPFlow, exchange: Exchange, status: str) -> None:
        """An exchange is over before its answer came to its end: what had closed by then stays."""
        if exchange.answer is not None:
            self.engine.finish(exchange, exchange.answer)
        self.engine.end(flow, exchange, status)

    @guarded
    def websocket_end(self, flow: http.HTTPFlow) -> None:
        """The connection is closed, or broke: what answers had closed by then stays."""
        socket = self._sockets.pop(flow.id, None)
        if socket is None:
            return
        for exchange in socket.open.values():
            self._over(flow, exchange, "disconnected")
        if socket.open:
            self.runtime.flushing()

    @guarded
    def error(self, flow: http.HTTPFlow) -> None:
        """It broke before it was open, or without a closing frame."""
        self.websocket_end(flow)
