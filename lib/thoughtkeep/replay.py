"""Which stored turn an assistant turn of a request is.

The call id alone does not tell: ids repeat (function names as ids, `call_0` in every turn), clients replace them, and
turns without calls have none. So the place in the conversation tells, and the content; without an equal place only an
id or an opaque value that occurs once. A text, a repeated id or an equal content alone never do: what cannot be told
apart for certain is left as it came.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thoughtkeep.identity import Place, Trail, bare, visible
from thoughtkeep.turns import Ask, Call, Facts, Kept, Keys, Origin, Said


@dataclass(frozen=True, slots=True)
class Match:
    """A stored turn and the request's turns that tell it, by number: one, or several where a batch was split.

    `whole` is false where the request tells only the beginning of the turn's calls.
    """

    kept: Kept
    said: tuple[int, ...]
    whole: bool = True


def keys_of(tenant: str, ask: Ask, trail: Trail) -> Keys:
    """What to ask the store before deciding about a request."""
    ids = dict.fromkeys(call.id for said in ask.said for call in said.calls if call.id)
    values = dict.fromkeys(value for place in trail.places for value in place.values)
    lineages = dict.fromkeys(place.lineage for place in trail.places)
    return Keys(tenant, tuple(lineages), tuple(ids), tuple(values))


def origins(trail: Trail, facts: Facts) -> Iterator[tuple[int, Origin]]:
    """The turns of the request that any tenant's turn stands for by its place, by number, each with what is known."""
    by_place = {(place.lineage, place.after): number for number, place in enumerate(trail.places)}
    for origin in facts.origins:
        for after in origin.after:
            number = by_place.get((origin.lineage, after))
            if number is not None and after != origin.lineage:
                yield number, origin


def matches(ask: Ask, trail: Trail, facts: Facts) -> list[Match]:
    """The stored turns that the request tells, in its order."""
    known = _Known(facts)
    found: list[Match] = []
    at = 0
    while at < len(ask.said):
        match = _match(ask.said, trail.places, at, known)
        if match:
            found.append(match)
        at = match.said[-1] + 1 if match else at + 1
    return found


class _Known:
    """The store's turns by what finds them."""

    def __init__(self, facts: Facts) -> None:
        self._lineage: dict[str, list[Kept]] = {}
        self._call: dict[str, list[Kept]] = {}
        self._value: dict[str, list[Kept]] = {}
        for kept in facts.turns:
            self._lineage.setdefault(kept.lineage, []).append(kept)
            for call_id in dict.fromkeys(kept.call_ids):
                self._call.setdefault(call_id, []).append(kept)
            for value in kept.values:
                self._value.setdefault(value, []).append(kept)

    def at(self, lineage: str) -> Sequence[Kept]:
        """The turns that were made at this place, newest first."""
        return self._lineage.get(lineage, ())

    def by_mark(self, said: Said, place: Place) -> Iterator[Kept]:
        """The turns that own a call id or an opaque value of a message, and own it alone."""
        marks = [self._call.get(call.id, ()) for call in said.calls if call.id]
        marks += [self._value.get(value, ()) for value in place.values]
        seen = set()
        for owners in marks:
            if len(owners) == 1 and owners[0].id not in seen:
                seen.add(owners[0].id)
                yield owners[0]


def _match(said: Sequence[Said], places: Sequence[Place], at: int, known: _Known) -> Match | None:
    place, told = places[at], said[at]
    here = known.at(place.lineage)
    same = [kept for kept in here if place.after in kept.after]
    if same and place.after != place.lineage:
        best = same[0] if len(same) == 1 else max(same, key=lambda kept: _likeness(kept, told, place))
        return Match(best, (at,))
    splits = [split for kept in here if (split := _split(kept, said, at))]
    if splits:  # answers of one place may begin alike: the one that is told to its end
        return max(splits, key=lambda split: (split.whole, len(split.said), *_likeness(split.kept, told, place)))
    for kept in known.by_mark(told, place):
        calls = kept.turn.calls
        if calls and _told(calls) == _told(told.calls):
            return Match(kept, (at,))
        if not calls and not told.calls and bare(visible(kept.turn.pieces)) == bare(visible(told.pieces)):
            return Match(kept, (at,))
        if split := _split(kept, said, at):
            return split
    return None


def _likeness(kept: Kept, told: Said, place: Place) -> tuple[bool, bool, bool, float]:
    """Of several turns with one place and content: the same ids, the same words before it, then the newest."""
    ids = tuple(call.id for call in told.calls)
    return (kept.call_ids == ids, kept.context == place.context, kept.near == place.near, kept.made)


def _told(calls: Sequence[Call]) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in calls]


def _split(kept: Kept, said: Sequence[Said], at: int) -> Match | None:
    """A batch of calls that the client tells in several messages, with nothing between them but their own results."""
    want = _told(kept.turn.calls)
    have = _told(said[at].calls)
    if not have or len(have) >= len(want) or have != want[: len(have)]:
        return None
    numbers, ids = [at], {call.id or call.name for call in said[at].calls}
    for number in range(at + 1, len(said)):
        later = said[number]
        more = have + _told(later.calls)
        own = later.only_results and set(later.results) <= ids | {call.name for call in kept.turn.calls}
        if not own or not later.calls or more != want[: len(more)]:
            break
        numbers.append(number)
        have = more
        ids |= {call.id for call in later.calls}
    return Match(kept, tuple(numbers), have == want)
