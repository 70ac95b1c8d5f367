"""Requests and answers as pages: the same conversation reads the same in every format."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tongues import (
    CHAT,
    MESSAGES,
    RESPONSES,
    TONGUES,
    Call,
    Document,
    Event,
    Image,
    Results,
    Says,
    System,
    Tongue,
    User,
)

from thoughtkeep.answer import Answer
from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import Endpoint
from thoughtkeep.handover import rewrite
from thoughtkeep.handover.outcome import Outcome
from thoughtkeep.handover.prompt import TAG
from thoughtkeep.profiles import profile_for
from thoughtkeep.show.blocks import Owners
from thoughtkeep.show.page import LINES, answer_page, refusal_page, request_page
from thoughtkeep.show.story import Story
from thoughtkeep.turns import Ask, Edit, Kept, Kind, Missed, Op, Owner, Piece, Plan, Turn

type Json = Any

SEAL = "c2VhbA" * 20
URLS = {tongue.name: tongue.target[0].split("?")[0] for tongue in TONGUES}

TALK: tuple[Event, ...] = (
    System("Be brief."),
    User("What is the weather in Paris?"),
    Says("I look it up.", [Call("call_1", "look", {"city": "Paris"})], SEAL, "The user wants the weather."),
    Results(("call_1", "18 degrees")),
    Says("It is 18 degrees."),
    User("Thanks. And this?", Image("aGVsbG8="), Document("cGRm")),
)


def path_of(tongue: Tongue) -> str:
    return "/" + tongue.target[0].split("/", 3)[3].split("?")[0]


def read(tongue: Tongue, body: Json) -> tuple[Ask, Endpoint]:
    endpoint = recognise("POST", path_of(tongue), body)
    assert endpoint is not None
    return endpoint.format.read(body, endpoint), endpoint


def page(tongue: Tongue, events: tuple[Event, ...], story: Story | None = None, *, echoes: bool = True) -> list[str]:
    body = tongue.body(tongue.target[1], events, echoes=echoes)
    return request_page(read(tongue, body)[0], body, None, story)


def answered(tongue: Tongue, said: Says, story: Story | None = None, owner: Owner | None = None) -> list[str]:
    _, endpoint = read(tongue, tongue.body(tongue.target[1], TALK))
    answer = Answer(endpoint.format.assembler(profile_for("")), endpoint.format.ends, "text/event-stream", "")
    for event in tongue.stream(said):
        text = event if isinstance(event, str) else json.dumps(event)
        answer.feed(f"data: {text}\n\n".encode())
    answer.close()
    return answer_page(answer, owner or Owner("openrouter.ai", "model-1"), story)


def story(**more: Any) -> Story:
    return Story("id", "tenant", "r" * 32, "chat", "model-1", "openrouter.ai", True, **{"mode": "on", **more})


def owned(said: Says) -> Kept:
    calls = tuple(Piece(Kind.CALL, call=None) for _ in said.calls)
    turn = Turn((Piece(Kind.TEXT, said.text), *calls), {"seal": said.state})
    return Kept(
        "k", "t", Owner("openrouter.ai", "claude"), "chat", "r", "l", (), "c", "n", "absent", 1.0, turn, ("call_1",)
    )


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_a_request_reads_like_the_conversation_in_every_format(tongue: Tongue) -> None:
    lines = page(tongue, TALK)
    text = "\n".join(lines)
    order = [
        "\u2500\u2500 system",
        "Be brief.",
        "\u2500\u2500 user",
        "What is the weather in Paris?",
        "\u2500\u2500 assistant",
        "I look it up.",
        'call look {"city":"Paris"}',
        "result of look",
        "18 degrees",
        "It is 18 degrees.",
        "Thanks. And this?",
        "(i",  # image_url, image, inlineData, input_image
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "\u203984" not in text
    assert "4 tools (read, look, run, edit)" in lines[1]


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_state_is_shown_by_its_size_and_digest_and_never_itself(tongue: Tongue) -> None:
    text = "\n".join(page(tongue, TALK) + answered(tongue, TALK[2]))  # type: ignore[arg-type]  # it is what is said
    assert text.count("\u2039") >= 2
    assert not any(SEAL[at : at + 12] in text for at in range(6))


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_an_answer_is_assembled_from_its_events(tongue: Tongue) -> None:
    said = Says("I look it up.", [Call("call_1", "look", {"city": "Paris"})], SEAL, "The user wants the weather.")
    lines = answered(tongue, said)
    text = "\n".join(lines)
    assert lines[0].startswith("answer of model-1 at openrouter.ai") or "answer of some at openrouter.ai" in lines[0]
    assert "ended: " in lines[0]
    assert text.index("I look it up.") < text.index('call look {"city":"Paris"}')


def test_the_words_of_reasoning_are_told_once_however_often_they_come() -> None:
    said = Says("Yes.", state=SEAL, prose="Think it through, twice.")
    body = CHAT.body("m", [User("x"), said], echoes=True)
    body["messages"][1]["reasoning_content"] = said.prose
    text = "\n".join(request_page(read(CHAT, body)[0], body, None, None))
    assert text.count("Think it through, twice.") == 1
    assert "reasoning_details 1 entry, \u2039" in text
    assert "reasoning_content \u2039" in text


def test_state_that_is_a_flag_or_empty_is_told_as_it_is() -> None:
    body = CHAT.body("m", [User("x"), Says("Yes.")])
    body["messages"][1] |= {"cached": True, "entries": [], "weight": 1.5, "reasoning": "", "phase": "final"}
    text = "\n".join(request_page(read(CHAT, body)[0], body, None, None))
    for line in ("cached: true", "entries: []", "weight: 1.5", 'reasoning: ""', "phase: final"):
        assert f"  {line}" in text


def test_more_than_one_entry_is_counted() -> None:
    body = CHAT.body("m", [User("x"), Says("Yes.")])
    body["messages"][1]["reasoning_details"] = [{"type": "a", "data": SEAL}] * 3
    assert "reasoning_details 3 entries, \u2039" in "\n".join(request_page(read(CHAT, body)[0], body, None, None))


def test_a_thought_without_words_is_named_by_its_kind() -> None:
    lines = page(RESPONSES, TALK)
    assert "  (reasoning)" in lines
    redacted = MESSAGES.body("m", [User("x"), Says("Yes.")])
    redacted["messages"][1]["content"].insert(0, {"type": "redacted_thinking", "data": SEAL})
    assert any(
        line.startswith("  data \u2039120") for line in request_page(read(MESSAGES, redacted)[0], redacted, None, None)
    )


def test_thinking_among_the_content_is_told_as_thinking() -> None:
    body = CHAT.body("m", [User("x"), Says("Yes.")])
    body["messages"][1]["content"] = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Is it so?"}]},
        {"type": "text", "text": "It is."},
        {"type": "citation", "url": "https://example.invalid"},
    ]
    lines = request_page(read(CHAT, body)[0], body, None, None)
    assert "  thinking: Is it so?" in lines
    assert "  It is." in lines
    assert "  (citation)" in lines


def test_long_arguments_stand_one_to_a_line_and_fold() -> None:
    long = {"path": "src/main.py", "content": "\n".join(f"line {n}" for n in range(50)), "flags": [1, 2], "note": ""}
    text = "\n".join(page(CHAT, (User("x"), Says(calls=[Call("c", "edit", long)]))))
    assert "call edit   [c]" in text
    assert "    path: src/main.py" in text
    assert "    content: line 0" in text
    assert "44 lines folded" in text
    assert "    flags: [1,2]" in text
    assert '    note: ""' in text
    many = {f"argument_{n}": "x" * 20 for n in range(40)}
    assert "and 28 more arguments \u2039" in "\n".join(page(CHAT, (User("x"), Says(calls=[Call("c", "edit", many)]))))


def test_arguments_that_are_no_object_are_shown_as_text() -> None:
    body = CHAT.body("m", [User("x"), Says(calls=[Call("c", "run")])])
    function = body["messages"][1]["tool_calls"][0]["function"]
    for raw, told in (
        ("not json, " * 20, "    not json, not json"),
        (json.dumps(["a list"] * 30), '    ["a list","a list"'),
    ):
        function["arguments"] = raw
        assert any(told in line for line in request_page(read(CHAT, body)[0], body, None, None))


def test_a_handover_is_shown_to_its_end_where_other_words_fold() -> None:
    words = "\n".join(f"point {n}" for n in range(60))
    assert "point 30" not in "\n".join(page(CHAT, (User(words),)))
    assert "point 30" in "\n".join(page(CHAT, (User(f"{TAG}\n{words}"),)))


def test_a_model_is_named_where_it_is_known_who_made_a_turn() -> None:
    first = owned(Says("I look it up."))
    known = story(known=(first,))
    text = "\n".join(page(CHAT, TALK, known))
    assert "assistant (made by claude at openrouter.ai)" in text
    assert "assistant \u2500" in text  # the second turn's maker is not known


def test_who_issued_a_state_is_said_where_another_made_the_turn() -> None:
    body = CHAT.body("m", [User("x"), Says("I look it up.")])
    body["messages"][1]["seal"] = SEAL
    maker = owned(Says("I look it up.", state="other"))
    issuer = Kept(
        "k2", "t", Owner("google", "gemini"), "chat", "r", "l", (), "c", "n", "absent", 1.0, Turn((), {"seal": SEAL})
    )
    lines = request_page(read(CHAT, body)[0], body, None, story(known=(issuer, maker)))
    assert any(line.endswith("issued by gemini at google") or "made by gemini at google" in line for line in lines)


def test_content_that_has_no_words_is_named() -> None:
    body = CHAT.body("m", [])
    body["messages"] = [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": SEAL}}, 7, {}]},
        {"role": "user", "content": None},
        {"role": "user", "content": ["words of no type"]},
    ]
    lines = request_page(read(CHAT, body)[0], body, None, None)[2:]
    assert [line for line in lines if "(" in line and "\u2500" not in line] == [
        "  (input_audio)",
        "  (no text)",
        "  (nothing)",
        "  (nothing)",
        "  (no text)",
    ]


def test_results_that_share_a_message_are_told_apart() -> None:
    talk = (
        User("x"),
        Says(calls=[Call("a", "look"), Call("b", "run")]),
        Results(("a", "red"), ("b", "blue"), words=["go on"]),
    )
    text = "\n".join(page(MESSAGES, talk))
    assert "  result of look:\n  red\n  result of run:\n  blue\n  go on" in text


def test_the_head_counts_what_there_is() -> None:
    body = MESSAGES.body("claude", TALK)
    body["tools"] = [{"name": "only"}, "odd", {"type": "web_search"}, {"googleSearch": {}}]
    head = request_page(read(MESSAGES, body)[0], body, None, None)[:2]
    assert head == [
        "claude \u00b7 messages \u00b7 streamed \u00b7 thinking on",
        "5 messages \u00b7 2 assistant turns \u00b7 3 tools (only, web_search, googleSearch)",
    ]
    del body["tools"]
    assert request_page(read(MESSAGES, body)[0], body, None, None)[1].endswith("no tools")
    body["tools"], body["stream"] = [{"functionDeclarations": ["odd"]}], False
    assert "plain" in request_page(read(MESSAGES, body)[0], body, None, None)[0]


def test_what_thoughtkeep_did_heads_the_page() -> None:
    made = story(made={"call state restored": 2}, plan=Plan(missed=(Missed(0, "unknown_turn"),)))
    lines = page(CHAT, TALK, made)
    assert lines[2:5] == [
        "thoughtkeep: restored 2",
        "  why: call state restored (2)",
        "  not restored, though due: unknown_turn (1)",
    ]
    assert page(CHAT, TALK, story())[2] == "thoughtkeep: unchanged"


def test_a_handover_heads_the_page_with_its_sizes() -> None:
    edit = Edit(Op.REMOVE, ("messages", 0), reason=rewrite.REASON)
    outcome = Outcome("switch", (edit,), 2, True, "", 12_000, 300, 2_100, "gpt-5")
    lines = page(CHAT, TALK, story(handover=outcome, made={rewrite.REASON: 1}))
    assert lines[2] == "thoughtkeep: handover from gpt-5: 12,000 \u2192 300 tokens"
    assert lines[4] == "  the summary took 2,100 ms"
    again = Outcome("handover_reused", (edit,), 2, False, "", 12_000, 300)
    lines = page(CHAT, TALK, story(handover=again, made={rewrite.REASON: 1}))
    assert lines[2] == "thoughtkeep: handover: 12,000 \u2192 300 tokens (summary used again)"
    assert lines[4] == ""


def test_a_handover_that_was_not_made_says_why() -> None:
    lines = page(CHAT, TALK, story(handover=Outcome("summary_failed", failed="status 500")))
    assert lines[3] == "  no handover: summary_failed (status 500)"
    assert page(CHAT, TALK, story(handover=Outcome("side_call")))[3] == "  no handover: side_call"
    assert page(CHAT, TALK, story(handover=Outcome("same_model")))[3] == ""


def test_a_rescue_is_told_with_the_request_and_with_the_answer() -> None:
    rescued = story(rescued="signature, rescued", repaired=2, kept=(owned(Says("x")),), status="200")
    assert "  refused by the provider: signature, rescued" in page(CHAT, TALK, rescued)
    lines = answered(CHAT, Says("Yes."), rescued)
    assert (
        lines[1]
        == "thoughtkeep: rescued (signature) \u00b7 made readable for the client (2 changes) \u00b7 1 turn kept"
    )


def test_an_answer_of_which_nothing_was_kept_says_so_once_it_is_over() -> None:
    assert answered(CHAT, Says("Yes."), story(status="200"))[1] == "thoughtkeep: nothing kept"
    assert answered(CHAT, Says("Yes."), story())[1] == ""


def test_what_would_be_done_is_told_where_nothing_may_be() -> None:
    plan = Plan(edits=(Edit(Op.PUT, (), key="x", value=1, reason="call state restored"),))
    lines = page(CHAT, TALK, story(mode="observe", plan=plan))
    assert lines[2] == (
        "thoughtkeep: unchanged, because it only observes. Marked is what would be done: call state restored (1)"
    )
    assert "because the body is signed" in page(CHAT, TALK, story(mode="signed", plan=plan))[2]


def test_what_differs_from_the_clients_request_is_marked() -> None:
    body = CHAT.body("m", TALK)
    sent = CHAT.body("m", TALK, echoes=True)
    lines = request_page(read(CHAT, sent)[0], sent, (read(CHAT, body)[0], body), story())
    marked = [line for line in lines if line.startswith("+ ")]
    assert len(marked) == 2
    assert marked[0].startswith("+ reasoning_details 1 entry, \u2039")
    assert marked[1] == "+ thinking: The user wants the weather."
    assert not [line for line in lines if line.startswith("- ")]


def test_choices_are_told_apart() -> None:
    _, endpoint = read(CHAT, CHAT.body("m", TALK))
    answer = Answer(endpoint.format.assembler(profile_for("")), endpoint.format.ends, "application/json", "")
    choices = [{"index": n, "message": {"content": f"choice {n}"}, "finish_reason": "stop"} for n in range(2)]
    answer.feed(json.dumps({"choices": choices, "usage": {"total_tokens": 1234}}).encode())
    answer.close()
    lines = answer_page(answer, Owner("h", "m", "served", "upstream"), None)
    assert lines[0] == "answer of served at upstream \u00b7 h \u00b7 ended: stop \u00b7 1,234 tokens"
    assert [line[:14] for line in lines if "\u2500" in line] == ["  \u2500\u2500 choice 0 ", "  \u2500\u2500 choice 1 "]


def test_an_answer_that_broke_off_says_so() -> None:
    _, endpoint = read(MESSAGES, MESSAGES.body("m", TALK))
    answer = Answer(endpoint.format.assembler(profile_for("")), endpoint.format.ends, "text/event-stream", "")
    events = MESSAGES.stream(Says("Yes.", state=SEAL, prose="Hm."))
    for event in events[:5]:
        answer.feed(f"data: {json.dumps(event)}\n\n".encode())
    answer.close()
    lines = answer_page(answer, Owner("h", "m"), None)
    assert lines[0].endswith("not ended")
    assert any("assistant (cut off)" in line for line in lines)


def test_an_answer_that_cannot_be_read_says_why() -> None:
    _, endpoint = read(CHAT, CHAT.body("m", TALK))
    answer = Answer(endpoint.format.assembler(profile_for("")), endpoint.format.ends, "text/event-stream", "strange")
    lines = answer_page(answer, Owner("h", "m"), None)
    assert "read only in part: " in lines[0]
    assert lines[-1] == "(it says nothing)"


def test_an_error_amid_an_answer_is_told() -> None:
    _, endpoint = read(MESSAGES, MESSAGES.body("m", TALK))
    answer = Answer(endpoint.format.assembler(profile_for("")), endpoint.format.ends, "text/event-stream", "")
    answer.feed(b'data: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n')
    answer.close()
    assert "with an error in its midst" in answer_page(answer, Owner("h", "m"), None)[0]


def test_a_refusal_shows_its_text_and_what_was_done_about_it() -> None:
    text = '{"error": {"message": "Function call is missing a thought_signature"}}'
    assert refusal_page(400, text, None) == ["refused with status 400", "", text]
    missed = Plan(missed=(Missed(0, "unknown_turn"),))
    lines = refusal_page(400, text, story(rescued="signature, nothing to repair", plan=missed))
    assert lines[1] == "thoughtkeep: signature, nothing to repair"
    assert lines[2] == "thoughtkeep: state was due and was not restored: unknown_turn (1)"


def test_a_page_is_bounded_however_long_the_conversation_is() -> None:
    turns = [event for n in range(400) for event in (User("\n".join("abc")), Says(f"{n}\n" * 20, state=f"{n}" * 60))]
    body = CHAT.body("m", turns)
    sent = CHAT.body("m", turns, echoes=True)
    lines = request_page(read(CHAT, sent)[0], sent, (read(CHAT, body)[0], body), story())
    assert len(lines) == LINES + 1
    assert lines[-1].endswith("more lines \u2026")
    quiet = request_page(read(CHAT, sent)[0], sent, None, None)
    assert any("messages folded" in line for line in quiet)
    assert len(quiet) < 600


def test_hostile_words_show_as_text() -> None:
    evil = "<script>alert(1)</script>\x1b[31mred\x1b[0m \u202egnp.exe \ud800 \x00"
    for tongue in TONGUES:
        for line in page(tongue, (User(evil), Says(evil, [Call(evil, evil, {evil: evil})]))):
            assert line.isprintable()
            line.encode()


def nested(depth: int) -> Json:
    value: Json = 0
    for _ in range(depth):
        value = [value]
    return value


def test_deep_nesting_is_shown_as_too_deep() -> None:
    body = CHAT.body("m", [User("x"), Says("y", [Call("c", "run", {"a": "x" * 120, "deep": nested(900)})])])
    body["messages"][1] |= {"strange": nested(5_000), "phase": nested(5_000)}
    lines = request_page(read(CHAT, body)[0], body, None, None)
    assert any(line.startswith("  strange 1 entry, \u2039") for line in lines)
    assert any(line.startswith("  phase: nested too deep to show") for line in lines)


texts = st.text(max_size=200)


@given(texts, texts, st.lists(st.tuples(texts, texts), max_size=3))
def test_every_line_is_printable_whatever_is_said(words: str, prose: str, calls: list[tuple[str, str]]) -> None:
    said = Says(words, [Call(name, name, {"a": value}) for name, value in calls], words, prose)
    for tongue in TONGUES:
        for line in (*page(tongue, (User(words), said)), *answered(tongue, said)):
            assert line.isprintable() or any(char in line for char in "\u200c\u200d\ufe0e\ufe0f")


def test_nobody_is_known_as_the_owner_of_what_nobody_issued() -> None:
    assert Owners().of_value("x") == ""
