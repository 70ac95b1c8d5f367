"""Who and where: what changes the digests by which a turn is found, and what does not."""

import base64
import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from thoughtkeep.formats.chat import ChatFormat
from thoughtkeep.identity import (
    Place,
    Trail,
    after,
    bare,
    content_digest,
    digest,
    is_base64,
    opaque_values,
    roll,
    same_base64,
    stable_part,
    tenant,
    think_tag,
    trail,
    values,
    visible,
    without_reminders,
)
from thoughtkeep.turns import Ask, Call, Kind, Message, Piece, Said, Turn

Json = Any
KEY = b"k" * 32

# -- digests ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(st.characters(codec=None), max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_two_lists_of_words_have_one_digest_only_if_they_are_the_same(one: list[str], other: list[str]) -> None:
    assert (digest(KEY, *one) == digest(KEY, *other)) == (one == other)


def test_the_borders_of_words_count() -> None:
    assert len({digest(KEY, "ab"), digest(KEY, "a", "b"), digest(KEY, "", "ab"), digest(KEY, "ab", "")}) == 4


def test_another_key_gives_another_digest_and_long_keys_are_cut() -> None:
    assert digest(b"one", "a") != digest(b"two", "a")
    assert digest(b"k" * 64, "a") == digest(b"k" * 99, "a")
    assert len(digest(KEY)) == 32


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  Fix it.\n", "Fix it."),
        ("<system-reminder>today is Monday</system-reminder>\nFix it.", "Fix it."),
        ("Fix it.<system-reminder>\na\nb\n</system-reminder>", "Fix it."),
        ("<environment_context><cwd>/a</cwd></environment_context>Fix it.", "Fix it."),
        ("<session_context>\nToday is Monday.\n</session_context>Fix it.", "Fix it."),
        ("<user_instructions>Be brief.</user_instructions>\nFix it.", "Fix it."),
        ("# AGENTS.md instructions for /a b\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>\nFix it.", "Fix it."),
        ("Fix it.\n<environment_details># Time\n12:00</environment_details>", "Fix it."),
        ("<system-reminder>a</system-reminder>Fix <system-reminder>b</system-reminder>it.", "Fix it."),
        ("<system-reminder>a <environment_details>b</environment_details></system-reminder>Fix it.", "Fix it."),
        ("<environment_details>a <system-reminder>b</system-reminder></environment_details>Fix it.", "Fix it."),
        ("<system-reminder>a</system-reminder>", ""),
        ("What does <system-reminder> mean?", "What does <system-reminder> mean?"),
        ("</system-reminder> <system-reminder>", "</system-reminder> <system-reminder>"),
        ("<system-reminder>a</environment_details>", "<system-reminder>a</environment_details>"),
        ("if a < b", "if a < b"),
    ],
)
def test_a_users_words_are_those_outside_of_injected_tags(text: str, words: str) -> None:
    assert without_reminders(text) == words


def test_tags_that_nobody_closes_cost_no_more_than_other_text() -> None:
    text = (
        "</system-reminder>" + "<system-reminder>" * 100_000
    )  # a search from each of them to the end would take hours
    assert without_reminders(text) == text


@pytest.mark.parametrize(
    ("text", "tag", "rest"),
    [
        ("<think>a b</think>c d", "<think>a b</think>", "cd"),
        ("\n <think>a\n</think>\n\nc", "\n <think>a\n</think>", "c"),
        (" " * 99 + "<think>a</think>c", " " * 99 + "<think>a</think>", "c"),
        ("<think></think>c", "<think></think>", "c"),
        ("<think>a</think>b<think>c</think>", "<think>a</think>", "b<think>c</think>"),
        ("c <think>a</think>", "", "c<think>a</think>"),
        ("<think>a", "", "<think>a"),
        ("<thinking>a</thinking>c", "", "<thinking>a</thinking>c"),
        (" a\u00a0\tb\r\n", "", "ab"),
        ("", "", ""),
    ],
)
def test_a_text_is_compared_without_white_space_and_the_thinking_before_it(text: str, tag: str, rest: str) -> None:
    assert think_tag(text) == tag
    assert bare(text) == rest


def test_visible_are_texts_and_other_content_but_neither_calls_nor_thoughts() -> None:
    pieces = [
        Piece(Kind.THOUGHT, "hm"),
        Piece(Kind.TEXT, "a"),
        Piece(Kind.CALL, call=Call("", "f", "{}")),
        Piece(Kind.OTHER, "\x1bb"),
        Piece(Kind.TEXT, "c"),
    ]
    assert visible(pieces) == "a\x1bbc"


def test_other_content_is_told_by_its_words_in_any_order_of_keys() -> None:
    image = {"type": "image", "data": "AAAA", "\ud800": "\ud800"}
    assert content_digest(image) == content_digest(dict(reversed(image.items())))
    assert content_digest(image) != content_digest({**image, "data": "AAAB"})
    assert content_digest({"a": ["x", "y"]}) != content_digest({"a": ["xy"]})
    assert content_digest(image)[0] == "\x1b"  # no text begins so


# -- lineage ----------------------------------------------------------------------------------------------------------


def call(name: str, arguments: str = '{"path":"a.py","n":1}', call_id: str = "call_1") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(text: str, call_id: str = "call_1") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def dialogue() -> list[Json]:
    return [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Fix the bug."},
        {"role": "assistant", "content": "I look.", "tool_calls": [call("read"), call("list", "{}", "call_2")]},
        result("text of a.py"),
        result("a.py b.py", "call_2"),
        {"role": "assistant", "content": "It is fixed."},
        {"role": "user", "content": "Thanks."},
    ]


def trail_of(messages: list[Json]) -> Trail:
    body = {"model": "m", "messages": messages}
    endpoint = ChatFormat().endpoint("/v1/chat/completions", body)
    assert endpoint
    return trail(KEY, ChatFormat().read(body, endpoint))


def changed(at: int, *new: Json, drop: int = 1) -> list[Json]:
    messages = deepcopy(dialogue())
    messages[at : at + drop] = new
    return messages


def calls(*made: Json, content: Json = "I look.", **more: Json) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(made), **more}


READ, LIST = call("read"), call("list", "{}", "call_2")
REMINDER = "<system-reminder>It is 12:00.</system-reminder>"

SAME: dict[str, list[Json]] = {
    "ids are replaced": changed(2, calls(call("read", call_id="x1"), call("list", "{}", "x2"))),
    "ids are all the same": changed(2, calls(call("read"), call("list", "{}"))),
    "ids are gone": changed(2, calls(call("read", call_id=""), call("list", "{}", ""))),
    "arguments are spaced": changed(2, calls(call("read", '{ "path": "a.py",\n"n": 1 }'), LIST)),
    "arguments are ordered": changed(2, calls(call("read", '{"n":1,"path":"a.py"}'), LIST)),
    "arguments are floats": changed(2, calls(call("read", '{"path":"a.py","n":1.0}'), LIST)),
    "arguments are escaped": changed(2, calls(call("read", '{"path":"\\u0061.py","n":1}'), LIST)),
    "no arguments are an empty string": changed(2, calls(READ, call("list", "", "call_2"))),
    "no arguments are null": changed(2, calls(READ, call("list", "null", "call_2"))),
    "no arguments are spaces": changed(2, calls(READ, call("list", " { } ", "call_2"))),
    "the batch is split": changed(2, calls(READ), result("text of a.py"), calls(LIST, content=None), drop=2),
    "the batch is split, its results behind it": changed(2, calls(READ), calls(LIST)),
    "the text beside the calls is gone": changed(2, calls(READ, LIST, content=None)),
    "the text beside the calls stands before them": changed(
        2, {"role": "assistant", "content": "I look."}, calls(READ, LIST, content="")
    ),
    "the text beside the calls is another": changed(2, calls(READ, LIST, content="I shall look.")),
    "the state comes along": changed(2, calls(READ, LIST, reasoning_content="First read.", reasoning_details=[])),
    "a result is another": changed(3, result("[cleared]")),
    "the results are cleared": changed(3, result(""), result("", "call_2"), drop=2),
    "the system prompt is another": changed(0, {"role": "system", "content": "It is Monday."}),
    "there is no system prompt": changed(0),
    "a text is an array": changed(5, {"role": "assistant", "content": [{"type": "text", "text": "It is fixed."}]}),
    "a text is in two blocks": changed(
        5, {"role": "assistant", "content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "fixed."}]}
    ),
    "a text is in two messages": changed(
        5, {"role": "assistant", "content": "It is"}, {"role": "assistant", "content": "fixed."}
    ),
    "a text is trimmed and wrapped": changed(5, {"role": "assistant", "content": "\nIt is\n  fixed.\n\n"}),
    "a text has thinking before it": changed(
        5, {"role": "assistant", "content": "<think>Was it?</think>\n\nIt is fixed."}
    ),
    "a cache mark is set": changed(
        5,
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "It is fixed.", "cache_control": {"type": "ephemeral"}}],
        },
    ),
    "the first words have a reminder": changed(1, {"role": "user", "content": f"{REMINDER}\nFix the bug."}),
    "the first words have a reminder within": changed(1, {"role": "user", "content": f"Fix\n{REMINDER}\nthe bug."}),
    "the first words are an array with a reminder": changed(
        1, {"role": "user", "content": [{"type": "text", "text": REMINDER}, {"type": "text", "text": "Fix the bug."}]}
    ),
    "a reminder alone stands before the first words": changed(
        1, {"role": "user", "content": REMINDER}, {"role": "user", "content": "Fix the bug."}
    ),
    "the first words are trimmed": changed(1, {"role": "user", "content": "\n Fix the bug. "}),
    "an empty assistant message stands between": changed(4, result("x", "call_2"), {"role": "assistant"}),
    "the last words are others": changed(6, {"role": "user", "content": "Go on."}),
}

OTHER: dict[str, list[Json]] = {
    "the first words": changed(1, {"role": "user", "content": "Fix the other bug."}),
    "a call's name": changed(2, calls(call("write"), LIST)),
    "a call's arguments": changed(2, calls(call("read", '{"path":"b.py","n":1}'), LIST)),
    "a number that is a text": changed(2, calls(call("read", '{"path":"a.py","n":"1"}'), LIST)),
    "the order of the calls": changed(2, calls(LIST, READ)),
    "a call less": changed(2, calls(READ)),
    "a call more": changed(2, calls(READ, LIST, LIST)),
    "a text": changed(5, {"role": "assistant", "content": "It is broken."}),
    "a text's case": changed(5, {"role": "assistant", "content": "it is fixed."}),
    "a turn less": changed(5),
    "the order of the turns": changed(2, dialogue()[5], dialogue()[6], *dialogue()[2:5], drop=5),
}


@pytest.mark.parametrize("messages", SAME.values(), ids=SAME)
def test_a_conversation_keeps_its_lineage_when(messages: list[Json]) -> None:
    assert trail_of(messages).root == trail_of(dialogue()).root
    assert trail_of(messages).end.lineage == trail_of(dialogue()).end.lineage


@pytest.mark.parametrize("messages", OTHER.values(), ids=OTHER)
def test_a_conversation_has_another_lineage_for_another(messages: list[Json]) -> None:
    assert trail_of(messages).end.lineage != trail_of(dialogue()).end.lineage


def test_each_turn_stands_where_the_one_before_it_ended() -> None:
    walked = trail_of(dialogue())
    first, second = walked.places
    assert (walked.root, first.after, second.after) == (first.lineage, second.lineage, walked.end.lineage)
    assert walked.end.after == walked.end.lineage
    assert len({first.lineage, second.lineage, walked.end.lineage}) == 3


def test_what_comes_later_does_not_change_a_place() -> None:
    longer = [*dialogue(), {"role": "assistant", "content": "Bye."}, {"role": "user", "content": "Wait."}]
    places, end = trail_of(dialogue()).places, trail_of(dialogue()).end
    assert trail_of(longer).places[:2] == places
    assert replace(trail_of(longer).places[2], after="") == replace(end, after="")


@pytest.mark.parametrize(
    ("words", "near", "context"),
    [
        (["Fix it.", "Thanks.", "Go on."], True, True),
        (["Fix it.", "Thanks.", "Stop."], False, False),
        (["Fix it.", "No.", "Go on."], True, False),
        (["Fix it.Thanks.", "", "Go on."], True, False),
    ],
    ids=["the same", "other words just before", "other words long before", "the same words in other places"],
)
def test_the_words_around_tell_places_of_one_lineage_apart(words: list[str], near: bool, context: bool) -> None:
    def places(told: list[str]) -> list[Place]:
        before = [Said((), (Piece(Kind.TEXT, "Yes."),), words=each) for each in told]
        inside = trail(KEY, Ask("chat", "m", False, tuple(before), "Fix it."))
        behind = trail(KEY, Ask("chat", "m", False, tuple(before[:2]), "Fix it.", words=told[2]))
        return [inside.places[2], behind.end]

    for place, same in zip(places(words), places(["Fix it.", "Thanks.", "Go on."]), strict=True):
        assert place.lineage == same.lineage
        assert ((place.near == same.near), (place.context == same.context)) == (near, context)


def test_frames_go_to_the_turns_and_to_the_answer_in_order() -> None:
    ask = Ask("chat", "m", False, (Said((), ()), Said((), ())), "first")
    walked = trail(KEY, ask, ["one", "two", "end"])
    assert [place.frame for place in (*walked.places, walked.end)] == ["one", "two", "end"]
    assert [place.frame for place in (*trail(KEY, ask).places, trail(KEY, ask).end)] == ["", "", ""]


def test_a_turn_that_said_nothing_leaves_the_lineage_where_it_was() -> None:
    assert roll(KEY, "place", []) == roll(KEY, "place", [Piece(Kind.TEXT, " \n"), Piece(Kind.THOUGHT, "hm")]) == "place"


@given(st.lists(st.sampled_from("abc"), max_size=5), st.integers(0, 5))
def test_a_batch_of_calls_rolls_the_same_in_one_or_two_parts(names: list[str], border: int) -> None:
    pieces = [Piece(Kind.CALL, call=Call("", name, "{}")) for name in names]
    assert roll(KEY, roll(KEY, "place", pieces[:border]), pieces[border:]) == roll(KEY, "place", pieces)


def test_a_text_is_no_call_of_the_same_words() -> None:
    assert roll(KEY, "place", [Piece(Kind.TEXT, "f")]) != roll(KEY, "place", [Piece(Kind.CALL, call=Call("", "f", ""))])


TEXT, THOUGHT, IMAGE = Piece(Kind.TEXT, "It is."), Piece(Kind.THOUGHT, "Is it?"), Piece(Kind.OTHER, "\x1bimage")


@pytest.mark.parametrize(
    ("turn", "told", "known"),
    [
        (Turn((TEXT,)), [TEXT], True),
        (Turn((TEXT,), prose="Is it?"), [Piece(Kind.TEXT, "Is it?\n\nIt is.")], True),
        (Turn((TEXT,), prose="Is it?"), [Piece(Kind.TEXT, "<think>Is it?</think>It is.")], True),
        (Turn((TEXT,)), [Piece(Kind.TEXT, "Is it?It is.")], False),
        (Turn((TEXT,), prose="Is it?"), [Piece(Kind.TEXT, "It is.Is it?")], False),
        (Turn((TEXT, IMAGE)), [TEXT, IMAGE], True),
        (Turn((TEXT, IMAGE)), [TEXT], True),
        (Turn((TEXT, IMAGE)), [IMAGE], False),
        (Turn((THOUGHT, TEXT)), [TEXT], True),
        (Turn((TEXT, Piece(Kind.CALL, call=Call("", "f", "{}"))), prose="Is it?"), [TEXT], False),
        (Turn((TEXT, Piece(Kind.CALL, call=Call("", "f", "{}"))), prose="a"), [Piece(Kind.TEXT, "aIt is.")], False),
    ],
    ids=[
        "the text",
        "reasoning and answer joined",
        "reasoning in tags before the answer",
        "joined to reasoning that was none",
        "joined the other way round",
        "text and image",
        "an image dropped",
        "a text dropped",
        "a thought dropped",
        "the call dropped",
        "the call dropped, reasoning and text joined",
    ],
)
def test_the_places_behind_a_turn_are_those_that_clients_arrive_at(turn: Turn, told: list[Piece], known: bool) -> None:
    assert (roll(KEY, "place", told) in after(KEY, "place", turn)) is known


def test_the_plain_place_behind_a_turn_comes_first_and_each_once() -> None:
    assert after(KEY, "place", Turn((TEXT,))) == (roll(KEY, "place", [TEXT]),)
    assert after(KEY, "place", Turn((TEXT, IMAGE), prose="a"))[0] == roll(KEY, "place", [TEXT, IMAGE])


# -- opaque values ----------------------------------------------------------------------------------------------------

OPAQUE = "AbCd+/0123456789AbCd0123=="


def test_opaque_values_are_long_strings_without_spaces_each_once_in_either_alphabet() -> None:
    urlsafe = OPAQUE.replace("+", "-").replace("/", "_").rstrip("=")
    words = ["short", "a" * 23, "some words that are long enough", {"k": [OPAQUE, 1, None]}, urlsafe]
    assert values(KEY, words) == values(KEY, [OPAQUE])
    assert len(values(KEY, [OPAQUE, "a" * 24])) == 2
    assert values(b"other" * 8, [OPAQUE]) != values(KEY, [OPAQUE])


@pytest.mark.parametrize(
    "key", ["signature", "data", "encrypted_content", "thoughtSignature", "thought_signature", "reasoning_opaque"]
)
def test_under_a_key_of_opaque_values_short_ones_count_too(key: str) -> None:
    assert values(KEY, [{key: "ab-"}, {key: ["ab+"]}]) == values(KEY, [{key: "ab+"}]) != ()
    assert values(KEY, [{key: "", "k": "short"}]) == ()


@pytest.mark.parametrize("key", ["type", "format", "index", "name", "status"])
def test_what_only_labels_a_value_is_none(key: str) -> None:
    assert values(KEY, [{key: "a" * 30, "data": "X"}]) == values(KEY, [{"data": "X"}])


def test_the_ids_of_items_count_among_the_opaque_values_but_are_not_taken_for_them() -> None:
    item, signed = Piece(Kind.THOUGHT, ref="rs_1"), Piece(Kind.THOUGHT, state={"data": "rs_1"})
    assert len(opaque_values(KEY, Turn((item, item)))) == 1
    assert opaque_values(KEY, Turn((item,))) == opaque_values(KEY, Said((), (item,)))
    assert opaque_values(KEY, Turn((item,))) != opaque_values(KEY, Turn((signed,)))


def test_opaque_values_come_in_their_order() -> None:
    assert values(KEY, [{"data": "X", "more": [{"data": "Y"}]}, {"signature": "Z"}]) == tuple(
        values(KEY, [{"data": word}])[0] for word in "XYZ"
    )


def test_a_turn_and_a_request_that_echoes_it_share_opaque_values() -> None:
    on_piece, on_message = "p" * 30, "m" * 30
    pieces = (Piece(Kind.TEXT, state={"thoughtSignature": on_piece}),)
    turn = Turn(pieces, {"reasoning_details": [{"data": on_message}]})
    said = Said((Message(("messages", 0), {"reasoning_details": [{"data": on_message}]}),), pieces)
    assert opaque_values(KEY, turn) == opaque_values(KEY, said) == values(KEY, [on_piece, on_message])
    assert opaque_values(KEY, Turn(())) == ()


@given(st.binary(min_size=1, max_size=40))
def test_both_base64_alphabets_are_one_padded_or_not(data: bytes) -> None:
    standard, urlsafe = base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()
    assert same_base64(standard) == same_base64(urlsafe) == same_base64(urlsafe.rstrip("="))
    for text in (standard, urlsafe, standard.rstrip("="), urlsafe.rstrip("=")):
        assert is_base64(text)


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_other_bytes_are_other_base64(one: bytes, other: bytes) -> None:
    assume(one != other)
    assert same_base64(base64.b64encode(one).decode()) != same_base64(base64.urlsafe_b64encode(other).decode())


@pytest.mark.parametrize("text", ["", "=", "a", "abcde", "two words", "a=bc", "née", "abc\n", "\ud800abc", "[x]="])
def test_what_could_not_be_base64_is_not(text: str) -> None:
    assert not is_base64(text)


# -- tenants ----------------------------------------------------------------------------------------------------------


def jwt(**claims: Json) -> str:
    def part(value: Json) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part(claims)}.{'c2lnbmF0dXJl' * 4}"


def bearer(token: str, **more: str) -> dict[str, Json]:
    return {"headers": {"authorization": f"Bearer {token}", **more}}


def sigv4(access_key: str, signature: str) -> dict[str, Json]:
    value = (
        f"AWS4-HMAC-SHA256 Credential={access_key}/20260101/us-east-1/bedrock/aws4_request, "
        f"SignedHeaders=host, Signature={signature}"
    )
    return {"headers": {"authorization": value}}


def whose(credential: dict[str, Json]) -> str:
    asked: dict[str, Json] = {"headers": {}, "query": {}, "client": "10.0.0.1", "host": "api.test", **credential}
    return tenant(KEY, asked.pop("headers"), asked.pop("query"), **asked)


SAME_TENANT: dict[str, tuple[dict[str, Json], dict[str, Json]]] = {
    "a static key from two addresses": (bearer("sk-1"), {**bearer("sk-1"), "client": "10.0.0.2"}),
    "a static key at two hosts": (bearer("sk-1"), {**bearer("sk-1"), "host": "eu.api.test"}),
    "a key in a header or as a bearer token": ({"headers": {"x-api-key": "sk-1"}}, bearer("sk-1")),
    "a key in Google's header or in the query": ({"headers": {"x-goog-api-key": "AI1"}}, {"query": {"key": "AI1"}}),
    "a key in Azure's header or as a bearer token": ({"headers": {"api-key": "az1"}}, bearer("az1")),
    "a token with or without its scheme": (bearer("sk-1"), {"headers": {"authorization": "sk-1"}}),
    "a scheme in any case": (bearer("sk-1"), {"headers": {"authorization": "bearer  sk-1 "}}),
    "a JWT renewed": (
        bearer(jwt(iss="auth.test", sub="u1", exp=1, jti="a")),
        bearer(jwt(exp=9, sub="u1", iss="auth.test", jti="b")),
    ),
    "an Entra token renewed": (
        bearer(jwt(iss="sts.test", oid="o1", tid="t1", exp=1)),
        bearer(jwt(iss="sts.test", oid="o1", tid="t1", exp=2)),
    ),
    "a token that Zhipu's SDK signs itself, renewed": (
        bearer(jwt(api_key="id1", exp=1, timestamp=1)),
        bearer(jwt(api_key="id1", exp=2, timestamp=2)),
    ),
    "a token that names an account renewed": (
        bearer(jwt(iss="i", account_id="a", exp=1)),
        bearer(jwt(iss="i", account_id="a", exp=2)),
    ),
    "a token that names a ChatGPT account renewed": (
        bearer(jwt(iss="i", chatgpt_account_id="a", exp=1)),
        bearer(jwt(iss="i", chatgpt_account_id="a", exp=2)),
    ),
    "Copilot's token renewed": (bearer("tid=t1;exp=1;sku=x:abc"), bearer("tid=t1;exp=2;sku=y:def")),
    "Google's OAuth token renewed": (bearer("ya29.aaa"), bearer("ya29.bbb")),
    "Anthropic's OAuth token renewed": (bearer("sk-ant-oat01-aaa"), bearer("sk-ant-oat01-bbb")),
    "two signatures of one access key": (sigv4("AKIA1", "aa"), sigv4("AKIA1", "bb")),
    "ChatGPT's token renewed": (
        bearer(jwt(sub="u1", exp=1), **{"chatgpt-account-id": "acc1"}),
        bearer(jwt(sub="u1", exp=2), **{"chatgpt-account-id": "acc1"}),
    ),
    "ChatGPT's opaque token renewed": (
        bearer("aaa", **{"chatgpt-account-id": "acc1"}),
        bearer("bbb", **{"chatgpt-account-id": "acc1"}),
    ),
    "the proxy's user with two keys": ({**bearer("sk-1"), "user": "ann"}, {**bearer("sk-2"), "user": "ann"}),
    "no credential, the same client": ({}, {}),
    "an empty key, the same client": ({}, {"headers": {"authorization": "Bearer "}}),
    "an empty password, the same client": ({}, {"headers": {"authorization": "Basic"}}),
    "an empty token, the same client": ({}, {"headers": {"authorization": "token "}}),
    "an empty header, the same client": ({}, {"headers": {"x-api-key": "", "authorization": ""}, "query": {"key": ""}}),
    "a signature that names no key, the same client": ({}, {"headers": {"authorization": "AWS4-HMAC-SHA256 x"}}),
}

OTHER_TENANT: dict[str, tuple[dict[str, Json], dict[str, Json]]] = {
    "two static keys": (bearer("sk-1"), bearer("sk-2")),
    "two keys in Anthropic's header": ({"headers": {"x-api-key": "1"}}, {"headers": {"x-api-key": "2"}}),
    "two keys in Google's header": ({"headers": {"x-goog-api-key": "1"}}, {"headers": {"x-goog-api-key": "2"}}),
    "two keys in Azure's header": ({"headers": {"api-key": "1"}}, {"headers": {"api-key": "2"}}),
    "two keys in the query": ({"query": {"key": "1"}}, {"query": {"key": "2"}}),
    "two keys under a scheme of its own": (
        {"headers": {"authorization": "Key 1"}},
        {"headers": {"authorization": "Key 2"}},
    ),
    "one object of two Entra tenants": (
        bearer(jwt(iss="i", oid="o", tid="t1")),
        bearer(jwt(iss="i", oid="o", tid="t2")),
    ),
    "one subject with two applications": (
        bearer(jwt(iss="i", sub="u", client_id="a")),
        bearer(jwt(iss="i", sub="u", client_id="b")),
    ),
    "one subject with two authorised parties": (
        bearer(jwt(iss="i", sub="u", azp="a")),
        bearer(jwt(iss="i", sub="u", azp="b")),
    ),
    "one subject with two accounts": (
        bearer(jwt(iss="i", sub="u", account_id="a")),
        bearer(jwt(iss="i", sub="u", account_id="b")),
    ),
    "a key and none": (bearer("sk-1"), {}),
    "two subjects": (bearer(jwt(iss="i", sub="u1")), bearer(jwt(iss="i", sub="u2"))),
    "one subject of two issuers": (bearer(jwt(iss="i", sub="u1")), bearer(jwt(iss="j", sub="u1"))),
    "one subject in two accounts": (
        bearer(jwt(iss="i", sub="u1", chatgpt_account_id="a")),
        bearer(jwt(iss="i", sub="u1", chatgpt_account_id="b")),
    ),
    "two tokens of one application that name no user": (
        bearer(jwt(iss="i", client_id="app", email="ann@test")),
        bearer(jwt(iss="i", client_id="app", email="bob@test")),
    ),
    "two API keys in the form of a JWT without subject": (
        bearer(jwt(iss="minimax", SubjectID="1")),
        bearer(jwt(iss="minimax", SubjectID="2")),
    ),
    "two users of Copilot": (bearer("tid=t1;exp=1;"), bearer("tid=t2;exp=1;")),
    "Google's OAuth from two clients": (bearer("ya29.a"), {**bearer("ya29.a"), "client": "10.0.0.2"}),
    "Google's OAuth at two hosts": (bearer("ya29.a"), {**bearer("ya29.a"), "host": "other.test"}),
    "two access keys": (sigv4("AKIA1", "aa"), sigv4("AKIA2", "aa")),
    "an access key and a static key of the same letters": (sigv4("AKIA1", "aa"), bearer("AKIA1")),
    "two accounts of one ChatGPT user": (
        bearer(jwt(sub="u1"), **{"chatgpt-account-id": "acc1"}),
        bearer(jwt(sub="u1"), **{"chatgpt-account-id": "acc2"}),
    ),
    "two people in one ChatGPT workspace": (
        bearer(jwt(sub="u1"), **{"chatgpt-account-id": "acc1"}),
        bearer(jwt(sub="u2"), **{"chatgpt-account-id": "acc1"}),
    ),
    "two users of the proxy with one key": ({**bearer("sk-1"), "user": "ann"}, {**bearer("sk-1"), "user": "bob"}),
    "the proxy's user and a key of that name": ({"user": "ann"}, bearer("ann")),
    "no credential from two clients": ({}, {"client": "10.0.0.2"}),
    "an empty key from two clients": (
        {"headers": {"authorization": "Bearer"}},
        {"headers": {"authorization": "Bearer"}, "client": "10.0.0.2"},
    ),
}


@pytest.mark.parametrize(("one", "other"), SAME_TENANT.values(), ids=SAME_TENANT)
def test_one_tenant_are(one: dict[str, Json], other: dict[str, Json]) -> None:
    assert whose(one) == whose(other)


@pytest.mark.parametrize(("one", "other"), OTHER_TENANT.values(), ids=OTHER_TENANT)
def test_two_tenants_are(one: dict[str, Json], other: dict[str, Json]) -> None:
    assert whose(one) != whose(other)


TOKENS = st.text("abcXYZ019-_.=;", min_size=1, max_size=20) | st.builds(
    jwt, iss=st.sampled_from("ij"), sub=st.sampled_from("uv"), exp=st.integers(1, 3)
)


@given(TOKENS, TOKENS, st.sampled_from(["x-api-key", "x-goog-api-key", "api-key", "authorization"]))
def test_two_credentials_never_make_one_tenant(one: str, other: str, header: str) -> None:
    same = whose({"headers": {header: one}}) == whose({"headers": {header: other}})
    assert same == (stable_part(one) == stable_part(other))
    assert same or one != other


@pytest.mark.parametrize(
    "token",
    [
        "sk-1",
        "tid=;exp=1;",
        "tid=t1",
        "a.b.c",
        "eyJ.a",
        jwt(sub="u").rpartition(".")[0],
        jwt(sub="u") + ".x.y",
        "a" + jwt(sub="u"),
        "eyJhbGciOiJub25lIn0.%%%.c",
        "eyJhbGciOiJub25lIn0.bm8ganNvbg.c",
        f"eyJhbGciOiJub25lIn0.{base64.urlsafe_b64encode(b'[1]').decode()}.c",
        f"eyJhbGciOiJub25lIn0.{base64.urlsafe_b64encode(b'[' * 99_999).decode()}.c",
        "eyJhbGciOiJub25lIn0.né.c",
        jwt(exp=1),
        jwt(iss="i", tid="t"),
        jwt(sub="", iss="i"),
    ],
    ids=lambda token: token[:40],
)
def test_a_token_that_names_no_owner_stays_whole(token: str) -> None:
    assert stable_part(token) == token


def test_only_a_keyed_digest_is_told_of_a_credential() -> None:
    assert "sk-secret" not in whose(bearer("sk-secret"))
    assert tenant(KEY, {"x-api-key": "a"}, {}) != tenant(b"another", {"x-api-key": "a"}, {})


@pytest.mark.parametrize("token", ["EMPTY", "ollama", "sk-no-key-required"])
def test_a_key_that_everybody_sends_to_a_server_without_keys_makes_nobody_one_with_another(token: str) -> None:
    headers = {"authorization": f"Bearer {token}"}
    one, two = (tenant(KEY, headers, {}, client=client, host="localhost") for client in ("10.0.0.1", "10.0.0.2"))
    assert one != two
    assert one == tenant(KEY, {}, {}, client="10.0.0.1", host="localhost")
