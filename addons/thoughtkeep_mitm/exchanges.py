"""Replay and capture: what happens to one exchange, from the client's request to the last byte of the answer."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from uuid import uuid4

from mitmproxy import http

from thoughtkeep import splice
from thoughtkeep.answer import Answer
from thoughtkeep.endpoint import recognise
from thoughtkeep.handover import switch
from thoughtkeep.handover.outcome import Outcome
from thoughtkeep.keep import keep
from thoughtkeep.plan import NOT_ADDED, decide
from thoughtkeep.repair import Repairer, StreamRepair
from thoughtkeep.replay import Match, keys_of, matches
from thoughtkeep.rescue.lesson import Lesson
from thoughtkeep.show.story import Mode, Story
from thoughtkeep.turns import Edit, Facts, Kept, Owner, Plan
from thoughtkeep_mitm import answers, traffic
from thoughtkeep_mitm.asked import Asked, read
from thoughtkeep_mitm.control import MODE
from thoughtkeep_mitm.guard import fault_in, guarded
from thoughtkeep_mitm.handovers import Handovers, Request
from thoughtkeep_mitm.journal import Journal
from thoughtkeep_mitm.rescues import Rescues, Sent
from thoughtkeep_mitm.runtime import Runtime
from thoughtkeep_mitm.telling import Telling

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
    began: float
    story: Story
    answer: Answer | None = None
    copy: answers.Copy | None = None
    repair: StreamRepair | None = None
    kept: tuple[Kept, ...] = ()
    repaired: int = 0
    rescued: str = ""
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
        self._telling = Telling(runtime)

    # -- requests ---------------------------------------------------------------------------------------------------

    @guarded
    async def request(self, flow: http.HTTPFlow) -> None:
        """Read the request, ask the store, decide, apply."""
        wish = flow.metadata.get(MODE, self.runtime.settings.replay)
        if not flow.live or flow.response is not None or wish == "off" or not self.runtime.concerns(flow):
            return
        body = traffic.read_body(flow.request)
        if body is None:
            return
        mode: Mode = "signed" if wish == "on" and traffic.is_signed(flow.request) else wish
        acts = mode == "on"
        exchange = self._begin(flow, body, mode)
        facts = await self._facts(exchange)
        path = flow.request.path
        edits: tuple[Edit, ...] = ()
        if acts and (model := self._switched_to(exchange, facts)):
            body, path, edits = self._redirect(flow, exchange, body, model)
            facts = await self._facts(exchange)
        asked = exchange.asked
        found = matches(self.runtime.store().key, asked.ask, asked.trail, facts)
        places = self._handovers.places(asked)
        outcome = await self._handovers.apply(Request(flow, asked, body.json), places, found, facts, acts)
        exchange.journal.handed_over(outcome, flow.metadata)
        plan = self._decide(asked, facts, found, outcome, edits)
        if plan.known:
            self.runtime.store().touch(plan.known)
        plain, made = self._apply(exchange, body, plan, facts) if acts else (body.plain, [])
        edited = plain is not body.plain
        exchange.journal.planned(plan, made, applied=edited, why=mode)
        reasons = Counter(edit.reason for edit in made)
        if exchange.story.switched_from:
            reasons[switch.SWITCHED] = 1  # also where only the path names the model
        exchange.story = replace(
            exchange.story,
            plan=plan,
            made=dict(reasons),
            handover=outcome,
            client=body.plain if edited else None,
            known=tuple(match.kept for match in found),
        )
        if acts and self.runtime.settings.rescue == "on":
            exchange.sent = Sent(asked, plain, body.plain)
        if acts and self.runtime.settings.repair_answers == "auto":
            exchange.repairer = asked.endpoint.format.repairer(asked.profile)
        if edited:
            traffic.write_body(flow.request, plain)
        flow.request.path = path
        if exchange.repairer is not None:
            flow.request.headers["accept-encoding"] = "identity"
        self._telling.planned(flow, exchange.story)

    def _begin(self, flow: http.HTTPFlow, body: traffic.Body, mode: Mode) -> Exchange:
        asked = read(self.runtime.store().key, flow, body)
        number = uuid4().hex
        story = Story(
            number,
            asked.tenant,
            asked.trail.root,
            asked.ask.format,
            asked.ask.model,
            asked.host,
            asked.ask.streamed,
            mode,
        )
        journal = Journal(self.runtime.counts, flow.id[:8], asked.host, asked.ask)
        exchange = Exchange(number, asked, journal, time.monotonic(), story)
        self._open[flow.id] = exchange
        journal.started()
        return exchange

    async def _facts(self, exchange: Exchange) -> Facts:
        """What the store knows of a request: its turns, and what was noted of its conversation."""
        store, asked = self.runtime.store(), exchange.asked
        keys = keys_of(store.key, asked.tenant, asked.ask, asked.trail)
        notes = (self._rescues.place(asked), switch.place_of(store.key, asked.trail.root))
        keys = replace(keys, lineages=(*keys.lineages, *self._handovers.places(asked), *notes))
        try:
            return await asyncio.wait_for(store.fetch(keys), FETCH_SECONDS)
        except TimeoutError:
            exchange.journal.slow_store()
            return Facts()

    def _switched_to(self, exchange: Exchange, facts: Facts) -> str:
        """The model that the user switched this conversation to, unless it is the one that is asked anyway."""
        model = switch.model_of(facts, switch.place_of(self.runtime.store().key, exchange.asked.trail.root))
        return model if model != exchange.asked.ask.model else ""

    def _redirect(
        self, flow: http.HTTPFlow, exchange: Exchange, body: traffic.Body, model: str
    ) -> tuple[traffic.Body, str, tuple[Edit, ...]]:
        """Read the request anew, as one to another model."""
        before = exchange.asked.ask.model
        path, edits = switch.redirected(body.endpoint.format, flow.request.path, body.json, model)
        named = {**body.json, **{edit.key: edit.value for edit in edits}}
        endpoint = recognise(flow.request.method, path, named)
        if endpoint is None or endpoint.model == before:  # it is named where nobody knows it
            exchange.journal.not_switched(model)
            return body, flow.request.path, ()
        body = traffic.Body(endpoint, body.plain, named)
        exchange.asked = read(self.runtime.store().key, flow, body)
        exchange.story = replace(exchange.story, model=model, switched_from=before)
        exchange.journal.switched(model)
        return body, path, tuple(edits)

    def _decide(
        self, asked: Asked, facts: Facts, found: list[Match], outcome: Outcome, edits: tuple[Edit, ...]
    ) -> Plan:
        plan = decide(
            self.runtime.store().key,
            asked.ask,
            asked.trail,
            facts,
            asked.endpoint.format,
            asked.profile,
            asked.group,
            found=found,
            start=outcome.start,
            skip=self.runtime.settings.skip_value == "auto",
        )
        return replace(plan, edits=edits + outcome.edits + plan.edits, handover=outcome.reason)

    def _apply(self, exchange: Exchange, body: traffic.Body, plan: Plan, facts: Facts) -> tuple[bytes, list[Edit]]:
        """The request as it is to leave, and the edits that made it so; the very same bytes where there are none."""
        exchange.lessons = self._rescues.taught(facts)
        edits = list(plan.edits)
        if any(lesson.fault.kind == "overflow" for lesson in exchange.lessons):
            edits = [edit for edit in edits if edit.reason in NOT_ADDED]  # it did not fit with what we added
        plain = splice.apply(body.plain, edits) if edits else body.plain
        plain, more = self._rescues.heed(exchange.lessons, exchange.asked, plain)
        return plain, edits + more

    # -- answers ----------------------------------------------------------------------------------------------------

    @guarded
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Set up the capture of a streamed answer; the bytes go on as they come."""
        exchange, response = self._open.get(flow.id), flow.response
        if exchange is None or response is None or not 200 <= response.status_code < 300:
            return
        streams = exchange.asked.ask.streamed or "event-stream" in response.headers.get("content-type", "").lower()
        passes = bool(response.stream)  # a large plain answer under stream_large_bodies: seen now or never
        if not (streams or passes) or callable(response.stream):  # another addon's own streaming is left alone
            return
        answer = exchange.answer = self._answer(exchange, response)

        def feed(chunk: bytes) -> None:
            try:
                if answer.feed(chunk):
                    self._commit(exchange, answer)
            except Exception as fault:
                answer.stop(type(fault).__name__)
                fault_in(self.runtime, "stream", flow, fault)

        # What is too large for mitmproxy to hold is not held by us either.
        copy = exchange.copy = answers.Copy(self.runtime.settings.max_body_mb * 1_000_000 if streams else 0)
        if streams and exchange.repairer is not None and traffic.is_plain(response):
            repair = exchange.repair = StreamRepair(exchange.repairer)
            response.headers.pop("content-length", None)
            response.stream = answers.tee_repaired(
                feed, copy, repair, lambda fault: fault_in(self.runtime, "repair", flow, fault)
            )
        else:
            response.stream = answers.tee(feed, copy)
        self._telling.answered(flow, exchange.story)

    def _answer(self, exchange: Exchange, response: http.Response) -> Answer:
        asked = exchange.asked
        form = asked.endpoint.format
        content_type = response.headers.get("content-type", "")
        encoding = response.headers.get("content-encoding", "")
        return Answer(form.assembler(asked.profile), form.ends, content_type, encoding)

    @guarded
    async def response(self, flow: http.HTTPFlow) -> None:
        """The answer is whole: keep it, durably, before its last byte reaches the client."""
        exchange = self._open.pop(flow.id, None)
        if exchange is None or flow.response is None:
            return
        try:
            if exchange.sent is not None and flow.response.status_code >= 400:
                exchange.rescued = await self._rescues.try_again(flow, exchange.sent, exchange.lessons)
                exchange.journal.rescued(exchange.rescued)
            await self._keep(flow.response, exchange)
        finally:
            self._end(flow, exchange, str(flow.response.status_code))

    async def _keep(self, response: http.Response, exchange: Exchange) -> None:
        """Keep what an answer brought, and wait a little for it to be durable."""
        answer, due = exchange.answer, False
        if answer is None and 200 <= response.status_code < 300 and response.raw_content:
            answer = exchange.answer = self._answer(exchange, response)
            due = answer.feed(response.raw_content)
            exchange.repaired = answers.repair_plain(response, exchange.repairer)
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
            self._end(flow, exchange, "disconnected")

    def _end(self, flow: http.HTTPFlow, exchange: Exchange, status: str) -> None:
        """Tell of an exchange that is over."""
        answer = exchange.answer
        if exchange.repair is not None:
            exchange.repaired = exchange.repair.changed
        if exchange.copy is not None and exchange.copy.give(flow.response):
            self.runtime.counts["bodies_not_kept"] += 1
        exchange.story = replace(
            exchange.story,
            kept=exchange.kept,
            rescued=exchange.rescued,
            repaired=exchange.repaired,
            status=status,
            tokens=answer.tokens if answer else 0,
            ms=round((time.monotonic() - exchange.began) * 1000),
            stopped=answer.stopped if answer else "",
        )
        exchange.journal.ended(exchange.story)
        if exchange.copy is None:  # else its head left long ago
            self._telling.answered(flow, exchange.story)
        self._telling.ended(flow, exchange.story)

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
            exchange.story.plan.since,
        )
        for one in kept:
            store.put(one)
        exchange.kept = tuple(kept)
