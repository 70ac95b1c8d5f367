"""Streamed entries and blocks: which pieces are one, which of their fields grow, and what is never joined."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.formats.merge import add_block, add_entry
from thoughtkeep.jsontext import settled

Json = Any


def entries(*pieces: Json, cumulative: bool = False) -> list[Json]:
    """The entries that the pieces of a stream make; the pieces themselves stay as they are."""
    made: list[Json] = []
    before = deepcopy(pieces)
    for piece in pieces:
        add_entry(made, piece, cumulative=cumulative)
    assert pieces == before
    whole: list[Json] = settled(made)
    return whole


def blocks(*pieces: Json) -> list[Json]:
    """The blocks that the pieces of a stream make; the pieces themselves stay as they are."""
    made: list[Json] = []
    before = deepcopy(pieces)
    for piece in pieces:
        add_block(made, piece)
    assert pieces == before
    whole: list[Json] = settled(made)
    return whole


def text(words: str | None = None, **more: Json) -> dict[str, Json]:
    said = {} if words is None else {"text": words}
    return {"type": "reasoning.text", **said, "index": 0, **more}


def summary(words: str, **more: Json) -> dict[str, Json]:
    return {"type": "reasoning.summary", "summary": words, "index": 0, **more}


def sealed(data: str | None, **more: Json) -> dict[str, Json]:
    return {"type": "reasoning.encrypted", "data": data, "index": 0, **more}


def item(words: str, **more: Json) -> dict[str, Json]:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": words}], **more}


def tool(call_id: str | None, result: str) -> dict[str, Json]:
    return {"type": "reasoning.server_tool_call", "tool_call_id": call_id, "result": result, "index": 0}


ENTRIES: dict[str, tuple[list[Json], list[Json]]] = {
    "texts of one entry": ([text("a"), text("b"), text("c")], [text("abc")]),
    "texts of any length": ([text("a"), text("bcd"), text("")], [text("abcd")]),
    "a text and a summary at one index": ([text("a"), summary("b")], [text("a"), summary("b")]),
    "a key that comes late, and null": ([text("a"), text("b", signature=None)], [text("ab", signature=None)]),
    "texts of two indexes": ([text("a"), text("b", index=1)], [text("a"), text("b", index=1)]),
    "texts without index": ([{"type": "t", "text": "a"}, {"type": "t", "text": "b"}], [{"type": "t", "text": "ab"}]),
    "a text with and one without index": ([{"type": "t", "text": "a"}, {"type": "t", "text": "b", "index": 0}], []),
    "an entry that begins empty": (
        [text("", signature=""), text("a"), text("b")],
        [text("ab", signature="")],
    ),
    "an entry that begins with nulls": (
        [text(None, text=None, signature=None, id=None), text("a", id="r"), text("b", signature="S")],
        [text("ab", id="r", signature="S")],
    ),
    "a late signature, alone": ([text("a"), text(signature="S")], [text("a", signature="S")]),
    "a late signature with an empty text": ([text("a"), text("", signature="S")], [text("a", signature="S")]),
    "a late signature with a null text": (
        [text("a"), text(None, text=None, signature="S")],
        [text("a", signature="S")],
    ),
    "a late signature, then an empty one": (
        [text("a"), text(signature="S"), text(signature="")],
        [text("a", signature="S")],
    ),
    "two late signatures": ([text("a"), text(signature="S"), text(signature="T")], [text("a", signature="T")]),
    "a signature and nothing else": ([text(signature="S")], [text(signature="S")]),
    "a text behind a signature": (
        [text("a", signature="S"), text("b"), text(signature="T")],
        [text("a", signature="S"), text("b", signature="T")],
    ),
    "a late format and id": ([text("a"), text("b", format="f", id="r")], [text("ab", format="f", id="r")]),
    "an early format and id": ([text("a", format="f", id="r"), text("b")], [text("ab", format="f", id="r")]),
    "two ids": ([text("a", id="r"), text("b", id="s")], [text("a", id="r"), text("b", id="s")]),
    "two formats": ([text("a", format="f"), text("b", format="g")], [text("a", format="f"), text("b", format="g")]),
    "a summary and a ciphertext at one index": (
        [summary("a"), summary("b"), sealed("X", id="rs"), summary("c"), sealed("Y", id="rt")],
        [summary("ab"), sealed("X", id="rs"), summary("c"), sealed("Y", id="rt")],
    ),
    "two ciphertexts": ([sealed("X", id="r"), sealed("Y", id="s")], [sealed("X", id="r"), sealed("Y", id="s")]),
    "two ciphertexts of one id": (
        [sealed("X", id="r"), sealed("Y", id="r")],
        [sealed("X", id="r"), sealed("Y", id="r")],
    ),
    "two ciphertexts without id": ([sealed("X"), sealed("Y")], [sealed("X"), sealed("Y")]),
    "a ciphertext twice": ([sealed("X", id="r"), sealed("X", id="r")], [sealed("X", id="r")]),
    "a ciphertext without and with an id": ([sealed("X"), sealed("X", id="r")], [sealed("X"), sealed("X", id="r")]),
    "a ciphertext of two calls": (
        [sealed("X", id="r"), sealed("X", id="s")],
        [sealed("X", id="r"), sealed("X", id="s")],
    ),
    "a ciphertext that begins empty": ([sealed(""), sealed("X")], [sealed(""), sealed("X")]),
    "a ciphertext and an empty one": ([sealed("X"), sealed("")], [sealed("X"), sealed("")]),
    "a server's tool calls at one index": ([tool("a", "1"), tool("b", "2")], [tool("a", "1"), tool("b", "2")]),
    "a server's tool call in two pieces": ([tool("a", ""), tool(None, "1")], [tool("a", "1")]),
    "items that come again whole": (
        [item("a", id="rs", status="in_progress"), item("ab", id="rs", encrypted_content="X", status="completed")],
        [item("ab", id="rs", encrypted_content="X", status="completed")],
    ),
    "items of two ids": ([item("a", id="rs"), item("b", id="rt")], [item("a", id="rs"), item("b", id="rt")]),
    "items without and with an id": ([item("a"), item("b", id="rs")], [item("a"), item("b", id="rs")]),
    "items with content, without id": (
        [{"type": "reasoning", "content": ["a"]}, {"type": "reasoning", "content": ["b"]}],
        [{"type": "reasoning", "content": ["a"]}, {"type": "reasoning", "content": ["b"]}],
    ),
    "items without id": ([item("a"), item("b")], [item("a"), item("b")]),
    "ciphertexts of one item": (
        [{"type": "reasoning", "id": "rs", "encrypted_content": "X"}, {"type": "reasoning", "encrypted_content": "Y"}],
        [{"type": "reasoning", "id": "rs", "encrypted_content": "X"}, {"type": "reasoning", "encrypted_content": "Y"}],
    ),
    "thinking blocks": (
        [
            {"type": "thinking", "thinking": "a"},
            {"type": "thinking", "thinking": "b"},
            {"type": "thinking", "signature": "S"},
        ],
        [{"type": "thinking", "thinking": "ab", "signature": "S"}],
    ),
    "redacted blocks": (
        [{"type": "redacted_thinking", "data": "X"}, {"type": "redacted_thinking", "data": "Y"}],
        [{"type": "redacted_thinking", "data": "X"}, {"type": "redacted_thinking", "data": "Y"}],
    ),
    "what is no entry": (["a", "b", None, text("c"), "d", text("e")], ["a", "b", None, text("c"), "d", text("e")]),
}
ENTRIES["a text with and one without index"][1].extend(ENTRIES["a text with and one without index"][0])


@pytest.mark.parametrize(("pieces", "made"), ENTRIES.values(), ids=ENTRIES)
def test_pieces_make_the_entries_of(pieces: list[Json], made: list[Json]) -> None:
    assert entries(*pieces) == made
    assert entries(*pieces, cumulative=True) == made


CUMULATIVE = [text("The"), text("The answer"), text("The answer is 4.")]


def test_a_piece_that_repeats_all_before_it_takes_its_place_only_where_the_vendor_may_do_so() -> None:
    assert entries(*CUMULATIVE, cumulative=True) == [text("The answer is 4.")]
    assert entries(*CUMULATIVE) == [text("TheThe answerThe answer is 4.")]


def test_pieces_that_only_begin_alike_are_joined() -> None:
    assert entries(text("ha"), text("ha"), text("!"), cumulative=True) == [text("haha!")]
    assert entries(text(""), text("a"), text("b"), cumulative=True) == [text("ab")]


# -- typed content ----------------------------------------------------------------------------------------------------


def said(words: str, **more: Json) -> dict[str, Json]:
    return {"type": "text", "text": words, **more}


def thinking(*parts: Json, **more: Json) -> dict[str, Json]:
    return {"type": "thinking", "thinking": list(parts), **more}


def reasoning(*parts: Json) -> dict[str, Json]:
    return {"type": "reasoning", "summary": list(parts)}


def part(words: str, **more: Json) -> dict[str, Json]:
    return {"type": "summary_text", "text": words, **more}


def redacted(data: str) -> dict[str, Json]:
    return {"type": "summary_encrypted_text", "data": data}


IMAGE = {"type": "image_url", "image_url": {"url": "data:x"}}

BLOCKS: dict[str, tuple[list[Json], list[Json]]] = {
    "texts": ([said("a"), said("b")], [said("ab")]),
    "an empty text": ([said("a"), said(""), said("b")], [said("ab")]),
    "a text that begins with a null": ([{"type": "text", "text": None}, said("a"), said("b")], [said("ab")]),
    "Mistral's thinking, then its text": (
        [thinking(said("a")), thinking(said("b")), thinking(said("c")), said("d"), said("e")],
        [thinking(said("abc")), said("de")],
    ),
    "Mistral's thinking with closed": (
        [thinking(said("a"), closed=False), thinking(said("b"), closed=True)],
        [thinking(said("ab"), closed=True)],
    ),
    "Mistral's thinking with a reference": (
        [thinking(said("a")), thinking({"type": "reference", "reference_ids": [1]}), thinking(said("b"))],
        [thinking(said("a"), {"type": "reference", "reference_ids": [1]}, said("b"))],
    ),
    "thinking around a text": (
        [thinking(said("a")), said("b"), thinking(said("c")), said("d")],
        [thinking(said("a")), said("b"), thinking(said("c")), said("d")],
    ),
    "thinking that begins empty": ([thinking(), thinking(said("a"))], [thinking(said("a"))]),
    "thinking with parts that are one": ([thinking(said("a"), said("b"))], [thinking(said("ab"))]),
    "thinking whose parts are no objects": ([thinking("a"), thinking("b")], [thinking("a", "b")]),
    "content within content": (
        [{"type": "x", "content": [said("a")]}, {"type": "x", "content": [said("b"), IMAGE]}],
        [{"type": "x", "content": [said("ab"), IMAGE]}],
    ),
    "a key that comes late, and null": ([said("a"), said("b", id=None)], [said("ab", id=None)]),
    "a key that comes again, and null": ([said("a", id="m"), said("b", id=None)], [said("ab", id="m")]),
    "a block that turns opaque": (
        [said("a"), said("", data="X"), said("b")],
        [said("a"), said("", data="X"), said("b")],
    ),
    "Databricks' summary": ([reasoning(part("a")), reasoning(part("b"))], [reasoning(part("ab"))]),
    "Databricks' summary and its signature": (
        [reasoning(part("a")), reasoning(part("b")), reasoning(part("", signature="S"))],
        [reasoning(part("ab", signature="S"))],
    ),
    "Databricks' summary behind a signature": (
        [reasoning(part("a", signature="S")), reasoning(part("b")), reasoning(part("", signature="T"))],
        [reasoning(part("a", signature="S"), part("b", signature="T"))],
    ),
    "Databricks' redacted summaries": (
        [reasoning(redacted("X")), reasoning(redacted("Y")), reasoning(part("a")), reasoning(redacted("Z"))],
        [reasoning(redacted("X"), redacted("Y"), part("a"), redacted("Z"))],
    ),
    "a signature alone": (
        [{"type": "thinking", "thinking": "a"}, {"type": "thinking", "signature": "S"}],
        [{"type": "thinking", "thinking": "a", "signature": "S"}],
    ),
    "an empty signature behind it": (
        [
            {"type": "thinking", "thinking": "a"},
            {"type": "thinking", "signature": "S"},
            {"type": "thinking", "signature": ""},
        ],
        [{"type": "thinking", "thinking": "a", "signature": "S"}],
    ),
    "thinking behind a signature": (
        [{"type": "thinking", "thinking": "a", "signature": "S"}, {"type": "thinking", "thinking": "b"}],
        [{"type": "thinking", "thinking": "a", "signature": "S"}, {"type": "thinking", "thinking": "b"}],
    ),
    "redacted blocks": (
        [{"type": "redacted_thinking", "data": "X"}, {"type": "redacted_thinking", "data": "Y"}],
        [{"type": "redacted_thinking", "data": "X"}, {"type": "redacted_thinking", "data": "Y"}],
    ),
    "images": ([IMAGE, IMAGE, said("a")], [IMAGE, IMAGE, said("a")]),
    "what is no block": (["a", "b", None, said("c"), "d"], ["a", "b", None, said("c"), "d"]),
}


@pytest.mark.parametrize(("pieces", "made"), BLOCKS.values(), ids=BLOCKS)
def test_pieces_make_the_blocks_of(pieces: list[Json], made: list[Json]) -> None:
    assert blocks(*pieces) == made


# -- for all streams --------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["", "a", "b", "ab"])
OPAQUE = st.sampled_from(["", "X", "Y"])
STREAMS = st.lists(
    st.builds(text, st.none() | WORDS, signature=OPAQUE, id=st.sampled_from([None, "r", "s"]))
    | st.builds(summary, WORDS)
    | st.builds(sealed, OPAQUE, id=st.sampled_from([None, "r"])),
    max_size=8,
)


def words_of(made: list[Json], key: str) -> str:
    return "".join(str(entry.get(key) or "") for entry in made)


@given(STREAMS)
def test_no_word_and_no_ciphertext_is_lost_doubled_or_glued(pieces: list[Json]) -> None:
    made = entries(*pieces)
    assert words_of(made, "text") == words_of(pieces, "text")
    assert words_of(made, "summary") == words_of(pieces, "summary")
    for key in ("data", "signature"):
        assert {entry.get(key) for entry in made} <= {piece.get(key) for piece in pieces}
    assert {entry.get("data") for entry in made} == {piece.get("data") for piece in pieces}


@given(STREAMS)
def test_whole_entries_stay_themselves_when_they_come_again_as_a_stream(pieces: list[Json]) -> None:
    made = entries(*pieces)
    again = entries(*made)
    assert words_of(again, "text") == words_of(made, "text")
    assert entries(*again) == again


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "text", "thinking"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "thinking", "content", "data", "id"]), inner, max_size=4)
    ),
)


@given(st.lists(ANYTHING, max_size=6), st.booleans())
def test_no_stream_however_strange_is_an_error(pieces: list[Json], cumulative: bool) -> None:
    assert len(entries(*pieces, cumulative=cumulative)) <= len(pieces)
    assert len(blocks(*pieces)) <= len(pieces)


@given(st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=6), st.booleans())
def test_a_thinking_block_is_the_same_however_it_is_cut(cut: list[str], nested: bool) -> None:
    pieces = [thinking(said(words)) if nested else {"type": "thinking", "thinking": words} for words in cut]
    whole = thinking(said("".join(cut))) if nested else {"type": "thinking", "thinking": "".join(cut)}
    assert blocks(*pieces) == blocks(whole)
