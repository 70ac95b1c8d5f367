"""What the store keeps of an answer."""

import pytest

from thoughtkeep.identity import after, trail
from thoughtkeep.keep import keep
from thoughtkeep.turns import Ask, Call, Json, Kept, Kind, Message, Owner, Piece, Said, Turn

KEY = b"k" * 32
OWNER = Owner("group", "asked", "served", "upstream")
SIGNATURE = "signature-of-thirty-letters+/="

CALLS = Turn(
    (
        Piece(Kind.CALL, call=Call("c1", "f", "{}"), state={"token": SIGNATURE}),
        Piece(Kind.CALL, call=Call("", "g", "{}")),
    ),
    {"note": "another-opaque-value-of-length"},
)
ASK = Ask(
    "chat",
    "asked",
    True,
    (Said((Message(("messages", 1), {}),), (Piece(Kind.TEXT, "Hello."),), words="hi"),),
    "hi",
    "what now?",
    thinking="on",
)


def kept(*turns: Turn, frames: tuple[str, ...] = (), since: int = 0) -> list[Kept]:
    return keep(KEY, "x", "tenant", OWNER, ASK, trail(KEY, ASK, frames), turns, 7.5, since)


def test_a_turn_is_kept_with_its_place_its_owner_and_its_marks() -> None:
    (one,) = kept(CALLS)
    place = trail(KEY, ASK).end
    assert (one.id, one.tenant, one.owner, one.format, one.made) == ("x-0", "tenant", OWNER, "chat", 7.5)
    assert (one.lineage, one.context, one.near) == (place.lineage, place.context, place.near)
    assert (one.root, one.after) == (trail(KEY, ASK).root, after(KEY, place.lineage, CALLS))
    assert (one.thinking, one.turn, one.call_ids, len(one.values)) == ("on", CALLS, ("c1", ""), 2)


def test_nothing_that_was_said_or_signed_stands_in_what_finds_a_turn() -> None:
    (one,) = kept(CALLS)
    marks = [one.root, one.lineage, *one.after, one.context, one.near, *one.values]
    assert all(len(mark) == 32 and set(mark) <= set("0123456789abcdef") for mark in marks)


def test_each_choice_is_a_turn_of_its_own_at_the_same_place() -> None:
    one, two = kept(CALLS, Turn((Piece(Kind.TEXT, "No."),)))
    assert (one.id, two.id) == ("x-0", "x-1")
    assert one.lineage == two.lineage
    assert one.after != two.after


def test_a_choice_that_said_nothing_is_not_kept_and_moves_no_id() -> None:
    (one,) = kept(Turn(()), CALLS)
    assert one.id == "x-1"


def nested(depth: int) -> Json:
    value: Json = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [float("inf"), float("nan"), nested(100_000)], ids=["1e400", "NaN", "nested"])
@pytest.mark.parametrize("where", ["turn", "state", "value"])
def test_a_turn_whose_state_cannot_be_written_as_json_is_not_kept_and_the_others_are(value: Json, where: str) -> None:
    piece = Piece(
        Kind.THOUGHT,
        "Hm.",
        state={"odd": value} if where == "state" else {},
        value=[value] if where == "value" else None,
    )
    (one,) = kept(Turn((piece,), {"odd": value} if where == "turn" else {}), CALLS)
    assert (one.id, one.turn) == ("x-1", CALLS)


def test_a_turn_with_nothing_but_state_is_kept() -> None:
    (one,) = kept(Turn((), {"reasoning_details": []}))
    assert one.turn.state == {"reasoning_details": []}


def test_what_thinking_stood_before_it_is_kept_only_for_models_that_bind_to_it() -> None:
    assert kept(CALLS, since=1)[0].since == 0
    (one,) = kept(CALLS, frames=("first", "second"), since=1)
    assert (one.frame, one.since) == ("second", 1)
