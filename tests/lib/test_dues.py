"""What a told turn lacks is found once, as long as the very same turn is told, and what is found never goes stale."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from thoughtkeep.dues import Dues
from thoughtkeep.formats import FORMATS, Format
from thoughtkeep.profiles import Profile, profile_for
from thoughtkeep.replay import Match
from thoughtkeep.turns import Ask, Call, Edit, Kept, Kind, Message, Op, Owner, Piece, Said, Turn

CHAT: Any = next(form for form in FORMATS if form.name == "chat")
PROFILE = profile_for("api.deepseek.com")


def told(number: int = 0, call_id: str = "c1", **state: str) -> Said:
    at = ("messages", number)
    piece = Piece(Kind.CALL, call=Call(call_id, "look", "{}"), at=(*at, "tool_calls", 0))
    return Said((Message(at, state),), (piece,))


def stored(words: str = "thought", calls: Sequence[str] = ("c1",)) -> Kept:
    pieces = tuple(Piece(Kind.CALL, call=Call(call_id, "look", "{}")) for call_id in calls)
    turn = Turn(pieces, {"reasoning_content": words}, words, ("reasoning_content",))
    return Kept("one", "t", Owner("deepseek", "m"), "chat", "r", "l", ("a",), "c", "n", "on", 1.0, turn)


def ask(*said: Said) -> Ask:
    return Ask("chat", "m", True, said, "begin")


class Counting:
    """The format, and how often it was asked what a turn lacks."""

    def __init__(self) -> None:
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(CHAT, name)

    def restore(self, said: Said, turn: Turn, profile: Profile, ask: Ask) -> list[Edit]:
        self.asked += 1
        edits: list[Edit] = CHAT.restore(said, turn, profile, ask)
        return edits


@pytest.fixture
def form() -> Any:
    return Counting()


def put(words: str) -> list[Edit]:
    return [Edit(Op.PUT, ("messages", 0), key="reasoning_content", value=words, reason="message state restored")]


def test_a_turn_that_is_told_again_is_asked_for_once(form: Any) -> None:
    dues, said, kept = Dues(), told(), stored()
    for _ in range(3):
        assert list(dues.of(Match(kept, (0,)), ask(said), form, PROFILE)) == put("thought")
    assert form.asked == 1


def test_a_turn_that_is_told_otherwise_or_stored_anew_is_asked_for_again(form: Any) -> None:
    dues, said, kept = Dues(), told(), stored()
    asked: list[tuple[Kept, Said, list[Edit]]] = [
        (kept, said, put("thought")),
        (kept, told(reasoning_content="thought"), []),
        (stored("another"), said, put("another")),
        (kept, said, put("thought")),
    ]
    for turn, telling, edits in asked:
        assert list(dues.of(Match(turn, (0,)), ask(telling), form, PROFILE)) == edits
    assert form.asked == 3  # of a turn that is told whole no format is asked


def test_a_turn_that_is_stored_anew_each_time_takes_one_place(form: Any) -> None:
    dues, said = Dues(), told()
    for number in range(9):
        dues.of(Match(stored(str(number)), (0,)), ask(said), form, PROFILE)
    assert len(dues._known) == 1


def test_turns_that_are_gone_are_never_taken_for_those_that_have_their_place_in_memory(form: Format) -> None:
    dues = Dues()
    for number in range(1_000):
        edits = dues.of(Match(stored(str(number)), (0,)), ask(told()), form, PROFILE)
        assert list(edits) == put(str(number))


def test_the_spelling_of_a_request_counts_and_so_does_its_provider(form: Any) -> None:
    dues, said, kept = Dues(), told(), stored()
    plain = ask(said)
    for asked, profile in ((plain, PROFILE), (replace(plain, spelling="snake"), PROFILE), (plain, replace(PROFILE))):
        dues.of(Match(kept, (0,)), asked, form, profile)
    assert form.asked == 3


def test_of_too_many_turns_the_first_are_forgotten(form: Any) -> None:
    dues, kept = Dues(most=2), stored()
    tellings = [told() for _ in range(3)]
    for said in (*tellings, tellings[2], tellings[1], tellings[0]):
        dues.of(Match(kept, (0,)), ask(said), form, PROFILE)
    assert form.asked == 4


def test_a_batch_that_is_told_in_several_messages_is_looked_at_each_time(form: Any) -> None:
    kept = stored(calls=("c1", "c2"))
    for split in (("c1", "c2"), ("c1", "x2")):
        said = [told(number, call_id) for number, call_id in enumerate(split)]
        edits = Dues().of(Match(kept, (0, 1)), ask(*said), form, PROFILE)
        assert put("thought")[0] in edits
    assert form.asked == 2
