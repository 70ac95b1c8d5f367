"""Events that amount to one: whatever a run of them is made into, the answer is the one that they tell one by one."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtkeep import runs
from thoughtkeep.answer import Answer
from thoughtkeep.formats import FORMATS, Format
from thoughtkeep.jsontext import NotJson, loads_exact
from thoughtkeep.profiles import NEUTRAL, Profile
from thoughtkeep.runs import Runs
from thoughtkeep.turns import Json, Turn

WORDS = st.sampled_from(["", "a", " the", '"', "\\", "\n", "é", "\u2028", "😀", "1" * 20, "</think>", "\x7f"])
COUNTS = st.sampled_from([0, 1, 17, 2**60, 1.5, 1e-7, None, True])
SIGNATURES = st.sampled_from([None, None, "", "c2lnbmF0dXJl"])


def _chat(delta: Json, **more: Json) -> Json:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    return {"id": "x", "model": "m", "choices": [choice | more.pop("choice", {})], **more}


CHAT = [
    st.builds(lambda words: _chat({"content": words}), WORDS),
    st.builds(lambda words: _chat({"content": None, "reasoning_content": words}), WORDS),
    st.builds(
        lambda words, signature: _chat(
            {"reasoning": words, "reasoning_details": [{"type": "t", "text": words, "signature": signature}]}
        ),
        WORDS,
        SIGNATURES,
    ),
    st.builds(
        lambda words, kind: _chat({"reasoning_details": [{"type": kind, "summary": words, "index": 0}]}),
        WORDS,
        st.sampled_from(["t", "u"]),
    ),
    st.builds(lambda words: _chat({"reasoning_details": [{"type": "t", "data": words}]}), WORDS),
    st.builds(lambda words: _chat({"reasoning_details": [{"text": words}, {"text": words}]}), WORDS),
    st.builds(
        lambda words, inner, index: _chat(
            {"tool_calls": [{"index": index, "function": {"arguments": words, **inner}}]}
        ),
        WORDS,
        st.sampled_from([{}, {}, {"name": "look"}]),
        st.sampled_from([0, 1, None]),
    ),
    st.builds(lambda id_: _chat({"tool_calls": [{"index": 0, "id": id_, "function": {"arguments": ""}}]}), WORDS),
    st.builds(lambda: _chat({"tool_calls": [{"index": 0, "custom": {"input": "x"}}]})),
    st.builds(lambda words: _chat({"content": "x", "unknown": words}), WORDS),
    st.builds(lambda words: _chat({"content": "x", "refusal": words}), WORDS),
    st.builds(lambda words: _chat({"content": [{"type": "text", "text": words}]}), WORDS),
    st.builds(lambda words: _chat({"role": "assistant", "audio": {"data": words}, "content": "x"}), WORDS),
    st.builds(lambda words: _chat({"content": "x", "reasoning_text": "y", "reasoning_opaque": words}), WORDS),
    st.builds(
        lambda count, words: _chat(
            {"content": words}, created=count, obfuscation=words, usage={"total_tokens": count, "more": [{"n": count}]}
        ),
        COUNTS,
        WORDS,
    ),
    st.builds(lambda words: _chat({"content": words}, choice={"finish_reason": "stop"}), WORDS),
    st.builds(lambda words: _chat({"content": words}, choice={"index": 1}), WORDS),
    st.builds(lambda words: _chat({}, choice={"message": {"content": words}}), WORDS),
    st.builds(lambda words: _chat({"content": words}, error={"message": words}), WORDS),
    st.builds(lambda words: _chat({"content": words}, model=words, provider=words), WORDS),
    st.sampled_from([_chat({}), {"choices": []}, {"choices": [None]}, {"choices": [{"delta": None}]}, None, 5, []]),
]


def _gemini(parts: list[Json], **more: Json) -> Json:
    return {"candidates": [{"content": {"parts": parts, "role": "model"}, **more}], "modelVersion": "m"}


GEMINI = [
    st.builds(
        lambda words, count: {**_gemini([{"text": words}]), "usageMetadata": {"totalTokenCount": count}}, WORDS, COUNTS
    ),
    st.builds(lambda words: _gemini([{"text": words, "thought": True}]), WORDS),
    st.builds(lambda words: {"response": _gemini([{"text": words}]), "traceId": "x"}, WORDS),
    st.builds(lambda words: _gemini([{"text": words, "thoughtSignature": "c2ln"}]), WORDS),
    st.builds(lambda words: _gemini([{"text": words}, {"text": words}]), WORDS),
    st.builds(lambda words: _gemini([{"functionCall": {"name": words, "args": {}}}]), WORDS),
    st.builds(lambda words: _gemini([{"text": words}], finishReason="STOP"), WORDS),
    st.builds(lambda words: {**_gemini([{"text": words}]), "error": {"code": 500}}, WORDS),
    st.sampled_from([{"candidates": []}, {"candidates": [{"content": {"parts": []}}]}, {"candidates": [{}]}, [], 1]),
]


def _block(delta: Json, index: int = 0) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": delta}


MESSAGES = [
    st.builds(
        lambda index, kind: {"type": "content_block_start", "index": index, "content_block": kind},
        st.sampled_from([0, 1]),
        st.sampled_from([{"type": "text", "text": ""}, {"type": "thinking", "thinking": ""}, {"type": "tool_use"}]),
    ),
    st.builds(lambda words, at: _block({"type": "text_delta", "text": words}, at), WORDS, st.sampled_from([0, 1])),
    st.builds(lambda words: _block({"type": "thinking_delta", "thinking": words}), WORDS),
    st.builds(lambda words: _block({"type": "thinking_delta", "thinking": words, "more": words}), WORDS),
    st.builds(lambda words: _block({"type": "input_json_delta", "partial_json": words}, 1), WORDS),
    st.builds(lambda words: _block({"type": "signature_delta", "signature": words}), WORDS),
    st.builds(lambda count: _block({"type": "text_delta", "text": count}), COUNTS),
    st.builds(lambda at: {"type": "content_block_stop", "index": at}, st.sampled_from([0, 1])),
    st.sampled_from([{"type": "message_stop"}, {"type": "ping"}, {"type": "error"}, _block(None), "x", None]),
]
RESPONSES = [
    st.builds(
        lambda words, count: {
            "type": "response.output_text.delta",
            "sequence_number": count,
            "delta": words,
            "obfuscation": words,
        },
        WORDS,
        COUNTS,
    ),
    st.builds(lambda words: {"type": "response.custom.delta", "delta": words, "error": words}, WORDS),
    st.builds(lambda: {"type": "response.custom.delta", "output": [{"type": "message"}]}),
    st.builds(
        lambda words: {
            "type": "response.output_item.done",
            "item": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]},
        },
        WORDS,
    ),
    st.sampled_from([{"type": "response.completed", "response": {}}, {"type": "response.failed"}, {}, None]),
]
EVENTS: dict[str, tuple[int, list[st.SearchStrategy[Json]]]] = {
    "chat": (0, CHAT),
    "gemini": (1, GEMINI),
    "messages": (2, MESSAGES),
    "responses": (3, RESPONSES),
}
PROFILES = [
    NEUTRAL,
    replace(NEUTRAL, cumulative=True),
    replace(NEUTRAL, pairs=(("reasoning_text", "reasoning_opaque"),)),
]

pytest_form = pytest.mark.parametrize("name", EVENTS)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are looked for in the smallest batch."""
    monkeypatch.setattr(runs, "FEWEST", 2)
    monkeypatch.setattr(runs, "SOME", 8)


def written(event: Json) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode()


def outcome(form: Format, profile: Profile, batches: Sequence[Sequence[bytes]]) -> tuple[list[Turn], tuple[Any, ...]]:
    """What an assembler makes of these texts."""
    assembler = form.assembler(profile)
    for batch in batches:
        for text in batch:
            try:
                assembler.feed([loads_exact(text)])
            except NotJson:
                continue
    told = (assembler.served, assembler.upstream, assembler.tokens, assembler.reason)
    return assembler.turns(), (*told, assembler.failed, assembler.ended)


@st.composite
def streams(draw: st.DrawFn, kinds: list[st.SearchStrategy[Json]]) -> list[list[bytes]]:
    """Batches of events: runs of a few kinds, each with other words, and between them what is no JSON at all."""
    few = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    texts: list[bytes] = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(few))
        texts += map(written, draw(st.lists(kind, min_size=3, max_size=8)))
        texts += draw(st.lists(st.sampled_from([b"[DONE]", b'{"a":"\xff"}', b"{}\n{}", b"{"]), max_size=1))
    batches = []
    while texts:
        size = draw(st.integers(2, 6))
        batches.append(texts[:size])
        texts = texts[size:]
    return batches


@pytest_form
@pytest.mark.parametrize("profile", PROFILES, ids=["neutral", "cumulative", "pairs"])
@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_a_run_amounts_to_what_its_events_tell_one_by_one(name: str, profile: Profile, data: st.DataObject) -> None:
    number, kinds = EVENTS[name]
    form = FORMATS[number]
    batches = data.draw(streams(kinds))
    merging = Runs(form.assembler(profile).alike)
    merged = [merging.merge(list(batch)) for batch in batches]
    assert all(len(few) <= len(many) for few, many in zip(merged, batches, strict=True))
    assert outcome(form, profile, merged) == outcome(form, profile, batches)


def _said(make: Callable[[str], Json]) -> tuple[list[bytes], list[bytes]]:
    """Two batches of events that are alike."""
    words = [f" word{number}" for number in range(40)]
    texts = [written(make(word)) for word in words]
    return texts[:20], texts[20:]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("chat", lambda word: _chat({"content": word}, created=len(word), usage={"total_tokens": 5})),
        ("chat", lambda word: _chat({"content": "", "reasoning": word, "reasoning_details": [{"text": word}]})),
        ("chat", lambda word: _chat({"tool_calls": [{"index": 0, "function": {"arguments": word}}]})),
        ("gemini", lambda word: _gemini([{"text": word, "thought": True}])),
        ("gemini", lambda word: {"response": {**_gemini([{"text": word}]), "usageMetadata": {"a": [{"b": 7}]}}}),
        ("messages", lambda word: _block({"type": "text_delta", "text": word})),
        ("messages", lambda word: _block({"type": "input_json_delta", "partial_json": word})),
        ("responses", lambda word: {"type": "response.x.delta", "sequence_number": len(word), "delta": word}),
    ],
)
def test_a_batch_of_events_that_are_alike_becomes_one_once_their_kind_is_known(name: str, make: Any) -> None:
    form = FORMATS[EVENTS[name][0]]
    merging = Runs(form.assembler(NEUTRAL).alike)
    first, second = _said(make)
    assert merging.merge(first) == first
    merged = merging.merge(second)
    assert len(merged) == 1
    assert outcome(form, NEUTRAL, [first, merged]) == outcome(form, NEUTRAL, [first, second])


def test_between_two_runs_each_goes_by_its_own_mould() -> None:
    merging = Runs(FORMATS[0].assembler(NEUTRAL).alike)
    thoughts = [written(_chat({"reasoning": f"{number}"})) for number in range(40)]
    words = [written(_chat({"content": f"{number}"})) for number in range(40)]
    for batch in (thoughts, words):
        assert merging.merge(batch) == batch
    merged = merging.merge([*thoughts, b'{"choices":[]}', *words, b"[DONE]"])
    assert [json.loads(text)["choices"] for text in merged[:3]] == [
        _chat({"reasoning": "".join(map(str, range(40)))})["choices"],
        [],
        _chat({"content": "".join(map(str, range(40)))})["choices"],
    ]
    assert merged[3:] == [b"[DONE]"]


def test_a_character_that_is_cut_in_two_by_two_events_stays_two_halves() -> None:
    merging = Runs(FORMATS[0].assembler(NEUTRAL).alike)
    texts = [written(_chat({"content": "x"}))] * 4
    assert merging.merge(texts) == texts
    assert len(merging.merge(texts)) == 1
    escaped = [texts[0].replace(b'"x"', half) for half in (rb'"\ud83d"', rb'"\ude00"')]
    assert merging.merge(escaped) == escaped
    raw = [texts[0].replace(b'"x"', half) for half in (b'"\xc3"', b'"\xa9"')]
    assert merging.merge(raw) == raw


@pytest.mark.parametrize("end", [b"not JSON", b'{"choices":[]}', written(_chat({"refusal": "no"}))])
def test_an_answer_whose_events_are_all_different_is_given_up_soon(end: bytes) -> None:
    asked = []

    def alike(event: Json) -> Any:
        asked.append(event)
        return FORMATS[0].assembler(NEUTRAL).alike(event)

    merging = Runs(alike)
    for number in range(100):
        batch = [b'{"a":%d}' % number] * 5 + [end]
        assert merging.merge(batch) == batch
    assert len(asked) <= runs.MOST


def test_moulds_that_are_of_no_use_are_given_up() -> None:
    merging = Runs(FORMATS[0].assembler(NEUTRAL).alike)
    for number in range(2 * runs.MOST):
        batch = [written(_chat({"content": "x"}, id=f"{number} {event}")) for event in range(5)]
        assert merging.merge(batch) == batch
    assert merging._moulds == []


def test_an_escape_that_is_none_spoils_only_its_own_event() -> None:
    words = [rb"a", rb"\x", rb"\u12", b"\t", b"b"]
    texts = [written(_chat({"content": "here"})).replace(b"here", word) for word in [b"c"] * 5 + words]
    chat = FORMATS[0]
    body = b"".join(b"data: " + text + b"\n\n" for text in [*texts, written(_chat({}, choice={"finish_reason": "x"}))])
    for size in (1, 7, 300, len(body)):
        answer = Answer(chat.assembler(NEUTRAL), chat.ends, "text/event-stream", "")
        for start in range(0, len(body), size):
            answer.feed(body[start : start + size])
        assert [piece.text for piece in answer.turns()[0].pieces] == ["cccccab"]
