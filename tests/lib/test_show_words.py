"""Foreign words as lines: safe to show, short enough to read, and of what is opaque never a piece."""

import base64
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.show.words import (
    LINES,
    SHORT,
    WIDTH,
    digest,
    fingerprint,
    fold,
    folded,
    is_opaque,
    joined,
    plural,
    printable,
    short,
    size,
)

TEXTS = st.text(st.characters(codec=None))  # lone surrogates included
# Hypothesis seldom finds these by itself.
NASTY = st.text(st.sampled_from("a \n\r\t\x00\x07\x1b\x7f\x85\x9b\u2028\u2029\u202e\u2066\u200b\ufeff\ud800\U000e0041"))
LONG = st.builds(lambda text, times: text * times, TEXTS | NASTY, st.sampled_from((1, 50, 1000)))
SEALED = st.builds(
    lambda seed, size: base64.b64encode(random.Random(seed).randbytes(size)).decode(),
    st.integers(0, 10_000),
    st.integers(36, 400),
)

# Whatever a suffix says of size and digest.
SUFFIX = 60


def is_safe(line: str) -> bool:
    """Whether no character of a line does anything but show itself."""
    unseen = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return all(unicodedata.category(char) not in unseen or char in "\u200c\u200d" for char in line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Hello, world.", "Hello, world."),
        ("", ""),
        ("héllo 你好 \U0001f600 שלום", "héllo 你好 \U0001f600 שלום"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31m\x7f\x00", r"\x9b31m\x7f\x00"),
        ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
        ("a\u2028b\ufeffc\u200bd", r"a\u2028b\ufeffc\u200bd"),
        ("\ud800", r"\ud800"),
        ("\U000e0041\U0010ffff", r"\U000e0041\U0010ffff"),
        ("\U0001f469\u200d\U0001f4bb\ufe0f\n", "\U0001f469\u200d\U0001f4bb\ufe0f\\n"),
    ],
)
def test_what_is_no_visible_character_is_written_as_an_escape(text: str, line: str) -> None:
    assert printable(text) == line


@given(LONG)
def test_no_control_character_escape_sequence_or_direction_mark_is_shown(text: str) -> None:
    for line in (printable(text), short(text), digest(text), *fold(text), *folded(text.split("\n"))):
        assert is_safe(line)
        line.encode()


@given(LONG, st.integers(0, 30))
def test_folding_is_bounded_in_both_directions(text: str, lines: int) -> None:
    found = fold(text, lines)
    assert len(found) <= lines + 1
    assert all(len(line) <= WIDTH + SUFFIX for line in found)


@given(LONG, st.integers(1, 200))
def test_a_short_text_is_one_bounded_line(text: str, limit: int) -> None:
    assert len(short(text, limit)) <= limit + SUFFIX


@given(SEALED, st.sampled_from(("", "\n", " ", "\r\n")), st.sampled_from(("", "\n", " \t")))
def test_of_an_opaque_text_no_piece_is_shown(text: str, before: str, after: str) -> None:
    text = before + text + after
    assert is_opaque(text)
    for line in (short(text), short(text, WIDTH), digest(text), digest([{"k": text}]), *fold(text), *fold(text, 1)):
        assert not any(text[at : at + 8] in line for at in range(len(text) - 7))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 48,
        "data:image/png;base64," + "A" * 40,
        "9jqo^BlbD-BleB1DJ+*+F(f,q/0JhKF<GL>Cj@.4Gp$d7F!,L7@",
        " " + "x" * 48 + "\n",
        "wuiejfpjZwfbBP+yhSXmrKnB+ZbgZzpZwhE/DECOVsKSDatH",
    ],
    ids=["long", "url", "ascii85", "padded", "without digits"],
)
def test_what_is_long_and_without_white_space_is_opaque(text: str) -> None:
    assert is_opaque(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x" * 47,
        "x" * 40 + " " + "x" * 40,
        "é" * 48,
        "x" * 48 + "\n" + "x" * 48,
        '{"file_path":"/home/user/projects/thing/src/main.py","line":12}',
        "<html><body><p>nothing-in-between</p></body></html>" * 2,
        "/home/user/Projects/thoughtkeep/lib/thoughtkeep/show/words_2024.py",
        "https://example.invalid/some/models/some-model-3:generateContent?alt=sse",
        "camelCaseWordsInARowThatSomeLanguagesLikeForTheirNames",
        "=" * 60,
    ],
    ids="empty short words letters lines json markup path url name rule".split(),
)
def test_words_json_markup_paths_and_rules_are_not_opaque(text: str) -> None:
    assert not is_opaque(text)


@given(TEXTS, TEXTS)
def test_a_fingerprint_is_eight_hex_digits_and_tells_texts_apart(one: str, other: str) -> None:
    assert len(fingerprint(one)) == 8
    assert set(fingerprint(one)) <= set("0123456789abcdef")
    assert (fingerprint(one) == fingerprint(other)) is (one == other)


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 characters"), (1, "1 character"), (2, "2 characters"), (12345, "12,345 characters")]
)
def test_a_size_is_told_in_words(count: int, words: str) -> None:
    assert size(count) == words


def test_a_digest_tells_the_size_of_all_texts_and_one_fingerprint() -> None:
    assert digest("abc") == f"\u20393 characters, {fingerprint('abc')}\u203a"
    assert (
        digest([{"k": "abc", "n": 5}, ["d"]]) == f"\u20394 characters, {fingerprint(chr(0).join(('abc', 'd')))}\u203a"
    )
    assert digest(["ab", "c"]) != digest(["a", "bc"])
    assert digest(None).startswith("\u20390 characters, ")


def test_a_text_that_fits_is_shown_as_it_is() -> None:
    assert short("Hello.") == "Hello."
    assert short("é " * 60) == "é " * 60


def test_a_text_that_is_too_long_is_cut_and_named_by_its_digest() -> None:
    text = "é " * 61
    assert short(text) == f"{text[:SHORT]}… \u2039122 characters, {fingerprint(text)}\u203a"
    assert short("abcdef", 3) == f"abc… \u20396 characters, {fingerprint('abcdef')}\u203a"


def test_a_text_that_is_too_long_once_escaped_is_cut() -> None:
    text = "\x1b" * 100
    assert short(text) == f"{(chr(92) + 'x1b') * 30}… \u2039100 characters, {fingerprint(text)}\u203a"
    assert short("\x1b" * 30) == r"\x1b" * 30


def test_few_lines_are_all_shown() -> None:
    assert fold("") == []
    assert fold("one") == ["one"]
    text = "\n".join(map(str, range(LINES + 1)))
    assert fold(text) == text.split("\n")
    assert fold("a\r\nb\n") == ["a", "b"]


def test_of_many_lines_the_first_and_the_last_are_shown() -> None:
    lines = [f"line {number}" for number in range(LINES + 2)]
    away = "\n".join(lines[13:15])
    assert fold("\n".join(lines)) == [
        *lines[:13],
        f"\u20392 lines folded, 14 characters, {fingerprint(away)}\u203a",
        *lines[15:],
    ]


@pytest.mark.parametrize(
    ("lines", "first", "last"), [(5, "ab", "hij"), (3, "", "hij"), (2, "", "ij"), (1, "", "j"), (0, "", "")]
)
def test_where_few_lines_are_allowed_the_last_ones_are_shown(lines: int, first: str, last: str) -> None:
    found = folded(list("abcdefghij"), lines)
    assert found[: len(first)] == list(first)
    assert found[len(first)].startswith(f"\u2039{10 - len(first) - len(last)} lines folded, ")
    assert found[len(first) + 1 :] == list(last)


def test_texts_that_differ_where_they_fold_differ_where_they_are_shown() -> None:
    lines = [str(number) for number in range(100)]
    other = [*lines[:50], "other", *lines[51:]]
    assert fold("\n".join(lines)) != fold("\n".join(other))
    assert fold("x " * 1000 + "a") != fold("x " * 1000 + "b")


def test_an_opaque_text_folds_to_its_digest_and_opaque_lines_to_theirs() -> None:
    sealed = "A" * 100
    assert fold(sealed) == [digest(sealed)]
    assert fold(f"key:\n{sealed}\n") == ["key:", digest(sealed)]


@pytest.mark.parametrize(("count", "words"), [(0, "0 turns"), (1, "1 turn"), (2, "2 turns"), (1234, "1,234 turns")])
def test_a_count_has_its_noun(count: int, words: str) -> None:
    assert plural(count, "turn") == words


def test_parts_that_are_not_empty_are_joined() -> None:
    assert joined(["a", "", "b"]) == "a · b"
    assert joined([]) == ""
