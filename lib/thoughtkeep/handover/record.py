"""A handover in the store: a note at the place where the conversation changed hands.

The place is digested with the target model: the same conversation may be handed to several.
"""

from dataclasses import dataclass
from functools import lru_cache

from thoughtkeep.identity import Trail, digest
from thoughtkeep.note import note
from thoughtkeep.profiles import plain_model
from thoughtkeep.turns import Kept, Kind, Owner, Piece, Turn

FORMAT = "handover"


@dataclass(frozen=True, slots=True)
class Handover:
    """What was made of a place: the summary, or (`text` empty) that the full history went on.

    `made` is in Unix seconds, `source` the model that had the conversation before.
    """

    text: str
    made: float
    source: str = ""


@lru_cache(maxsize=16_384)  # each request of a conversation asks for the places of all its turns
def place_of(key: bytes, context: str, model: str) -> str:
    """The digest under which a handover to a model is kept, at the place whose context this is."""
    return digest(key, "handover", context, plain_model(model))


def places_of(key: bytes, trail: Trail, model: str) -> list[str]:
    """That of each place of a conversation: before each assistant turn, and at its end."""
    return [place_of(key, place.context, model) for place in (*trail.places, trail.end)]


def to_kept(handover: Handover, place: str, tenant: str, root: str, model: str) -> Kept:
    """As the store keeps it. The same place is written once: a second try replaces the first."""
    owner = Owner(FORMAT, model, handover.source)
    turn = Turn((Piece(Kind.TEXT, handover.text),), complete=bool(handover.text))
    return note(FORMAT, "", place, tenant, root, owner, turn, handover.made)


def from_kept(kept: Kept) -> Handover:
    """As it was made."""
    return Handover("".join(piece.text for piece in kept.turn.pieces), kept.made, kept.owner.served)
