"""From an answer to what the store keeps of it."""

from collections.abc import Iterable

from thoughtkeep.identity import Trail, after, opaque_values
from thoughtkeep.jsontext import dumps
from thoughtkeep.turns import Ask, Kept, Owner, Turn


def keep(
    key: bytes,
    exchange: str,
    tenant: str,
    owner: Owner,
    ask: Ask,
    trail: Trail,
    turns: Iterable[Turn],
    now: float,
    since: int = 0,
) -> list[Kept]:
    """The turns of one answer as stored: one a choice, under an id that stays the same when the answer is amended.

    `exchange` is unique to the request; `now` is in Unix seconds; `since` is that of the request's plan. A choice that
    said nothing is not kept, nor one whose state cannot be told again.
    """
    place = trail.end
    return [
        Kept(
            id=f"{exchange}-{number}",
            tenant=tenant,
            owner=owner,
            format=ask.format,
            root=trail.root,
            lineage=place.lineage,
            after=after(key, place.lineage, turn),
            context=place.context,
            near=place.near,
            thinking=ask.thinking,
            made=now,
            turn=turn,
            call_ids=tuple(call.id for call in turn.calls),
            values=opaque_values(key, turn),
            frame=place.frame,
            since=since if place.frame else 0,
            tools=ask.tools,
        )
        for number, turn in enumerate(turns)
        if (turn.pieces or turn.state) and _can_be_told(turn)
    ]


def _can_be_told(turn: Turn) -> bool:
    """Whether all of its state can be written as JSON again; what can't would spoil every request that it is due in."""
    try:
        dumps([turn.state, *((piece.state, piece.value) for piece in turn.pieces)])
    except (ValueError, RecursionError):  # NaN, an infinity (`1e400`), nested too deep
        return False
    return True
