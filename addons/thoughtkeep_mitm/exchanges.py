"""Replay and capture: what happens to one exchange, from the client's request to the last byte of the answer."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from uuid import uuid4

from mitmproxy import http

from thoughtkeep import splice
from thoughtkeep.answer import Answer
from thoughtkeep.identity import trail
from thoughtkeep.keep import keep
from thoughtkeep.plan import NOT_ADDED, decide
from thoughtkeep.profiles import binds_thinking, group_of, profile_for
from thoughtkeep.repair import Repairer, StreamRepair, repair_whole
from thoughtkeep.replay import keys_of, matches
from thoughtkeep.rescue.lesson import Lesson
from thoughtkeep.turns import Facts, Owner, Plan
from thoughtkeep_mitm import traffic
from thoughtkeep_mitm.asked import Asked
from thoughtkeep_mitm.control import MODE
from thoughtkeep_mitm.guard import fault_in, guarded
from thoughtkeep_mitm.handovers import Handovers, Request
from thoughtkeep_mitm.journal import Journal
from thoughtkeep_mitm.rescues import Rescues, Sent
from thoughtkeep_mitm.runtime import Runtime

# How long a request waits for the store, in seconds; then it goes as it came.
FETCH_SECONDS = 1.0

# How long the end of an answer waits for the durable write, in seconds.
FLUSH_SECONDS = 0.1


@dataclass(slots=True)
class Exchange:
    """One exchange under way."""

    id: str
    asked: Asked
    journal: Journal
    plan: Plan = field(default_factory=Plan)
    answer: Answer | None = None
    kept: int = 0
    repaired: int = 0
    sent: Sent | None = None
    repairer: Repairer | None = None
    lessons: list[Lesson] = field(default_factory=list)


class Exchanges:
    """Puts state back into requests, captures it from answers."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = "thoughtkeep-exchanges"
        self.runtime = runtime
        self._open: dict[str, Exchange] = {}
        self._handovers = Handovers(runtime)
        self._rescues = Rescues(runtime)

    # -- requests ---------------------------------------------------------------------------------------------------

    @guarded
    async def request(self, flow: http.HTTPFlow) -> None:
        """Read the request, ask the store, decide, apply."""
        mode = flow.metadata.get(MODE, self.runtime.settings.replay)
        if not flow.live or flow.response is not None or mode == "off" or not self.runtime.concerns(flow):
            return
        body = traffic.read_body(flow.request)
        if body is None:
            return
        exchange = self._begin(flow, body)
        store, asked, form = self.runtime.store(), exchange.asked, body.endpoint.format
        signed = traffic.is_signed(flow.request)
        acts = mode == "on" and not signed
        places = self._handovers.places(asked)
        facts = await self._facts(exchange, [*places, self._rescues.place(asked)])
        found = matches(store.key, asked.ask, asked.trail, facts)
        outcome = await self._handovers.apply(Request(flow, asked, body.json), places, found, facts, acts)
        plan = decide(
            store.key,
            asked.ask,
            asked.trail,
            facts,
            form,
            asked.profile,
            asked.group,
            found=found,
            start=outcome.start,
            skip=self.runtime.settings.skip_value == "auto",
        )
        exchange.plan = plan = replace(plan, edits=outcome.edits + plan.edits, handover=outcome.reason)
        if plan.known:
            store.touch(plan.known)
        exchange.lessons = self._rescues.taught(facts) if acts else []
        edits = plan.edits if acts else ()
        if any(lesson.fault.kind == "overflow" for lesson in exchange.lessons):
            edits = tuple(edit for edit in edits if edit.reason in NOT_ADDED)  # it did not fit with what we added
        plain = splice.apply(body.plain, edits) if edits else body.plain
        plain = self._rescues.heed(exchange.lessons, asked, plain)
        edited = plain is not body.plain
        exchange.journal.handed_over(outcome, flow.metadata)
        exchange.journal.planned(plan, applied=edited, why="signed body" if signed else mode)
        if acts and self.runtime.settings.rescue == "on":
            exchange.sent = Sent(asked, plain, body.plain)
        if edited:
            traffic.write_body(flow.request, plain)
        if acts and self.runtime.settings.repair_answers == "auto":
            exchange.repairer = form.repairer(asked.profile)
            if exchange.repairer is not None:
                flow.request.headers["accept-encoding"] = "identity"

    def _begin(self, flow: http.HTTPFlow, body: traffic.Body) -> Exchange:
        host = traffic.host_of(flow)
        key = self.runtime.store().key
        form = body.endpoint.format
        ask = form.read(body.json, body.endpoint)
        frames = form.frames(key, body.json, ask) if binds_thinking(ask.model) else ()
        asked = Asked(
            endpoint=body.endpoint,
            profile=profile_for(host),
            group=group_of(host, flow.request.port),
            tenant=traffic.tenant_of(key, flow),
            ask=ask,
            trail=trail(key, ask, frames),
        )
        exchange = Exchange(uuid4().hex, asked, Journal(self.runtime.counts, flow.id[:8], host, ask))
        self._open[flow.id] = exchange
        exchange.journal.started()
        return exchange

    async def _facts(self, exchange: Exchange, places: list[str]) -> Facts:
        store, asked = self.runtime.store(), exchange.asked
        keys = keys_of(store.key, asked.tenant, asked.ask, asked.trail)
        keys = replace(keys, lineages=(*keys.lineages, *places))
        try:
            return await asyncio.wait_for(store.fetch(keys), FETCH_SECONDS)
        except TimeoutError:
            exchange.journal.slow_store()
            return Facts()

    # -- answers ----------------------------------------------------------------------------------------------------

    @guarded
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Set up the capture of a streamed answer; the bytes go on as they come."""
        exchange = self._open.get(flow.id)
        if exchange is None or flow.response is None or not 200 <= flow.response.status_code < 300:
            return
        streams = exchange.asked.ask.streamed or "event-stream" in flow.response.headers.get("content-type", "").lower()
        passes = bool(flow.response.stream)  # a large plain answer under stream_large_bodies: seen now or never
        if not (streams or passes) or callable(flow.response.stream):  # another addon's own streaming is left alone
            return
        exchange.answer = self._answer(exchange, flow.response)
        repair = None
        if streams and exchange.repairer is not None and traffic.is_plain(flow.response):
            repair = StreamRepair(exchange.repairer)
            flow.response.headers.pop("content-length", None)
        flow.response.stream = self._tee(flow, exchange, exchange.answer, repair)

    def _answer(self, exchange: Exchange, response: http.Response) -> Answer:
        asked = exchange.asked
        form = asked.endpoint.format
        content_type = response.headers.get("content-type", "")
        encoding = response.headers.get("content-encoding", "")
        return Answer(form.assembler(asked.profile), form.ends, content_type, encoding)

    def _tee(
        self, flow: http.HTTPFlow, exchange: Exchange, answer: Answer, repair: StreamRepair | None
    ) -> Callable[[bytes], bytes | list[bytes]]:
        def tee(chunk: bytes) -> bytes:
            try:
                if answer.feed(chunk):
                    self._commit(exchange, answer)
            except Exception as fault:
                answer.stop(type(fault).__name__)
                fault_in(self.runtime, "stream", flow, fault)
            return chunk

        if repair is None:
            return tee

        def tee_repaired(chunk: bytes) -> bytes | list[bytes]:
            tee(chunk)
            try:
                out = repair.feed(chunk) if chunk else repair.flush()
            except Exception as fault:
                fault_in(self.runtime, "repair", flow, fault)
                out = repair.close() or chunk
            exchange.repaired = repair.changed
            # An empty chunk in mid-stream would end the client's answer; an empty list holds back.
            return out if out or not chunk else []

        return tee_repaired

    @guarded
    async def response(self, flow: http.HTTPFlow) -> None:
        """The answer is whole: keep it, durably, before its last byte reaches the client."""
        exchange = self._open.pop(flow.id, None)
        if exchange is None or flow.response is None:
            return
        try:
            if exchange.sent is not None and flow.response.status_code >= 400:
                exchange.journal.rescued(await self._rescues.try_again(flow, exchange.sent, exchange.lessons))
            await self._keep(flow.response, exchange)
        finally:
            status = str(flow.response.status_code)
            exchange.journal.ended(exchange.answer, exchange.kept, status, exchange.repaired)

    async def _keep(self, response: http.Response, exchange: Exchange) -> None:
        """Keep what an answer brought, and wait a little for it to be durable."""
        answer, due = exchange.answer, False
        if answer is None and 200 <= response.status_code < 300 and response.raw_content:
            answer = exchange.answer = self._answer(exchange, response)
            due = answer.feed(response.raw_content)
            self._repair_whole(response, exchange)
        if answer is None:
            return
        self._finish(exchange, answer, due)
        try:
            await asyncio.wait_for(asyncio.shield(self.runtime.flushing()), FLUSH_SECONDS)
        except TimeoutError:
            self.runtime.counts["slow_writes"] += 1  # it goes on being written; the client does not wait for it

    @guarded
    def error(self, flow: http.HTTPFlow) -> None:
        """The connection broke, or the client left: what the answer had closed by then stays."""
        exchange = self._open.pop(flow.id, None)
        if exchange is None:
            return
        try:
            if exchange.answer is not None:
                self._finish(exchange, exchange.answer)
                self.runtime.flushing()
        finally:
            exchange.journal.ended(exchange.answer, exchange.kept, "disconnected")

    @staticmethod
    def _repair_whole(response: http.Response, exchange: Exchange) -> None:
        body = response.raw_content
        if exchange.repairer is None or not body or not traffic.is_plain(response):
            return
        if "event-stream" in response.headers.get("content-type", "").lower():  # one that was rescued
            repair = StreamRepair(exchange.repairer)
            fixed = repair.feed(body) + repair.flush()
            exchange.repaired = repair.changed
        else:
            fixed = repair_whole(exchange.repairer, body)
            exchange.repaired = int(fixed is not body)
        if exchange.repaired:
            response.raw_content = fixed
            response.headers["content-length"] = str(len(fixed))

    def _finish(self, exchange: Exchange, answer: Answer, due: bool = False) -> None:
        if answer.close() or due or not answer.ended:
            self._commit(exchange, answer)

    def _commit(self, exchange: Exchange, answer: Answer) -> None:
        """Put the turns into the store's memory; the same again where a later chunk amended them."""
        asked = exchange.asked
        owner = Owner(asked.group, asked.ask.model, answer.served, answer.upstream)
        turns = [turn for turn in answer.turns() if turn.complete or turn.has_state]
        store = self.runtime.store()
        kept = keep(
            store.key,
            exchange.id,
            asked.tenant,
            owner,
            asked.ask,
            asked.trail,
            turns,
            time.time(),
            exchange.plan.since,
        )
        for one in kept:
            store.put(one)
        exchange.kept = len(kept)
