"""OpenAI's Responses: what no scenario reaches."""

import json

import pytest
from scenarios import responses_words as words

from thoughtkeep.formats.responses import ResponsesFormat
from thoughtkeep.formats.responses_answer import ResponsesAssembler, item_piece
from thoughtkeep.handover.rewrite import rewrite
from thoughtkeep.profiles import NEUTRAL
from thoughtkeep.splice import apply
from thoughtkeep.turns import Ask, Json, Message, Said, Turn

FORM = ResponsesFormat()
ASK = Ask("responses", "gpt-5.2", True, (), "")


@pytest.mark.parametrize(
    "body",
    [[], {"model": "m"}, {"input": [], "model": 7}, {"input": [], "model": ""}, {"input": 7, "model": "m"}],
)
def test_a_body_without_input_and_a_model_is_no_request(body: Json) -> None:
    assert FORM.endpoint("/v1/responses", body) is None


def test_the_path_alone_may_be_a_request() -> None:
    assert FORM.endpoint("/v1/responses", None) is not None


@pytest.mark.parametrize("path", ["/v1/responses/compact", "/v1/responses/resp_1/cancel", "/v1/responses/input_tokens"])
def test_other_paths_are_other_requests(path: str) -> None:
    assert FORM.endpoint(path, words.GPT([])) is None


def test_an_item_without_a_place_gets_no_company() -> None:
    said = Said((Message(("input", 1), {}),), (item_piece(words.call("call_1", ref="fc_1")),))
    turn = Turn((item_piece(words.HM), item_piece(words.call("call_1", ref="fc_1"))))
    assert FORM.restore(said, turn, NEUTRAL, ASK) == []


def fed(*events: Json) -> ResponsesAssembler:
    assembler = ResponsesAssembler()
    assembler.feed(events)
    return assembler


@pytest.mark.parametrize(
    ("content", "reason"),
    [([{"type": "refusal", "refusal": "No."}], "refusal"), ([7], "completed"), ("At noon.", "completed")],
)
def test_an_answer_tells_its_model_its_tokens_and_why_it_ended(content: Json, reason: str) -> None:
    answer = fed(7, words.ended({**words.message("", "msg_1"), "content": content}))
    assert (answer.served, answer.tokens, answer.reason) == ("served", 28, reason)


def test_reasoning_in_words_is_the_prose_of_the_turn() -> None:
    summary = [{"type": "summary_text", "text": "Tides. "}]
    content = [{"type": "reasoning_text", "text": "The moon."}]
    (turn,) = fed(words.ended(words.reason("rs_1", summary=summary, content=content))).turns()
    assert turn.prose == "Tides. The moon."


def test_an_answer_holds_the_items_that_were_done() -> None:
    assert fed(*words.created(), words.added(1, words.HM), *words.done(0, words.AND)).held() == [words.AND]


def test_tools_that_a_developer_defines_in_an_item_are_the_developers_and_stay_in_a_handover() -> None:
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "exec"}]}
    asked = {"type": "message", "role": "user", "content": "begin"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    more = {"type": "message", "role": "user", "content": "go on"}
    body = {"model": "m", "input": [tools, asked, said, more]}
    endpoint = FORM.endpoint("/v1/responses", body)
    assert endpoint is not None
    ask = FORM.read(body, endpoint)
    assert ask.tools
    assert len(ask.said) == 1
    edits = rewrite(ask, FORM, 1, "what happened")
    assert edits is not None
    sent = json.loads(apply(json.dumps(body).encode(), edits))["input"]
    assert [item["type"] for item in sent] == ["additional_tools", "message"]
    assert sent[0] == tools


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary"])
def test_a_history_that_the_provider_folded_away_is_told_as_folded(kind: str) -> None:
    body = {"model": "m", "input": [{"type": kind, "encrypted_content": "x"}, {"role": "user", "content": "go on"}]}
    endpoint = FORM.endpoint("/v1/responses", body)
    assert endpoint is not None
    assert FORM.read(body, endpoint).folded
    del body["input"][0]
    assert not FORM.read(body, endpoint).folded
