"""One answer on its way to the client: bytes in, turns out.

The copy of the stream is worked on in batches: parsing each event as it comes costs a burst 16 % of its rate, parsing
all of it at the end holds up every other stream. Only where a chunk may hold the end of the answer is it worked on at
once, because a turn must be known before the client can have seen its last byte.
"""

import re
from collections.abc import Iterator, Sequence

import orjson

from thoughtkeep.decode import STEP, Undecodable, decoder
from thoughtkeep.formats import Assembler, Format
from thoughtkeep.jsonarray import ArrayDecoder
from thoughtkeep.jsontext import NotJson, loads_exact, strings
from thoughtkeep.profiles import Profile
from thoughtkeep.runs import Runs
from thoughtkeep.sse import EventDecoder, Overlong
from thoughtkeep.turns import Json, Turn

# How many bytes wait before they are parsed.
BATCH = 32_768

# How much of one answer may be held in memory, in bytes.
LIMIT = 16_000_000

# In how many pieces it may be held: each takes some 50 bytes beside its characters, and most are words.
PIECES = 500_000

# How many raw bytes pass between two looks at how much is held: raw streams are mostly packaging.
_LOOK = 4_000_000

# What a compressed answer may inflate to: so many bytes, and beyond them so many for each that came. Streams of small
# events are a hundred times smaller at best; of a bomb a few kilobytes would hold up all other traffic for a minute.
INFLATED = 4_000_000
RATIO = 100

# An end mark may be cut by the border of two chunks; none is longer.
_OVERLAP = 64

# OpenAI's end mark; Google's Interactions and most gateways have it too.
_DONE = b"[DONE]"

# What may be an integer past 64 bits: so many digits in a row. Finding them as zeros takes a tenth of what an
# expression for them takes, which was a quarter of all the work.
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 17


class Answer:
    """Captures one answer. Every fault ends the capture, and is named in `stopped`; none is raised."""

    def __init__(self, assembler: Assembler, ends: re.Pattern[bytes], content_type: str, content_encoding: str) -> None:
        self.stopped = ""
        self._assembler = assembler
        self._runs = Runs(assembler.alike)
        self._finds_end = ends.search
        self._is_sse = "event-stream" in content_type.lower()
        self._frames: EventDecoder | ArrayDecoder | None = None
        self._pending: list[bytes] = []
        self._waiting = 0
        self._tail = b""
        self._size = 0
        self._inflated = -INFLATED
        self._next_look = _LOOK
        self._ending = False
        self._due = False
        self._is_plain = content_encoding.strip().lower() in ("", "identity")
        try:
            self._decoder = decoder(content_encoding)
        except Undecodable as fault:
            self.stop(str(fault))

    @property
    def served(self) -> str:
        """The model that the answer names."""
        return self._assembler.served

    @property
    def upstream(self) -> str:
        """The upstream that the answer names."""
        return self._assembler.upstream

    @property
    def tokens(self) -> int:
        """The tokens that the answer says it took, question included; 0 until it says."""
        return self._assembler.tokens

    @property
    def reason(self) -> str:
        """Why the answer ended, in the provider's words; empty until it says."""
        return self._assembler.reason

    @property
    def failed(self) -> bool:
        """Whether the answer told of an error in its midst."""
        return self._assembler.failed

    @property
    def ended(self) -> bool:
        """Whether the answer reached its semantic end."""
        return self._assembler.ended

    def feed(self, chunk: bytes) -> bool:
        """Take the next raw bytes. True when the turns are to be kept now: the end was reached, or changed later."""
        if self.stopped:
            return False
        try:
            if self._is_plain and 0 < len(chunk) <= STEP:  # the most frequent by far: what its decoder would make of it
                self._add(chunk)
            else:
                for piece in self._pieces(chunk):
                    self._add(piece)
        except (ValueError, RecursionError) as fault:
            self.stop(str(fault))
        return self._due and self._is_due()

    def close(self) -> bool:
        """The body is over, or cut off. Answers like `feed`."""
        if not self.stopped:
            try:
                self._work()
                if self._frames is not None:
                    self._take([item if isinstance(item, bytes) else item.data for item in self._frames.close()])
            except (ValueError, RecursionError) as fault:
                self.stop(str(fault))
        return self._is_due()

    def turns(self) -> list[Turn]:
        """One turn a choice: whole where the answer ended, else what had closed by then."""
        try:
            return self._assembler.turns()
        except RecursionError as fault:
            self.stop(str(fault))
            return []

    def keepable(self) -> list[Turn]:
        """The turns that are worth keeping: those that are whole, and of others those that bring state."""
        return [turn for turn in self.turns() if turn.complete or turn.has_state]

    def stop(self, why: str) -> None:
        """Capture no more of this answer; `why` is for the log."""
        self.stopped = why or "unreadable"
        self._pending.clear()

    def _add(self, piece: bytes) -> None:
        """Take the next decoded bytes; work on what waits where that is due."""
        self._pending.append(piece)
        self._waiting += len(piece)
        window = self._tail + piece if self._tail else piece
        if window.find(_DONE) >= 0 or self._finds_end(window):  # `in` takes four times as long as `find`
            self._ending = True
            self._work()
        elif self._ending:  # what bears the mark may be longer than a chunk
            self._ending = not self._work()
        elif self._waiting >= BATCH:
            self._work()
        self._tail = b"" if piece.endswith(b"\n\n") else window[-_OVERLAP:]  # no mark has a blank line in it

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        """The decoded pieces of a chunk. Raises Overlong where they are too many for what came."""
        self._inflated -= RATIO * len(chunk)
        for piece in self._decoder.feed(chunk):
            self._inflated += len(piece)
            if self._inflated > 0:
                raise Overlong(f"an answer that inflates to more than {RATIO} times its size")
            yield piece

    def _is_due(self) -> bool:
        due, self._due = self._due and self._assembler.ended, False
        return due

    def _work(self) -> bool:
        """Parse what waits. Whether any event ended in it."""
        data = b"".join(self._pending)
        self._pending.clear()
        self._waiting = 0
        self._size += len(data)
        if self._frames is None:
            plain = data.lstrip(b"\xef\xbb\xbf \t\r\n")
            if not plain:
                return False
            if plain.startswith((b"{", b"[")) and not self._is_sse:
                self._frames, data = ArrayDecoder(), plain
            else:
                self._frames = EventDecoder()
        frames = self._frames
        found = self._take(frames.feed(data) if isinstance(frames, ArrayDecoder) else frames.data(data))
        if self._size >= self._next_look:
            self._look()
        return found

    def _take(self, texts: list[bytes]) -> bool:
        if not texts:
            return False
        events, done = _parse(self._runs.merge(texts))
        if events:
            self._assembler.feed(events)
        self._due = self._due or bool(events) or not self._assembler.ended  # a mark behind the end changes nothing
        if done:
            self._assembler.end()
        return True

    def _look(self) -> None:
        self._next_look = self._size + _LOOK
        texts = strings(self._assembler.held())
        if sum(map(len, texts)) > LIMIT:
            raise Overlong(f"an answer of more than {LIMIT} bytes")
        if len(texts) > PIECES:
            raise Overlong(f"an answer of more than {PIECES} pieces")


def answer_of(form: Format, profile: Profile, content_type: str, content_encoding: str) -> Answer:
    """An answer in this format, to be captured; the last two are its headers."""
    return Answer(form.assembler(profile), form.ends, content_type, content_encoding)


def _parse(texts: Sequence[bytes]) -> tuple[list[Json], bool]:
    """The events that are JSON, and whether `[DONE]` was among them; anything else is passed over.

    Raises NotJson for one that is no UTF-8.
    """
    joined = b",".join(texts)
    done = _DONE in joined and any(text.strip() == _DONE for text in texts)
    if done:
        texts = [text for text in texts if text.strip() != _DONE]
        joined = b",".join(texts)
    if _LONG_NUMBER not in joined.translate(_ZEROS):
        try:  # one call for the whole batch: most of the cost of a small event is the call
            events: list[Json] = orjson.loads(b"[" + joined + b"]")
            if len(events) == len(texts):  # else they are JSON only together
                return events, done
        except orjson.JSONDecodeError:
            pass
    events = []
    for text in texts:
        try:
            events.append(loads_exact(text))
        except NotJson as fault:
            if isinstance(fault.__cause__, UnicodeDecodeError):  # words are lost: the rest may be half of a state
                raise
    return events, done
