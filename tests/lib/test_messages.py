"""Anthropic's Messages: what no scenario reaches."""

import pytest
from scenarios import messages_words as words

from thoughtkeep.formats.messages import MessagesFormat
from thoughtkeep.formats.messages_answer import MessagesAssembler, block_piece
from thoughtkeep.profiles import NEUTRAL
from thoughtkeep.turns import Ask, Json, Message, Said, Turn

FORM = MessagesFormat()
ASK = Ask("messages", "claude-opus-4-6", True, (), "")


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {"messages": []},
        {"messages": {}, "max_tokens": 1, "model": "m"},
        {"messages": [], "max_tokens": 1},
        {"messages": [], "max_tokens": 1, "model": 7},
        {"messages": [], "max_tokens": 1, "model": ""},
    ],
)
def test_a_body_without_messages_and_their_limit_and_a_model_is_no_request(body: Json) -> None:
    found = FORM.endpoint("/v1/messages", body)
    assert found is None if body is not None else found is not None


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/messages/batches", "/v1/models/gemini:rawPredict"])
def test_other_paths_are_other_requests(path: str) -> None:
    assert FORM.endpoint(path, words.CLAUDE([])) is None


def told(*blocks: Json, at: bool = True) -> Said:
    """A message of these blocks, as read from a request."""
    place = ("messages", 1, "content")
    pieces = tuple(block_piece(block, (*place, number) if at else None) for number, block in enumerate(blocks))
    return Said((Message(place[:-1], {}),), pieces)


def issued(*blocks: Json) -> Turn:
    return Turn(tuple(map(block_piece, blocks)))


def test_thinking_of_which_no_neighbour_is_told_has_no_place() -> None:
    turn = issued(words.HM, words.text("At "), words.text("noon."))
    assert FORM.restore(told(words.text("At n"), words.text("oon.")), turn, NEUTRAL, ASK) == []


def test_an_empty_message_is_not_where_thinking_goes() -> None:
    assert FORM.restore(told(), issued(words.HM), NEUTRAL, ASK) == []


def fed(*events: Json) -> MessagesAssembler:
    assembler = MessagesAssembler()
    assembler.feed(events)
    return assembler


def test_an_answer_tells_its_model_its_tokens_and_why_it_ended() -> None:
    answer = fed(words.start("claude-x"), 7, *words.block(0, words.HM), *words.ending("refusal"))
    assert (answer.served, answer.tokens, answer.reason) == ("claude-x", 28, "refusal")
    assert fed(words.start(), {"type": "message_delta", "usage": {"cache_read_input_tokens": 30}}).tokens == 38
    plain = fed({"type": "message", "model": "claude-x", "content": None, "stop_reason": None, "usage": {}})
    assert (plain.served, plain.tokens, plain.reason, plain.turns()) == ("claude-x", 0, "", [])


def test_an_answer_holds_its_blocks_and_the_pieces_of_the_open_one() -> None:
    answer = fed(words.start(), *words.block(0, words.HM), *words.opened(1, words.text("At noon.")))
    assert answer.held() == [words.HM, words.text(""), {}, {"text": ["At n", "oon."]}]


def test_the_line_for_billing_in_a_system_prompt_binds_no_thinking() -> None:
    def frames(*system: str) -> list[str]:
        body = {
            "model": "claude-fable-5-1",
            "max_tokens": 9,
            "system": [{"type": "text", "text": text} for text in system],
            "messages": [{"role": "user", "content": "x"}],
        }
        endpoint = FORM.endpoint("/v1/messages", body)
        assert endpoint is not None
        return FORM.frames(b"k" * 32, body, FORM.read(body, endpoint))

    told = frames("x-anthropic-billing-header: cc_version=1; cch=a1;", "You are an agent.")
    assert told == frames("x-anthropic-billing-header: cc_version=1; cch=b2;", "You are an agent.")
    assert told != frames("x-anthropic-billing-header: cc_version=1; cch=a1;", "You are another.")


def test_a_request_nested_too_deep_to_be_digested_has_no_frames() -> None:
    deep: Json = "words"
    for _ in range(5000):
        deep = [deep]
    body = words.CLAUDE([{"role": "user", "content": deep}])
    assert FORM.frames(b"key", body, ASK) == []
