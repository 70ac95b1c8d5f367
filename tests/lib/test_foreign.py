"""State and call ids that a target must not get: what is taken out, what stays, and that ids come in pairs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from desk import Desk
from tongues import (
    CHAT,
    CODE_ASSIST,
    GEMINI,
    MESSAGES,
    RESPONSES,
    TONGUES,
    Call,
    Event,
    Results,
    Says,
    System,
    Tongue,
    User,
)
from wellformed import faults

from thoughtkeep import identity
from thoughtkeep.endpoint import recognise
from thoughtkeep.foreign import TAKEN_OUT, clean
from thoughtkeep.profiles import PROFILES, Profile
from thoughtkeep.replay import Match
from thoughtkeep.splice import apply
from thoughtkeep.turns import Facts, Kept, Kind, Owner, Piece, Turn

type Json = Any

STATE = "c3RhdGUtdGhhdC1vbmx5LWl0cy1tYWtlci1jYW4tcmVhZA"
KEY = {"authorization": "Bearer sk-one", "x-api-key": "sk-one", "x-goog-api-key": "sk-one"}
OTHER_KEY = {"authorization": "Bearer sk-two", "x-api-key": "sk-two", "x-goog-api-key": "sk-two"}


@pytest.fixture
def desk() -> Iterator[Desk]:
    with Desk(handover="off", skip_value="off") as made:
        yield made


def one_call(state: str = STATE, prose: str = "Let me see.") -> list[Event]:
    said = Says("I look.", [Call("call00000", "look", {"at": "it"})], state, prose)
    return [System("You are Q."), User("Look."), said, Results(("call00000", "blue"))]


@dataclass(frozen=True)
class Way:
    """State of a maker that goes to a target: (host and path, model) each; whether it is taken out there."""

    tongue: Tongue
    maker: tuple[str, str]
    target: tuple[str, str]
    goes: bool
    why: str


_ROUTER = "openrouter.ai/api/v1/chat/completions"
_ANTHROPIC, _DEEPSEEK = "api.anthropic.com/v1/messages", "api.deepseek.com/anthropic/v1/messages"
_VERTEX_CLAUDE = "europe-west1-aiplatform.googleapis.com/v1/p/publishers/anthropic/models/{}:rawPredict"
_STUDIO = "generativelanguage.googleapis.com/v1beta/models/{}:generateContent"
_VERTEX = "us-central1-aiplatform.googleapis.com/v1/p/publishers/google/models/{}:generateContent"
_ASSIST = "cloudcode-pa.googleapis.com/v1internal:generateContent"
_OPENAI, _XAI = "api.openai.com/v1/responses", "api.x.ai/v1/responses"
_AZURE, _CODEX = "one.openai.azure.com/openai/v1/responses", "chatgpt.com/backend-api/codex/responses"

WAYS = [
    Way(CHAT, (_ROUTER, "anthropic/claude-opus-4.5"), (_ROUTER, "google/gemini-3-pro"), True, "another family"),
    Way(CHAT, (_ROUTER, "anthropic/claude-opus-4.5"), (_ROUTER, "anthropic/claude-sonnet-4.5"), False, "its family"),
    Way(CHAT, (_ROUTER, "google/gemini-3-pro"), (_ROUTER, "google/gemini-3-flash"), False, "its family"),
    Way(CHAT, (_ROUTER, "x/own-model:free"), (_ROUTER, "x/own-model"), False, "the same model"),
    Way(CHAT, (_ROUTER, "x/own-model"), (_ROUTER, "x/own-model-2"), True, "another model of no known family"),
    Way(CHAT, (_ROUTER, "openai/gpt-5"), ("api.openai.com/v1/chat/completions", "gpt-5"), True, "another host"),
    Way(CHAT, (_ROUTER, "openai/gpt-5"), ("llm.example.org/v1/chat/completions", "m"), False, "nobody refuses it"),
    Way(MESSAGES, (_DEEPSEEK, "deepseek-v4"), (_ANTHROPIC, "claude-opus-4-5"), True, "another family"),
    Way(MESSAGES, (_ANTHROPIC, "claude-opus-4-5"), (_ANTHROPIC, "claude-sonnet-4-5"), False, "Claude reads Claude"),
    Way(
        MESSAGES,
        (_VERTEX_CLAUDE, "claude-opus-4-5@20251101"),
        (_ANTHROPIC, "claude-opus-4-5"),
        False,
        "on any of its hosts",
    ),
    Way(MESSAGES, (_ANTHROPIC, "claude-opus-4-5"), (_VERTEX_CLAUDE, "claude-opus-4-5"), False, "on any of its hosts"),
    Way(MESSAGES, (_ANTHROPIC, "claude-opus-4-5"), (_DEEPSEEK, "deepseek-v4"), False, "nobody refuses it"),
    Way(GEMINI, (_STUDIO, "gemini-3-pro"), (_STUDIO, "gemini-3-flash"), False, "its family"),
    Way(GEMINI, (_STUDIO, "gemini-3-pro"), (_VERTEX, "gemini-3-pro"), True, "another surface"),
    Way(GEMINI, (_VERTEX, "gemini-3-pro"), (_STUDIO, "gemini-3-pro"), True, "another surface"),
    Way(GEMINI, (_STUDIO, "gemma-thinking"), (_STUDIO, "gemini-3-pro"), True, "another family"),
    Way(CODE_ASSIST, (_ASSIST, "claude-opus-4-6-thinking"), (_ASSIST, "gemini-3-pro"), True, "another family"),
    Way(CODE_ASSIST, (_ASSIST, "gemini-3-pro"), (_ASSIST, "claude-opus-4-6-thinking"), True, "another family"),
    Way(CODE_ASSIST, (_ASSIST, "gemini-3-pro"), (_ASSIST, "gemini-3-flash"), False, "its family"),
    Way(RESPONSES, (_OPENAI, "gpt-5.2"), (_OPENAI, "gpt-5.2-mini"), False, "its family"),
    Way(RESPONSES, (_OPENAI, "gpt-5.2"), (_AZURE, "gpt-5.2"), True, "another account"),
    Way(RESPONSES, (_CODEX, "gpt-5.2-codex"), (_OPENAI, "gpt-5.2"), True, "another account"),
    Way(RESPONSES, (_OPENAI, "gpt-5.2"), (_XAI, "grok-4"), True, "another family"),
    Way(RESPONSES, (_XAI, "grok-4"), (_OPENAI, "gpt-5.2"), True, "another family"),
]


def url_of(place: tuple[str, str]) -> str:
    return "https://" + place[0].format(place[1])


def learn(desk: Desk, way: Way, events: Sequence[Event], key: dict[str, str] = KEY) -> None:
    """The maker says what was said."""
    number = next(number for number, event in enumerate(events) if isinstance(event, Says))
    said = events[number]
    assert isinstance(said, Says)
    body = way.tongue.body(way.maker[1], events[:number])
    desk.exchange(url_of(way.maker), key, body, way.tongue.answer(said))


@pytest.mark.parametrize("state", [STATE, "ErUB-c"], ids=["long", "short"])
@pytest.mark.parametrize("key", [KEY, OTHER_KEY], ids=["the same credential", "another credential"])
@pytest.mark.parametrize("way", WAYS, ids=[f"{w.tongue.name}: {w.maker[1]} to {w.target[1]}, {w.why}" for w in WAYS])
def test_state_that_is_known_to_be_anothers_goes_only_where_it_is_read(
    way: Way, key: dict[str, str], state: str, desk: Desk
) -> None:
    events = one_call(state)
    learn(desk, way, events)
    body = way.tongue.body(way.target[1], events, echoes=True)
    for later in ([], [Says("It is blue."), User("And that?")]):
        told = [*events, *later]
        body = way.tongue.body(way.target[1], told, echoes=True)
        sent = desk.send(url_of(way.target), key, body)
        if not way.goes:
            assert sent.body == json.dumps(body).encode()
            continue
        bare = [replace(each, state="") if isinstance(each, Says) else each for each in told]
        assert sent.json == way.tongue.body(way.target[1], bare, echoes=True)
        assert faults(way.tongue.name, sent.json) == []


@pytest.mark.parametrize("way", [way for way in WAYS if way.goes], ids=lambda w: f"{w.tongue.name}: {w.target[0][:20]}")
def test_what_nobody_has_seen_passes(way: Way, desk: Desk) -> None:
    learn(desk, way, one_call())
    unseen = "YW5vdGhlci1zdGF0ZS10aGF0LW5vYm9keS1oYXMtc2Vlbg"
    body = way.tongue.body(way.target[1], one_call(unseen, "Let me think."), echoes=True)
    assert desk.send(url_of(way.target), KEY, body).body == json.dumps(body).encode()
    with Desk(handover="off", skip_value="off") as empty:
        body = way.tongue.body(way.target[1], one_call(), echoes=True)
        assert empty.send(url_of(way.target), KEY, body).body == json.dumps(body).encode()


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_a_target_that_demands_a_stand_in_gets_one_where_anothers_state_was_taken_out(tongue: Tongue) -> None:
    with Desk(handover="off") as desk:
        events = one_call()
        desk.teach(tongue, events)
        sent = desk.switch(tongue, events, echoes=True).body.decode()
        assert STATE not in sent
        assert ("skip_thought_signature_validator" in sent) == ("gemini-3" in tongue.target[1])


# -- one turn, told in pieces -----------------------------------------------------------------------------------------


def kept(turn: Turn, model: str = "deepseek-v4", group: str = "deepseek", form: str = "messages") -> Kept:
    owner = Owner(group, model)
    return Kept("k", "t", owner, form, "r", "l", (), "c", "n", "on", 1.0, turn)


def profile(name: str) -> Profile:
    return next(each for each in PROFILES if each.name == name)


def cleaned(
    path: str, body: Json, turn: Turn, target: Profile, group: str = "", form: str = "messages", said: int = 0
) -> Json:
    """A request of which the store knows that another model said one turn."""
    endpoint = recognise("POST", path, body)
    assert endpoint is not None
    ask = endpoint.format.read(body, endpoint)
    walked = identity.trail(b"key", ask)
    found = [Match(kept(turn, form=form), (said,))]
    edits = clean(b"key", ask, walked, found, Facts(), endpoint.format, target, group or target.name)
    return json.loads(apply(json.dumps(body).encode(), edits))


THINKING = {"type": "thinking", "thinking": "Let me see.", "signature": STATE}
MORE_THINKING = {"type": "thinking", "thinking": "And again.", "signature": STATE + "two"}
REDACTED = {"type": "redacted_thinking", "data": STATE + "red"}
TEXT = {"type": "text", "text": "I look."}


def thought(block: Json) -> Piece:
    return Piece(
        Kind.THOUGHT, block.get("thinking", ""), state={k: v for k, v in block.items() if k != "type"}, value=block
    )


ISSUED = Turn((thought(THINKING), thought(REDACTED), thought(MORE_THINKING), Piece(Kind.TEXT, "I look.")), prose="…")


def anthropic(*assistant: Json) -> Json:
    user = {"role": "user", "content": "Look."}
    told = [{"role": "assistant", "content": content} for content in assistant]
    return {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [user, *told, user]}


#: What the client tells of the turn, message by message, and what goes upstream.
PARTS: dict[str, tuple[list[Json], list[Json]]] = {
    "all of it": ([[THINKING, REDACTED, MORE_THINKING, TEXT]], [[TEXT]]),
    "some of it": ([[REDACTED, TEXT]], [[TEXT]]),
    "padded, in the other alphabet": (
        [[{**THINKING, "signature": STATE.replace("+", "-").replace("/", "_") + "=="}, TEXT]],
        [[TEXT]],
    ),
    "beside another's": ([[THINKING, {**THINKING, "signature": "unknown" * 5}, TEXT]], None),
    "nothing else in the turn": ([[THINKING]], [[THINKING]]),
    "in a message of its own": ([[THINKING, REDACTED], [TEXT]], [[TEXT]]),
    "in messages of its own on both sides": ([[THINKING], [TEXT], [MORE_THINKING]], [[TEXT]]),
    "in messages of its own and nothing else": ([[THINKING], [REDACTED]], [[THINKING], [REDACTED]]),
    "none of it": (["I look."], ["I look."]),
}


@pytest.mark.parametrize("name", PARTS)
def test_thinking_is_taken_out_block_by_block_and_no_message_is_left_empty(name: str) -> None:
    told, expected = PARTS[name]
    if expected is None:  # the same words under a signature that nobody knows: the words tell
        expected = [[TEXT]]
    sent = cleaned("/v1/messages", anthropic(*told), ISSUED, profile("anthropic"))
    assert sent == anthropic(*expected)


def test_reasoning_in_words_is_told_by_its_words_under_any_name() -> None:
    turn = Turn((Piece(Kind.TEXT, "Yes."),), {"reasoning_content": "Because of it."}, "Because of it.")
    for name, words, stays in (
        ("reasoning_content", "Because of it.", False),
        ("reasoning", " Because  of it.\n", False),
        ("reasoning_content", "Because of something else.", True),
        ("reasoning_content", "", True),
        ("reasoning_content", None, True),
    ):
        message = {"role": "assistant", "content": "Yes.", name: words}
        user = {"role": "user", "content": "Is it?"}
        body = {"model": "llama-4", "messages": [user, message, user]}
        sent = cleaned("/chat/completions", body, turn, profile("groq"), form="chat")
        assert (name in sent["messages"][1]) == stays


def test_an_array_of_content_that_held_nothing_but_thinking_becomes_an_empty_text_beside_the_calls() -> None:
    block = {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]}
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    turn = Turn((Piece(Kind.THOUGHT, "Let me see.", value=block),), prose="Let me see.")
    user = {"role": "user", "content": "Look."}
    result = {"role": "tool", "tool_call_id": "abcdefghi", "content": "blue"}
    for blocks, left in (([block], ""), ([block, TEXT], [TEXT])):
        message = {"role": "assistant", "content": blocks, "tool_calls": [call]}
        body = {"model": "mistral-large", "messages": [user, message, result]}
        sent = cleaned("/chat/completions", body, turn, profile("mistral"), form="chat")
        assert sent["messages"] == [user, {"role": "assistant", "content": left, "tool_calls": [call]}, result]


def test_items_that_came_with_a_reasoning_item_that_is_taken_out_lose_their_ids() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": STATE}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "blue"}
    user = {"role": "user", "content": "Look."}
    state = {"encrypted_content": STATE, "summary": []}
    turn = Turn((Piece(Kind.THOUGHT, state=state, value=item, ref="rs_1"),))
    bare = {key: value for key, value in call.items() if key != "id"}
    for told, left in (([item, call, result], [bare, result]), ([call, result], [call, result]), ([item], [])):
        body = {"model": "grok-4", "input": [user, *told, user]}
        sent = cleaned("/v1/responses", body, turn, profile("xai"), form="responses")
        assert sent["input"] == [user, *left, user]


def test_a_signature_inside_a_call_is_taken_out_of_it() -> None:
    part = {"functionCall": {"name": "look", "args": {}, "thoughtSignature": STATE}, "thoughtSignature": STATE}
    turn = Turn((Piece(Kind.CALL, state={"thoughtSignature": STATE}),))
    result = {"functionResponse": {"name": "look", "response": {}}}
    told = [{"role": "user", "parts": [{"text": "Look."}]}, {"role": "model", "parts": [part]}]
    body = {"contents": [*told, {"role": "user", "parts": [result]}]}
    sent = cleaned("/v1/models/gemini-3-pro:generateContent", body, turn, profile("google-vertex"), form="gemini")
    assert sent["contents"][1]["parts"] == [{"functionCall": {"name": "look", "args": {}}}]


def test_only_turns_behind_a_border_are_cleaned() -> None:
    told = anthropic([THINKING, TEXT])
    endpoint = recognise("POST", "/v1/messages", told)
    assert endpoint is not None
    ask = endpoint.format.read(told, endpoint)
    walked, found = identity.trail(b"key", ask), [Match(kept(ISSUED), (0,))]
    for start, edits in ((0, 1), (1, 0)):
        made = clean(b"key", ask, walked, found, Facts(), endpoint.format, profile("anthropic"), "anthropic", start)
        assert [edit.reason for edit in made] == [TAKEN_OUT] * edits
