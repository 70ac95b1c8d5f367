"""Repairing an answer on its way: only the events concerned change, and in them only the values concerned.

An event is held back until it is whole; everything else goes on at once. A fault anywhere ends the repair, never the
stream: what was held back follows as it came.
"""

import re
from typing import Protocol

from thoughtkeep import splice
from thoughtkeep.jsontext import NotJson, loads
from thoughtkeep.turns import Edit, Json

# How many bytes may be held back for one event.
LIMIT = 16_000_000

# Two line ends in a row. What ends in CR may have its LF in the next chunk; there it stands before an event, unnoticed.
_END = re.compile(rb"(?>\r\n|\n|\r){2}")
_DATA = re.compile(rb"(?:\A|(?<=[\r\n]))(?:\xef\xbb\xbf)?data:[ ]?([^\r\n]*)")


class Repairer(Protocol):
    """Tells what to change in the events of one answer, in order."""

    def edits(self, event: Json) -> list[Edit]:
        """The edits to one event, or to a plain answer; none where it is fine as it is."""


class StreamRepair:
    """Repairs a stream of server-sent events. `changed` counts the events that were changed."""

    def __init__(self, repairer: Repairer) -> None:
        self.changed = 0
        self._repairer = repairer
        self._held = b""
        self._given_up = False

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes, return those that may go on (none, where an event is not whole yet)."""
        if self._given_up:
            return chunk
        self._held += chunk
        out: list[bytes] = []
        start = 0
        for end in _END.finditer(self._held, max(0, len(self._held) - len(chunk) - 3)):
            out.append(self._event(self._held[start : end.end()]))
            start = end.end()
        self._held = self._held[start:]
        if len(self._held) > LIMIT:
            out.append(self.close())
        return b"".join(out)

    def flush(self) -> bytes:
        """The stream may be over: what was held back. A last event may lack its blank line."""
        out = self._event(self._held)
        self._held = b""
        return out

    def close(self) -> bytes:
        """Something went wrong: what was held back, as it came; nothing is repaired from here on."""
        held, self._held, self._given_up = self._held, b"", True
        return held

    def _event(self, raw: bytes) -> bytes:
        lines = list(_DATA.finditer(raw))
        if len(lines) != 1:
            return raw
        data = lines[0][1]
        fixed = repair_whole(self._repairer, data)
        if fixed is data:
            return raw
        self.changed += 1
        return raw[: lines[0].start(1)] + fixed + raw[lines[0].end(1) :]


def repair_whole(repairer: Repairer, body: bytes) -> bytes:
    """A JSON text repaired; the very same object where nothing is to be changed, or where it is no JSON."""
    try:
        edits = repairer.edits(loads(body))
        return splice.apply(body, edits) if edits else body
    except (NotJson, splice.Unfit):
        return body
