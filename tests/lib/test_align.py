"""Which piece of a request is which piece of a stored turn."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.align import Pairs, align
from thoughtkeep.turns import Call, Kind, Piece


def text(words: str) -> Piece:
    return Piece(Kind.TEXT, words)


def thought(words: str, ref: str = "") -> Piece:
    return Piece(Kind.THOUGHT, words, ref=ref)


def image(mark: str) -> Piece:
    return Piece(Kind.OTHER, f"\x1b{mark}")


def call(name: str, arguments: str = "{}", call_id: str = "1", ref: str = "") -> Piece:
    return Piece(Kind.CALL, call=Call(call_id, name, arguments), ref=ref)


A, B, C = call("a"), call("b"), call("c")
HI, THERE, EMPTY, HM = text("Hi "), text("there."), text(""), thought("hm")
CAT, DOG = image("cat"), image("dog")

Case = tuple[list[Piece], list[Piece], list[int | None]]

CASES: dict[str, Case] = {
    "all as it was": ([HM, HI, A, CAT], [HM, HI, A, CAT], [0, 1, 2, 3]),
    "nothing told": ([HM, HI, A, CAT], [], [None] * 4),
    "nothing issued": ([], [HI, A], []),
    "ids are no matter": ([A], [call("a", call_id="other")], [0]),
    "another name": ([A], [B], [None]),
    "other arguments": ([A], [call("a", '{"x":1}')], [None]),
    "a call dropped at the beginning": ([A, B, C], [B, C], [None, 0, 1]),
    "a call dropped in the middle": ([A, B, C], [A, C], [0, None, 1]),
    "a call dropped at the end": ([A, B, C], [A, B], [0, 1, None]),
    "all calls but one dropped": ([A, B, C], [C], [None, None, 0]),
    "two equal calls": ([A, A], [A, A], [0, 1]),
    "one of two equal calls": ([A, A], [A], [0, None]),
    "a call of the client's own": ([A, B], [A, C, B], [0, None]),
    "the text before a call dropped": ([HI, A, THERE], [A, THERE], [None, 0, 1]),
    "the text behind a call dropped": ([HI, A, THERE], [HI, A], [0, 1, None]),
    "the texts dropped": ([HI, A, THERE, B], [A, B], [None, 0, None, 1]),
    "another text in its place": ([HI, A], [text("Well."), A], [None, 1]),
    "a text with other white space": ([text("a  b\n"), A], [text("a b"), A], [0, 1]),
    "a text without its thinking": ([text("<think>x</think>a"), A], [text("a"), A], [0, 1]),
    "a text of the client's own before it": ([HI, A], [text("Well."), HI, A], [1, 2]),
    "an equal text behind the call": ([HI, A], [A, HI], [None, 0]),
    "an empty text dropped": ([EMPTY, HI, EMPTY, A], [HI, A], [None, 0, None, 1]),
    "an empty text kept": ([HI, EMPTY], [HI, EMPTY], [0, 1]),
    "a thought dropped": ([HM, A, HM, B], [A, B], [None, 0, None, 1]),
    "the first thought dropped": ([HM, A, thought("so"), B], [A, thought("so"), B], [None, 0, 1, 2]),
    "a thought without its words": ([HM, A], [thought(""), A], [0, 1]),
    "a thought with other words": ([HM, A], [thought("well"), A], [None, 1]),
    "a thought told as text": ([HM, A], [text("hm"), A], [None, 1]),
    "a thought between texts dropped": ([HI, HM, THERE], [HI, THERE], [0, None, 1]),
    "a thought and its id": ([thought("hm", "r1"), A], [thought("rewritten", "r1"), A], [0, 1]),
    "a text and its id": ([Piece(Kind.TEXT, "a", ref="m1")], [Piece(Kind.TEXT, "“a”", ref="m1")], [0]),
    "a text of another id": ([Piece(Kind.TEXT, "a", ref="m1")], [Piece(Kind.TEXT, "b", ref="m2")], [None]),
    "a text and its id lost": ([Piece(Kind.TEXT, "a", ref="m1")], [text("a")], [0]),
    "a text emptied": ([HI, A], [EMPTY, A], [None, 1]),
    "another kind with the same id": ([Piece(Kind.TEXT, "a", ref="m1")], [thought("b", "m1")], [None]),
    "an id without words in common, of a call": ([call("a", ref="f1")], [call("b", ref="f1")], [None]),
    "an image dropped": ([CAT, HI, A], [HI, A], [None, 0, 1]),
    "one of two images dropped": ([CAT, DOG], [DOG], [None, 0]),
    "behind an image in the place of another": ([CAT, HI, A], [DOG, HI, A], [None, None, 2]),
    "an image of the client's own before a text": ([HI, A], [CAT, HI, A], [None, 2]),
    "an image of the client's own before a call": ([A], [CAT, A], [1]),
    "the text before an image dropped": ([HI, CAT, THERE], [CAT, THERE], [None, 0, 1]),
}


@pytest.mark.parametrize(("issued", "told", "to"), CASES.values(), ids=CASES)
def test_pieces_are_paired_where(issued: list[Piece], told: list[Piece], to: list[int | None]) -> None:
    assert align(issued, told) == Pairs(tuple(to), {})


JOINED: dict[str, tuple[list[Piece], list[Piece], list[int | None], dict[int, tuple[int, ...]]]] = {
    "two texts": ([HI, THERE], [text("Hi there.")], [0, 0], {0: (0, 1)}),
    "two texts, white space changed": ([HI, THERE], [text("Hi\n\nthere.\n")], [0, 0], {0: (0, 1)}),
    "three texts": ([HI, THERE, text(" Bye.")], [text("Hi there. Bye.")], [0, 0, 0], {0: (0, 1, 2)}),
    "texts around an empty one": ([HI, EMPTY, THERE], [text("Hi there.")], [0, None, 0], {0: (0, 2)}),
    "texts between other pieces": ([HM, HI, THERE, A], [text("Hi there."), A], [None, 0, 0, 1], {0: (1, 2)}),
    "two texts, and the second again": ([HI, THERE], [text("Hi there."), THERE], [0, 0], {0: (0, 1)}),
    "two runs": ([HI, THERE, A, HI, THERE], [text("Hi there."), A, text("Hithere.")], [0, 0, 1, 2, 2], {}),
    "a text before them kept apart": ([text("So"), HI, THERE], [text("So"), text("Hi there.")], [0, 1, 1], {1: (1, 2)}),
}
JOINED["two runs"][3].update({0: (0, 1), 2: (3, 4)})


@pytest.mark.parametrize(("issued", "told", "to", "joined"), JOINED.values(), ids=JOINED)
def test_texts_are_found_in_the_one_that_a_client_made_of_them(
    issued: list[Piece], told: list[Piece], to: list[int | None], joined: dict[int, tuple[int, ...]]
) -> None:
    assert align(issued, told) == Pairs(tuple(to), joined)


@pytest.mark.parametrize(
    "told",
    [text("Hi there. Bye."), text("there. Hi"), text("Hi"), thought("Hi there."), text("")],
    ids=["more than they are", "in another order", "less than they are", "as a thought", "as nothing"],
)
def test_texts_that_do_not_make_up_the_clients_text_are_not_joined(told: Piece) -> None:
    assert align([HI, THERE], [told]).joined == {}


@pytest.mark.parametrize("words", ["Hi there.", "Hi hm there."])
def test_texts_are_not_joined_across_a_thought(words: str) -> None:
    assert align([HI, HM, THERE], [text(words)]) == Pairs((None, None, None), {})


PIECES = st.lists(st.sampled_from([A, B, HI, THERE, EMPTY, HM, CAT, thought("so")]), max_size=6)


@given(PIECES)
def test_a_turn_told_whole_is_paired_one_to_one(pieces: list[Piece]) -> None:
    copies = [replace(piece, state={"x": "y"}, at=("contents", 0, "parts", n)) for n, piece in enumerate(pieces)]
    assert align(pieces, copies) == Pairs(tuple(range(len(pieces))), {})


@given(PIECES, PIECES)
def test_pairs_are_in_order_each_taken_once_and_of_one_kind(issued: list[Piece], told: list[Piece]) -> None:
    pairs = align(issued, told)
    found = [(number, match) for number, match in enumerate(pairs.to) if match is not None]
    alone = [match for _, match in found if match not in pairs.joined]
    assert [match for _, match in found] == sorted(match for _, match in found)
    assert len(set(alone)) == len(alone)
    assert all(issued[number].kind is told[match].kind for number, match in found)
    for match, run in pairs.joined.items():
        assert len(run) > 1
        assert [number for number, to in found if to == match] == list(run)


@given(st.lists(st.sampled_from("abcde"), unique=True), st.data())
def test_calls_left_out_never_shift_the_others(names: list[str], data: st.DataObject) -> None:
    kept = [name for name in names if data.draw(st.booleans())]
    pairs = align([call(name) for name in names], [call(name) for name in kept])
    assert pairs.to == tuple(kept.index(name) if name in kept else None for name in names)
