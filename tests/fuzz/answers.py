"""Answers: put together and repaired on their way, streamed and plain, in every format and at every kind of host."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from fuzz.promises import bounded, cuttings, hold
from fuzz.wire import Unread, place
from thoughtkeep.answer import Answer
from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import Format
from thoughtkeep.profiles import Profile, profile_for
from thoughtkeep.repair import StreamRepair, repair_whole

#: What makes a request one, to know the format of the answer.
_ASKED = {"model": "m", "max_tokens": 1, "messages": [], "contents": [], "input": []}


def check(data: bytes) -> bool:
    """An answer: no error, the same turns however it is cut, and the same bytes to the client.

    The input is the name of a place, a line end, and the body; one that begins as JSON is a plain answer.
    """
    name, _, body = data.partition(b"\n")
    try:
        url = place(name)
    except Unread:
        return False
    parts = urlsplit(url)
    endpoint = recognise("POST", parts.path, _ASKED)
    assert endpoint is not None, f"{parts.path} is no endpoint"
    form, profile = endpoint.format, profile_for(parts.hostname or "")
    kind = "application/json" if body.lstrip().startswith((b"{", b"[")) else "text/event-stream"
    with bounded():
        whole = _outcome(form, profile, kind, [body])
        for pieces in cuttings(body):
            hold(_outcome(form, profile, kind, pieces) == whole, "the turns depend on how the answer was cut")
        _repaired(form, profile, kind, body)
    return True


def _outcome(form: Format, profile: Profile, kind: str, pieces: Sequence[bytes]) -> str:
    """All that an answer tells, as text: NaN is never equal to itself."""
    answer = Answer(form.assembler(profile), form.ends, kind, "")
    for piece in pieces:
        answer.feed(piece)
    answer.close()
    hold(not answer.stopped, f"the capture gave up: {answer.stopped}")
    turns = answer.turns()
    hold(repr(answer.turns()) == repr(turns), "the turns change when they are asked for again")
    hold(not answer.ended or not answer.failed, "an answer both failed and ended")
    said = (answer.served, answer.upstream, answer.tokens, answer.reason, answer.ended, answer.failed)
    return repr((turns, said))


def _repaired(form: Format, profile: Profile, kind: str, body: bytes) -> None:
    """What the client gets: the same bytes however they were cut, the very same where there is nothing to repair."""

    def streamed(pieces: Sequence[bytes]) -> bytes:
        repairer = form.repairer(profile)
        if repairer is None:
            return body
        repair = StreamRepair(repairer)
        out = b"".join([*map(repair.feed, pieces), repair.flush()])
        hold(repair.changed or out == body, "bytes changed where nothing was repaired")
        return out

    if kind == "application/json":
        repairer = form.repairer(profile)
        fixed = body if repairer is None else repair_whole(repairer, body)
        repairer = form.repairer(profile)
        twice = fixed if repairer is None else repair_whole(repairer, fixed)
        hold(twice == fixed, "an answer that was repaired is repaired again")
        return
    whole = streamed([body])
    for pieces in cuttings(body):
        hold(streamed(pieces) == whole, "the repair depends on how the answer was cut")

