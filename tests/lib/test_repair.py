"""An answer repaired on its way: only the events concerned change, and nothing waits longer than its event."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import pieces

from thoughtkeep import repair
from thoughtkeep.repair import StreamRepair, repair_whole
from thoughtkeep.turns import Edit, Json, Op


class Numbering:
    """Numbers the events that ask for it; `{"bad": true}` is its undoing."""

    def __init__(self) -> None:
        self.count = 0

    def edits(self, event: Json) -> list[Edit]:
        if not isinstance(event, dict) or not event.keys() & {"fix", "bad", "misfit"}:
            return []
        if "bad" in event:
            raise TypeError("of another shape")
        if "misfit" in event:
            return [Edit(Op.PUT, ("nowhere", 3), key="n", value=1)]
        self.count += 1
        return [Edit(Op.PUT, (), key="n", value=self.count)]


FIX, FIXED = b'{"fix": "\xe2\x80\xa8 1.10"}', b'{"fix": "\xe2\x80\xa8 1.10","n":1}'

# What stands in a stream, and what becomes of it. The first event that asks for a number gets 1.
STREAMS: dict[str, tuple[bytes, bytes]] = {
    "LF": (b"data: " + FIX + b"\n\n", b"data: " + FIXED + b"\n\n"),
    "CRLF": (b"data: " + FIX + b"\r\n\r\n", b"data: " + FIXED + b"\r\n\r\n"),
    "CR": (b"data: " + FIX + b"\r\r", b"data: " + FIXED + b"\r\r"),
    "LF, then CRLF": (b"data: " + FIX + b"\n\r\n", b"data: " + FIXED + b"\n\r\n"),
    "CRLF, then LF": (b"data: " + FIX + b"\r\n\n", b"data: " + FIXED + b"\r\n\n"),
    "no space after the colon": (b"data:" + FIX + b"\n\n", b"data:" + FIXED + b"\n\n"),
    "two spaces": (b"data:  " + FIX + b"\n\n", b"data:  " + FIXED + b"\n\n"),
    "a byte order mark": (b"\xef\xbb\xbfdata: " + FIX + b"\n\n", b"\xef\xbb\xbfdata: " + FIXED + b"\n\n"),
    "a name before": (b"event: x\r\ndata: " + FIX + b"\r\n\r\n", b"event: x\r\ndata: " + FIXED + b"\r\n\r\n"),
    "a name before, in CR": (b"event: x\rdata: " + FIX + b"\r\r", b"event: x\rdata: " + FIXED + b"\r\r"),
    "an id behind": (b"data: " + FIX + b"\nid: 7\n\n", b"data: " + FIXED + b"\nid: 7\n\n"),
    "comments with the very same text": (
        b": " + FIX + b"\n: data: " + FIX + b"\ndata: " + FIX + b"\n: \xff\n\n",
        b": " + FIX + b"\n: data: " + FIX + b"\ndata: " + FIXED + b"\n: \xff\n\n",
    ),
    "blank lines and comments around": (
        b"\n\n: ping\n\n\r\n\r\ndata: " + FIX + b"\n\n\n: ping\n\n",
        b"\n\n: ping\n\n\r\n\r\ndata: " + FIXED + b"\n\n\n: ping\n\n",
    ),
    "no blank line at the end": (b"data: 1\n\ndata: " + FIX, b"data: 1\n\ndata: " + FIXED),
    "no blank line, but a line's end": (b"data: " + FIX + b"\r\n", b"data: " + FIXED + b"\r\n"),
}

# What passes as it is.
PASSING: dict[str, bytes] = {
    "nothing": b"",
    "nothing to repair": b'data: {"a": 1}\n\ndata: [DONE]\n\n',
    "data in several lines": b'data: {"fix":\ndata: 1}\n\n',
    "data in several lines, the first of which could be all": b'data: {"fix": 1}\ndata: x\n\n',
    "and in CRLF": b'data: {"fix": 1}\r\ndata: x\r\n\r\n',
    "and in CR": b'data: {"fix": 1}\rdata: x\r\r',
    "no JSON": b"data: {fix\n\n",
    "an edit that does not fit": b'data: {"misfit": 1}\n\n',
    "no data": b"event: fix\n\n",
    "a comment": b': data: {"fix": 1}\n\n',
    "a field of another name": b'metadata: {"fix": 1}\n\n',
    "nothing but an end": b"\r\n\r\n\n\n\r\r",
    "no event stream": b'{\n "fix": 1\n}',
    "cut off": b'data: {"fix": 1',
    "bytes that are no text": b'data: {"fix": "\xff"}\n\n',
}


def repaired(stream: bytes, cuts: Sequence[int] = ()) -> bytes:
    """A stream repaired that arrives cut at these places."""
    stream_repair = StreamRepair(Numbering())
    out = [stream_repair.feed(piece) for piece in pieces(stream, cuts)]
    return b"".join([*out, stream_repair.flush()])


CASES = [pytest.param(*case, id=name) for name, case in STREAMS.items()]
CASES += [pytest.param(raw, raw, id=name) for name, raw in PASSING.items()]


@pytest.mark.parametrize(("stream", "fixed"), CASES)
def test_a_stream_is_the_same_wherever_it_is_cut_and_only_the_value_concerned_is_another(
    stream: bytes, fixed: bytes
) -> None:
    assert repaired(stream) == fixed
    assert repaired(stream, range(len(stream))) == fixed
    for cut in range(len(stream)):
        assert repaired(stream, [cut]) == fixed


ALL = b"".join(before for before, _ in STREAMS.values() if not before.endswith((b"}", b"}\r\n")))
ANY = [*(before for before, _ in STREAMS.values()), *PASSING.values()]


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(st.sampled_from(ANY), max_size=8), cuts=st.lists(st.integers(0, 10_000), max_size=20))
def test_streams_of_all_kinds_in_a_row_are_the_same_wherever_they_are_cut(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    assert repaired(stream, cuts) == repaired(stream)


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(0, len(ALL)), max_size=30))
def test_all_events_of_a_stream_are_repaired_in_order(cuts: list[int]) -> None:
    count = ALL.count(b"data:") - 1  # one stands in a comment
    out = repaired(ALL, cuts)
    assert [b',"n":%d}' % number in out for number in range(1, count + 2)] == [True] * count + [False]
    for number in range(1, count + 1):
        out = out.replace(b',"n":%d}' % number, b"}")
    assert out == ALL


@pytest.mark.parametrize(("stream", "fixed"), CASES)
def test_an_event_goes_on_with_its_last_byte(stream: bytes, fixed: bytes) -> None:
    whole = StreamRepair(Numbering())
    ends = [at for at in range(len(fixed)) if fixed[:at].endswith((b"\n\n", b"\r\r", b"\r\n\r\n"))]
    sent = whole.feed(stream)
    assert fixed.startswith(sent)
    assert len(sent) >= max(ends, default=0)


def test_what_was_changed_is_counted() -> None:
    stream_repair = StreamRepair(Numbering())
    stream_repair.feed(b'data: {"fix": 1}\n\ndata: {}\n\ndata: {"fix": 2}\n\ndata: {"misfit": 1}\n\n')
    assert stream_repair.changed == 2


def test_an_event_too_long_to_be_held_back_goes_on_and_all_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "LIMIT", 40)
    stream_repair = StreamRepair(Numbering())
    assert stream_repair.feed(b"data: " + FIX + b"\n\ndata: ") == b"data: " + FIXED + b"\n\n"
    assert stream_repair.feed(b"x" * 34) == b""
    assert stream_repair.feed(b"x") == b"data: " + b"x" * 35
    assert stream_repair.feed(b"\n\ndata: " + FIX + b"\n\n") == b"\n\ndata: " + FIX + b"\n\n"
    assert stream_repair.flush() == b""


def test_a_long_event_that_comes_at_once_is_no_too_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "LIMIT", 10)
    assert StreamRepair(Numbering()).feed(b"data: " + FIX + b"\n\n") == b"data: " + FIXED + b"\n\n"


@pytest.mark.parametrize("cut", range(5))
def test_after_a_fault_what_was_held_back_follows_as_it_came(cut: int) -> None:
    stream_repair = StreamRepair(Numbering())
    head, bad = b"data: " + FIX + b"\n\nda", b'ta: {"bad": 1}\n\ndata: ' + FIX + b"\n\nda"
    out = stream_repair.feed(head)
    assert stream_repair.feed(bad[:cut]) == b""
    with pytest.raises(TypeError):
        stream_repair.feed(bad[cut:])
    out += stream_repair.close()
    assert out == b"data: " + FIXED + b"\n\nda" + bad
    assert stream_repair.feed(b"ta: " + FIX + b"\n\n") == b"ta: " + FIX + b"\n\n"


def test_a_fault_in_the_last_event_loses_nothing() -> None:
    stream_repair = StreamRepair(Numbering())
    assert stream_repair.feed(b'data: {"bad": 1}') == b""
    with pytest.raises(TypeError):
        stream_repair.flush()
    assert stream_repair.close() == b'data: {"bad": 1}'


def test_a_pause_that_looks_like_an_end_is_none() -> None:
    stream_repair = StreamRepair(Numbering())
    assert stream_repair.feed(b'data: {"fix"') + stream_repair.flush() == b'data: {"fix"'
    assert stream_repair.feed(b": 1}\n\ndata: " + FIX + b"\n\n") == b": 1}\n\ndata: " + FIXED + b"\n\n"


def test_a_plain_answer_is_repaired_as_a_whole() -> None:
    assert repair_whole(Numbering(), b' {"fix" : 1e400, "a": 18446744073709551617 }\n') == (
        b' {"fix" : 1e400, "a": 18446744073709551617 ,"n":1}\n'
    )


@pytest.mark.parametrize("body", [b'{"a": 1}', b'{"fix": ', b'{"misfit": 1}', b"", b'[{"fix": 1}]', b"\xff"])
def test_a_plain_answer_that_needs_none_stays_the_very_same(body: bytes) -> None:
    assert repair_whole(Numbering(), body) is body
