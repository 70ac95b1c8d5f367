"""A switch that the user made by hand: from now on another model is asked in a conversation than the client names.

Noted in the store, so that it holds after a restart: without it the conversation would change hands once more, back to
the model that the client goes on naming.
"""

from thoughtkeep.formats.base import Format
from thoughtkeep.identity import digest
from thoughtkeep.note import note
from thoughtkeep.turns import Edit, Facts, Json, Kept, Kind, Op, Owner, Piece, Turn

FORMAT = "switch"

SWITCHED = "another model is asked, as you said"


def place_of(key: bytes, root: str) -> str:
    """The digest under which the switch of a conversation is kept."""
    return digest(key, FORMAT, root)


def to_kept(model: str, place: str, tenant: str, root: str, now: float) -> Kept:
    """As the store keeps it: one a conversation. An empty model ends the switch. `now` is in Unix seconds."""
    return note(FORMAT, "", place, tenant, root, Owner(FORMAT, model), Turn((Piece(Kind.TEXT, model),)), now)


def model_of(facts: Facts, place: str) -> str:
    """The model that the user has switched to; empty where none."""
    made = (kept.owner.model for kept in facts.turns if kept.format == FORMAT and kept.lineage == place)
    return next(made, "")


def redirected(form: Format, path: str, body: Json, model: str) -> tuple[str, list[Edit]]:
    """The path (its query included) and the edits with which a request asks another model."""
    edits = [Edit(Op.PUT, (), key="model", value=model, reason=SWITCHED)] if isinstance(body.get("model"), str) else []
    return form.model_path(path, model), edits
