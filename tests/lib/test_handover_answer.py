"""Which answers of a summariser are summaries: a text that ended properly, and nothing else."""

import gzip
import json
from typing import Any

import pytest
from desk import Desk
from lab import Reply, plain, sse
from tongues import CHAT, GEMINI, RESPONSES, TONGUES, Call, Event, Says, Tongue, User

from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import Format
from thoughtkeep.handover.prompt import TAG
from thoughtkeep.handover.question import NoSummary, summary_of
from thoughtkeep.handover.record import FORMAT, Handover, from_kept, place_of, places_of, to_kept
from thoughtkeep.identity import trail
from thoughtkeep.profiles import NEUTRAL, profile_for

type Json = Any

TEXT = "- Task: mend it.\n- Done: ünïcode, \u2028 and all."
GOOD = Says(TEXT)
PATHS = {"chat": "/chat/completions", "messages": "/messages", "responses": "/responses"}


def form_of(tongue: Tongue) -> Format:
    body = tongue.body("m", [User("x")])
    endpoint = recognise("POST", PATHS.get(tongue.name, "/v1beta/models/m:generateContent"), body) or recognise(
        "POST", "/v1internal:generateContent", body
    )
    assert endpoint is not None
    return endpoint.format


def summary(tongue: Tongue, reply: Reply) -> str:
    return summary_of(form_of(tongue), NEUTRAL, reply.body, reply.content_type, reply.encoding)


every_tongue = pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)


@every_tongue
def test_a_text_that_ended_is_a_summary_streamed_plain_and_compressed(tongue: Tongue) -> None:
    replies = [plain(tongue.answer(GOOD)), sse(tongue.stream(GOOD)), sse(tongue.stream(GOOD), line="\r\n")]
    for reply in [*replies, *(each.gzipped() for each in replies)]:
        assert summary(tongue, reply) == TEXT


@every_tongue
def test_reasoning_beside_the_text_is_no_part_of_the_summary(tongue: Tongue) -> None:
    said = Says(TEXT, (), "c2lnbmVkLWJ5LXRoZS1zdW1tYXJpc2Vy", "SECRET-THOUGHT")
    for reply in (plain(tongue.answer(said)), sse(tongue.stream(said))):
        assert summary(tongue, reply) == TEXT


@pytest.mark.parametrize(
    "text", [f"<think>SECRET</think>\n\n{TEXT}", f"  {TEXT}\n\n", f"<think>\na\nb\n</think>{TEXT}"]
)
def test_thinking_in_tags_and_white_space_around_are_no_part_of_the_summary(text: str) -> None:
    assert summary(CHAT, plain(CHAT.answer(Says(text)))) == TEXT


def test_what_the_content_type_says_does_not_matter_where_the_body_can_be_read() -> None:
    body = plain(CHAT.answer(GOOD)).body
    assert summary(CHAT, Reply(body, "text/plain")) == TEXT
    assert summary(CHAT, Reply(sse(CHAT.stream(GOOD)).body, "application/octet-stream")) == TEXT


def test_a_plain_answer_that_gives_no_reason_is_whole() -> None:
    """Snowflake gives none."""
    assert summary(CHAT, plain({"choices": [{"message": {"content": TEXT}}]})) == TEXT


def changed(value: Json, **keys: Json) -> Json:
    """A copy in which these keys, wherever they stand, have other values."""
    if isinstance(value, dict):
        return {key: keys[key] if key in keys else changed(inner, **keys) for key, inner in value.items()}
    return [changed(inner, **keys) for inner in value] if isinstance(value, list) else value


#: What each format calls an end for want of room, for a refusal, and for another reason that is no proper end.
ENDS: dict[str, list[dict[str, str]]] = {
    "chat": [{"finish_reason": reason} for reason in ("length", "content_filter", "tool_calls", "error")],
    "messages": [{"stop_reason": reason} for reason in ("max_tokens", "refusal", "pause_turn", "tool_use")],
    "gemini": [{"finishReason": reason} for reason in ("MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")],
    "responses": [{"status": reason} for reason in ("incomplete", "failed", "cancelled", "in_progress")],
}
ENDS["code assist"] = ENDS["gemini"]

ERRORS: dict[str, Json] = {
    "chat": {"error": {"code": 502, "message": "provider disconnected"}},
    "messages": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "gemini": {"error": {"code": 503, "status": "UNAVAILABLE", "message": "try later"}},
    "code assist": {"response": {"error": {"code": 503, "message": "try later"}}},
    "responses": {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error"}}},
}

CALLING = Says("I look it up.", [Call("call00001", "read", {"p": "a"})])


def failures(tongue: Tongue) -> dict[str, tuple[Reply, str]]:
    """Answers that are no summary, each with a word of the reason."""
    good, streamed = tongue.answer(GOOD), tongue.stream(GOOD)
    half = streamed[: len(streamed) // 2]
    found = {
        "empty": (plain(tongue.answer(Says(""))), ""),
        "empty, streamed": (sse(tongue.stream(Says(""))), ""),
        "nothing but spaces": (plain(tongue.answer(Says(" \n "))), "empty"),
        "a call": (plain(tongue.answer(CALLING)), "tool call"),
        "a call, streamed": (sse(tongue.stream(CALLING)), "tool call"),
        "an error instead": (plain(ERRORS[tongue.name]), ""),
        "a part, then an error": (sse([*half, ERRORS[tongue.name], "[DONE]"]), ""),
        "the whole, then an error": (sse([*streamed[:-1], ERRORS[tongue.name], streamed[-1]]), "error"),
        "cut off": (sse(half), "cut off"),
        "cut off in a character": (Reply(sse(streamed).body[: sse(streamed).body.index(b"\xc3") + 1]), "cut off"),
        "no JSON": (Reply(b"{not json", "application/json"), "unreadable"),
        "JSON of another kind": (plain({"detail": "hello"}), "unreadable"),
        "a web page": (Reply(b"<html><body>Log in</body></html>", "text/html"), "unreadable"),
        "JSON that calls itself a stream": (Reply(plain(good).body, "text/event-stream"), "unreadable"),
        "an unknown coding": (Reply(plain(good).body, "application/json", "snappy"), "unreadable"),
        "a coding that it is not in": (Reply(plain(good).body, "application/json", "gzip"), "unreadable"),
        "a damaged coding": (Reply(gzip.compress(plain(good).body)[:-20], "application/json", "gzip"), "unreadable"),
        "nothing": (Reply(b"", "application/json"), "unreadable"),
    }
    for keys in ENDS[tongue.name]:
        (reason,) = keys.values()
        found[f"ended by {reason}"] = (plain(changed(good, **keys)), "")
        if reason not in ("in_progress", "cancelled"):
            found[f"ended by {reason}, streamed"] = (sse(changed(streamed, **keys)), "")
    return found


@pytest.mark.parametrize(
    ("tongue", "name"), [(t, name) for t in TONGUES for name in failures(t)], ids=lambda v: getattr(v, "name", v)
)
def test_anything_else_is_none(tongue: Tongue, name: str) -> None:
    reply, word = failures(tongue)[name]
    with pytest.raises(NoSummary) as raised:
        summary(tongue, reply)
    assert word in str(raised.value)
    assert 0 < len(str(raised.value)) < 80


REFUSALS = {
    "chat": (CHAT, {"choices": [{"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}]}),
    "chat, beside words": (
        CHAT,
        {"choices": [{"message": {"content": "Well.", "refusal": "I can't."}, "finish_reason": "stop"}]},
    ),
    "gemini": (GEMINI, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
    "responses": (
        RESPONSES,
        {
            "status": "completed",
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I can't."}]}
            ],
        },
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_none(name: str) -> None:
    tongue, answer = REFUSALS[name]
    with pytest.raises(NoSummary):
        summary(tongue, plain(answer))


def test_a_streamed_refusal_is_none() -> None:
    item = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I can't."}]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    with pytest.raises(NoSummary, match="refusal"):
        summary(RESPONSES, sse([done, {"type": "response.completed", "response": {"status": "completed"}}]))
    delta = {"choices": [{"index": 0, "delta": {"refusal": "I can't."}, "finish_reason": "stop"}]}
    with pytest.raises(NoSummary, match="refusal"):
        summary(CHAT, sse([delta, "[DONE]"]))


def test_a_summary_is_read_as_its_providers_profile_says() -> None:
    """Copilot tells one answer in two choices."""
    choices = [{"index": n, "message": {"content": f"part {n} "}, "finish_reason": "stop"} for n in range(2)]
    copilot = profile_for("api.githubcopilot.com")
    answer = plain({"choices": choices})
    assert summary_of(form_of(CHAT), copilot, answer.body, answer.content_type, "") == "part 0 part 1"


@every_tongue
@pytest.mark.parametrize(
    ("status", "body", "word"),
    [
        (401, b'{"error":"no"}', "status 401"),
        (529, b"overloaded", "status 529"),
        (302, b"", "status 302"),
        (200, b"", "unreadable"),
    ],
)
def test_a_status_that_is_no_success_is_none_whatever_stands_below_it(
    tongue: Tongue, status: int, body: bytes, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[Event] = [User("One."), Says("1."), User("Two.")]
    with Desk() as desk:
        desk.teach(tongue, events)
        good = json.dumps(tongue.answer(GOOD)).encode() if status != 200 else body
        desk.summariser = lambda asked: (status, good, "application/json")
        sent = desk.switch(tongue, events)
        assert sent.reason == "summary_failed"
        assert sent.body == json.dumps(tongue.body(tongue.target[1], events)).encode()
        assert TAG not in sent.body.decode()
        warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert len(warnings) == 1
        assert word in warnings[0]
        assert "One." not in caplog.text


def test_a_fault_while_a_summary_is_asked_for_is_a_failure_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = [User("One."), Says("1."), User("Two.")]
    with Desk() as desk:
        desk.teach(CHAT, events)

        def broken(asked: object) -> tuple[int, bytes, str]:
            raise ZeroDivisionError("SECRET")

        desk.summariser = broken
        sent = desk.switch(CHAT, events)
        assert sent.reason == "summary_failed"
        assert "fault: ZeroDivisionError" in caplog.text
        assert "SECRET" not in caplog.text


# -- in the store -----------------------------------------------------------------------------------------------------

KEY = b"key of the store" * 2


def walked(*words: str) -> Any:
    body = CHAT.body("m", [event for word in words for event in (User(word), Says(f"to {word}"))])
    endpoint = recognise("POST", "/chat/completions", body)
    assert endpoint is not None
    return trail(KEY, endpoint.format.read(body, endpoint))


@pytest.mark.parametrize("text", ["what happened", ""])
def test_a_handover_comes_out_of_the_store_as_it_went_in(text: str) -> None:
    made = Handover(text, 12.5, "vendor/model-a")
    stored = to_kept(made, "place", "tenant" * 8, "root", "model-b")
    assert from_kept(stored) == made
    assert (stored.format, stored.tenant, stored.root, stored.lineage) == (FORMAT, "tenant" * 8, "root", "place")
    assert (stored.call_ids, stored.values, stored.after) == ((), (), ())
    assert stored.turn.complete == bool(text)


def test_a_second_try_at_a_place_takes_the_place_of_the_first_and_other_places_and_tenants_have_their_own() -> None:
    def id_of(place: str, tenant: str) -> str:
        return to_kept(Handover("x", 1), place, tenant, "root", "model").id

    assert id_of("p", "one" * 16) == to_kept(Handover("y", 2, "z"), "p", "one" * 16, "other", "model").id
    assert len({id_of("p", "one" * 16), id_of("q", "one" * 16), id_of("p", "two" * 16)}) == 3


def test_each_place_of_a_conversation_and_its_end_has_a_digest_of_its_own_for_each_model() -> None:
    two, three = walked("a", "b"), walked("a", "b", "c")
    places = places_of(KEY, two, "model-a")
    assert len(set(places)) == 3
    assert places[:2] == places_of(KEY, three, "vendor/model-a-20250101")[:2]
    assert not set(places) & set(places_of(KEY, two, "model-b"))
    assert places[2] == place_of(KEY, two.end.context, "model-a")
    assert not set(places) & {two.root, *(place.lineage for place in two.places)}
    assert not set(places) & set(places_of(KEY, walked("b", "a"), "model-a"))
