"""Foreign words as lines that are safe to show, and short enough to read.

Whatever is shown of a request or an answer goes through here: no control character, no escape sequence and no
direction mark reaches a terminal or a page, no line is much longer than `WIDTH`, and of what is opaque (signatures,
ciphertext) only its size and a digest are shown, never a piece of it.
"""

import hashlib
import re
from collections.abc import Sequence

from thoughtkeep.jsontext import strings
from thoughtkeep.turns import Json

# Characters that one line shows, and lines that one text does: what folds away keeps its size and digest.
WIDTH = 400
LINES = 16

# Of a text that is folded so many of its last lines are shown.
_LAST = 3

# One line of a single value shows so many characters.
SHORT = 120

# A long row without a space but around it: a signature, ciphertext, a data URL (an image in a request).
_ROW = re.compile(r"\s*([!-~]{48,})\s*")

# Or somebody's words all the same: JSON, markup, and paths, URLs and names of nothing but words and short numbers.
_MARKUP = ("{", "[", "<", '"')
_BORDER = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"(?:[A-Z]?[a-z]{1,24}|[A-Z]{1,24})?[0-9]{0,4}")

# But for base64 that happens to hold no digits: its capitals stand anywhere, and its words are shorter than anybody's.
_HUMP = re.compile(r"[a-z][A-Z]")
_HUMPS = 5
_SHORTEST = 3.7

# Joiners and variation selectors are part of letters and pictures, though they show nothing by themselves.
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")


def printable(text: str) -> str:
    """A text as one line: everything that is no visible character is written as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _JOINERS else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    number = ord(char)
    known = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    return known or (
        f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"
    )


def fingerprint(text: str) -> str:
    """Eight hex digits by which a value is known again wherever it is shown."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def is_opaque(text: str) -> bool:
    """Whether a text is nobody's words: a signature, ciphertext, base64; a file's path is none, nor is JSON."""
    row = _ROW.fullmatch(text)
    if row is None or row[1].startswith(_MARKUP):
        return False
    words = [word for word in _BORDER.split(row[1]) if word]
    if not all(map(_WORD.fullmatch, words)):
        return True
    return len(_HUMP.findall(row[1])) >= _HUMPS and sum(map(len, words)) < _SHORTEST * len(words)


def size(count: int) -> str:
    """A number of characters in words."""
    return f"{count:,} character{'' if count == 1 else 's'}"


def digest(value: Json) -> str:
    """What is shown of an opaque value in its place: how large it is, and by what it is known again."""
    leaves = strings(value)
    total = sum(map(len, leaves))
    return f"\u2039{size(total)}, {fingerprint(chr(0).join(leaves))}\u203a"


def short(text: str, limit: int = SHORT) -> str:
    """A text on one line of at most about `limit` characters: what is opaque as its digest, what is long cut."""
    if is_opaque(text):
        return digest(text)
    line = printable(text[: limit + 1])
    if len(line) <= limit:
        return line
    return f"{line[:limit]}\u2026 \u2039{size(len(text))}, {fingerprint(text)}\u203a"


def fold(text: str, lines: int = LINES) -> list[str]:
    """A text as lines, at most `lines` and one: see `folded`."""
    return [digest(text)] if is_opaque(text) else folded(text.splitlines(), lines)


def folded(told: Sequence[str], lines: int = LINES) -> list[str]:
    """Lines that are safe to show: the first and the last of many, and between them what folded away.

    What folds away or is cut is named by its digest: it shows that two texts differ there.
    """
    if len(told) <= lines + 1:
        return [_line(line) for line in told]
    start = max(lines - _LAST, 0)
    end = len(told) - (lines - start)
    gone = told[start:end]
    away = f"\u2039{len(gone):,} lines folded, {size(sum(map(len, gone)))}, {fingerprint(chr(10).join(gone))}\u203a"
    return [*map(_line, told[:start]), away, *map(_line, told[end:])]


def _line(text: str) -> str:
    return short(text, WIDTH)


def plural(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def joined(parts: Sequence[str]) -> str:
    """The parts that are not empty, as one line."""
    return " \u00b7 ".join(part for part in parts if part)
