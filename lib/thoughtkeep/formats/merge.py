"""Joining the pieces of streamed entries: what belongs to one entry, and which of its fields grow.

The texts of what is joined here are `Growing` until they are settled.
Never a generic merge of dicts: a ciphertext glued to another, or a summary to a ciphertext, is worth nothing.
"""

from collections.abc import Mapping

from thoughtkeep.jsontext import Growing
from thoughtkeep.turns import Json, Path

# Fields that come in pieces and are joined.
_GROWING = ("text", "summary", "thinking")

# Fields that tell one entry from another where both have them.
_NAMES = ("id", "format", "tool_call_id")

# Fields that hold a list of blocks which grow themselves (Mistral's `thinking`, Databricks' `summary`).
_NESTED = ("thinking", "summary", "content")


def add_entry(entries: list[Json], piece: Json, *, cumulative: bool = False) -> None:
    """Add one streamed piece of `reasoning_details` or the like, to the last entry where it belongs to it.

    OpenRouter's streams (seen on the wire): `index` may be 0 for all, so a change of type, id or format also starts an
    entry; the signature may come last and alone; a signed entry that gets more text is another entry; `data` is whole
    in its piece, and is never joined. Where pieces may be `cumulative`, one that begins with all that came before and
    says more takes its place (MiniMax's documentation).
    """
    if not isinstance(piece, dict):
        entries.append(piece)
        return
    last = entries[-1] if entries else None
    if not isinstance(last, dict) or not _continues(last, piece):
        entries.append(dict(piece))
        return
    for key, value in piece.items():
        have = last.get(key)
        if key in _GROWING and isinstance(value, str) and isinstance(have, (str, Growing)):
            _grow(last, key, have, value, cumulative)
        elif value not in (None, "") or key not in last:
            last[key] = value


def _grow(last: dict[str, Json], key: str, have: str | Growing, value: str, cumulative: bool) -> None:
    """Add a piece to a text: without copying it, since long ones come in tens of thousands of pieces."""
    if cumulative and len(value) > len(so_far := str(have)) and value.startswith(so_far):
        last[key] = value
    elif isinstance(have, Growing):
        have.parts.append(value)
    else:
        last[key] = Growing(have, value)


def _continues(last: dict[str, Json], piece: dict[str, Json]) -> bool:
    if last.get("type") != piece.get("type") or last.get("index") != piece.get("index"):
        return False
    for key in _NAMES:
        if piece.get(key) and last.get(key) and last[key] != piece[key]:
            return False
    nested = False
    for key in _NESTED:
        nested = nested or isinstance(piece.get(key), list)
    if nested or piece.get("encrypted_content"):
        return bool(piece.get("id")) and piece.get("id") == last.get("id")
    if piece.get("data") or last.get("data"):
        return bool(last.get("data") == piece.get("data") and last.get("id") == piece.get("id"))
    if not last.get("signature"):
        return True
    return not any(piece.get(key) for key in _GROWING)


def add_block(blocks: list[Json], piece: Json) -> None:
    """Add one streamed piece of typed content (`{type: text}`, Mistral's `thinking`, Databricks' `reasoning`).

    A piece of the type of the last block continues it, unless that block was closed by a signature or is opaque.
    """
    last = blocks[-1] if blocks else None
    if not isinstance(piece, dict) or not isinstance(last, dict) or not _block_continues(last, piece):
        blocks.append(_fresh(piece))
        return
    for key, value in piece.items():
        have = last.get(key)
        if key in _NESTED and isinstance(value, list) and isinstance(have, list):
            for inner in value:
                add_block(have, inner)
        elif key in _GROWING and isinstance(value, str) and isinstance(have, (str, Growing)):
            _grow(last, key, have, value, cumulative=False)
        elif value not in (None, "") or key not in last:
            last[key] = value


def _block_continues(last: dict[str, Json], piece: dict[str, Json]) -> bool:
    if last.get("type") != piece.get("type") or "data" in piece or "data" in last:
        return False
    grows = any(isinstance(piece.get(key), str | list) for key in (*_GROWING, *_NESTED))
    return (grows or "signature" in piece) and not (last.get("signature") and grows)


def _fresh(piece: Json) -> Json:
    """A copy whose lists may grow."""
    if isinstance(piece, dict):
        return {key: _fresh(value) for key, value in piece.items()}
    if isinstance(piece, list):
        blocks: list[Json] = []
        for inner in piece:
            add_block(blocks, inner)
        return blocks
    return piece


def changing(event: Mapping[str, Json], *keys: str) -> dict[Path, bool]:
    """The texts and numbers under some keys of an event, of which the last one counts (see Assembler.alike)."""
    found: dict[Path, bool] = {}
    unseen: list[tuple[Path, Json]] = [((key,), event.get(key)) for key in keys]
    while unseen:
        path, value = unseen.pop()
        if isinstance(value, dict):
            unseen += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            unseen += [((*path, number), inner) for number, inner in enumerate(value)]
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            found[path] = False
    return found
