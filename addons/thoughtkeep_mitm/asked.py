"""A request as everybody here needs to know it: read, with whom it is asked of and for whom."""

from dataclasses import dataclass

from thoughtkeep.formats import Endpoint
from thoughtkeep.identity import Trail
from thoughtkeep.profiles import Profile
from thoughtkeep.turns import Ask


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to an LLM endpoint: what it asks, of which provider (`profile`, `group`), for which `tenant`."""

    endpoint: Endpoint
    profile: Profile
    group: str
    tenant: str
    ask: Ask
    trail: Trail
