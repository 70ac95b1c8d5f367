"""Which stored turn an assistant turn of a request is: each rule on values alone, without a wire format."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.identity import trail
from thoughtkeep.keep import keep
from thoughtkeep.replay import keys_of, matches
from thoughtkeep.turns import Ask, Call, Facts, Json, Kept, Kind, Message, Owner, Piece, Said, Turn

KEY = b"k" * 32
OWNER = Owner("somewhere", "m")


def call(name: str, call_id: str = "", arguments: str = "{}") -> Piece:
    return Piece(Kind.CALL, call=Call(call_id, name, arguments))


def text(words: str, **state: Json) -> Piece:
    return Piece(Kind.TEXT, words, state=state)


@dataclass
class Story:
    """A conversation as some client tells it."""

    first: str = "begin"
    said: list[Said] = field(default_factory=list)
    words: str = ""
    results: tuple[str, ...] = ()
    only_results: bool = False

    def user(self, words: str) -> "Story":
        return Story(self.first, self.said, words)

    def answered(self, *ids: str, words: str = "") -> "Story":
        return Story(self.first, self.said, words, ids, True)

    def tells(self, *pieces: Piece, **state: Json) -> "Story":
        at = ("messages", len(self.said))
        said = Said((Message(at, state),), pieces, self.words, self.results, self.only_results)
        return Story(self.first, [*self.said, said])

    @property
    def ask(self) -> Ask:
        return Ask("any", "m", True, tuple(self.said), self.first, self.words)


class Shelf:
    """What was stored, in the order it was made."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []

    def add(self, story: Story, *pieces: Piece, prose: str = "", **state: Json) -> str:
        ask, now = story.ask, float(len(self.kept))
        turn = Turn(pieces, state, prose)
        (kept,) = keep(KEY, f"turn{len(self.kept)}", "t", OWNER, ask, trail(KEY, ask), [turn], now)
        self.kept.append(kept)
        return kept.id

    def facts(self, ask: Ask) -> Facts:
        """What a store leads to from the keys, newest first."""
        keys = keys_of("t", ask, trail(KEY, ask))
        marks = {*keys.lineages, *keys.call_ids, *keys.values}
        led = [kept for kept in self.kept if marks & {kept.lineage, *kept.call_ids, *kept.values}]
        return Facts(tuple(reversed(led)))

    def find(self, story: Story) -> list[tuple[str, tuple[int, ...], bool]]:
        ask = story.ask
        found = matches(ask, trail(KEY, ask), self.facts(ask))
        return [(match.kept.id, match.said, match.whole) for match in found]

    def known(self, story: Story) -> list[str]:
        return [id_ for id_, _, _ in self.find(story)]


ASKED = Story().user("begin")

# -- rule 1: the place and the content -------------------------------------------------------------------------------


def test_a_call_is_known_by_its_place_its_name_and_its_arguments_whatever_its_id() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, call("f", "c1", '{"a":1}'))
    assert shelf.known(ASKED.tells(call("f", "other", '{"a":1}'))) == [id_]
    assert shelf.known(ASKED.tells(call("f", "", '{"a":1}'))) == [id_]
    assert shelf.known(ASKED.tells(call("g", "other", '{"a":1}'))) == []
    assert shelf.known(ASKED.tells(call("f", "other", '{"a":2}'))) == []


def test_calls_are_told_in_their_order() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, call("f"), call("g"))
    assert shelf.known(ASKED.tells(call("f"), call("g"))) == [id_]
    assert shelf.known(ASKED.tells(call("g"), call("f"))) == []


def test_words_beside_calls_do_not_matter_without_calls_they_do() -> None:
    shelf = Shelf()
    one = shelf.add(ASKED, text("Let me see."), call("f"))
    two = shelf.add(ASKED, text("It is done."))
    assert shelf.known(ASKED.tells(call("f"))) == [one]
    assert shelf.known(ASKED.tells(text("It  is\ndone. "))) == [two]
    assert shelf.known(ASKED.tells(text("It was done."))) == []


def test_reasoning_and_answer_joined_count_as_the_answer() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, text("It is done."), prose="So.")
    assert shelf.known(ASKED.tells(text("So. It is done."))) == [id_]


def test_an_answer_without_words_and_calls_is_at_no_place() -> None:
    shelf = Shelf()
    shelf.add(ASKED, text("", token="s" * 30))
    assert shelf.known(ASKED.tells(text(""))) == []


def test_other_first_words_are_another_place() -> None:
    shelf = Shelf()
    shelf.add(ASKED, text("It is done."))
    assert shelf.known(Story("else").user("else").tells(text("It is done."))) == []


def test_a_turn_behind_others_is_known_by_what_they_were() -> None:
    shelf = Shelf()
    one = shelf.add(ASKED, call("f", "c1"))
    behind = ASKED.tells(call("f", "c1")).answered("c1")
    two = shelf.add(behind, text("Done."))
    assert shelf.known(behind.tells(text("Done."))) == [one, two]
    # a reworded turn takes the place away from those behind it
    assert shelf.known(ASKED.tells(call("f", "x", "[1]")).answered("x").tells(text("Done."))) == []


def test_of_equal_turns_at_one_place_the_ids_tell_then_all_words_before_then_those_just_before_then_the_newest() -> (
    None
):
    shelf = Shelf()

    def story(first_words: str, last_words: str) -> Story:
        return Story().user(first_words).tells(call("f", "c1")).answered("c1", words=last_words)

    a, b, c = story("one", "x"), story("two", "x"), story("two", "y")
    ids = {name: shelf.add(each, call("g", name)) for name, each in (("a", a), ("b", b), ("c", c), ("d", c))}
    last = call("g", "other")
    assert shelf.known(a.tells(last)) == [ids["a"]]
    assert shelf.known(b.tells(last)) == [ids["b"]]
    assert shelf.known(c.tells(last)) == [ids["d"]]  # the newest of two that nothing tells apart
    assert shelf.known(c.tells(call("g", "c"))) == [ids["c"]]
    assert shelf.known(c.tells(call("g", "a"))) == [ids["a"]]
    assert shelf.known(story("three", "x").tells(last)) == [ids["b"]]  # the words just before are the same
    assert shelf.known(story("three", "z").tells(call("g", "a"))) == [ids["a"]]


# -- rule 2: a mark that occurs once --------------------------------------------------------------------------------

ELSEWHERE = Story("summary").user("summary")
TOKEN = "opaque-value-of-some-length-1"
TOKEN2 = "opaque-value-of-some-length-2"


def test_elsewhere_an_id_that_occurs_once_is_known_with_its_name_and_arguments() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, call("f", "c1", '{"a":1}'))
    assert shelf.known(ELSEWHERE.tells(call("f", "c1", '{"a":1}'))) == [id_]
    assert shelf.known(ELSEWHERE.tells(call("f", "c2", '{"a":1}'))) == []
    assert shelf.known(ELSEWHERE.tells(call("f", "c1", '{"a":2}'))) == []
    assert shelf.known(ELSEWHERE.tells(call("g", "c1", '{"a":1}'))) == []
    assert shelf.known(ELSEWHERE.tells(text("c1"))) == []


def test_elsewhere_an_id_that_repeats_is_not_known() -> None:
    shelf = Shelf()
    shelf.add(ASKED, call("f", "c1"))
    shelf.add(Story("else").user("else"), call("f", "c1"))
    assert shelf.known(ELSEWHERE.tells(call("f", "c1"))) == []


def test_elsewhere_one_id_of_several_is_enough_if_all_calls_are_the_same() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, call("f", "c1"), call("g", "c2"))
    assert shelf.known(ELSEWHERE.tells(call("f", "x"), call("g", "c2"))) == [id_]
    assert shelf.known(ELSEWHERE.tells(call("f", "x"), call("h", "c2"))) == []


def test_elsewhere_an_opaque_value_that_occurs_once_is_known_with_its_words() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, text("Done."), token=TOKEN)
    assert shelf.known(ELSEWHERE.tells(text("Done."), token=TOKEN)) == [id_]
    assert shelf.known(ELSEWHERE.tells(text("Done.", any_key=TOKEN))) == [id_]
    assert shelf.known(ELSEWHERE.tells(text("Done too."), token=TOKEN)) == []
    assert shelf.known(ELSEWHERE.tells(call("f"), token=TOKEN)) == []
    assert shelf.known(ELSEWHERE.tells(text("Done."), token=TOKEN2)) == []
    shelf.add(ASKED, text("Done."), token=TOKEN)
    assert shelf.known(ELSEWHERE.tells(text("Done."), token=TOKEN)) == []


def test_elsewhere_a_text_alone_and_equal_content_alone_are_not_known() -> None:
    shelf = Shelf()
    shelf.add(ASKED, text("A sentence that occurs nowhere else."))
    shelf.add(ASKED, call("f", "", '{"unique":"argument"}'))
    assert shelf.known(ELSEWHERE.tells(text("A sentence that occurs nowhere else."))) == []
    assert shelf.known(ELSEWHERE.tells(call("f", "", '{"unique":"argument"}'))) == []


# -- batches --------------------------------------------------------------------------------------------------------

F, G, H = call("f", "c1"), call("g", "c2"), call("h", "c3")


def test_a_batch_told_in_pieces_with_its_own_results_between_is_one_turn() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, F, G, H)
    split = ASKED.tells(F).answered("c1").tells(G, H)
    assert shelf.find(split) == [(id_, (0, 1), True)]
    split = ASKED.tells(F).answered("c1").tells(G).answered("c2").tells(H)
    assert shelf.find(split) == [(id_, (0, 1, 2), True)]
    assert shelf.find(split.answered("c3").tells(text("Done."))) == [(id_, (0, 1, 2), True)]


def test_results_may_be_named_by_the_function() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, call("f"), call("g"))
    assert shelf.find(ASKED.tells(call("f")).answered("f").tells(call("g"))) == [(id_, (0, 1), True)]


@pytest.mark.parametrize(
    "story",
    [
        ASKED.tells(F).user("Wait.").tells(G),
        ASKED.tells(F).answered("c9").tells(G),
        ASKED.tells(F).answered("c1").tells(text("And:")).answered("c1").tells(G),
        ASKED.tells(F).answered("c1").tells(call("g", "c2", "[2]")),
        ASKED.tells(F).answered("c1").tells(H),
        ASKED.tells(F),
    ],
)
def test_of_a_batch_that_something_else_parts_only_the_beginning_is_told(story: Story) -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, F, G)
    assert shelf.find(story)[0] == (id_, (0,), False)


def test_of_a_batch_whose_end_is_missing_all_pieces_that_are_there_are_told() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, F, G, H)
    assert shelf.find(ASKED.tells(F).answered("c1").tells(G)) == [(id_, (0, 1), False)]


def test_what_does_not_begin_a_batch_is_no_part_of_it() -> None:
    shelf = Shelf()
    shelf.add(ASKED, F, G)
    assert shelf.find(ASKED.tells(call("g"))) == []
    assert shelf.find(ASKED.tells(F, G, H)) == []
    assert shelf.find(ASKED.tells()) == []


def test_of_batches_that_begin_alike_the_one_told_to_its_end_is_meant_then_the_newest() -> None:
    shelf = Shelf()
    old = shelf.add(ASKED, F, G)
    new = shelf.add(ASKED, F, H)
    assert shelf.find(ASKED.tells(F).answered("c1").tells(G)) == [(old, (0, 1), True)]
    assert shelf.find(ASKED.tells(F).answered("c1").tells(H)) == [(new, (0, 1), True)]
    assert shelf.find(ASKED.tells(F)) == [(new, (0,), False)]


def test_elsewhere_a_batch_in_pieces_is_known_by_an_id() -> None:
    shelf = Shelf()
    id_ = shelf.add(ASKED, F, G)
    assert shelf.find(ELSEWHERE.tells(F).answered("c1").tells(G)) == [(id_, (0, 1), True)]
    assert shelf.find(ELSEWHERE.tells(call("f")).answered("f").tells(call("g"))) == []


# -- properties ------------------------------------------------------------------------------------------------------

PIECES = st.one_of(
    st.builds(call, st.sampled_from("fgh"), st.sampled_from(["", "c1", "c2"]), st.sampled_from(["{}", "[1]"])),
    st.builds(text, st.sampled_from(["Done.", "Well.", ""])),
)
TURNS = st.lists(st.lists(PIECES, min_size=1, max_size=3), min_size=1, max_size=5)


def told(pieces: Sequence[Piece]) -> bool:
    return any(piece.call for piece in pieces) or bool("".join(piece.text for piece in pieces))


@given(TURNS)
def test_a_story_told_as_it_happened_has_each_of_its_turns_in_order(turns: list[list[Piece]]) -> None:
    shelf, story, ids = Shelf(), ASKED, []
    for number, pieces in enumerate(turns):
        id_ = shelf.add(story, *pieces)
        ids += [id_] * told(pieces)
        story = story.tells(*pieces).user(f"word {number}")
    assert shelf.known(story) == ids


@given(TURNS, TURNS)
def test_no_turn_of_a_request_is_told_twice_and_no_content_differs(
    stored: list[list[Piece]], asked: list[list[Piece]]
) -> None:
    shelf, story = Shelf(), ASKED
    for number, pieces in enumerate(stored):
        shelf.add(story, *pieces)
        story = story.tells(*pieces).user(f"word {number}")
    story = ASKED
    for pieces in asked:
        story = story.tells(*pieces).answered("c1", "c2", "f", "g", "h")
    numbers: list[int] = []
    for id_, said, whole in shelf.find(story):
        numbers += said
        kept = next(kept for kept in shelf.kept if kept.id == id_)
        calls = [(each.name, each.arguments) for number in said for each in story.said[number].calls]
        have = [(each.name, each.arguments) for each in kept.turn.calls]
        assert have[: len(calls)] == calls
        assert whole == (have == calls)
    assert numbers == sorted(set(numbers))


@given(TURNS)
def test_a_turn_is_found_through_the_keys_of_its_request_alone(turns: list[list[Piece]]) -> None:
    shelf, story = Shelf(), ASKED
    for pieces in turns:
        shelf.add(story, *pieces)
        story = story.tells(*pieces).user("more")
    ask = story.ask
    everything = replace(shelf.facts(ask), turns=tuple(reversed(shelf.kept)))
    through_keys = matches(ask, trail(KEY, ask), shelf.facts(ask))
    assert through_keys == matches(ask, trail(KEY, ask), everything)
