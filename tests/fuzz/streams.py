"""The decoders of bodies that arrive in pieces: server-sent events, and the elements of a JSON array."""

import json
import re

from fuzz.promises import Broken, bounded, cuttings, hold, told
from thoughtkeep.jsonarray import ArrayDecoder
from thoughtkeep.sse import Event, EventDecoder


def check_events(data: bytes) -> bool:
    """Server-sent events: no error, the same however they are cut, and what the standard says that they are."""
    with bounded():
        whole = _events([data])
        for pieces in cuttings(data):
            hold(_events(pieces) == whole, "the events depend on how the stream was cut")
        half = data[: len(data) // 2]
        by_then = EventDecoder().feed(half)
        for pieces in cuttings(half):
            decoder = EventDecoder()
            told = [event for piece in pieces for event in decoder.feed(piece)]
            hold(told == by_then, "when an event is told depends on how the stream was cut")
    hold(whole == plainly(data), "the events are not those of the standard")
    return True


def _events(pieces: list[bytes]) -> list[Event]:
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


def plainly(data: bytes) -> list[Event]:
    """The events of a whole stream, line by line in the standard's own words. See `thoughtkeep.sse` for departures."""
    found: list[Event] = []
    name = b""
    lines: list[bytes] = []
    for line in [*re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf")), b""]:
        if not line:
            if lines:
                found.append(Event(name.decode("utf-8", "replace"), b"\n".join(lines)))
            name, lines = b"", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            lines.append(value)
        elif field == b"event":
            name = value
    return found


def check_elements(data: bytes) -> bool:
    """Elements of an array: no error but for another beginning, the same however cut, and all that a parser finds."""
    with bounded():
        whole = _elements([data])
        for pieces in cuttings(data):
            hold(_elements(pieces) == whole, "the elements depend on how the body was cut")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return True
    if whole is None:
        hold(not isinstance(value, (list, dict)), "an array or object is refused")
        return True
    items = value if isinstance(value, list) else [value]
    try:
        found = [json.loads(item) for item in whole]
    except RecursionError:
        return True
    except ValueError:
        raise Broken("an element of a JSON array is none") from None
    hold(told(found) == told(items), "the elements are not those of the array")
    return True


def _elements(pieces: list[bytes]) -> list[bytes] | None:
    decoder = ArrayDecoder()
    try:
        return [element for piece in pieces for element in decoder.feed(piece)] + decoder.close()
    except ValueError:
        return None


def event_seeds() -> dict[str, bytes]:
    """Streams of every kind of line and line end."""
    return {
        "plain": b'data: {"a":1}\n\ndata: [DONE]\n\n',
        "names": b"event: one\ndata: a\ndata: b\nid: 3\nretry: 4\n\n: comment\n\nevent\ndata\n\n",
        "line ends": b"data: a\r\n\r\ndata: b\r\rdata: c\n\r\ndata: d\r\n\revent: e\r\ndata: f\r",
        "byte order mark": b"\xef\xbb\xbfdata:a\n\n\xef\xbb\xbfdata: b\n\n",
        "blank lines": b"\n\n\r\ndata: \xff\x00\n\n\n\n\ndata:  x \n",
    }


def element_seeds() -> dict[str, bytes]:
    """Arrays with all that may hide a border."""
    return {
        "objects": b'[{"a":"x,y"}\n,\r\n{"b":[1,{"c":"]}"}]}, null,"s", 12, [] ]',
        "escapes": b'[{"a":"\\"]\\\\"},"\\u005d","\\\\\\""]',
        "object": b' {"a":{"b":"}"}} {"c":1}',
        "cut": b'\xef\xbb\xbf[{"a": "x',
    }
