"""The stories of the newest exchanges, for views and commands: in memory, bounded, by the id of their flow.

Not in the flow: its metadata takes primitives only, and what stands there is saved with it. There stand the few words
by which flows are filtered, and the names by which a flow that was saved is known again.
"""

from collections import OrderedDict

from mitmproxy import http

from thoughtkeep.identity import digest
from thoughtkeep.show.story import Story, word

# Exchanges that are remembered, and bytes of their clients' bodies.
MOST = 2_000
MOST_BYTES = 64_000_000

# Keys of flow metadata. Those of handovers are named in the journal.
DONE = "thoughtkeep_done"
CONVERSATION = "thoughtkeep_conversation"
TENANT = "thoughtkeep_tenant"
TURNS = "thoughtkeep_turns"
STORE = "thoughtkeep_store"


class Stories:
    """Stories by flow; the oldest go when there are too many."""

    def __init__(self) -> None:
        self._stories: OrderedDict[str, Story] = OrderedDict()
        self._bytes = 0

    def put(self, flow: http.HTTPFlow, story: Story, key: bytes) -> None:
        """Remember a story, in place of an earlier one of the same flow. `key` is the store's."""
        self._forget(flow.id)
        self._stories[flow.id] = story
        self._bytes += len(story.client or b"")
        while len(self._stories) > MOST or (self._bytes > MOST_BYTES and len(self._stories) > 1):
            self._forget(next(iter(self._stories)))
        flow.metadata[CONVERSATION], flow.metadata[TENANT] = story.root, story.tenant
        flow.metadata[STORE] = store_mark(key)
        if story.kept:
            flow.metadata[TURNS] = ",".join(kept.id for kept in story.kept)
        if story.deeds():
            flow.metadata[DONE] = word(story)

    def get(self, flow: http.HTTPFlow) -> Story | None:
        """What is known of a flow; None where it is none of ours, or was forgotten."""
        return self._stories.get(flow.id)

    def _forget(self, flow_id: str) -> None:
        story = self._stories.pop(flow_id, None)
        if story is not None:
            self._bytes -= len(story.client or b"")


def store_mark(key: bytes) -> str:
    """By which a store is known again, without its key: whether digests in a saved flow are of this store."""
    return digest(key, "store")[:16]
