"""Answers: put together and repaired on their way, streamed and plain, in every format and at every kind of host."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from fuzz.promises import bounded, cuttings, hold, told
from fuzz.wire import Unread, place
from thoughtkeep import answer as answer_module
from thoughtkeep import runs
from thoughtkeep.answer import Answer
from thoughtkeep.endpoint import recognise
from thoughtkeep.formats import Format
from thoughtkeep.profiles import Profile, profile_for
from thoughtkeep.repair import StreamRepair, repair_whole

# No provider writes so much space into an end mark that a look back over the last chunk would not find it.
_GAP = re.compile(rb"\s{20}")

#: What makes a request one, to know the format of the answer.
_ASKED = {"model": "m", "max_tokens": 1, "messages": [], "contents": [], "input": []}


def check(data: bytes) -> bool:
    """An answer: no error, the same turns however it is cut and merged, and the same bytes to the client.

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
        whole, in_time = _outcome(form, profile, kind, [body])
        for pieces in cuttings(body):
            with _small():
                cut, cut_in_time = _outcome(form, profile, kind, pieces)
            hold(cut == whole, "the turns depend on how the answer was cut")
            if in_time and not _GAP.search(body):
                hold(cut_in_time, "whether the end is known in time depends on how the answer was cut")
        _repaired(form, profile, kind, body)
    return True


@contextmanager
def _small() -> Iterator[None]:
    """Within, events are parsed a few at a time, and runs of two are looked for: in a whole answer there are none."""
    sizes = answer_module.BATCH, runs.FEWEST
    answer_module.BATCH, runs.FEWEST = 500, 2
    try:
        yield
    finally:
        answer_module.BATCH, runs.FEWEST = sizes


def _outcome(form: Format, profile: Profile, kind: str, pieces: Sequence[bytes]) -> tuple[str, bool]:
    """All that an answer tells, as text; whether its end was known with its last byte."""
    answer = Answer(form.assembler(profile), form.ends, kind, "")
    for piece in pieces:
        answer.feed(piece)
    in_time = answer.ended
    answer.close()
    if answer.stopped:  # how much of it was taken by then depends on the cuts
        return "stopped", False
    turns = answer.turns()
    hold(told(answer.turns()) == told(turns), "the turns change when they are asked for again")
    hold(not answer.ended or not answer.failed, "an answer both failed and ended")
    said = (answer.served, answer.upstream, answer.tokens, answer.reason, answer.ended, answer.failed)
    return told((turns, said)), in_time and answer.ended


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
