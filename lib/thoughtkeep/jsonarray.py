"""A JSON array that arrives in pieces: where one element ends and the next begins.

Gemini's streamGenerateContent answers so when it is not asked for server-sent events. The rule for the borders lives
here and nowhere else. It only counts brackets outside strings: whether an element is JSON is for its parser to say.

Theory of operation: one regular expression passes over everything between two brackets, whole strings included. A
string that the piece cuts is followed by another expression from where the last piece ended. No byte is looked at more
than twice, and those that wait for their end are never looked at again.
"""

import re

from thoughtkeep.sse import LIMIT, Overlong

_SPACE = b" \t\r\n"
_STRING = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'  # up to the closing quote, or the end of the piece
_IN_STRING = re.compile(_STRING, re.DOTALL)
_IN_ELEMENT = re.compile(rb'(?:[^"{}\[\]]++|"' + _STRING + rb'")*+', re.DOTALL)
_BETWEEN = re.compile(rb'(?:[^"{}\[\],]++|"' + _STRING + rb'")*+', re.DOTALL)
_QUOTE, _COMMA = b'",'
_OPENING = b"{["


class ArrayDecoder:
    """Reads the elements of one JSON array from a body that arrives in pieces, cut anywhere.

    A body that is one object instead counts as an array of that object. What follows the end is ignored. `limit` bounds
    the bytes held between pieces. After an error the decoder must not be used again.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pending = bytearray()  # of the element that has not ended
        self._outer = -1  # the depth that elements are in: 1 in an array, 0 for a lone object, -1 before either
        self._depth = 0
        self._in_string = False
        self._escaped = False  # the last piece ended between a backslash and what it escapes
        self._ended = False

    def feed(self, data: bytes) -> list[bytes]:
        """The elements that end in `data`: the bytes of each, without white space around them.

        Raises ValueError when the body begins with anything but an array or an object, and Overlong (a ValueError too)
        when too many bytes wait for the end of an element.
        """
        elements: list[bytes] = []
        position = start = self._begin(data)
        while position < len(data) and not self._ended:
            position = self._skip(data, position)
            if position == len(data):
                break
            byte = data[position]
            if byte == _QUOTE:  # the string does not end in this piece
                self._in_string = True
                position += 1
            elif byte in _OPENING:
                self._depth += 1
                position += 1
            elif byte == _COMMA:
                self._take(data[start:position], elements)
                position = start = position + 1
            else:
                # The bracket that closes an element is part of it, the one that closes the array is not.
                self._depth -= 1
                self._ended = self._depth == 0
                part = self._depth >= self._outer
                if self._depth <= self._outer:
                    self._take(data[start : position + part], elements)
                    start = position + 1
                position += 1
        if not self._ended:
            self._pending += data[start:]
            if len(self._pending) > self._limit:
                raise Overlong(f"an element of more than {self._limit} bytes")
        return elements

    def close(self) -> list[bytes]:
        """Nothing: an element that the body cut off is of no use. Lets go of the bytes that waited for its end."""
        self._pending.clear()
        return []

    def _begin(self, data: bytes) -> int:
        """Where to go on in `data`: behind the bracket that opens the array, once it is there."""
        if self._outer >= 0:
            return 0
        begin = len(data) - len(data.lstrip(_SPACE))
        first = data[begin : begin + 1]
        if first == b"[":
            self._outer = self._depth = 1
            return begin + 1
        if first == b"{":
            self._outer = 0
        elif first:
            raise ValueError(f"neither a JSON array nor an object: it begins with {first!r}")
        return begin

    def _skip(self, data: bytes, position: int) -> int:
        """The next byte from `position` that is not passed over: a bracket, a comma between elements, or the quote of a
        string that does not end in `data`; len(data) if there is none."""
        if self._in_string:
            position = _end(_IN_STRING, data, position + self._escaped)
            self._escaped = position < len(data) and data[position] != _QUOTE
            if self._escaped or position == len(data):
                return len(data)
            self._in_string = False
            position += 1
        return _end(_BETWEEN if self._depth == self._outer else _IN_ELEMENT, data, position)

    def _take(self, last: bytes, elements: list[bytes]) -> None:
        element = (bytes(self._pending) + last).strip(_SPACE)
        self._pending.clear()
        if element:
            elements.append(element)


def _end(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    found = pattern.match(data, position)
    assert found is not None  # each of the patterns also matches nothing
    return found.end()
