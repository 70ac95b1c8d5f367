"""A request as everybody here needs to know it: read, with whom it is asked of and for whom."""

from dataclasses import dataclass

from mitmproxy import http

from thoughtkeep.formats import Endpoint
from thoughtkeep.identity import Trail, trail
from thoughtkeep.profiles import Profile, binds_thinking, group_of, profile_for
from thoughtkeep.turns import Ask
from thoughtkeep_mitm import traffic


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to an LLM endpoint: what it asks, of which provider (`profile`, `group`), for which `tenant`."""

    endpoint: Endpoint
    profile: Profile
    group: str
    host: str
    tenant: str
    ask: Ask
    trail: Trail


def read(key: bytes, flow: http.HTTPFlow, body: traffic.Body) -> Asked:
    """Read a request. `key` is the store's: all digests are made with it."""
    host = traffic.host_of(flow)
    form = body.endpoint.format
    ask = form.read(body.json, body.endpoint)
    frames = form.frames(key, body.json, ask) if binds_thinking(ask.model) else ()
    return Asked(
        endpoint=body.endpoint,
        profile=profile_for(host),
        group=group_of(host, flow.request.port),
        host=host,
        tenant=traffic.tenant_of(key, flow),
        ask=ask,
        trail=trail(key, ask, frames),
    )
