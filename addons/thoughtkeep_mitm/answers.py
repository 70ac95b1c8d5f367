"""An answer's bytes on their way to the client: passed on as they come, captured, repaired, copied for the views."""

from collections.abc import Callable

from mitmproxy import http

from thoughtkeep.repair import Repairer, StreamRepair, repair_whole
from thoughtkeep_mitm import traffic

type Callback = Callable[[bytes], bytes | list[bytes]]

# Takes the next chunk of an answer, and says whether its turns are to be kept now.
type Feed = Callable[[bytes], bool]

# Is told of a fault, and where it was.
type Failed = Callable[[str, Exception], None]


class Copy:
    """The bytes of a streamed answer as the client gets them, up to `limit` bytes; of a longer one nothing is kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._parts: list[bytes] | None = [] if limit else None

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._parts is None:
            return
        self._size += len(chunk)
        if self._size > self._limit:
            self._parts = None
        else:
            self._parts.append(chunk)

    def give(self, response: http.Response | None) -> bool:
        """Put the copy where mitmproxy keeps bodies, unless one is there; whether the answer was too long to be kept.

        Nothing is sent again: by now the bytes have left.
        """
        if response is None or response.raw_content is not None:
            return False
        if self._parts is not None:
            response.raw_content = b"".join(self._parts)
        return self._parts is None and self._limit > 0


def tee(feed: Feed, due: Callable[[], None], copy: Copy, failed: Failed) -> Callback:
    """A stream callable that passes each chunk on as it is.

    `due` is called where `feed` says so (see Answer.feed), `failed` is told of a fault of either.
    """
    keep = copy.add

    def passed(chunk: bytes) -> bytes:
        try:
            if feed(chunk):
                due()
        except Exception as fault:
            failed("stream", fault)
        keep(chunk)
        return chunk

    return passed


def tee_repaired(feed: Feed, due: Callable[[], None], copy: Copy, repair: StreamRepair, failed: Failed) -> Callback:
    """The same for an answer that is repaired on its way; after a fault there the rest passes as it is."""
    capture = tee(feed, due, Copy(0), failed)  # the copy is of what leaves

    def passed(chunk: bytes) -> bytes | list[bytes]:
        capture(chunk)
        try:
            out = repair.feed(chunk) if chunk else repair.flush()
        except Exception as fault:
            failed("repair", fault)
            out = repair.close() or chunk
        copy.add(out)
        # An empty chunk in mid-stream would end the client's answer; an empty list holds back.
        return out if out or not chunk else []

    return passed


def repair_plain(response: http.Response, repairer: Repairer | None) -> int:
    """Repair an answer that is here as a whole. Returns how many changes that took."""
    body = response.raw_content
    if repairer is None or not body or not traffic.is_plain(response):
        return 0
    if "event-stream" in response.headers.get("content-type", "").lower():  # one that was rescued
        repair = StreamRepair(repairer)
        fixed = repair.feed(body) + repair.flush()
        changed = repair.changed
    else:
        fixed = repair_whole(repairer, body)
        changed = int(fixed is not body)
    if changed:
        response.raw_content = fixed
        response.headers["content-length"] = str(len(fixed))
    return changed
