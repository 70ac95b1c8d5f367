"""What the store knows of a conversation, for people and for other programs: turns without their state."""

from collections.abc import Sequence
from datetime import UTC, datetime

from thoughtkeep.handover import record, switch
from thoughtkeep.jsontext import NotJson, loads, strings
from thoughtkeep.rescue import lesson
from thoughtkeep.show.blocks import owner_name, turn_block
from thoughtkeep.show.marked import marked
from thoughtkeep.show.words import digest, plural, printable, short
from thoughtkeep.turns import Json, Kept, Kind

# What thoughtkeep noted itself, in words.
_NOTES = {record.FORMAT: "handover", lesson.FORMAT: "rescue", switch.FORMAT: "switch"}


def turns_page(turns: Sequence[Kept]) -> list[str]:
    """Stored turns, oldest first, as lines."""
    notes = [kept for kept in turns if kept.format in _NOTES]
    lines: list[str] = []
    number = 0
    for kept in sorted(turns, key=lambda kept: kept.made):
        if kept in notes:
            lines += [f"  {_NOTES[kept.format]} to {printable(kept.owner.model)}, {_time(kept.made)}", ""]
            continue
        number += 1
        cut = "" if kept.turn.complete else ", cut off"
        block = turn_block(
            f"turn {number} by {owner_name(kept.owner)}, {_time(kept.made)}{cut}", kept.turn.pieces, kept.turn.state
        )
        lines += marked([block], [block])
    told = [f"conversation {turns[0].root[:16]}: {plural(number, 'turn')}", ""] if turns else ["no turns are known"]
    return told + lines


def turns_json(turns: Sequence[Kept]) -> Json:
    """The same for programs: words, calls, and of state only keys, sizes and digests; no digest of any credential."""
    return {
        "format": 1,
        "conversation": turns[0].root[:16] if turns else "",
        "turns": [_turn(kept) for kept in sorted(turns, key=lambda kept: kept.made) if kept.format not in _NOTES],
        "notes": [
            {"kind": _NOTES[kept.format], "model": kept.owner.model, "time": _time(kept.made), **_noted(kept)}
            for kept in turns
            if kept.format in _NOTES
        ],
    }


def _turn(kept: Kept) -> Json:
    turn, owner = kept.turn, kept.owner
    return {
        "id": kept.id,
        "time": _time(kept.made),
        "wire": kept.format,
        "model": owner.model,
        "served": owner.served,
        "host": owner.group,
        "upstream": owner.upstream,
        "complete": turn.complete,
        "text": "".join(piece.text for piece in turn.pieces if piece.kind is Kind.TEXT),
        "reasoning": turn.prose or "".join(piece.text for piece in turn.pieces if piece.kind is Kind.THOUGHT),
        "calls": [{"id": call.id, "name": call.name, "arguments": _parsed(call.arguments)} for call in turn.calls],
        "state": [
            {"key": key, "size": sum(map(len, strings(value))), "digest": digest(value)}
            for state in (turn.state, *(piece.state for piece in turn.pieces))
            for key, value in state.items()
        ],
    }


def _noted(kept: Kept) -> dict[str, Json]:
    if kept.format == record.FORMAT:
        return {"from": kept.owner.served, "summary": "".join(piece.text for piece in kept.turn.pieces)}
    return {"fault": short(str(kept.turn.state.get("kind", "")))} if kept.format == lesson.FORMAT else {}


def _parsed(arguments: str) -> Json:
    try:
        return loads(arguments.encode("utf-8", "surrogatepass"))
    except NotJson:
        return arguments


def _time(made: float) -> str:
    try:
        return datetime.fromtimestamp(made, UTC).isoformat(" ", "seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return "at no known time"
