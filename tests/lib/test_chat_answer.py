"""What of a chat completion's message is reasoning in words, and what must come back with a signature."""

import pytest

from thoughtkeep.formats.chat_answer import ChatAssembler, is_prose_only
from thoughtkeep.profiles import NEUTRAL
from thoughtkeep.turns import Json

WORDS = {"type": "reasoning.text", "text": "Hm."}


@pytest.mark.parametrize(
    ("key", "value", "prose"),
    [
        ("reasoning", "Hm.", True),
        ("reasoning_opaque", "b64", False),
        ("reasoning_details", [WORDS], True),
        ("reasoning_details", [WORDS, {**WORDS, "signature": "s"}], False),
        ("reasoning_details", [{"type": "reasoning.encrypted", "data": "d"}], False),
        ("reasoning_items", [{"encrypted_content": "c"}], False),
        ("reasoning_details", [], False),
        ("reasoning_details", ["Hm."], False),
    ],
)
def test_words_alone_are_told_from_what_must_come_back_as_it_was(key: str, value: Json, prose: bool) -> None:
    assert is_prose_only(key, value) is prose


@pytest.mark.parametrize("odd", ["Hm.", {"text": "Hm."}, 5, True])
def test_a_list_of_entries_takes_the_place_of_what_is_none_and_is_read_without_an_error(odd: Json) -> None:
    def told(*values: Json, reason: str | None = "stop") -> Json:
        assembler = ChatAssembler(NEUTRAL)
        assembler.feed([{"choices": [{"delta": {"content": "Hi.", "reasoning_details": value}}]} for value in values])
        assembler.feed([{"choices": [{"delta": {}, "finish_reason": reason}]}])
        return assembler.turns()[0]

    entry = {**WORDS, "signature": "s"}
    assert told(odd, [entry]).state == {"reasoning_details": [entry]}
    assert told(odd).prose == ""
    assert told(odd, reason=None).state == {}
    assert is_prose_only("reasoning_details", odd) is False
