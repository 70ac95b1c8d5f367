"""Rescue: sending a refused request once more, repaired, and not making the same fault again."""

import time
from dataclasses import dataclass

from mitmproxy import http

from thoughtkeep import splice
from thoughtkeep.decode import pack
from thoughtkeep.jsontext import loads
from thoughtkeep.rescue.fault import Fault, read_fault
from thoughtkeep.rescue.lesson import FORMAT, Lesson, from_kept, place_of, to_kept
from thoughtkeep.rescue.repair import repair
from thoughtkeep.turns import Edit, Facts
from thoughtkeep_mitm import upstream
from thoughtkeep_mitm.asked import Asked
from thoughtkeep_mitm.runtime import Runtime

# How much of a refusal is read, in characters.
MAX_TEXT = 100_000

# How long the second try may take, in seconds, and how large its answer may be, in bytes.
SECONDS = 600.0
MAX_ANSWER = 64_000_000

# Headers that belong to the first request's body or connection.
_OWN_HEADERS = ("content-length", "transfer-encoding", "connection", "host")


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it went upstream, decoded; `client` is the client's own."""

    asked: Asked
    plain: bytes
    client: bytes

    @property
    def grew(self) -> bool:
        """Whether what is ours in it made it longer."""
        return len(self.plain) > len(self.client)


@dataclass(frozen=True, slots=True)
class Mended:
    """A refused request, repaired: the fault, the body, and the marks of what went out of it (see repair)."""

    fault: Fault
    plain: bytes
    marks: tuple[str, ...] = ()


class Rescues:
    """Knows the lessons of conversations, and carries out second tries."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def _skips(self) -> bool:
        return self._runtime.settings.skip_value == "auto"

    def place(self, asked: Asked) -> str:
        """The lineage under which the store may know lessons of this conversation."""
        return place_of(self._runtime.store().key, asked.trail.root, asked.group)

    def taught(self, facts: Facts) -> list[Lesson]:
        """The lessons among what the store knows."""
        return [from_kept(kept) for kept in facts.turns if kept.format == FORMAT]

    def heed(self, lessons: list[Lesson], asked: Asked, plain: bytes) -> tuple[bytes, list[Edit]]:
        """A request body without what was refused before in this conversation, and the edits that make it so.

        The very same body where nothing is.
        """
        made: list[Edit] = []
        key = self._runtime.store().key
        for lesson in lessons:
            ask = asked.endpoint.format.read(loads(plain), asked.endpoint)
            edits = repair(key, ask, asked.profile, lesson.fault, lesson.marks, skip=self._skips).edits
            if edits:
                plain = splice.apply(plain, edits)
                made += edits
        return plain, made

    def mend(self, sent: Sent, status: int, text: str) -> tuple[Mended | None, str]:
        """A refused request, repaired; None where it cannot be, with the reason (empty: it is none of ours)."""
        asked = sent.asked
        fault = read_fault(asked.endpoint.format.name, status, text[:MAX_TEXT])
        if fault is None:
            return None, ""
        if fault.kind == "overflow":
            return (Mended(fault, sent.client), "") if sent.grew else (None, "")
        ask = asked.endpoint.format.read(loads(sent.plain), asked.endpoint)
        repaired = repair(self._runtime.store().key, ask, asked.profile, fault, skip=self._skips)
        plain = splice.apply(sent.plain, repaired.edits)
        if plain == sent.plain:
            return None, f"{fault.kind}, nothing to repair"
        return Mended(fault, plain, repaired.marks), ""

    def learn(self, sent: Sent, mended: Mended, lessons: list[Lesson]) -> str:
        """It helped: note what was learnt, so that the conversation is rescued once. Returns that, for the log."""
        asked, fault = sent.asked, mended.fault
        before = [mark for lesson in lessons if lesson.fault.kind == fault.kind for mark in lesson.marks]
        lesson = Lesson(fault, tuple(dict.fromkeys([*before, *mended.marks])))
        place = self.place(asked)
        kept = to_kept(lesson, place, asked.tenant, asked.trail.root, asked.group, asked.ask.model, time.time())
        self._runtime.store().put(kept)
        return f"{fault.kind}, rescued"

    async def try_again(self, flow: http.HTTPFlow, sent: Sent, lessons: list[Lesson]) -> str:
        """Where the answer is a refusal that we can do something about: repair, send once more, take that answer.

        Returns what the fault was and whether it helped, for the log; empty where there was nothing to do.
        """
        response, request = flow.response, flow.request
        if response is None or response.raw_content is None:
            return ""
        mended, why = self.mend(sent, response.status_code, response.get_text(strict=False) or "")
        if mended is None:
            return why
        fields = [
            (name, value)
            for name, value in request.headers.fields
            if name.decode("latin-1").lower() not in _OWN_HEADERS
        ]
        try:
            body = pack(mended.plain, request.headers.get("content-encoding", ""))
            second = await upstream.post(
                self._runtime,
                flow,
                request.url,
                http.Headers(fields),
                body,
                SECONDS,
                max_answer=MAX_ANSWER,
                comment="thoughtkeep tries again",
            )
        except upstream.Failed as failure:
            return f"{mended.fault.kind}, second try failed: {failure}"
        if not 200 <= second.status_code < 300:
            return f"{mended.fault.kind}, refused again with status {second.status_code}"
        for name in ("transfer-encoding", "content-length"):
            second.headers.pop(name, None)
        second.headers["content-length"] = str(len(second.raw_content or b""))
        flow.response = second
        return self.learn(sent, mended, lessons)
