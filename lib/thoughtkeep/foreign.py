"""State and call ids that the target of a request must not get.

Only what the store knows: state that a client echoes is taken out where the turn is known to be another owner's and the
target is known to refuse that. What nobody has seen before passes.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

from thoughtkeep.formats import Format
from thoughtkeep.identity import Trail, same_base64, values
from thoughtkeep.jsontext import strings
from thoughtkeep.mend import same_words
from thoughtkeep.profiles import PROSE, Profile, family_of, reads
from thoughtkeep.replay import Match, origins
from thoughtkeep.turns import Ask, Edit, Facts, Json, Kept, Kind, Op, Origin, Owner, Path, Piece, Said

TAKEN_OUT = "state of another model taken out"
LEGAL = "call id made legal for this provider"

# Families whose state any of their hosts reads: Claude API, Bedrock and Google Cloud (platform.claude.com "Thinking").
_PORTABLE = ("claude",)

type _Known = Callable[[str, Json], bool]


def clean(
    key: bytes,
    ask: Ask,
    trail: Trail,
    found: Sequence[Match],
    facts: Facts,
    form: Format,
    profile: Profile,
    group: str,
    start: int = 0,
) -> list[Edit]:
    """The edits that take foreign state and illegal ids out of the assistant turns from `start` on."""
    edits: list[Edit] = []
    if profile.refuses_foreign:
        for number, maker in _makers(trail, found, facts):
            if number >= start and _is_foreign(maker.owner, ask.model, group):
                known = _of_turn(maker) if isinstance(maker, Kept) else _of_origin(key, maker)
                edits += _take_out(ask.said[number], known, form)
    return [*edits, *_legal_ids(ask, form, profile, start)]


def _is_foreign(owner: Owner, model: str, group: str) -> bool:
    if not reads(owner, model):
        return True
    return owner.group != group and family_of(model) not in _PORTABLE


def _makers(trail: Trail, found: Sequence[Match], facts: Facts) -> Iterator[tuple[int, Kept | Origin]]:
    """The assistant turns whose maker is known, each with what is known of it."""
    own: set[int] = set()
    for match in found:
        for number in match.said:
            own.add(number)
            yield number, match.kept
    for number, origin in origins(trail, facts):
        if number not in own:
            own.add(number)
            yield number, origin


def _of_turn(kept: Kept) -> _Known:
    turn = kept.turn
    issued = [same_base64(text) for text in strings([dict(turn.state), *(dict(piece.state) for piece in turn.pieces)])]
    issued += [
        same_base64(text) for text in strings([piece.value for piece in turn.pieces if piece.kind is Kind.THOUGHT])
    ]
    words = frozenset(issued)

    def known(_key: str, value: Json) -> bool:
        if isinstance(value, str) and turn.prose and same_words(value, turn.prose):
            return True
        found = [text for text in strings(value) if text]
        return bool(found) and all(same_base64(text) in words for text in found)

    return known


def _of_origin(key: bytes, origin: Origin) -> _Known:
    """Of another tenant's turn only digests of opaque values are known; prose is told by its key and the place."""
    marks = frozenset(origin.values)
    return lambda name, value: name in PROSE or any(mark in marks for mark in values(key, [{name: value}]))


def _take_out(said: Said, known: _Known, form: Format) -> Iterator[Edit]:
    """A message that held nothing else goes with it, unless the whole turn would: then its thinking stays."""
    gone = {id(piece) for piece in said.pieces if piece.kind is Kind.THOUGHT and _is_known(piece, known)}
    inner = {message.at: _inside(message.at, said.pieces) for message in said.messages}
    emptied = {at for at, pieces in inner.items() if pieces and all(id(piece) in gone for piece in pieces)}
    if len(emptied) == len(inner):
        gone, emptied = set(), set()
    yield from (Edit(Op.REMOVE, at, reason=TAKEN_OUT) for at in inner if at in emptied)
    for message in said.messages:
        if message.at in emptied:
            gone -= {id(piece) for piece in inner[message.at]}
            continue
        for name, value in message.state.items():
            if known(name, value):
                yield Edit(Op.DROP, message.at, key=name, reason=TAKEN_OUT)
        content = _inside((*message.at, form.content), inner[message.at])
        if content and all(id(piece) in gone for piece in content):  # calls are left, beside an empty array
            yield Edit(Op.PUT, message.at, key=form.content, value="", reason=TAKEN_OUT)
            gone -= {id(piece) for piece in content}
    lost = any(piece.kind is Kind.THOUGHT and id(piece) in gone for piece in said.pieces)
    for piece, at in ((piece, piece.at) for piece in said.pieces if piece.at):
        if id(piece) in gone:
            yield Edit(Op.REMOVE, at, reason=TAKEN_OUT)
            continue
        if lost and piece.ref and form.refs_bind:  # its id would ask for the item that is gone
            yield Edit(Op.DROP, at, key="id", reason=TAKEN_OUT)
        for name, value in piece.state.items():
            outer, _, key = name.rpartition("/")
            if piece.kind is not Kind.THOUGHT and known(key, value):
                yield Edit(Op.DROP, (*at, outer) if outer else at, key=key, reason=TAKEN_OUT)


def _inside(at: Path, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces that stand somewhere inside the value at a place."""
    return [piece for piece in pieces if piece.at and len(piece.at) > len(at) and piece.at[: len(at)] == at]


def _is_known(piece: Piece, known: _Known) -> bool:
    if piece.state:
        return any(known(name, value) for name, value in piece.state.items() if value)
    return known("", piece.value if piece.value is not None else piece.text)


def _legal_ids(ask: Ask, form: Format, profile: Profile, start: int) -> Iterator[Edit]:
    """Ids that the target refuses, made legal and unique: call and results together, and the same on every later turn.

    Pair by pair in their order, so that a repeated id becomes two.
    """
    pattern = next((re.compile(ids) for name, ids in profile.ids if name == form.name), None)
    if pattern is None or form.ids is None:
        return
    call_key, result_key = form.ids
    taken = {call.id for said in ask.said for call in said.calls if pattern.fullmatch(call.id)}
    used: set[str] = set()
    now: dict[str, str] = {}
    for number, said in enumerate(ask.said):
        open_: dict[str, list[str]] = {}
        for piece in said.pieces:
            if piece.call is None or not piece.call.id:
                continue
            old = piece.call.id
            legal = pattern.fullmatch(old) and not (form.unique_ids and old in used)
            new = old if legal else _legal(old, pattern, taken)
            used.add(new)
            taken.add(new)
            open_.setdefault(old, []).append(new)
            if new != old and number >= start and piece.at is not None:
                yield Edit(Op.PUT, piece.at, key=call_key, value=new, reason=LEGAL)
                if piece.ref and form.refs_bind:
                    yield Edit(Op.DROP, piece.at, key="id", reason=LEGAL)
        for at, name in zip(said.answers, said.answered, strict=True):
            if open_.get(name):  # calls of one id are answered in their order
                now[name] = open_[name].pop(0)
            if number >= start and now.get(name, name) != name:
                yield Edit(Op.PUT, at, key=result_key, value=now[name], reason=LEGAL)


def _legal(old: str, pattern: re.Pattern[str], taken: set[str]) -> str:
    """A legal id that tells the old one where it can: cleaned, then numbered, then a digest."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", old)
    number = 1
    while number < 1000:
        name = plain if number == 1 else f"{plain}_{number}"
        if not pattern.fullmatch(name):
            break
        if name not in taken:
            return name
        number += 1
    for number in range(1000):
        mark = hashlib.sha256(f"{old} {number}".encode("utf-8", "surrogatepass")).hexdigest()
        for name in (f"call_{mark[:20]}", mark[:9]):  # Mistral wants nine letters or digits
            if pattern.fullmatch(name) and name not in taken:
                return name
    return old
