"""Thinking blocks that are missing or refused, and prose that is missing or not wanted."""

import pytest
from refused import MESSAGES, OTHER, SIGNED, answer, claude, mended, said, talk, thinking, use
from scenarios import chat_words as chat

from thoughtkeep.turns import Json

OFF = {"type": "disabled"}
HM, AH, OH = thinking("Hm.", SIGNED), thinking("Ah.", "EvADc2Vjb25k"), thinking("Oh.", OTHER)
REDACTED = {"type": "redacted_thinking", "data": OTHER}
WORDS = {"type": "text", "text": "At six."}
MORE = {"role": "user", "content": "And now?"}

# A turn that is done, then one with a step: messages 1, 3 and 5 are the assistant's.
DONE = [said(HM, use("tide", "a")), answer("a"), said(AH, WORDS), MORE]
BARE = [said(use("tide", "a")), answer("a"), said(WORDS), MORE]


def loop(*steps: Json, **more: Json) -> Json:
    """A turn that is done, and one under way with these steps."""
    return claude(*DONE, *steps, **more)


def off(*messages: Json) -> Json:
    return claude(*messages, thinking=OFF)


# -- missing ----------------------------------------------------------------------------------------------------------

UNDER_WAY = [said(use("tide", "b")), answer("b")]


def test_where_thinking_is_missing_it_is_turned_off_and_none_is_sent() -> None:
    assert mended(MESSAGES, loop(*UNDER_WAY), "thinking_missing", ("5",)).body == off(*BARE, *UNDER_WAY)


def test_what_is_refused_without_thinking_goes_with_it() -> None:
    editing = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    body = loop(*UNDER_WAY, context_management=editing)
    assert mended(MESSAGES, body, "thinking_missing", ("5",)).body == off(*BARE, *UNDER_WAY)


def test_a_provider_that_thinks_unless_told_otherwise_is_told_otherwise() -> None:
    body = claude(*UNDER_WAY)
    del body["thinking"]
    assert mended("https://api.deepseek.com/anthropic/v1/messages", body, "thinking_missing").body["thinking"] == OFF


def test_thinking_stays_off_for_the_rest_of_the_turn_and_no_longer() -> None:
    marks = mended(MESSAGES, loop(*UNDER_WAY), "thinking_missing", ("5",)).marks
    more = [*UNDER_WAY, said(use("moon", "c")), answer("c")]
    assert mended(MESSAGES, loop(*more), "thinking_missing", only=marks).body == off(*BARE, *more)
    after = loop(*more, said(WORDS), MORE)
    assert mended(MESSAGES, after, "thinking_missing", only=marks).body == after
    again = loop(*more, said(WORDS), MORE, said(OH, use("tide", "d")), answer("d"))
    assert mended(MESSAGES, again, "thinking_missing", only=marks).body == again


def test_a_request_that_has_thinking_off_is_left_alone() -> None:
    body = loop(*UNDER_WAY, thinking={**OFF, "extra": 1})
    assert mended(MESSAGES, body, "thinking_missing").body == body


def test_a_refusal_outside_of_a_tool_loop_is_for_that_request_alone() -> None:
    body = claude(*DONE)
    found = mended(MESSAGES, body, "thinking_missing", ("3",))
    assert found.body == off(*BARE)
    assert mended(MESSAGES, body, "thinking_missing", only=found.marks).body == body


# -- refused ----------------------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, Json, tuple[str, ...], Json]] = [
    ("all of it: the one that is named is only the first that fails", claude(*DONE), ("3",), claude(*BARE)),
    ("all where none is named", claude(*DONE), (), claude(*BARE)),
    ("all where the named one is no message of the assistant", claude(*DONE), ("9",), claude(*BARE)),
    (
        "in a tool loop all, and thinking itself",
        loop(said(OH, use("tide", "b")), answer("b")),
        ("5",),
        off(*BARE, *UNDER_WAY),
    ),
    (
        "in a tool loop too where none is named",
        loop(said(OH, use("tide", "b")), answer("b")),
        (),
        off(*BARE, *UNDER_WAY),
    ),
    (
        "before a tool loop only what stands there, and thinking stays on",
        loop(said(OH, use("tide", "b")), answer("b")),
        ("1",),
        claude(*BARE, said(OH, use("tide", "b")), answer("b")),
    ),
    (
        "where thinking is off already it is not turned off",
        loop(said(OH, use("tide", "b")), answer("b"), thinking=OFF, context_management={}),
        ("5",),
        claude(*BARE, *UNDER_WAY, thinking=OFF, context_management={}),
    ),
    ("redacted blocks too", claude(said(REDACTED, WORDS), MORE), ("1",), claude(said(WORDS), MORE)),
    (
        "of a run of them each",
        claude(said(HM, REDACTED, WORDS, OH, WORDS), MORE),
        ("1",),
        claude(said(WORDS, WORDS), MORE),
    ),
    (
        "a message that held nothing else goes",
        claude(said(HM, REDACTED), said(WORDS), MORE),
        (),
        claude(said(WORDS), MORE),
    ),
    ("but not where the turn held nothing else", claude(said(HM), MORE), (), claude(said(HM), MORE)),
]


@pytest.mark.parametrize(("_rule", "body", "named", "fixed"), REFUSED)
def test_refused_thinking_goes(_rule: str, body: Json, named: tuple[str, ...], fixed: Json) -> None:
    assert mended(MESSAGES, body, "thinking_refused", named).body == fixed


@pytest.mark.parametrize(("_rule", "body", "named", "fixed"), REFUSED)
def test_what_was_refused_once_goes_again_whatever_its_message_is_by_then(
    _rule: str, body: Json, named: tuple[str, ...], fixed: Json
) -> None:
    marks = mended(MESSAGES, body, "thinking_refused", named).marks
    found = mended(MESSAGES, body, "thinking_refused", ("7",), only=marks).body
    assert found == fixed
    assert mended(MESSAGES, fixed, "thinking_refused", only=marks).body == fixed


def test_blocks_that_were_never_refused_stay_and_thinking_is_on_again_in_the_next_turn() -> None:
    body = loop(said(OH, use("tide", "b")), answer("b"))
    marks = mended(MESSAGES, body, "thinking_refused", ("5",)).marks
    new = thinking("New.", "EvADbmV3")
    later = [said(WORDS), MORE, said(new, use("moon", "c")), answer("c")]
    fixed = mended(MESSAGES, loop(said(OH, use("tide", "b")), answer("b"), *later), "thinking_refused", only=marks).body
    assert fixed == claude(*BARE, *UNDER_WAY, *later)
    assert mended(MESSAGES, loop(*later), "thinking_refused", only=()).body == loop(*later)


# -- prose ------------------------------------------------------------------------------------------------------------

CALL = chat.call("c1")
THOUGHT = {"reasoning_content": "Hm."}
EMPTY = {"reasoning_content": ""}


def test_missing_prose_is_an_empty_string_on_every_message_that_has_none() -> None:
    def body(first: Json, second: Json, third: Json) -> Json:
        said_first, said_second = chat.assistant(None, CALL, **first), chat.assistant("At six.", **second)
        open_step = chat.assistant(None, CALL, **third)
        return talk("deepseek", said_first, chat.tool("c1"), said_second, chat.user("more"), open_step, chat.tool("c1"))

    lossy = body({}, {"reasoning_content": None}, THOUGHT)
    found = mended(chat.DEEPSEEK, lossy, "prose_missing")
    assert found.body == body(EMPTY, EMPTY, THOUGHT)
    assert mended(chat.DEEPSEEK, lossy, "prose_missing", only=found.marks).body == found.body
    assert mended(chat.DEEPSEEK, found.body, "prose_missing", only=found.marks).body == found.body


def test_no_prose_is_put_where_the_request_has_thinking_off() -> None:
    body = talk("deepseek", chat.assistant(None, CALL), chat.tool("c1"), thinking=OFF)
    assert mended(chat.DEEPSEEK, body, "prose_missing", only=()).body == body


def test_keys_that_are_not_wanted_go_from_every_message_and_no_other_key_does() -> None:
    def body(**keys: Json) -> Json:
        first = chat.assistant(None, CALL, **keys, cot_id="x")
        return talk("gpt-oss", first, chat.tool("c1"), chat.assistant("So.", **keys), chat.user("more"))

    lossy = body(reasoning_content="Hm.", reasoning="Hm.")
    found = mended(chat.GROQ, lossy, "state_unwanted", ("reasoning_content", "reasoning_format"))
    assert found.body == body(reasoning="Hm.")
    assert found.marks == ("reasoning_content",)
    assert mended(chat.GROQ, lossy, "state_unwanted", only=found.marks).body == found.body
    assert mended(chat.GROQ, lossy, "state_unwanted", ("reasoning_content",), only=()).body == lossy


def test_what_is_too_long_is_not_edited_but_sent_as_the_client_wrote_it() -> None:
    body = talk("gemini-3-pro", chat.assistant(None, CALL), chat.tool("c1"))
    assert mended(chat.GOOGLE, body, "overflow").body == body
