"""The Responses API over a WebSocket: a request is one frame, and so is each event of its answer.

Wire facts (developers.openai.com "WebSocket mode"; Codex 0.171, seen on the wire): the client's frame is the body of a
request with `type: response.create`; the server's frames are the events of a stream, without an end mark. A request
goes on from an earlier one by `previous_response_id` and tells only what is new; what went before lives in the server's
memory, for as long as the connection does. A first request with `generate: false` only warms up. With `stream_id`
several conversations share a connection.

Here a request is read as if it told all, because a conversation is known by what it began with; and what is decided
about it is cut down again to what the frame itself holds.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from thoughtkeep.jsontext import NotJson, loads, loads_exact
from thoughtkeep.turns import END, Edit, Json, Op

CREATE = "response.create"

# Responses of one connection that a request may go on from; who names an older one is read as telling all itself.
KEPT = 64

# The frames of an answer that say more than a piece of text.
_TELLING = re.compile(rb'"response\.(created|output_item\.done|completed|incomplete|failed|done)"')

_STREAM = re.compile(rb'"stream_id"\s*:\s*"([^"\\]{0,200})"')

# What the server says instead of an answer, or at the end of a failed one.
_ERROR = re.compile(rb'"type"\s*:\s*"(error|response\.failed)"')


@dataclass(frozen=True, slots=True)
class Request:
    """A request frame as the body of a request that tells all. `offset` items of its input are the server's already."""

    body: dict[str, Json]
    offset: int
    stream: str


@dataclass(slots=True)
class _Answer:
    """An answer on its way: the whole input that it is for, and its items so far."""

    input: list[Json]
    name: str = ""
    items: dict[int, Json] = field(default_factory=dict)


class Connection:
    """What one connection has said: conversations by the id of each response that may be gone on from."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, list[Json]] = OrderedDict()
        self._open: dict[str, _Answer] = {}

    def request(self, data: bytes) -> Request | None:
        """A client's frame, read; None where it is no request."""
        try:
            frame = loads(data)
        except NotJson:
            return None
        if not isinstance(frame, dict) or frame.get("type") != CREATE:
            return None
        own = frame.get("input")
        items = [{"type": "message", "role": "user", "content": own}] if isinstance(own, str) else own
        if not isinstance(items, list):
            return None
        named = frame.get("previous_response_id")
        known = self._known.get(named) if isinstance(named, str) else None
        before = known or []
        whole = [*before, *items]
        body = {**frame, "input": whole, "stream": True}
        if known is not None and not any(_is_answer(item) for item in known):
            del body["previous_response_id"]  # it was only warmed up: the conversation itself is in this frame
        stream = frame.get("stream_id")
        name = stream if isinstance(stream, str) else ""
        self._open[name] = _Answer(whole)
        return Request(body, len(before), name)

    def stream_of(self, data: bytes) -> str:
        """The stream that a server's frame belongs to."""
        if not any(self._open):
            return ""
        found = _STREAM.search(data)
        return found[1].decode("utf-8", "replace") if found else ""

    def event(self, data: bytes) -> None:
        """Take note of a server's frame."""
        answer = self._open.get(self.stream_of(data))
        if answer is None or not _TELLING.search(data):
            return
        try:
            event = loads_exact(data)
        except NotJson:
            return
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "response.output_item.done":
            index = event.get("output_index")
            answer.items[index if isinstance(index, int) else len(answer.items)] = event.get("item")
            return
        response = event.get("response") if isinstance(event, dict) else None
        if isinstance(response, dict) and isinstance(response.get("id"), str):
            answer.name = response["id"]
            if kind != "response.created":
                self._ended(answer)

    def _ended(self, answer: _Answer) -> None:
        self._known[answer.name] = [*answer.input, *(answer.items[index] for index in sorted(answer.items))]
        self._known.move_to_end(answer.name)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)


def is_error(data: bytes) -> bool:
    """Whether a server's frame says that a request failed."""
    return _ERROR.search(data[:200]) is not None


def own_edits(edits: Iterable[Edit], offset: int) -> list[Edit]:
    """Edits of the whole request as edits of the frame; none where one concerns what the server has already."""
    moved = [_moved(edit, offset) for edit in edits]
    return [] if None in moved else [edit for edit in moved if edit is not None]


def _moved(edit: Edit, offset: int) -> Edit | None:
    at, source, index = edit.at, edit.source, edit.index
    if edit.op in (Op.INSERT, Op.MOVE) and at == ("input",):
        if index < offset:
            return None
        index = index if index == END else index - offset
    elif at[:1] == ("input",):
        number = at[1]
        if not isinstance(number, int) or number < offset:
            return None
        at = ("input", number - offset, *at[2:])
    if source:
        number = source[1]
        if not isinstance(number, int) or number < offset:
            return None
        source = ("input", number - offset, *source[2:])
    return replace(edit, at=at, source=source, index=index)


def _is_answer(item: Json) -> bool:
    """Whether an item is one of the model's own."""
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    return item.get("role") == "assistant" or kind == "reasoning" or (isinstance(kind, str) and kind.endswith("_call"))
