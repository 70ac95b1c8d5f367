"""Frames of a WebSocket: a conversation told piece by piece, and edits cut down to what one frame holds."""

import json
from typing import Any

from fuzz.promises import bounded, hold, told
from thoughtkeep import splice
from thoughtkeep.frames import KEPT, Connection, is_error, own_edits
from thoughtkeep.turns import END, Edit, Op

type Json = Any


class _Told:
    """What both sides have told, in the plainest way; given up where they say what is not plain."""

    def __init__(self, data: bytes) -> None:
        self.given_up = b"stream_id" in data
        self._whole: list[Json] | None = None
        self._items: dict[int, Json] = {}
        self._known: dict[str, list[Json]] = {}

    def before(self, name: Json) -> list[Json]:
        """What went before a request that goes on from the response of this name."""
        return self._known.get(name, []) if isinstance(name, str) else []

    def ask(self, whole: list[Json]) -> None:
        """A request that tells this, all in all."""
        self._whole, self._items = whole, {}

    def hear(self, frame: bytes) -> None:
        """A server's frame."""
        try:
            match json.loads(frame):
                case {"type": "response.output_item.done", "output_index": int(index), "item": item}:
                    self._items[index] = item
                case {"type": "response.completed", "response": {"id": str(name)}} if self._whole is not None:
                    self._known[name] = self._whole + [self._items[number] for number in sorted(self._items)]
                case {"type": "response.created"} if b"\\u" not in frame:
                    return
                case _:
                    self.given_up = True
        except (ValueError, RecursionError):
            self.given_up = True
        self.given_up = self.given_up or b"\\u" in frame or len(self._known) > KEPT


def check(data: bytes) -> bool:
    """A connection's frames, one a line: `>` from the client, `<` from the server."""
    read = False
    with bounded():
        connection, heard = Connection(), _Told(data)
        for line in data.split(b"\n"):
            side, frame = line[:1], line[1:]
            if side == b">":
                read = _requested(connection, frame, heard) or read
            elif side == b"<":
                is_error(frame)
                connection.event(frame)
                heard.hear(frame)
    return read


def _requested(connection: Connection, frame: bytes, heard: _Told) -> bool:
    request = connection.request(frame)
    if request is None:
        return False
    value = json.loads(frame)
    own = value["input"]
    whole, offset = request.body["input"], request.offset
    hold(isinstance(whole, list) and 0 <= offset <= len(whole), "the offset is not within the input")
    if not heard.given_up:
        before = heard.before(value.get("previous_response_id"))
        hold(_plain(whole[:offset]) == _plain(before), "what went before is not what was told")
        heard.ask(whole)
    if isinstance(own, list):
        hold(_plain(whole[offset:]) == _plain(own), "what the frame tells is not the end of what was said")
        _edited(frame, value, whole, offset)
    return True


def _edited(frame: bytes, value: Json, whole: list[Json], offset: int) -> None:
    """What is done to the whole is done to the frame, wherever the frame has it."""
    mark = {"mark": "put"}
    places = [number for number in (offset, len(whole) - 1) if offset <= number < len(whole)]
    edits = [Edit(Op.INSERT, ("input",), index=END, value=mark)]
    edits += [Edit(Op.REPLACE, ("input", number), value=mark) for number in dict.fromkeys(places)]
    if len(whole) - offset > 2:
        edits.append(Edit(Op.MOVE, ("input",), index=offset + 2, source=("input", offset + 1)))
    expected = list(value["input"])
    for number in places:
        expected[number - offset] = mark
    sent = json.loads(splice.apply(frame, own_edits(edits, offset)))
    hold(_plain(sent) == _plain({**value, "input": [*expected, mark]}), "the frame was edited elsewhere than the whole")
    if offset:
        known = Edit(Op.PUT, ("input", offset - 1), key="mark", value=1)
        hold(own_edits([*edits, known], offset) == [], "what the server has already is edited")


def _plain(value: Json) -> str:
    """A value as text: a request is read for its words, and integers past 64 bits may lose digits."""
    return told(json.loads(json.dumps(value), parse_int=float))
