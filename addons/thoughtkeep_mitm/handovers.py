"""Handovers: asking for summaries, keeping them, and using them again."""

import asyncio
import os
import secrets
import time
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from mitmproxy import http

from thoughtkeep.endpoint import recognise
from thoughtkeep.handover import prompt
from thoughtkeep.handover.detect import Decision, detect, replaced_tokens
from thoughtkeep.handover.outcome import Outcome
from thoughtkeep.handover.question import HEADERS, NoSummary, question, summary_of
from thoughtkeep.handover.record import FORMAT, Handover, from_kept, places_of, to_kept
from thoughtkeep.handover.rewrite import part, rewrite
from thoughtkeep.handover.transcript import transcript
from thoughtkeep.profiles import profile_for
from thoughtkeep.replay import Match
from thoughtkeep.turns import Facts, Json, Keys
from thoughtkeep_mitm import upstream
from thoughtkeep_mitm.asked import Asked
from thoughtkeep_mitm.control import HANDOVER, SWITCH_FROM
from thoughtkeep_mitm.runtime import Runtime
from thoughtkeep_mitm.settings import summarisers
from thoughtkeep_store import Store

# Seconds between looks at what another proxy that asks for the same summary has got.
POLL = 0.2

# Seconds that the right to ask lasts beyond the time for an answer.
SPARE = 5.0


@dataclass(frozen=True, slots=True)
class Request:
    """The request at hand, as far as handovers need to know it."""

    flow: http.HTTPFlow
    asked: Asked
    body: Json


class Handovers:
    """Decides about handovers and carries them out. One summary is asked for a place, however many requests want it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._asking: dict[tuple[str, str], asyncio.Task[tuple[Handover, str]]] = {}

    def places(self, asked: Asked) -> list[str]:
        """The lineages under which the store may know handovers of this conversation to this model."""
        if self._runtime.settings.handover == "off":
            return []
        return places_of(self._runtime.store().key, asked.trail, asked.ask.model)

    async def apply(self, request: Request, places: list[str], found: list[Match], facts: Facts, act: bool) -> Outcome:
        """Replace the history of a request where that is due. With `act` False no summary is asked for."""
        if not places:
            return Outcome("off")
        numbers = {place: number for number, place in enumerate(places)}
        stored = {
            numbers[kept.lineage]: from_kept(kept)
            for kept in reversed(facts.turns)
            if kept.format == FORMAT and kept.lineage in numbers
        }
        settings, meta = self._runtime.settings, request.flow.metadata
        decision = detect(
            request.asked.ask,
            request.asked.trail,
            found,
            facts,
            stored,
            time.time(),
            min_tokens=settings.handover_min_tokens,
            switch_from=str(meta.get(SWITCH_FROM, "")),
            skip=str(meta.get(HANDOVER, "")).lower() == "skip",
        )
        if decision.make and act:
            return await self._switch(request, places[-1], decision, stored.get(len(places) - 1))
        return self._reuse(request, decision)

    def _reuse(self, request: Request, decision: Decision, failed: str = "", spent: int = 0) -> Outcome:
        """The stored handover that the request extends, if any; else the history as it is."""
        reason = decision.reason
        if decision.border is None or decision.handover is None:
            return Outcome(reason, failed=failed, invoked=bool(failed), summary_ms=spent)
        ask, form = request.asked.ask, request.asked.endpoint.format
        text = decision.handover.text
        edits = rewrite(ask, form, decision.border, text, self._runtime.settings.summary_role)
        if edits is None:
            return Outcome("no_user_turn", failed=failed)
        return Outcome(
            reason,
            tuple(edits),
            decision.border,
            failed=failed,
            invoked=bool(failed),
            tokens_before=replaced_tokens(ask, decision.border),
            tokens_after=len(text) // 4,
            summary_ms=spent,
            source=decision.handover.source,
        )

    async def _switch(self, request: Request, place: str, decision: Decision, known: Handover | None) -> Outcome:
        cut = part(request.asked.ask, len(request.asked.ask.said), decision.border or 0)
        if cut is None or not cut.history:
            return self._reuse(request, Decision("no_user_turn", decision.border, decision.handover))
        began = time.monotonic()
        asking = self._asking.get((request.asked.tenant, place))
        if asking is None:
            earlier = decision.handover.text if decision.handover else ""
            asking = self._runtime.spawn(
                self._make_once(request, place, transcript(cut.history), earlier, decision.source, known)
            )
            self._asking[request.asked.tenant, place] = asking
            asking.add_done_callback(lambda _: self._asking.pop((request.asked.tenant, place), None))
        # Shielded: a client that leaves must not take the summary away from those who wait for the same one.
        made, why = await asyncio.shield(asking)
        spent = round((time.monotonic() - began) * 1000)
        if why:
            return self._reuse(request, Decision("summary_failed", decision.border, decision.handover), why, spent)
        done = self._reuse(request, Decision("switch", len(request.asked.ask.said), made), spent=spent)
        return replace(done, invoked=True)

    async def _make_once(
        self, request: Request, place: str, told: str, earlier: str, source: str, known: Handover | None
    ) -> tuple[Handover, str]:
        """Like `_make`, but of the proxies that share a store one asks, and the others wait for what came of it.

        All of it takes as long as an answer may take. `known` is the handover that is there already.
        """
        store, tenant = self._runtime.store(), request.asked.tenant
        name, seconds = f"{tenant} {place}", float(self._runtime.settings.handover_timeout)
        until = asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(until):
                while not await store.lease(name, seconds + SPARE):
                    if made := await self._made(store, tenant, place, known):
                        return made
                    await asyncio.sleep(POLL)
        except TimeoutError:
            return Handover("", time.time(), source), "another proxy has asked, and got no answer in time"
        try:
            # It may have been made just before we were let.
            if made := await self._made(store, tenant, place, known):
                return made
            left = max(until - asyncio.get_running_loop().time(), 0.1)
            return await self._make(request, place, told, earlier, source, round(left, 1))
        finally:
            self._runtime.spawn(self._let_others(store, name))

    @staticmethod
    async def _made(store: Store, tenant: str, place: str, known: Handover | None) -> tuple[Handover, str] | None:
        """What has come of another proxy's asking since `known`, if anything."""
        facts = await store.fetch(Keys(tenant, (place,)))
        newest = next((from_kept(kept) for kept in facts.turns if kept.format == FORMAT), None)
        if newest is None or newest == known:
            return None
        return newest, "" if newest.text else "another proxy has asked, and got no summary"

    @staticmethod
    async def _let_others(store: Store, name: str) -> None:
        """Let another proxy ask, once it can see what came of this one's asking."""
        await store.flush()
        await store.release(name)

    async def _make(
        self, request: Request, place: str, told: str, earlier: str, source: str, seconds: float
    ) -> tuple[Handover, str]:
        """Ask for a summary and keep what came of it: the handover, and why it is none (empty if it is one)."""
        text, why = "", ""
        try:
            text = await self._ask(request, told, earlier, seconds)
        except (upstream.Failed, NoSummary) as fault:
            why = str(fault)
        except Exception as fault:
            why = f"fault: {type(fault).__name__}"
        made = Handover(text, time.time(), source)
        store = self._runtime.store()
        store.put(to_kept(made, place, request.asked.tenant, request.asked.trail.root, request.asked.ask.model))
        return made, why

    async def _ask(self, request: Request, told: str, earlier: str, seconds: float) -> str:
        """Ask a model. Raises Failed or NoSummary."""
        settings = self._runtime.settings
        endpoint, profile = request.asked.endpoint, request.asked.profile
        url, headers, body = request.flow.request.url, self._headers(request.flow), request.body
        model = _summariser(settings.handover_model, request.asked.ask.model)
        if settings.handover_url:
            url, body = settings.handover_url, {"max_tokens": 1, "messages": [], "input": "", "contents": []}
            parts = urlsplit(url)
            named = {"model": model, **body}
            endpoint = recognise("POST", parts.path, named) or endpoint
            profile = profile_for(parts.hostname or "")
            headers = _key_headers(endpoint.format.name, os.environ.get(settings.handover_key_env, ""))
        form = endpoint.format
        words = prompt.ask(told, earlier, settings.handover_max_tokens, f"====={secrets.token_hex(12)}=====")
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        asked = question(form, profile, path, body, model, words, settings.handover_max_tokens)
        answer = await upstream.post(
            self._runtime,
            request.flow,
            f"{parts.scheme}://{parts.netloc}{asked.path}",
            http.Headers([(b"content-type", b"application/json"), *headers]),
            asked.body,
            seconds,
            comment="thoughtkeep asks for a summary",
            sealed=bool(settings.handover_url),
        )
        if not 200 <= answer.status_code < 300:
            raise NoSummary(f"status {answer.status_code}")
        content_type, encoding = (answer.headers.get(name, "") for name in ("content-type", "content-encoding"))
        return summary_of(form, profile, answer.raw_content or b"", content_type, encoding)

    @staticmethod
    def _headers(flow: http.HTTPFlow) -> list[tuple[bytes, bytes]]:
        fields = flow.request.headers.fields
        return [(name, value) for name, value in fields if name.decode("latin-1").lower() in HEADERS]


def _summariser(option: str, target: str) -> str:
    """The model that writes summaries for those who hand over to `target`."""
    return next((model for pattern, model in summarisers(option) if fnmatchcase(target, pattern)), target)


def _key_headers(form: str, key: str) -> list[tuple[bytes, bytes]]:
    if not key:
        return []
    if form == "messages":
        return [(b"x-api-key", key.encode()), (b"anthropic-version", b"2023-06-01")]
    return [(b"x-goog-api-key", key.encode()) if form == "gemini" else (b"authorization", b"Bearer " + key.encode())]
