"""Seeding the store from flows that were saved: what their answers held is known then as if it had been seen live."""

import asyncio
import logging
import time
from collections import Counter
from pathlib import Path

from mitmproxy import exceptions, http
from mitmproxy.io import FlowReader

from thoughtkeep.answer import answer_of
from thoughtkeep.keep import keep
from thoughtkeep.show.words import plural
from thoughtkeep.turns import Keys, Owner
from thoughtkeep_mitm import stories, traffic
from thoughtkeep_mitm.asked import read
from thoughtkeep_mitm.recent import Recent
from thoughtkeep_mitm.redaction import REDACTED
from thoughtkeep_mitm.runtime import Runtime

log = logging.getLogger("thoughtkeep")

# Why an exchange is left out, in the words of the report.
_NOT_OURS = "no exchange with an LLM endpoint"
_NO_ANSWER = "without a whole answer"
_REPAIRED = "with an answer that was changed for its client"
_REDACTED = "whose credentials were taken out"
_KNOWN = "known already"


async def seed(runtime: Runtime, path: Path) -> str:
    """Read a file of flows (mitmproxy's own or HAR) into the store. Returns what came of it, as a sentence."""
    done = Counter[str]()
    recent = Recent()
    left_out = Counter[str]()
    ending = ""
    try:
        with path.open("rb") as file:
            for flow in FlowReader(file).stream():
                why = await _seed_one(runtime, recent, flow, done) if isinstance(flow, http.HTTPFlow) else _NOT_OURS
                left_out[why] += bool(why)
                await asyncio.sleep(0)  # the streams of live flows go on in between
    except OSError as fault:
        return f"{path} cannot be read: {fault.strerror}"
    except exceptions.FlowReadException as fault:
        ending = f"; the file is damaged from there on ({fault})"
    await runtime.flushing()
    reasons = ", ".join(f"{count:,} {why}" for why, count in left_out.items() if why)
    told = f"{plural(done['turns'], 'turn')} of {plural(done['exchanges'], 'exchange')} kept from {path}"
    return f"{told}{f'; left out: {reasons}' if reasons else ''}{ending}"


async def _seed_one(runtime: Runtime, recent: Recent, flow: http.HTTPFlow, done: Counter[str]) -> str:
    """Keep what one exchange brought. Returns why it is left out; empty where it is not."""
    store = runtime.store()
    body = traffic.read_body(store.key, flow, recent.bodies)
    if body is None:
        return _NOT_OURS
    response = flow.response
    if response is None or not 200 <= response.status_code < 300 or not response.raw_content:
        return _NO_ANSWER
    if "repaired" in str(flow.metadata.get(stories.DONE, "")):
        return _REPAIRED
    asked = read(recent.readings, store.key, flow, body)
    tenant = asked.tenant
    if flow.metadata.get(stories.STORE) == stories.store_mark(store.key):
        tenant = str(flow.metadata.get(stories.TENANT, tenant))
    elif any(REDACTED in value for value in (*flow.request.headers.values(), flow.request.path)):
        return _REDACTED
    answer = answer_of(asked.endpoint.format, asked.profile, *traffic.coding_of(response))
    answer.feed(response.raw_content)
    answer.close()
    owner = Owner(asked.group, asked.ask.model, answer.served, answer.upstream)
    made = response.timestamp_end or flow.request.timestamp_start or time.time()
    kept = keep(store.key, _name(flow), tenant, owner, asked.ask, asked.trail, answer.keepable(), made)
    known = {one.id for one in (await store.fetch(Keys(tenant, (asked.trail.end.lineage,)))).turns}
    new = [one for one in kept if one.id not in known]
    for one in new:
        store.put(one)
    done["turns"] += len(new)
    done["exchanges"] += bool(new)
    return "" if new else _KNOWN if kept else _NO_ANSWER


def _name(flow: http.HTTPFlow) -> str:
    """The name that the exchange had when it was live, so that what is there already is known again."""
    first = str(flow.metadata.get(stories.TURNS, "")).partition(",")[0]
    return first.rpartition("-")[0] or flow.id.replace("-", "")
