"""What every wire format promises the engines."""

import json

import pytest

from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import FORMATS, Endpoint, Format
from thoughtkeep.formats.conversation import Conversation
from thoughtkeep.profiles import NEUTRAL
from thoughtkeep.splice import apply
from thoughtkeep.turns import Json, Kind, Piece, Turn

pytest_form = pytest.mark.parametrize("form", [pytest.param(form, id=form.name) for form in FORMATS])

TALK: Json = {"model": "asked", "messages": [], "max_tokens": 5, "stream": True, "user": "u", "tools": [{}]}

# format, path, a request's body, the path of a question with another model
QUESTIONS: list[tuple[str, str, Json, str]] = [
    ("chat", "/v1/chat/completions?a=b", TALK, "/v1/chat/completions?a=b"),
    ("chat", "/v1/chat/completions", {"model": "asked", "messages": []}, "/v1/chat/completions"),
    (
        "chat",
        "/openai/deployments/asked/chat/completions?api-version=1",
        TALK,
        "/openai/deployments/other%2F1/chat/completions?api-version=1",
    ),
    ("chat", "/serving-endpoints/asked/invocations", TALK, "/serving-endpoints/other%2F1/invocations"),
    (
        "gemini",
        "/v1beta/models/asked:streamGenerateContent?alt=sse&key=k",
        {"contents": [], "tools": [{}]},
        "/v1beta/models/other%2F1:generateContent?key=k",
    ),
    ("gemini", "/v1beta/models/asked:generateContent", {"contents": []}, "/v1beta/models/other%2F1:generateContent"),
    (
        "gemini",
        "/v1internal:streamGenerateContent?alt=sse",
        {"model": "asked", "project": "p", "user": "u", "request": {"contents": [], "tools": [{}]}},
        "/v1internal:generateContent",
    ),
    ("messages", "/v1/messages?beta=true", TALK, "/v1/messages?beta=true"),
    (
        "messages",
        "/v1/publishers/anthropic/models/asked:streamRawPredict",
        {"anthropic_version": "vertex-1", "max_tokens": 5, "messages": []},
        "/v1/publishers/anthropic/models/other%2F1:rawPredict",
    ),
    ("responses", "/v1/responses", {"model": "asked", "input": [], "store": False, "user": "u"}, "/v1/responses"),
]


@pytest.mark.parametrize(("form", "path", "body", "asked"), QUESTIONS)
def test_a_question_is_a_request_of_its_own_format_with_one_users_words(
    form: str, path: str, body: Json, asked: str
) -> None:
    endpoint = recognise("POST", path, body)
    assert endpoint is not None
    chosen = endpoint.format
    question = chosen.question(body, "other/1", "What was said?", 77, ["user"])
    assert chosen.question_path(path, "other/1") == asked
    found = recognise("POST", chosen.question_path(path, "other/1"), question)
    assert found is not None
    assert (found.format.name, found.streamed) == (form, False)
    told = chosen.read(question, found)
    assert (told.first, told.said, told.tools) == ("What was said?", (), False)
    # What must come along does, what the client asked for besides does not.
    assert question.get("user") == body.get("user")
    assert "tools" not in question


def test_a_question_to_chat_has_its_limit_under_the_clients_key_or_none() -> None:
    chat = FORMATS[0]
    assert chat.question({"max_tokens": 1}, "m", "q", 77, [])["max_tokens"] == 77
    assert chat.question({"max_completion_tokens": 1}, "m", "q", 77, [])["max_completion_tokens"] == 77
    assert set(chat.question({}, "m", "q", 77, [])) == {"model", "messages", "stream"}


@pytest_form
def test_a_message_of_words_is_read_as_these_words(form: Format) -> None:
    listed = "contents" if form.name == "gemini" else "input" if form.name == "responses" else "messages"
    body = {listed: [form.message("user", "Hello."), form.message("assistant", "Well?"), form.message("user", "So.")]}
    path = {"chat": "/chat/completions", "gemini": "/models/m:generateContent"}.get(form.name, f"/{form.name}")
    endpoint = recognise("POST", path, {**body, "model": "m", "max_tokens": 1})
    assert endpoint is not None
    assert endpoint.format is form
    ask = form.read(body, endpoint)
    assert (ask.first, ask.words) == ("Hello.", "So.")
    assert [(piece.kind, piece.text) for said in ask.said for piece in said.pieces] == [(Kind.TEXT, "Well?")]
    for message in body[listed]:
        assert form.content in message


@pytest_form
def test_a_block_of_words_is_heard_as_these_words(form: Format) -> None:
    talk = Conversation()
    talk.heard(form.words("Hello."), at=(), block=())
    assert talk.ask()["first"] == "Hello."


@pytest_form
def test_an_assembler_that_was_fed_nothing_of_use_has_no_turn_and_no_end(form: Format) -> None:
    assembler = form.assembler(NEUTRAL)
    nothing: list[Json] = [None, 5, "text", [], {}, {"type": 7}, {"choices": {}, "candidates": 3}]
    for event in nothing:
        assembler.feed([event])
    assert assembler.turns() == []
    assert not assembler.ended
    assert not assembler.failed
    assert (assembler.served, assembler.upstream, assembler.tokens) == ("", "", 0)
    assert not any(assembler.held())


@pytest_form
def test_an_end_mark_alone_is_no_answer(form: Format) -> None:
    assembler = form.assembler(NEUTRAL)
    assembler.end()
    assert not assembler.ended
    assert assembler.turns() == []


def test_each_format_has_a_name_of_its_own() -> None:
    assert len({form.name for form in FORMATS}) == len(FORMATS)


@pytest_form
def test_a_format_has_a_frame_for_each_turn_and_for_the_answer_or_none_at_all(form: Format) -> None:
    listed = "contents" if form.name == "gemini" else "input" if form.name == "responses" else "messages"
    said = [form.message("user", "Hello."), form.message("assistant", "Well?"), form.message("user", "So.")]
    body = {listed: said, "model": "m", "max_tokens": 1}
    ask = form.read(body, Endpoint(form, "m", False))
    frames = form.frames(b"k" * 32, body, ask)
    assert len(frames) in (0, len(ask.said) + 1)
    assert len(set(frames)) == len(frames)


@pytest_form
def test_answers_are_repaired_only_where_a_profile_says_so(form: Format) -> None:
    assert form.repairer(NEUTRAL) is None


@pytest.mark.parametrize("echoed", ["reasoning", "reasoning_content"])
def test_reasoning_that_came_under_two_names_is_told_whole_under_either(echoed: str) -> None:
    turn = Turn(
        (Piece(Kind.TEXT, "Yes."),), {"reasoning_content": "Why not?"}, "Why not?", ("reasoning", "reasoning_content")
    )
    body = {"model": "m", "messages": [{"role": "assistant", "content": "Yes.", echoed: "Why not?"}]}
    endpoint = recognise("POST", "/chat/completions", body)
    assert endpoint is not None
    ask = endpoint.format.read(body, endpoint)
    assert endpoint.format.restore(ask.said[0], turn, NEUTRAL, ask) == []


@pytest.mark.parametrize("others", ["thoughtSignature", "thought_signature"])
@pytest.mark.parametrize("kept", ["new_signature", "newSignature"])
def test_a_key_that_a_part_has_in_either_spelling_is_not_put_in_again(kept: str, others: str) -> None:
    turn = Turn((Piece(Kind.TEXT, "Yes.", state={"newSignature": "A" * 40}),))
    for value, due in (("A" * 40, []), ("A" * 9, [kept])):
        parts = [{"text": "Yes.", kept: value}, {"text": "", others: "B" * 40, f"{others}2": "C" * 40}]
        body = {"contents": [{"role": "model", "parts": parts}]}
        endpoint = recognise("POST", "/v1beta/models/m:generateContent", body)
        assert endpoint is not None
        ask = endpoint.format.read(body, endpoint)
        assert [edit.key for edit in endpoint.format.restore(ask.said[0], turn, NEUTRAL, ask)] == due


def test_parts_of_no_known_kind_are_told_from_each_other_by_their_keys() -> None:
    parts = [{"one_key": {"a": 1}}, {}, {"other": "x"}, {"thoughtSignature": "A" * 40}]
    endpoint = recognise("POST", "/v1beta/models/m:generateContent", {"contents": []})
    assert endpoint is not None
    form = endpoint.format
    assembler = form.assembler(NEUTRAL)
    assembler.feed([{"candidates": [{"content": {"parts": [*parts, {"text": "Yes."}]}, "finishReason": "STOP"}]}])
    body = {"contents": [{"role": "model", "parts": [{"text": "Yes."}]}]}
    for _ in range(2):
        ask = form.read(body, endpoint)
        edits = form.restore(ask.said[0], assembler.turns()[0], NEUTRAL, ask)
        body = json.loads(apply(json.dumps(body).encode(), edits)) if edits else body
    assert body["contents"][0]["parts"] == [parts[0], *parts[2:], {"text": "Yes."}]


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_result_that_json_has_no_word_for_is_read_by_its_words(odd: float) -> None:
    result = {"functionResponse": {"name": "f", "response": {"output": [odd, "found"]}}}
    body = {"contents": [{"role": "user", "parts": [result]}]}
    endpoint = recognise("POST", "/v1beta/models/m:generateContent", body)
    assert endpoint is not None
    assert [said.text for said in endpoint.format.read(body, endpoint).talk] == ['["found"]']
