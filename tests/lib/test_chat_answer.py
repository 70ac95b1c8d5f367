"""What of a chat completion's message is reasoning in words, and what must come back with a signature."""

import pytest

from thoughtkeep.formats.chat_answer import is_prose_only
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
