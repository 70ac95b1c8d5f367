"""The capture of one answer: when it works, when a turn is due, and which faults end it."""

import gzip
import re
from collections.abc import Callable, Sequence

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep import answer as module
from thoughtkeep.answer import BATCH, Answer
from thoughtkeep.decode import zstd
from thoughtkeep.formats import FORMATS
from thoughtkeep.profiles import NEUTRAL
from thoughtkeep.sse import EventDecoder
from thoughtkeep.turns import Json, Kind, Piece, Turn

END = b'data: {"end": true}\n\n'


class Notes:
    """An assembler that notes what it is fed; an event with `end` ends it, one with `fault` breaks it."""

    def __init__(self) -> None:
        self.served = self.upstream = self.reason = ""
        self.tokens = 0
        self.failed = self.ended = False
        self.batches: list[list[Json]] = []
        self.ends = 0

    @property
    def events(self) -> list[Json]:
        return [event for batch in self.batches for event in batch]

    def feed(self, events: Sequence[Json]) -> None:
        self.batches.append(list(events))
        for event in events:
            if event == {"fault": True}:
                raise RecursionError("too deep")
            self.ended = self.ended or event == {"end": True}

    def end(self) -> None:
        self.ends += 1
        self.ended = True

    def alike(self, event: Json) -> None:
        """Each counts for itself."""

    def held(self) -> Json:
        return self.events

    def turns(self) -> list[Turn]:
        return [Turn((Piece(Kind.TEXT, str(len(self.events))),))]


def capture(content_type: str = "text/event-stream", encoding: str = "") -> tuple[Answer, Notes]:
    notes = Notes()
    return Answer(notes, re.compile(rb'"end"\s*:\s*true'), content_type, encoding), notes


def event(number: int) -> bytes:
    return b'data: {"n": %d}\n\n' % number


def test_events_wait_until_a_batch_is_full() -> None:
    answer, notes = capture()
    for number in range(1000):
        assert not answer.feed(event(number))
    assert notes.batches == []
    answer.feed(b": " + b"x" * BATCH + b"\n\n")
    assert len(notes.batches) == 1
    assert len(notes.events) == 1000


def test_a_chunk_with_an_end_mark_is_worked_on_at_once() -> None:
    answer, notes = capture()
    assert not answer.feed(event(1))
    assert answer.feed(END)
    assert notes.events == [{"n": 1}, {"end": True}]


@given(st.integers(1, len(END) - 1), st.integers(1, len(END) - 1))
def test_an_end_mark_is_seen_over_the_border_of_chunks(one: int, two: int) -> None:
    first, second = sorted((one, two))
    answer, _ = capture()
    due = [answer.feed(piece) for piece in (END[:first], END[first:second], END[second:])]
    assert due == [False, False, True]


def test_the_end_is_known_with_its_last_byte_however_much_stands_behind_its_mark() -> None:
    answer, _ = capture("application/json")
    body = b'{"end": true, "rest": ["' + b"x" * 500 + b'"]}'
    for byte in body:
        answer.feed(bytes((byte,)))
    assert answer.turns()[0].pieces[0].text == "1"


def test_a_mark_that_was_none_costs_no_more_than_the_event_it_stands_in() -> None:
    answer, notes = capture()
    answer.feed(b'data: {"quoted": "\\"end\\"", "x": {"end": true}}\n\n')
    answer.feed(event(1))
    assert [len(batch) for batch in notes.batches] == [1, 1]
    answer.feed(event(2))
    answer.feed(event(3))
    assert len(notes.batches) == 2


def test_what_comes_behind_the_end_is_due_again() -> None:
    answer, _ = capture()
    assert answer.feed(END)
    assert not answer.feed(b": nothing new\n\n")
    assert answer.feed(event(1))  # it may be the rest of what ended: at once
    assert not answer.feed(event(2))  # it waits, for a batch or for the end of the body
    assert answer.close()
    assert not answer.close()


def test_an_answer_without_its_end_is_not_due() -> None:
    answer, notes = capture()
    assert not answer.feed(event(1))
    assert not answer.close()
    assert notes.events == [{"n": 1}]


def test_the_mark_of_the_stream_ends_it_wherever_it_stands() -> None:
    answer, notes = capture()
    assert answer.feed(event(1) + b"data: [DONE]\n\n" + event(2))
    assert (notes.events, notes.ends) == ([{"n": 1}, {"n": 2}], 1)
    answer, notes = capture()
    assert answer.feed(b"data:  [DONE] \n\n")
    assert (notes.events, notes.ends) == ([], 1)
    answer, notes = capture()
    assert not answer.feed(b'data: {"text": "say [DONE]"}\n\n')
    assert (notes.events, notes.ends) == ([{"text": "say [DONE]"}], 0)


def test_what_is_no_json_among_the_events_is_passed_over() -> None:
    answer, notes = capture()
    answer.feed(event(1) + b"data: ping\n\ndata:\n\nevent: x\ndata: {cut\n\n" + event(2) + END)
    assert notes.events == [{"n": 1}, {"n": 2}, {"end": True}]


@pytest.mark.parametrize("more", [b"", END, b"data: [DONE]\n\n"])
def test_words_that_are_no_utf8_end_the_capture_and_what_is_left_of_their_answer_is_no_turn(more: bytes) -> None:
    answer, notes = capture()
    assert not answer.feed(event(1) + b'data: {"words": "caf\xe9"}\n\n' + event(2) + more)
    assert not answer.close()
    assert "utf-8" in answer.stopped
    assert not answer.ended
    assert notes.events == []


def test_events_that_are_json_only_together_are_none() -> None:
    answer, notes = capture()
    answer.feed(b'data: {"a": 1\n\ndata: "b": 2}\n\n' + END)
    answer.feed(b"data: 1, 2\n\n" + END)
    assert notes.events == [{"end": True}, {"end": True}]


def test_the_event_that_a_body_was_cut_in_is_tried() -> None:
    answer, notes = capture()
    answer.feed(event(1) + b'data: {"n": 2}')
    answer.close()
    assert notes.events == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("number", [12345678901234567890123, -98765432109876543210])
def test_integers_of_any_size_keep_their_digits(number: int) -> None:
    answer, notes = capture()
    answer.feed(event(number) + END)
    assert notes.events == [{"n": number}, {"end": True}]


@pytest.mark.parametrize(
    ("body", "content_type", "found"),
    [
        (b'{"n": 1}', "application/json", [{"n": 1}]),
        (b' \r\n\xef\xbb\xbf{"n": 1}', "application/json; charset=utf-8", [{"n": 1}]),
        (b'[{"n": 1},\n{"n": 2}]', "", [{"n": 1}, {"n": 2}]),
        (b'data: {"n": 1}\n\n', "application/json", [{"n": 1}]),  # some servers call everything JSON
        (b'\n\n: hello\n\ndata: {"n": 1}\n\n', "text/plain", [{"n": 1}]),
        (b'\xef\xbb\xbfdata: {"n": 1}\n\n', "Text/Event-Stream", [{"n": 1}]),
        (b'{"n": 1}\n\n', "text/event-stream", []),
        (b" \n ", "application/json", []),
        (b"", "", []),
        (b"<html>", "text/html", []),
    ],
)
def test_a_body_is_framed_as_it_begins(body: bytes, content_type: str, found: list[Json]) -> None:
    for chunks in ([body], [bytes((byte,)) for byte in body]):
        answer, notes = capture(content_type)
        for chunk in chunks:
            answer.feed(chunk)
        answer.close()
        assert (notes.events, answer.stopped) == (found, "")


def test_the_figures_are_those_of_the_assembler() -> None:
    answer, notes = capture()
    notes.served, notes.upstream, notes.tokens, notes.failed = "m", "u", 7, True
    assert (answer.served, answer.upstream, answer.tokens, answer.failed) == ("m", "u", 7, True)


# -- faults -----------------------------------------------------------------------------------------------------------


def test_an_unknown_coding_is_not_captured() -> None:
    answer, notes = capture(encoding="rot13")
    assert "rot13" in answer.stopped
    assert not answer.feed(END)
    assert not answer.close()
    assert notes.batches == []


def test_a_body_that_breaks_its_coding_ends_the_capture_with_what_was_there() -> None:
    answer, notes = capture(encoding="gzip")
    packed = gzip.compress(event(1) + END)
    assert answer.feed(packed)
    assert not answer.feed(b"rubbish")
    assert answer.stopped
    assert answer.ended
    assert not answer.feed(gzip.compress(event(2)))
    assert notes.events == [{"n": 1}, {"end": True}]


def test_what_breaks_the_assembler_ends_the_capture() -> None:
    answer, _ = capture()
    assert not answer.feed(b'data: {"fault": true}\n\n' + END)
    assert answer.stopped == "too deep"
    answer, _ = capture()
    answer.feed(b'data: {"fault": true}\n\n')
    assert not answer.close()
    assert answer.stopped == "too deep"


def test_a_stop_without_a_reason_is_one() -> None:
    answer, notes = capture()
    answer.feed(event(1))
    answer.stop("")
    answer.close()
    assert answer.stopped
    assert notes.events == []


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 10_000)
    monkeypatch.setattr(module, "_LOOK", 20_000)


FILLING = {
    "chat": (
        b'data: {"choices": [{"index": 0, "delta": {%s}}]}\n\n',
        [
            b'"content": "%s"',
            b'"content": [{"type": "text", "text": "%s"}]',
            b'"reasoning_content": "%s"',
            b'"reasoning_details": [{"type": "x", "text": "%s"}]',
            b'"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "%s"}}]',
            b'"unknown": "%s"',
        ],
    ),
    "gemini": (
        b'data: {"candidates": [{"index": 0, "content": {"parts": [{%s}]}}]}\n\n',
        [b'"text": "%s"', b'"thought": true, "text": "%s"', b'"inlineData": {"data": "%s"}'],
    ),
}


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(("form", "part"), [(form, part) for form, (_, parts) in FILLING.items() for part in parts])
def test_no_kind_of_content_is_held_without_bound(form: str, part: bytes) -> None:
    chosen = next(each for each in FORMATS if each.name == form)
    answer = Answer(chosen.assembler(NEUTRAL), chosen.ends, "text/event-stream", "")
    frame = FILLING[form][0] % part
    for number in range(60):
        answer.feed(frame % (b"%d" % number * 1000))
    assert "10000 bytes" in answer.stopped


@pytest.mark.usefixtures("small_limits")
def test_an_answer_in_very_many_pieces_is_not_held_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECES", 1000)
    chat = FORMATS[0]
    answer = Answer(chat.assembler(NEUTRAL), chat.ends, "text/event-stream", "")
    for number in range(2000):
        answer.feed(b'data: {"id": %d, "choices": [{"delta": {"content": "a"}}]}\n\n' % number)
    assert "1000 pieces" in answer.stopped


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "br": lambda body: bytes(brotli.compress(body, quality=4)),
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_bomb_is_not_read_to_its_end(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    read = EventDecoder.data

    def counted(self: EventDecoder, data: bytes) -> list[bytes]:
        nonlocal seen
        seen += len(data)
        return read(self, data)

    monkeypatch.setattr(EventDecoder, "data", counted)
    answer, _ = capture(encoding=encoding)
    packed = BOMBS[encoding](b": nothing\n\n" * 4_000_000 + END)
    answer.feed(packed)
    assert "inflates" in answer.stopped
    assert 0 < seen <= module.INFLATED + module.RATIO * len(packed) < 24_000_000


@pytest.mark.parametrize("encoding", BOMBS)
def test_an_answer_that_compresses_as_well_as_real_ones_is_read_to_its_end(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "INFLATED", 1_000)
    answer, notes = capture(encoding=encoding)
    packed = BOMBS[encoding](b"".join(event(number) for number in range(20_000)) + END)
    for at in range(0, len(packed), 1000):
        answer.feed(packed[at : at + 1000])
    answer.close()
    assert not answer.stopped
    assert len(notes.events) == 20_001


@pytest.mark.usefixtures("small_limits")
def test_a_long_stream_that_is_mostly_packaging_is_captured_to_its_end() -> None:
    chat = FORMATS[0]
    answer = Answer(chat.assembler(NEUTRAL), chat.ends, "text/event-stream", "")
    for _ in range(500):
        answer.feed(b'data: {"padding": "%s", "choices": [{"delta": {"content": "a"}}]}\n\n' % (b"x" * 400))
    assert answer.feed(b"data: [DONE]\n\n")
    assert answer.turns()[0].pieces[0].text == "a" * 500


def test_an_event_without_end_is_not_held_without_bound() -> None:
    answer, notes = capture()
    for _ in range(40):
        answer.feed(b"data: " + b"x" * 1_000_000)
    assert answer.stopped
    assert notes.batches == []


def test_an_answer_whose_turns_are_nested_too_deep_to_be_told_has_none_and_the_reason_is_named() -> None:
    answer, notes = capture()
    answer.feed(END)

    def turns() -> list[Turn]:
        raise RecursionError("too deep")

    notes.turns = turns  # type: ignore[method-assign]
    assert answer.turns() == []
    assert answer.stopped == "too deep"
