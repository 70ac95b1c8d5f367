"""Reading a conversation in order: what is a turn, what stands before it, who speaks where."""

from typing import Any

import pytest

from thoughtkeep.formats.conversation import Conversation
from thoughtkeep.formats.regroup import REGROUPED, together
from thoughtkeep.turns import END, Call, Edit, Kind, Op, Path, Piece, Said, Who


def at(number: int) -> Path:
    return ("messages", number)


def piece(words: str = "", call_id: str = "", place: Path | None = None) -> Piece:
    if call_id:
        return Piece(Kind.CALL, call=Call(call_id, "f", "{}"), at=place)
    return Piece(Kind.TEXT, words, at=place)


def test_assistant_messages_with_nothing_between_them_are_one_turn() -> None:
    talk = Conversation()
    talk.user("hi", at=at(0))
    talk.assistant(at(1), {"a": 1}, [piece("one")])
    talk.assistant(at(2), {}, [piece("two")])
    talk.result(at(3), "c1", "found")
    talk.assistant(at(4), {}, [piece("three")])
    one, two = talk.ask()["said"]
    assert [message.at for message in one.messages] == [at(1), at(2)]
    assert [each.text for each in one.pieces] == ["one", "two"]
    assert [each.text for each in two.pieces] == ["three"]


def test_what_was_said_before_a_turn_is_the_turns_and_what_was_said_behind_the_last_is_the_requests() -> None:
    talk = Conversation()
    talk.user("be brief", speaks=False)
    talk.user("hi")
    talk.assistant(at(1), {}, [])
    talk.result(at(2), "c1", "found")
    talk.result(at(3), "c2", "lost")
    talk.assistant(at(4), {}, [])
    talk.result(at(5), "c3", "more")
    talk.user("and?")
    asked = talk.ask()
    one, two = asked["said"]
    assert (one.words, one.results, one.only_results) == ("hi", (), False)  # not the system's
    assert (two.words, two.results, two.only_results) == ("found\nlost", ("c1", "c2"), True)
    assert asked["words"] == "more\nand?"
    assert (one.answers, one.answered) == ((at(2), at(3)), ("c1", "c2"))
    assert two.answers == (at(5),)


def test_results_beside_words_are_not_only_results_and_nothing_is_none() -> None:
    talk = Conversation()
    talk.assistant(at(0), {}, [])
    talk.result(at(1), "c1", "found")
    talk.user("quick!")
    talk.assistant(at(3), {}, [])
    first, second = talk.ask()["said"]
    assert not first.only_results
    assert not second.only_results


def test_a_result_that_answers_nothing_is_a_word_like_any_other() -> None:
    talk = Conversation()
    talk.result(at(0), "c1", "found")
    talk.assistant(at(1), {}, [])
    (said,) = talk.ask()["said"]
    assert (said.words, said.results, said.answers) == ("found", ("c1",), ())


IMAGE: dict[str, Any] = {"type": "image", "source": "AAAA"}

# the user's messages before and behind the first answer -> the first words
FIRSTS: list[tuple[list[object], list[object], str | None]] = [
    (["hi"], ["there"], "hi"),
    (["<system-reminder>x</system-reminder>", "hi"], [], "hi"),
    (["<system-reminder>x</system-reminder>\nhi"], [], "hi"),
    ([IMAGE, "what is it?"], [], "what is it?"),
    ([IMAGE], ["what is it?"], None),
    ([], ["there"], "there"),
    ([], [], ""),
]


@pytest.mark.parametrize(("before", "behind", "first"), FIRSTS)
def test_the_first_words_are_the_users_and_stay_the_same_as_the_conversation_goes_on(
    before: list[object], behind: list[object], first: str | None
) -> None:
    firsts = []
    for goes_on in (False, True):
        talk = Conversation()
        talk.user("a system prompt", speaks=False)
        for part in before:
            talk.heard(part if isinstance(part, dict) else {"text": part}, at=at(0), block=at(0))
        if goes_on or not before:
            talk.assistant(at(1), {}, [piece("answer")])
            for part in behind:
                talk.user(str(part), at=at(2))
        firsts.append(talk.ask()["first"])
    assert firsts[0] == firsts[1]
    assert firsts[0] if first is None else firsts[0] == first


def test_an_image_is_told_by_its_content() -> None:
    firsts = set()
    for source in ("AAAA", "AAAA", "BBBB"):
        talk = Conversation()
        talk.heard({**IMAGE, "source": source}, at=at(0), block=at(0))
        firsts.add(talk.ask()["first"])
    assert len(firsts) == 2


def test_each_message_is_listed_once_with_who_speaks_in_it() -> None:
    talk = Conversation()
    talk.user("s", speaks=False, at=at(0))
    talk.user("one", at=at(1))
    talk.user("two", at=at(1))
    talk.assistant(at(2), {}, [piece(call_id="c1")])
    talk.result((*at(3), "content", 0), "c1", "found", message=at(3))
    talk.user("quick!", at=at(3))
    talk.assistant(at(4), {}, [piece(call_id="c2")])
    talk.user("first", at=at(5))
    talk.result((*at(5), "content", 1), "c2", "found", message=at(5))
    talk.assistant(at(6), {}, [piece(call_id="c3")])
    talk.result(at(7), "c3", "found")
    asked = talk.ask()
    whos = [Who.SYSTEM, Who.USER, Who.ASSISTANT, Who.USER, Who.ASSISTANT, Who.USER, Who.ASSISTANT, Who.RESULT]
    assert asked["listed"] == tuple((at(number), who) for number, who in enumerate(whos))
    assert [said.shared for said in asked["said"]] == [True, True, False]


def test_what_was_said_is_told_in_order_with_the_name_of_the_tool() -> None:
    talk = Conversation()
    talk.user("hi", at=at(0))
    talk.assistant(at(1), {}, [piece("hm", place=(*at(1), 0)), piece(call_id="c1"), Piece(Kind.OTHER, "image")])
    talk.result((*at(2), 0), "c1", "found", message=at(2))
    talk.result(at(3), "c9", "lost")
    assert [(each.who, each.text, each.at, each.block, each.name) for each in talk.ask()["talk"]] == [
        (Who.USER, "hi", at(0), at(0), ""),
        (Who.ASSISTANT, "hm", at(1), (*at(1), 0), ""),
        (Who.CALL, "{}", at(1), at(1), "f"),
        (Who.RESULT, "found", at(2), (*at(2), 0), "f"),
        (Who.RESULT, "lost", at(3), at(3), "c9"),
    ]


# -- a split batch ---------------------------------------------------------------------------------------------------


def batch(*, words: str = "", beside: bool = False, answered: bool = True, messages: int = 1) -> tuple[Said, ...]:
    """A batch of two calls in two messages, results within the users' messages between them."""
    talk = Conversation()
    talk.assistant(at(0), {}, [piece(call_id="c1", place=(*at(0), "content", 0))])
    if answered:
        talk.result((*at(1), "content", 0), "c1", "x", message=at(1))
    else:
        talk.user("?", at=at(1))
    talk.assistant(at(2), {}, [piece(words), piece(call_id="c2", place=(*at(2), "content", 0))])
    for number in range(1, messages):
        talk.assistant((*at(2), number), {}, [])
    talk.result((*at(3), "content", 0), "c2", "y", message=at(3))
    if beside:
        talk.user("quick!", at=at(3))
    return tuple(talk.ask()["said"])


def moved(source: Path, to: Path) -> Edit:
    return Edit(Op.MOVE, to, index=END, source=source, reason=REGROUPED)


def removed(place: Path) -> Edit:
    return Edit(Op.REMOVE, place, reason=REGROUPED)


CALL = moved((*at(2), "content", 0), (*at(0), "content"))
RESULT = moved((*at(3), "content", 0), (*at(1), "content"))


def test_calls_move_to_the_first_message_and_results_to_the_first_of_theirs() -> None:
    assert together(batch(), results=True) == [CALL, RESULT, removed(at(2)), removed(at(3))]
    assert together(batch(), results=False) == [CALL, removed(at(2))]


def test_a_message_in_which_the_user_speaks_beside_results_stays() -> None:
    assert together(batch(beside=True), results=True) == [CALL, RESULT, removed(at(2))]


@pytest.mark.parametrize(
    "split",
    [batch(words="And:"), batch(messages=2), batch(answered=False), (batch()[1], Said((), ())), (Said((), ()),)],
)
def test_what_is_no_bare_batch_is_left(split: tuple[Said, ...]) -> None:
    assert together(split, results=True) is None
