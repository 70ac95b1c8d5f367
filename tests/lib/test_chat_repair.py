"""Chat answers that clients of OpenAI's shape cannot read, and what they can read instead."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import CREDENTIAL, Lab, Reply, pieces, written
from scenarios import chat_words as chat
from test_chat_calls import MADE, Style, streamed

from thoughtkeep import splice
from thoughtkeep.formats import FORMATS
from thoughtkeep.formats.chat import ChatFormat
from thoughtkeep.formats.chat_repair import ChatRepairer
from thoughtkeep.profiles import NEUTRAL, PROFILES, Profile, profile_for
from thoughtkeep.repair import StreamRepair, repair_whole
from thoughtkeep.turns import Json

EVERYTHING = ("index", "ids", "content")
VENDORS = {"google-ai-studio": ("index",), "google-vertex": ("index",), "databricks": EVERYTHING}


def repaired(repairs: tuple[str, ...], *events: Json) -> list[Json]:
    """The events of one answer, repaired."""
    repairer = ChatRepairer(repairs)
    return [json.loads(splice.apply(written(event), repairer.edits(event))) for event in events]


def deltas(*made: Json, choice: Json = 0) -> list[Json]:
    """Events with a delta each."""
    return [{"choices": [{"index": choice, "delta": one}]} for one in made]


def message(**keys: Json) -> Json:
    """A plain answer."""
    return {"choices": [{"index": 0, "message": {"role": "assistant", **keys}, "finish_reason": "stop"}]}


def calls(*made: Json) -> Json:
    return {"tool_calls": list(made)}


def call(call_id: str, name: str = "f", arguments: str = "{}", **beside: Json) -> Json:
    return {**beside, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def rest(arguments: str, **beside: Json) -> Json:
    return {**beside, "function": {"arguments": arguments}}


THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm.", "signature": "EvABc2ln"}]}
SEALED = {"type": "reasoning", "summary": [{"type": "summary_encrypted_text", "data": "EvACc2Vh"}]}
WORDS = {"type": "text", "text": "At six."}
IMAGE = {"type": "image_url", "image_url": {"url": "data:"}}

STREAMED: list[tuple[str, list[Json], list[Json]]] = [
    (
        "parallel calls without index are numbered",
        deltas(calls(call("a")), calls(call("b")), calls(call("c"))),
        deltas(calls(call("a", index=0)), calls(call("b", index=1)), calls(call("c", index=2))),
    ),
    (
        "in one delta too",
        deltas(calls(call("a"), call("b"))),
        deltas(calls(call("a", index=0), call("b", index=1))),
    ),
    (
        "and what continues a call has its number",
        deltas(calls(call("a", arguments="{")), calls(rest("}")), calls(call("b", arguments="[")), calls(rest("]"))),
        deltas(
            calls(call("a", arguments="{", index=0)),
            calls(rest("}", index=0)),
            calls(call("b", arguments="[", index=1)),
            calls(rest("]", index=1)),
        ),
    ),
    (
        "a signature in a delta of its own belongs to the call before, of which it says nothing",
        deltas(calls(call("a")), calls({"extra_content": {"google": {}}})),
        deltas(
            calls(call("a", index=0)),
            calls({"index": 0, "extra_content": {"google": {}}, "function": {"arguments": ""}}),
        ),
    ),
    (
        "calls that all have number 0 are numbered on",
        deltas(
            calls(call("a", index=0)),
            calls(call("b", "f", "{", index=0)),
            calls(rest("}", index=0)),
            calls(call("c", index=0)),
        ),
        deltas(
            calls(call("a", index=0)),
            calls(call("b", "f", "{", index=1)),
            calls(rest("}", index=1)),
            calls(call("c", index=2)),
        ),
    ),
    (
        "numbers that are right stay, wherever they begin",
        deltas(calls(call("a", index=1)), calls(call("b", index=2)), calls(rest(" ", index=1))),
        deltas(calls(call("a", index=1)), calls(call("b", index=2)), calls(rest(" ", index=1))),
    ),
    (
        "a number is given once: a call without one takes a free one",
        deltas(calls(call("a", index=0)), calls(call("b")), calls(call("c", index=1))),
        deltas(calls(call("a", index=0)), calls(call("b", index=1)), calls(call("c", index=2))),
    ),
    (
        "each choice counts for itself",
        [*deltas(calls(call("f"))), *deltas(calls(call("f")), choice=1), *deltas(calls(call("f", arguments="[]")))],
        [
            *deltas(calls(call("f", index=0))),
            *deltas(calls(call("f", index=0)), choice=1),
            *deltas(calls(call("f-2", arguments="[]", index=1))),
        ],
    ),
    (
        "later calls of the same id get a free one",
        deltas(
            calls(call("f", index=0)), calls(call("f-2", index=1)), calls(call("f", index=2)), calls(call("f", index=3))
        ),
        deltas(*(calls(call(name, index=n)) for n, name in enumerate(("f", "f-2", "f-3", "f-4")))),
    ),
    (
        "and keep it in every delta that repeats the old one",
        deltas(
            calls(call("f", arguments="{}", index=0)),
            calls(call("f", arguments="", index=1)),
            calls(call("f", arguments="{", index=1)),
            calls(call("f", arguments="}", index=1)),
        ),
        deltas(
            calls(call("f", arguments="{}", index=0)),
            calls(call("f-2", arguments="", index=1)),
            calls(call("f-2", arguments="{", index=1)),
            calls(call("f-2", arguments="}", index=1)),
        ),
    ),
    (
        "an id that is empty or no text is nobody's",
        deltas(calls({**call(""), "index": 0}), calls({**call(""), "id": ["x"], "index": 1})),
        deltas(calls({**call(""), "index": 0}), calls({**call(""), "id": ["x"], "index": 1})),
    ),
    (
        "blocks of text become the text",
        deltas({"content": [WORDS, WORDS]}, {"content": []}, {"content": "So."}, {"content": None}),
        deltas({"content": "At six.At six."}, {"content": ""}, {"content": "So."}, {"content": None}),
    ),
    (
        "blocks of reasoning become its words, without signature and ciphertext",
        deltas({"content": [THOUGHT, SEALED]}, {"content": [THOUGHT, WORDS]}, {"content": [SEALED]}),
        deltas(
            {"content": "", "reasoning_content": "Hm."},
            {"content": "At six.", "reasoning_content": "Hm."},
            {"content": ""},
        ),
    ),
    (
        "words of reasoning that come beside the blocks stay",
        deltas({"content": [THOUGHT], "reasoning_content": "Oh."}),
        deltas({"content": "", "reasoning_content": "Oh."}),
    ),
    (
        "an image has no place in a text",
        deltas({"content": [WORDS, IMAGE]}, {"content": ["x"]}),
        deltas({"content": [WORDS, IMAGE]}, {"content": ["x"]}),
    ),
]

PLAIN: list[tuple[str, Json, Json]] = [
    (
        "calls of the same id get ids of their own",
        message(content=None, **calls(call("f"), call("f"), call("g"), call("f"))),
        message(content=None, **calls(call("f"), call("f-2"), call("g"), call("f-3"))),
    ),
    (
        "calls of a plain answer have no number",
        message(**calls(call("a"), call("b"))),
        message(**calls(call("a"), call("b"))),
    ),
    (
        "blocks become text and reasoning",
        message(content=[THOUGHT, WORDS]),
        message(content="At six.", reasoning_content="Hm."),
    ),
]

FINE: list[Json] = [
    None,
    "x",
    [],
    {},
    {"choices": None},
    {"choices": ["x", None]},
    {"choices": [{"index": "x", "delta": None, "message": "x"}]},
    {"choices": [{"delta": {"tool_calls": "x", "content": "So."}}]},
    {"choices": [{"delta": {"tool_calls": ["x", None]}}]},
    {"choices": [], "usage": {"total_tokens": 3}},
    {"error": {"message": "x"}},
]


@pytest.mark.parametrize(("_rule", "events", "expected"), STREAMED)
def test_the_events_of_a_stream_can_be_read(_rule: str, events: list[Json], expected: list[Json]) -> None:
    assert repaired(EVERYTHING, *events) == expected
    assert repaired(EVERYTHING, *expected) == expected


@pytest.mark.parametrize(("_rule", "event", "expected"), PLAIN)
def test_a_plain_answer_can_be_read(_rule: str, event: Json, expected: Json) -> None:
    assert repaired(EVERYTHING, event) == [expected]
    assert repaired(EVERYTHING, expected) == [expected]


@pytest.mark.parametrize("event", FINE)
def test_what_is_no_answer_or_a_fine_one_needs_nothing(event: Json) -> None:
    assert ChatRepairer(EVERYTHING).edits(event) == []


@pytest.mark.parametrize("events", [*(events for _, events, _ in STREAMED), *([event] for _, event, _ in PLAIN)])
def test_each_fault_is_repaired_only_where_the_vendor_is_known_for_it(events: list[Json]) -> None:
    assert repaired((), *events) == events
    keys = {"index": {"index", "function"}, "ids": {"id"}, "content": {"content", "reasoning_content"}}
    for repairs in ("index", "ids", "content"):
        repairer = ChatRepairer((repairs,))
        assert {edit.key for event in events for edit in repairer.edits(event)} <= keys[repairs]


FAULTY: dict[str, Json] = {
    "index": deltas(calls(call("a")))[0],
    "ids": message(**calls(call("f"), call("f"))),
    "content": message(content=[WORDS]),
}


@pytest.mark.parametrize("profile", [NEUTRAL, *PROFILES], ids=lambda profile: profile.name)
def test_only_vendors_that_are_known_for_it_have_their_answers_repaired(profile: Profile) -> None:
    for form in FORMATS:
        repairer = form.repairer(profile)
        repairs = VENDORS.get(profile.name, ()) if form.name == "chat" else ()
        found = [fault for fault, event in FAULTY.items() if repairer is not None and repairer.edits(event)]
        assert (tuple(found), repairer is not None) == (repairs, bool(repairs))


# -- a client that knows OpenAI's shape and nothing else --------------------------------------------------------------


def heard(body: bytes) -> Json:
    """The message that such a client makes of a stream. It fails where the stream is of another shape."""
    text, prose = "", ""
    made: dict[int, Json] = {}
    for block in body.decode().split("\n\n"):
        data = block.removeprefix("data: ")
        if not data or data == "[DONE]":
            continue
        for choice in json.loads(data)["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            prose += delta.get("reasoning_content") or ""
            for piece in delta.get("tool_calls") or ():
                known = made.setdefault(piece["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
                known["id"] = piece.get("id") or known["id"]
                for key, value in piece["function"].items():
                    known["function"][key] += value
    found = chat.assistant(text, *made.values())
    assert len({one["id"] for one in made.values()}) == len(made)
    return {**found, **({"reasoning_content": prose} if prose else {})}


def client_gets(url: str, reply: Reply, cuts: range | tuple[int, ...] = ()) -> bytes:
    """What reaches the client of an answer of this host."""
    host = url.split("/")[2]
    repairer = ChatFormat().repairer(profile_for(host))
    assert repairer is not None
    if reply.content_type != "text/event-stream":
        return repair_whole(repairer, reply.body)
    stream = StreamRepair(repairer)
    return b"".join([*(stream.feed(piece) for piece in pieces(reply.body, cuts)), stream.flush()])


@settings(max_examples=150, deadline=None)
@given(
    made=MADE,
    style=st.sampled_from(["indexed", "unindexed", "zero"]),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    ids=st.booleans(),
)
def test_such_a_client_gets_every_call_whole_and_with_an_id_of_its_own(
    made: list[tuple[str, Json]], style: Style, sizes: list[int], ids: bool
) -> None:
    reply = chat.stream(*(chat.chunk(tool_calls=[piece]) for piece in streamed(made, style, sizes, ids)))
    message = heard(client_gets(chat.DATABRICKS, reply))
    told = [(one["function"]["name"], json.loads(one["function"]["arguments"])) for one in message["tool_calls"]]
    assert told == made


TWICE = (chat.call("look", "look", chat.LONDON, thoughtSignature=chat.SIGNED), chat.call("look", "look"))


def summary(text: str, **more: Json) -> Json:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text, **more}]}


DATABRICKS_STREAM = chat.stream(
    chat.chunk(content=[summary("Hm, ")]),
    chat.chunk(content=[summary("so.", signature="RXY=")]),
    chat.chunk(content=[{"type": "text", "text": "I "}]),
    chat.chunk(content=[{"type": "text", "text": "look."}]),
    *(chat.chunk(tool_calls=[{"index": number, **one}]) for number, one in enumerate(TWICE)),
    finish="tool_calls",
)
BLOCKS = [summary("Hm, so.", signature="RXY="), {"type": "text", "text": "I look."}]
DATABRICKS_PLAIN = chat.whole(chat.assistant(BLOCKS, *TWICE))


def test_the_whole_answer_is_the_same_to_the_client_wherever_it_is_cut() -> None:
    body = client_gets(chat.DATABRICKS, DATABRICKS_STREAM)
    assert client_gets(chat.DATABRICKS, DATABRICKS_STREAM, range(len(DATABRICKS_STREAM.body))) == body
    for cut in range(0, len(DATABRICKS_STREAM.body), 7):
        assert client_gets(chat.DATABRICKS, DATABRICKS_STREAM, (cut,)) == body


@pytest.mark.parametrize("reply", [DATABRICKS_STREAM, DATABRICKS_PLAIN], ids=["streamed", "plain"])
@pytest.mark.parametrize("keeps_reasoning", [True, False])
def test_what_a_client_makes_of_a_repaired_answer_goes_back_as_the_provider_wrote_it(
    reply: Reply, keeps_reasoning: bool
) -> None:
    lab, asking = Lab(), chat.asking("gemini-3-pro")
    asked = lab.ask(chat.DATABRICKS, CREDENTIAL, written(asking([chat.ASKED])))
    lab.answer(asked, reply)
    body = client_gets(chat.DATABRICKS, reply)
    message = heard(body) if reply is DATABRICKS_STREAM else json.loads(body)["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("I look.", "Hm, so.")
    told = {**message, "tool_calls": [{**one} for one in message["tool_calls"]]}
    for one in told["tool_calls"]:
        one.pop("thoughtSignature", None)
    if not keeps_reasoning:
        del told["reasoning_content"]
    results = [chat.tool("look", "4"), chat.tool("look-2", "5")]
    sent = lab.ask(chat.DATABRICKS, CREDENTIAL, written(asking([chat.ASKED, told, *results]))).sent
    first, second = TWICE
    expected = chat.assistant(BLOCKS, first, {**second, "id": "look-2"})
    assert json.loads(sent)["messages"] == [chat.ASKED, expected, *results]


def test_google_numbered_calls_get_their_signature_back() -> None:
    lab, asking = Lab(), chat.asking("gemini-3-pro")
    signed = chat.call("function-call-1", "look", chat.LONDON, **chat.google(chat.SIGNED))
    reply = chat.stream(*chat.calling(signed, chat.call("function-call-2", "look"), index=False))
    lab.answer(lab.ask(chat.GOOGLE, CREDENTIAL, written(asking([chat.ASKED]))), reply)
    body = client_gets(chat.GOOGLE, reply)
    made = heard(body)["tool_calls"]
    lossy = [{key: one[key] for key in ("id", "type", "function")} for one in made]
    assert lossy == [chat.call("function-call-1", "look", chat.LONDON), chat.call("function-call-2", "look")]
    results = [chat.tool("function-call-1"), chat.tool("function-call-2")]
    request = asking([chat.ASKED, chat.assistant(None, *lossy), *results])
    sent = json.loads(lab.ask(chat.GOOGLE, CREDENTIAL, written(request)).sent)
    assert sent["messages"][1]["tool_calls"] == [signed, chat.call("function-call-2", "look")]
