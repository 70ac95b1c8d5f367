"""A request as everybody here needs to know it: read, with whom it is asked of and for whom."""

from dataclasses import dataclass

from mitmproxy import http

from thoughtkeep.formats import Endpoint
from thoughtkeep.identity import Trail
from thoughtkeep.profiles import Profile, group_of, profile_for
from thoughtkeep.readings import Readings
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


def read(readings: Readings, key: bytes, flow: http.HTTPFlow, body: traffic.Body) -> Asked:
    """Read a request. `key` is the store's: all digests are made with it."""
    host = traffic.host_of(flow)
    ask, trail = readings.read(key, body.tenant, body.endpoint, body.json, len(body.plain))
    return Asked(
        endpoint=body.endpoint,
        profile=profile_for(host),
        group=group_of(host, flow.request.port),
        host=host,
        tenant=body.tenant,
        ask=ask,
        trail=trail,
    )
