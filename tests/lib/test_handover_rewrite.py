"""How a conversation is parted at a border, and what is refused there."""

import copy
import json
from typing import Any

import pytest
from tongues import CHAT, GEMINI, MESSAGES, RESPONSES, TONGUES, Call, Event, Results, Says, System, Tongue, User

from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import Format
from thoughtkeep.handover.rewrite import STEP_LIMIT, part, rewrite
from thoughtkeep.splice import apply
from thoughtkeep.turns import Ask, Path

type Json = Any

PATHS = {
    "chat": "/chat/completions",
    "messages": "/messages",
    "gemini": "/v1/models/m:generateContent",
    "code assist": "/v1internal:generateContent",
    "responses": "/responses",
}


def read(name: str, body: Json) -> tuple[Ask, Format]:
    endpoint = recognise("POST", PATHS[name], body)
    assert endpoint is not None
    return endpoint.format.read(body, endpoint), endpoint.format


def parted(name: str, body: Json, border: int | None = None, start: int = 0) -> Any:
    ask, _ = read(name, body)
    return part(ask, len(ask.said) if border is None else border, start)


def texts(said: Any) -> list[str]:
    return [each.text for each in said]


def message(role: str, content: Json, **keys: Json) -> Json:
    return {"role": role, "content": content, **keys}


def chat(*messages: Json) -> Json:
    return {"model": "m", "messages": list(messages)}


A_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
LOOP = [message("assistant", "", tool_calls=[A_CALL]), message("tool", "r", tool_call_id="c")]


@pytest.mark.parametrize("border", [0, 1, 2, 3])
def test_each_border_parts_what_was_said_before_it_from_the_user_turn_that_stands_there(border: int) -> None:
    words = [("user", "u0"), ("assistant", "a0"), ("user", "u1"), ("assistant", "a1"), ("user", "u2")]
    told = chat(message("system", "s"), *(message(*each) for each in [*words, ("assistant", "a2"), ("user", "u3")]))
    cut = parted("chat", told, border)
    assert texts(cut.history) == ["s", *[text for _, text in [*words, ("", "a2")]][: 2 * border]]
    assert cut.kept == (("messages", 1 + 2 * border),)
    assert cut.dropped == tuple(("messages", number) for number in range(1, 1 + 2 * border))
    assert cut.step == ()


def test_behind_an_earlier_border_the_history_begins_with_the_user_turn_that_was_kept_there() -> None:
    words = [("user", "u0"), ("assistant", "a0"), ("user", "u1"), ("assistant", "a1"), ("user", "u2")]
    cut = parted("chat", chat(*(message(*each) for each in words)), start=1)
    assert texts(cut.history) == ["u1", "a1"]
    assert cut.dropped == tuple(("messages", number) for number in range(4))


def test_a_tool_loop_that_goes_on_over_two_borders_keeps_its_user_turn_and_tells_each_step_once() -> None:
    told = chat(message("user", "u0"), *LOOP, message("assistant", "then", tool_calls=[A_CALL]), LOOP[1])
    cut = parted("chat", told, start=1)
    assert texts(cut.history) == ["then", "{}", "r"]
    assert cut.kept == (("messages", 0),)
    assert texts(cut.step) == ["then", "{}", "r"]


def test_an_earlier_border_without_a_user_turn_adds_nothing() -> None:
    told = chat(message("assistant", "a0"), message("user", "u"), message("assistant", "a1"), message("user", "v"))
    assert texts(parted("chat", told, start=0).history) == ["a0", "u", "a1"]
    told = chat(message("assistant", "a0"), *LOOP[1:], message("assistant", "a1"), message("user", "v"))
    assert texts(parted("chat", told, start=1).history) == ["a1"]


#: Conversations in which no user turn can be kept: by name the format and the body.
NOTHING_TO_KEEP: dict[str, tuple[str, Json]] = {
    "only the assistant speaks": ("chat", chat(message("assistant", "a"), message("assistant", "b"))),
    "only results": ("chat", chat(*LOOP)),
    "nothing but a reminder": (
        "chat",
        chat(message("user", "<system-reminder>x</system-reminder>"), message("assistant", "a")),
    ),
    "a message without words": ("chat", chat(message("user", "u"), message("assistant", "a"), message("user", ""))),
    "a message without content": ("chat", chat(message("user", "u"), message("assistant", "a"), message("user", None))),
    "an approval": (
        "responses",
        {
            "model": "m",
            "input": [
                message("user", "u"),
                {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}"},
                {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
            ],
        },
    ),
}


@pytest.mark.parametrize("name", NOTHING_TO_KEEP)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_where_no_user_turn_can_be_kept_nothing_is_rewritten(name: str, role: str) -> None:
    form_name, body = NOTHING_TO_KEEP[name]
    ask, form = read(form_name, body)
    assert part(ask, len(ask.said)) is None
    assert rewrite(ask, form, len(ask.said), "summary", role) is None


def test_items_that_only_the_server_has_are_a_state_that_it_keeps() -> None:
    items = [message("user", "u"), {"type": "item_reference", "id": "rs_1"}, message("user", "v")]
    assert read("responses", {"model": "m", "input": items})[0].held
    assert not read("responses", {"model": "m", "input": [items[0], items[2]]})[0].held
    assert not read("responses", {"model": "m", "input": "u"})[0].held


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_request_that_is_one_string_has_no_place_for_a_summary(role: str) -> None:
    ask, form = read("responses", {"model": "m", "input": "hello"})
    assert rewrite(ask, form, 0, "summary", role) is None


def body_of(tongue: Tongue, *events: Event) -> Json:
    return tongue.body("m", [System("s"), *events])


def rewritten(tongue: Tongue, body: Json, role: str = "user") -> list[Json]:
    ask, form = read(tongue.name, body)
    edits = rewrite(ask, form, len(ask.said), "THE-SUMMARY", role)
    assert edits is not None
    sent = json.loads(apply(json.dumps(body).encode(), edits))
    return [each for each in tongue.messages(sent) if each.get("role") not in ("system", "developer")]


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_the_users_words_keep_the_form_of_their_content(tongue: Tongue) -> None:
    history: list[Event] = [User("one"), Says("1")]
    one, several = (
        rewritten(tongue, body_of(tongue, *history, user)) for user in (User("two"), User("two", "and more"))
    )
    key = "parts" if tongue in (GEMINI, TONGUES[3]) else "content"
    lone = tongue.messages(body_of(tongue, User("two")))[-1][key]
    assert type(one[0][key]) is type(lone)
    assert [part.get("text") for part in several[0][key]][1:] == ["two", "and more"]
    assert "THE-SUMMARY" in several[0][key][0]["text"]
    assert len(several[0][key]) == 3


@pytest.mark.parametrize("tongue", [CHAT, MESSAGES], ids=lambda tongue: tongue.name)
@pytest.mark.parametrize("marks", [{}, {"cache_control": {"type": "ephemeral"}}], ids=["bare", "marked"])
@pytest.mark.parametrize("loop", [[], [Says("", [Call("c", "read")]), Results(("c", "RES"))]], ids=["closed", "open"])
def test_lone_words_stand_with_the_summary_in_one_text_whichever_form_the_client_gives_them(
    tongue: Tongue, marks: Json, loop: list[Event]
) -> None:
    as_string = body_of(tongue, User("one"), Says("1"), User("two"), *loop)
    as_list = copy.deepcopy(as_string)
    (words,) = (each for each in as_list["messages"] if each["content"] == "two")
    words["content"] = [{"type": "text", "text": "two", **marks}]
    ((string,), (listed,)) = (rewritten(tongue, body) for body in (as_string, as_list))
    assert listed["content"] == [{"type": "text", "text": string["content"], **marks}]
    assert "THE-SUMMARY" in string["content"]


@pytest.mark.parametrize("tongue", [CHAT, RESPONSES], ids=lambda tongue: tongue.name)
def test_of_several_messages_the_first_has_the_summary_and_the_last_the_open_step(tongue: Tongue) -> None:
    events = [User("one"), Says("1"), User("two"), User("three"), Says("", [Call("c", "read")]), Results(("c", "RES"))]
    first, last = rewritten(tongue, body_of(tongue, *events))
    told = [json.dumps(each) for each in (first, last)]
    assert ["THE-SUMMARY" in each for each in told] == [True, False]
    assert ["RES" in each for each in told] == [False, True]
    assert [word in each for word, each in zip(("two", "three"), told, strict=True)] == [True, True]


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_an_open_step_that_is_too_long_is_cut_in_its_middle_and_says_so(tongue: Tongue) -> None:
    events = [
        User("go"),
        Says("", [Call("c1", "read"), Call("c2", "run", {"script": "y" * STEP_LIMIT})]),
        Results(("c1", "BEGIN " + "x" * 2 * STEP_LIMIT + " END"), ("c2", "second result")),
    ]
    (sent,) = rewritten(tongue, body_of(tongue, *events))
    text = json.dumps(sent, ensure_ascii=False)
    assert "characters left out here" in text
    assert "second result" in text
    assert "ASSISTANT called read" in text
    assert len(text) < STEP_LIMIT + 2000


def test_results_beside_the_users_words_go_and_the_words_stay() -> None:
    for tongue in (MESSAGES, GEMINI):
        events = [User("go"), Says("", [Call("c1", "read")]), Results(("c1", "RES"), words=["stop", "now"])]
        (sent,) = rewritten(tongue, body_of(tongue, *events))
        text = json.dumps(sent)
        assert "tool_result" not in text
        assert "functionResponse" not in text
        assert (text.count("stop"), text.count("now")) == (1, 1)


def test_places_say_where_a_message_stands_in_a_wrapper_too() -> None:
    places: list[Path] = []
    for tongue in TONGUES:
        cut = parted(tongue.name, body_of(tongue, User("one"), Says("1"), User("two")))
        places += cut.kept
    assert [place[:-1] for place in places] == [
        ("messages",),
        ("messages",),
        ("contents",),
        ("request", "contents"),
        ("input",),
    ]


INJECTED = "<system-reminder>\nThe project's instructions.\n</system-reminder>"


@pytest.mark.parametrize("tongue", TONGUES, ids=lambda tongue: tongue.name)
def test_what_an_agent_put_before_the_users_first_words_stays_without_them(tongue: Tongue) -> None:
    """A project's instructions stand in no summary: Codex tells them in a message, Claude Code in a block."""
    for first in ([User(INJECTED), User("Begin.")], [User(INJECTED, "Begin.")]):
        body = tongue.body("m", [*first, Says("Done."), User("Go on.")])
        name = tongue.name
        ask, form = read(name, body)
        edits = rewrite(ask, form, len(ask.said), "what happened")
        assert edits is not None
        sent = tongue.messages(json.loads(apply(json.dumps(body).encode(), edits)))
        assert len(sent) == 2
        assert "The project's instructions." in str(sent[0])
        assert "Begin." not in str(sent)
        assert "what happened" in str(sent[1])
        assert "Go on." in str(sent[1])


def test_what_stands_in_one_string_with_the_first_words_goes_with_them() -> None:
    body = CHAT.body("m", [User(f"{INJECTED} Begin."), Says("Done."), User("Go on.")])
    ask, form = read("chat", body)
    edits = rewrite(ask, form, 1, "what happened")
    assert edits is not None
    assert len(CHAT.messages(json.loads(apply(json.dumps(body).encode(), edits)))) == 1


def test_the_instructions_that_codex_tells_are_no_words_of_the_user() -> None:
    told = "# AGENTS.md instructions for /home/x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"
    ask, _ = read("responses", RESPONSES.body("m", [User(told), User("Begin.")]))
    assert ask.first == "Begin."


ASIDE = message("system", [{"type": "text", "text": "More tools are there."}])
USE = message("assistant", [{"type": "tool_use", "id": "c", "name": "f", "input": {}}])
USED = message("user", [{"type": "tool_result", "tool_use_id": "c", "content": "RES"}])
ASIDES = {
    "behind the latest words": (
        [message("user", "one"), ASIDE, message("assistant", "1"), message("user", "two"), ASIDE],
        [("user", "two"), ("system", "More")],
    ),
    "behind results of an open step": (
        [message("user", "two"), ASIDE, USE, USED, message("system", "Reminder.")],
        [("user", "RES"), ("system", "More")],
    ),
    "in the history": (
        [message("user", "one"), ASIDE, message("assistant", "1"), message("user", "two")],
        [("user", "two")],
    ),
}


@pytest.mark.parametrize("told", ASIDES)
def test_what_the_system_says_in_between_stays_where_a_provider_takes_it_and_never_holds_the_summary(told: str) -> None:
    messages, wanted = ASIDES[told]
    ask, form = read("messages", {"model": "m", "max_tokens": 9, "messages": messages})
    edits = rewrite(ask, form, len(ask.said), "THE-SUMMARY")
    assert edits is not None
    sent = json.loads(apply(json.dumps({"messages": messages}).encode(), edits))["messages"]
    assert [(each["role"], word in json.dumps(each)) for each, (_, word) in zip(sent, wanted, strict=True)] == [
        (role, True) for role, _ in wanted
    ]
    assert ["THE-SUMMARY" in json.dumps(each) for each in sent] == [role == "user" for role, _ in wanted]


def test_what_the_system_says_in_between_is_no_word_of_the_user() -> None:
    bare, told = (
        read("messages", {"model": "m", "max_tokens": 9, "messages": messages})[0]
        for messages in ([message("user", "go"), USE, USED], [message("user", "go"), ASIDE, USE, USED, ASIDE])
    )
    assert (bare.first, bare.words, bare.said[0].words) == (told.first, told.words, told.said[0].words)
