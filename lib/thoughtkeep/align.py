"""Which piece of a request is which piece of a stored turn.

Clients join text pieces, drop empty and thinking pieces, and leave calls out of a split batch; they do not re-order.
So both lists are walked once: calls and other content are the posts, texts are compared between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from thoughtkeep.identity import bare
from thoughtkeep.turns import Kind, Piece


@dataclass(frozen=True, slots=True)
class Pairs:
    """For each stored piece the number of the request's piece that tells it, or None.

    `joined` holds the stored pieces that the client told as one text, by the number of that text.
    """

    to: tuple[int | None, ...]
    joined: dict[int, tuple[int, ...]]


def align(issued: Sequence[Piece], told: Sequence[Piece]) -> Pairs:
    """Pair the pieces of a turn with those of a request, in order."""
    to: list[int | None] = [None] * len(issued)
    joined: dict[int, tuple[int, ...]] = {}
    at = 0
    for number, piece in enumerate(issued):
        if to[number] is not None:
            continue
        for candidate in range(at, len(told)):
            other = told[candidate]
            if _same(piece, other):
                to[number], at = candidate, candidate + 1
                break
            if run := _run(issued, number, other):
                for member in run:
                    to[member] = candidate
                joined[candidate], at = run, candidate + 1
                break
            if other.kind is Kind.CALL or (other.kind is Kind.OTHER and piece.kind not in (Kind.CALL, Kind.OTHER)):
                break  # a post that is not this piece: whatever comes behind it is not this piece either
    return Pairs(tuple(to), joined)


def _same(piece: Piece, other: Piece) -> bool:
    if piece.kind is not other.kind:
        return False
    if piece.ref and piece.ref == other.ref and not piece.call:
        return True  # the same item, whatever a client made of its words (typographic quotes, seen on the wire)
    if piece.call and other.call:
        return (piece.call.name, piece.call.arguments) == (other.call.name, other.call.arguments)
    if piece.kind is Kind.THOUGHT and not other.text:
        return True
    return bare(piece.text) == bare(other.text)


def _run(issued: Sequence[Piece], start: int, other: Piece) -> tuple[int, ...]:
    """The stored text pieces from `start` on that make up this one text of the client; empty if they do not."""
    if other.kind is not Kind.TEXT or not issued[start].text:
        return ()
    want, have, run = bare(other.text), "", []
    for number in range(start, len(issued)):
        if issued[number].kind is not Kind.TEXT:
            break
        if not issued[number].text:
            continue
        have += bare(issued[number].text)
        run.append(number)
        if have == want:
            return tuple(run)
        if not want.startswith(have):
            break
    return ()
