"""Exchanges over HTTP: from the client's request to the last byte of the answer."""

from dataclasses import dataclass
from functools import partial

from mitmproxy import http

from thoughtkeep.repair import Repairer, StreamRepair
from thoughtkeep_mitm import answers, traffic
from thoughtkeep_mitm.control import mode_of
from thoughtkeep_mitm.engine import Engine, Exchange, breathe
from thoughtkeep_mitm.guard import fault_in, guarded


@dataclass(slots=True)
class _Open:
    """An exchange under way, and what becomes of its answer's bytes."""

    exchange: Exchange
    repairer: Repairer | None = None
    copy: answers.Copy | None = None
    repair: StreamRepair | None = None


class Exchanges:
    """Puts state back into requests, captures it from answers."""

    def __init__(self, engine: Engine) -> None:
        self.name = "thoughtkeep-exchanges"
        self.runtime = engine.runtime
        self.engine = engine
        self._open: dict[str, _Open] = {}

    @guarded
    async def request(self, flow: http.HTTPFlow) -> None:
        """Read the request, prepare it, put what is to leave in its place."""
        mode = mode_of(self.runtime, flow)
        if mode == "off" or flow.response is not None:
            return
        body = self.engine.read(flow)
        if body is None:
            return
        await breathe(body)
        exchange = self.engine.begin(flow, body, mode)
        opened = self._open[flow.id] = _Open(exchange)
        prepared = await self.engine.prepare(flow, exchange, body)
        if exchange.acts and self.runtime.settings.repair_answers == "auto":
            opened.repairer = exchange.asked.endpoint.format.repairer(exchange.asked.profile)
        if prepared.plain is not body.plain:
            traffic.write_body(flow.request, prepared.plain)
        flow.request.path = prepared.path
        if opened.repairer is not None:
            flow.request.headers["accept-encoding"] = "identity"
        self.engine.telling.planned(flow, exchange.story)

    @guarded
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Set up the capture of a streamed answer; the bytes go on as they come."""
        opened, response = self._open.get(flow.id), flow.response
        if opened is None or response is None or not 200 <= response.status_code < 300:
            return
        exchange, (content_type, encoding) = opened.exchange, traffic.coding_of(response)
        streams = exchange.asked.ask.streamed or "event-stream" in content_type.lower()
        passes = bool(response.stream)  # a large plain answer under stream_large_bodies: seen now or never
        if not (streams or passes) or callable(response.stream):  # another addon's own streaming is left alone
            return
        answer = self.engine.answer(exchange, content_type, encoding)

        def failed(where: str, fault: Exception) -> None:
            if where == "stream":
                answer.stop(type(fault).__name__)
            fault_in(self.runtime, where, flow, fault)

        due = partial(self.engine.commit, exchange, answer)
        # What is too large for mitmproxy to hold is not held by us either.
        copy = opened.copy = answers.Copy(self.runtime.settings.max_body_mb * 1_000_000 if streams else 0)
        if streams and opened.repairer is not None and traffic.is_plain(response):
            repair = opened.repair = StreamRepair(opened.repairer)
            response.headers.pop("content-length", None)
            response.stream = answers.tee_repaired(answer.feed, due, copy, repair, failed)
        else:
            response.stream = answers.tee(answer.feed, due, copy, failed)
        self.engine.telling.answered(flow, exchange.story)

    @guarded
    async def response(self, flow: http.HTTPFlow) -> None:
        """The answer is whole: keep it, durably, before its last byte reaches the client."""
        opened = self._open.pop(flow.id, None)
        if opened is None or flow.response is None:
            return
        exchange, writing = opened.exchange, None
        try:
            if exchange.sent is not None and flow.response.status_code >= 400:
                exchange.rescued = await self.engine.rescues.try_again(flow, exchange.sent, exchange.lessons)
                exchange.journal.rescued(exchange.rescued)
            if self._keep(flow.response, opened):
                writing = self.runtime.flushing()
        finally:
            self._end(flow, opened, str(flow.response.status_code))  # while it is written
        if writing is not None:
            await self.engine.durable(writing)

    def _keep(self, response: http.Response, opened: _Open) -> bool:
        """Keep what an answer brought. Whether there is an answer."""
        exchange, due = opened.exchange, False
        answer = exchange.answer
        if answer is None and 200 <= response.status_code < 300 and response.raw_content:
            answer = self.engine.answer(exchange, *traffic.coding_of(response))
            due = answer.feed(response.raw_content)
            exchange.repaired = answers.repair_plain(response, opened.repairer)
        if answer is not None:
            self.engine.finish(exchange, answer, due)
        return answer is not None

    @guarded
    def error(self, flow: http.HTTPFlow) -> None:
        """The connection broke, or the client left: what the answer had closed by then stays."""
        opened = self._open.pop(flow.id, None)
        if opened is None:
            return
        try:
            if opened.exchange.answer is not None:
                self.engine.finish(opened.exchange, opened.exchange.answer)
                self.runtime.flushing()
        finally:
            self._end(flow, opened, "disconnected")

    def _end(self, flow: http.HTTPFlow, opened: _Open, status: str) -> None:
        exchange = opened.exchange
        if opened.repair is not None:
            exchange.repaired = opened.repair.changed
        if opened.copy is not None and opened.copy.give(flow.response):
            self.runtime.counts["bodies_not_kept"] += 1
        self.engine.end(flow, exchange, status)
        if opened.copy is None:  # else its head left long ago
            self.engine.telling.answered(flow, exchange.story)
