"""What thoughtkeep itself notes of a conversation, in the store: kept like a turn, so that it lives and goes with it.

Handovers, lessons and switches are notes. A note is found by its place alone, a digest that no turn of a conversation
has, and needs nothing of its own from a store.
"""

from thoughtkeep.turns import Kept, Owner, Turn


def note(kind: str, name: str, place: str, tenant: str, root: str, owner: Owner, turn: Turn, made: float) -> Kept:
    """A note of a kind, in `turn`. The same name at the same place is written once: the newer one stays.

    `root` is the conversation's, `made` in Unix seconds.
    """
    return Kept(
        id="-".join(filter(None, (kind, tenant[:16], place, name))),
        tenant=tenant,
        owner=owner,
        format=kind,
        root=root,
        lineage=place,
        after=(),
        context=place,
        near="",
        thinking="absent",
        made=made,
        turn=turn,
    )
