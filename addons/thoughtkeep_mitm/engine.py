"""The course of one exchange, whatever carries it: an HTTP request and its answer, or the frames of a WebSocket.

Here the store is asked, the plan is made and applied, and what an answer brings is kept. Carriers read and write.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from mitmproxy import http

from thoughtkeep import splice
from thoughtkeep.answer import Answer, answer_of
from thoughtkeep.endpoint import recognise
from thoughtkeep.handover import switch
from thoughtkeep.handover.outcome import Outcome
from thoughtkeep.keep import keep
from thoughtkeep.plan import NOT_ADDED, decide
from thoughtkeep.replay import Match, keys_of, matches
from thoughtkeep.rescue.lesson import Lesson
from thoughtkeep.show.story import Mode, Story
from thoughtkeep.turns import Edit, Facts, Kept, Owner, Plan, Turn
from thoughtkeep_mitm import traffic
from thoughtkeep_mitm.asked import Asked, read
from thoughtkeep_mitm.handovers import Handovers, Request
from thoughtkeep_mitm.journal import Journal
from thoughtkeep_mitm.rescues import Rescues, Sent
from thoughtkeep_mitm.runtime import Runtime
from thoughtkeep_mitm.telling import Telling
from thoughtkeep_store.patience import Patience

# How long a request waits for the store, in seconds; then it goes as it came.
FETCH_SECONDS = 1.0

# How long the end of an answer waits for the durable write, in seconds.
FLUSH_SECONDS = 0.1

# From this size of a request on others' events pass between the steps of its work: each takes some milliseconds.
LARGE = 200_000


async def breathe(body: traffic.Body) -> None:
    """Let the events of other flows pass, where the request is large."""
    if len(body.plain) > LARGE:
        await asyncio.sleep(0)


@dataclass(slots=True)
class Exchange:
    """One exchange under way."""

    id: str
    asked: Asked
    journal: Journal
    began: float
    story: Story
    answer: Answer | None = None
    brought: tuple[Owner, list[Turn]] | None = None
    kept: tuple[Kept, ...] = ()
    repaired: int = 0
    rescued: str = ""
    sent: Sent | None = None
    lessons: list[Lesson] = field(default_factory=list)

    @property
    def acts(self) -> bool:
        """Whether anything of it may be changed."""
        return self.story.mode == "on"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as it is to leave: its plain body (the very same one where nothing is changed) and its path."""

    plain: bytes
    path: str


class Engine:
    """Carries exchanges through."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.rescues = Rescues(runtime)
        self.telling = Telling(runtime)
        self._handovers = Handovers(runtime)

    # -- requests ---------------------------------------------------------------------------------------------------

    def read(self, flow: http.HTTPFlow) -> traffic.Body | None:
        """What a request asks; None where it is none of ours."""
        bodies = self.runtime.recent.bodies
        body = traffic.read_body(self.runtime.store().key, flow, bodies)
        if body is not None and body.parsed is not None:
            # Once it has left, or waits for the store.
            asyncio.get_running_loop().call_soon(bodies.remember, body.tenant, body.parsed, body.at)
        return body

    def begin(self, flow: http.HTTPFlow, body: traffic.Body, mode: Mode) -> Exchange:
        """Open an exchange."""
        asked = read(self.runtime.recent.readings, self.runtime.store().key, flow, body)
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
        journal.started()
        return Exchange(number, asked, journal, time.monotonic(), story)

    async def prepare(
        self,
        flow: http.HTTPFlow,
        exchange: Exchange,
        body: traffic.Body,
        fit: Callable[[Sequence[Edit]], Sequence[Edit]] = tuple,
    ) -> Prepared:
        """Ask the store, decide, apply. `fit` makes the edits of the request as it is read fit its plain body."""
        facts, places = await self._facts(exchange)
        path = flow.request.path
        edits: tuple[Edit, ...] = ()
        if exchange.acts and (model := self._switched_to(exchange, facts)):
            body, path, edits = self._redirect(flow, exchange, body, model)
            facts, places = await self._facts(exchange)
        asked = exchange.asked
        found = matches(asked.ask, asked.trail, facts)
        outcome = await self._handovers.apply(Request(flow, asked, body.json), places, found, facts, exchange.acts)
        exchange.journal.handed_over(outcome, flow.metadata)
        plan = self._decide(asked, facts, found, outcome)
        edits = tuple(fit(edits + outcome.edits + plan.edits))
        plan = replace(plan, edits=edits, handover=outcome.reason)
        await breathe(body)
        if plan.known:
            self.runtime.store().touch(plan.known)
        plain, made = self._apply(exchange, body, plan, facts) if exchange.acts else (body.plain, [])
        edited = plain is not body.plain
        exchange.journal.planned(plan, made, applied=edited, why=exchange.story.mode)
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
        if exchange.acts and self.runtime.settings.rescue == "on":
            exchange.sent = Sent(asked, plain, body.plain)
        return Prepared(plain, path)

    async def _facts(self, exchange: Exchange) -> tuple[Facts, list[str]]:
        """What the store knows of a request: its turns, and what was noted of its conversation.

        With it the places at which handovers may stand.
        """
        store, asked = self.runtime.store(), exchange.asked
        keys = keys_of(asked.tenant, asked.ask, asked.trail)
        places = self._handovers.places(asked)
        notes = (*places, self.rescues.place(asked), switch.place_of(store.key, asked.trail.root))
        try:
            async with Patience(FETCH_SECONDS):
                return await store.fetch(replace(keys, notes=notes)), places
        except TimeoutError:
            exchange.journal.slow_store()
            return Facts(), places

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
        endpoint = recognise("POST", path, named)
        if endpoint is None or endpoint.model == before:  # it is named where nobody knows it
            exchange.journal.not_switched(model)
            return body, flow.request.path, ()
        body = replace(body, endpoint=endpoint, json=named)
        exchange.asked = read(self.runtime.recent.readings, self.runtime.store().key, flow, body)
        exchange.story = replace(exchange.story, model=model, switched_from=before)
        exchange.journal.switched(model)
        return body, path, tuple(edits)

    def _decide(self, asked: Asked, facts: Facts, found: list[Match], outcome: Outcome) -> Plan:
        return decide(
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
            dues=self.runtime.recent.dues,
        )

    def _apply(self, exchange: Exchange, body: traffic.Body, plan: Plan, facts: Facts) -> tuple[bytes, list[Edit]]:
        """The request as it is to leave, and the edits that made it so; the very same bytes where there are none."""
        exchange.lessons = self.rescues.taught(facts)
        edits = list(plan.edits)
        if any(lesson.fault.kind == "overflow" for lesson in exchange.lessons):
            edits = [edit for edit in edits if edit.reason in NOT_ADDED]  # it did not fit with what we added
        plain = body.plain
        if edits:
            plain = splice.apply(plain, edits, body.parsed.outline(body.at) if body.parsed else None)
        plain, more = self.rescues.heed(exchange.lessons, exchange.asked, plain)
        return plain, edits + more

    # -- answers ----------------------------------------------------------------------------------------------------

    def answer(self, exchange: Exchange, content_type: str, content_encoding: str) -> Answer:
        """Begin to capture an answer."""
        asked = exchange.asked
        exchange.answer = answer_of(asked.endpoint.format, asked.profile, content_type, content_encoding)
        return exchange.answer

    def finish(self, exchange: Exchange, answer: Answer, due: bool = False) -> None:
        """The answer is over, or cut off: keep what it brought. `due` says that its end was reached just now."""
        if answer.close() or due or not answer.ended:
            self.commit(exchange, answer)

    def commit(self, exchange: Exchange, answer: Answer) -> None:
        """Put the turns into the store's memory; once more where a later chunk amended them."""
        asked = exchange.asked
        owner = Owner(asked.group, asked.ask.model, answer.served, answer.upstream)
        turns = answer.keepable()
        if exchange.brought == (owner, turns):  # behind the end come counts and marks, as a rule
            return
        exchange.brought = owner, turns
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

    async def durable(self, writing: asyncio.Task[None]) -> None:
        """Wait a little for what is being written (see Runtime.flushing)."""
        if not writing.done() and not (await asyncio.wait((writing,), timeout=FLUSH_SECONDS))[0]:
            self.runtime.counts["slow_writes"] += 1  # it goes on being written; the client does not wait for it

    def end(self, flow: http.HTTPFlow, exchange: Exchange, status: str) -> None:
        """Tell of an exchange that is over."""
        answer = exchange.answer
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
        self.telling.ended(flow, exchange.story)
