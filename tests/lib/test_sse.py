"""Server-sent events: how the bytes of a text/event-stream become events, cut anywhere."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtkeep.sse import Event, EventDecoder, Overlong

LONG = b'{"text": "' + b"x" * 200_000 + b'"}'

STREAMS: dict[str, tuple[bytes, list[Event]]] = {
    "an empty stream has no event": (b"", []),
    "an event ends at a blank line": (b"data: a\n\ndata: b\n\n", [Event("", b"a"), Event("", b"b")]),
    "CRLF ends a line": (b"data: a\r\n\r\ndata: b\r\n\r\n", [Event("", b"a"), Event("", b"b")]),
    "CR ends a line": (b"data: a\r\rdata: b\r\r", [Event("", b"a"), Event("", b"b")]),
    "line ends may be mixed": (
        b"data: a\r\n\ndata: b\n\r\ndata: c\r\r\ndata: d\r\n\rdata: e\n\rdata: f\r\n\r\n",
        [Event("", name) for name in (b"a", b"b", b"c", b"d", b"e", b"f")],
    ),
    "CRLF is one line end": (b"data: a\r\ndata: b\r\n\r\n", [Event("", b"a\nb")]),
    "data lines join with LF": (b"data: a\ndata:\ndata: b\n\n", [Event("", b"a\n\nb")]),
    "the space after the colon is optional": (b"data:a\n\nevent:n\ndata:b\n\n", [Event("", b"a"), Event("n", b"b")]),
    "only one space is dropped": (b"data:  a \n\ndata: \tb\n\n", [Event("", b" a "), Event("", b"\tb")]),
    "only the first colon counts": (
        b"data: a: b\n\nevent: c: d\ndata:e\n\n",
        [Event("", b"a: b"), Event("c: d", b"e")],
    ),
    "an event keeps its name, wherever it stands": (
        b"event: one\ndata: a\n\ndata: b\nevent: two\n\n",
        [Event("one", b"a"), Event("two", b"b")],
    ),
    "the last name counts, and for one event only": (
        b"event: x\nevent: y\ndata: a\n\ndata: b\n\n",
        [Event("y", b"a"), Event("", b"b")],
    ),
    "an empty name takes the name back": (b"event: x\nevent\ndata: a\n\n", [Event("", b"a")]),
    "a name is UTF-8, and broken UTF-8 is not fatal": (
        b"event: h\xc3\xa9\ndata: a\n\nevent: \xff\ndata: b\n\n",
        [Event("h\u00e9", b"a"), Event("\ufffd", b"b")],
    ),
    "comments are dropped, however many": (
        b": PROCESSING\n\n" * 50 + b":\n: more\n" * 50 + b"data: a\n: within\ndata: b\n\n:after\n\n",
        [Event("", b"a\nb")],
    ),
    "id, retry and unknown fields are ignored": (
        b"id: 7\nretry: 100\nfoo: bar\nDATA: no\n data: no\ndata: a\n\n",
        [Event("", b"a")],
    ),
    "a line without colon is a field with an empty value": (
        b"data\n\ndata\ndata\n\nfoo\n\n",
        [Event("", b""), Event("", b"\n")],
    ),
    "empty data is data": (b"data:\n\ndata: \n\n", [Event("", b""), Event("", b"")]),
    "an event without data is none": (b"event: ping\n\nid: 3\n\ndata: a\n\n", [Event("", b"a")]),
    "blank lines alone are nothing": (
        b"\n\n\n\n\ndata: a\n\n\n\n\n\n\ndata: b\n\n\n",
        [Event("", b"a"), Event("", b"b")],
    ),
    "one blank line may stand first": (b"\ndata: a\n\n", [Event("", b"a")]),
    "a byte order mark at the start is dropped": (b"\xef\xbb\xbfdata: a\n\n", [Event("", b"a")]),
    "a byte order mark before a blank line too": (b"\xef\xbb\xbf\n\ndata: a\n\n", [Event("", b"a")]),
    "a byte order mark elsewhere is data": (
        b"data: \xef\xbb\xbfa\n\n\xef\xbb\xbfdata: b\n\n",
        [Event("", b"\xef\xbb\xbfa")],
    ),
    "a byte order mark after blank lines is no mark": (b"\n\n\xef\xbb\xbfdata: a\n\n\n\n\xef\xbb\xbfdata: b\n\n", []),
    "a second byte order mark is no mark": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [Event("", b"b")]),
    "other line ends of Unicode are data": (
        "data: \u2028\u2029\x85\u0085\x0b\x0c\x1c\x1d\x1e\n\n".encode(),
        [Event("", "\u2028\u2029\x85\u0085\x0b\x0c\x1c\x1d\x1e".encode())],
    ),
    "NUL and broken UTF-8 are data": (b"data: \x00\xff\xc3\n\n", [Event("", b"\x00\xff\xc3")]),
    "the last event may lack its blank line": (b"data: a\n\nevent: e\ndata: b\n", [Event("", b"a"), Event("e", b"b")]),
    "the last event may lack its line end": (
        b"data: a\r\n\r\nevent: e\r\ndata: b",
        [Event("", b"a"), Event("e", b"b")],
    ),
    "the last event may end in half a CRLF": (b"data: a\r\n\r", [Event("", b"a")]),
    "the last event may be cut off, and a lone field name is none": (b"data: a\n\ndat", [Event("", b"a")]),
    "a line may be long": (
        b"data: " + LONG + b"\n\ndata: a\n\ndata: " + LONG,
        [Event("", LONG), Event("", b"a"), Event("", LONG)],
    ),
}
each_stream = pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)


def read(pieces: list[bytes]) -> list[Event]:
    decoder, other = EventDecoder(), EventDecoder()
    found = [event for piece in pieces for event in decoder.feed(piece)]
    assert [data for piece in pieces for data in other.data(piece)] == [event.data for event in found]
    last = decoder.close()
    assert other.close() == last
    return found + last


def cut(data: bytes, borders: list[int]) -> list[bytes]:
    edges = [0, *sorted(border % (len(data) + 1) for border in borders), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def read_by_line(stream: bytes) -> list[Event]:
    """The standard's algorithm, as it is written there, and an end of the stream that ends the event."""
    text = stream.decode("latin-1").removeprefix("\xef\xbb\xbf").replace("\r\n", "\n").replace("\r", "\n")
    events: list[Event] = []
    name, data = "", list[str]()
    for line in [*text.split("\n"), ""]:
        field, _, value = line.partition(":")
        value = value[1:] if value[:1] == " " else value
        if not line:
            if data:
                events.append(
                    Event(name.encode("latin-1").decode("utf-8", "replace"), "\n".join(data).encode("latin-1"))
                )
            name, data = "", []
        elif field == "data":
            data.append(value)
        elif field == "event":
            name = value
    return events


@each_stream
def test_a_stream_is_read_whole_and_byte_by_byte(stream: bytes, events: list[Event]) -> None:
    assert read([stream]) == events
    assert read([stream[i : i + 1] for i in range(len(stream))]) == events


@settings(deadline=None)
@given(stream=st.sampled_from([stream for stream, _ in STREAMS.values()]), borders=st.lists(st.integers(0, 500_000)))
def test_where_a_stream_is_cut_makes_no_difference(stream: bytes, borders: list[int]) -> None:
    assert read(cut(stream, borders)) == read([stream])


FRAGMENTS = [
    b"\n",
    b"\r",
    b"\r\n",
    b"data",
    b"event",
    b":",
    b" ",
    b"data: ",
    b"event:",
    b"id",
    b"x",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
]


@settings(deadline=None)
@given(fragments=st.lists(st.sampled_from(FRAGMENTS), max_size=60), borders=st.lists(st.integers(0, 300), max_size=10))
def test_any_stream_is_read_as_the_standard_reads_it(fragments: list[bytes], borders: list[int]) -> None:
    stream = b"".join(fragments)
    assert read(cut(stream, borders)) == read_by_line(stream)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\r", b"\r\n\r\n", b"\r\n\r"])
def test_an_event_comes_with_the_byte_that_ends_its_blank_line(end: bytes) -> None:
    decoder = EventDecoder()
    line = b"data: a" + end
    got = [len(decoder.feed(line[i : i + 1])) for i in range(len(line))]
    # A CR ends its line at once: an LF that follows it later adds nothing.
    assert got.index(1) == line.rindex(b"\r" if b"\r" in end else b"\n")
    assert sum(got) == 1


def test_an_empty_piece_changes_nothing_even_within_a_crlf() -> None:
    assert read([b"data: a\r", b"", b"\n", b"", b"data: b\r", b"", b"\n\r\n"]) == [Event("", b"a\nb")]


def test_close_leaves_nothing_behind() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: a") == []
    assert decoder.close() == [Event("", b"a")]
    assert decoder.close() == []


@pytest.mark.parametrize("size", [1, 7, 100])
def test_more_pending_bytes_than_the_limit_are_overlong(size: int) -> None:
    decoder = EventDecoder(limit=100)
    stream = b"data: " + b"x" * 95
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert [event for piece in pieces[:-1] for event in decoder.feed(piece)] == []
    with pytest.raises(Overlong, match="100 bytes"):
        decoder.feed(pieces[-1])


def test_the_limit_counts_neither_what_has_ended_nor_the_events_of_one_piece() -> None:
    decoder = EventDecoder(limit=100)
    whole = b"data: " + b"x" * 80 + b"\n\n"
    for _ in range(3):
        assert len(decoder.feed(whole[:50])) == 0
        assert len(decoder.feed(whole[50:])) == 1
    assert len(decoder.feed(whole * 50)) == 50
    assert decoder.feed(b"data: " + b"x" * 1000 + b"\n\n") == [Event("", b"x" * 1000)]
    with pytest.raises(Overlong):
        decoder.feed(whole + b"data: " + b"x" * 95)
