"""Which elements of two lists are the same one: what stayed, what changed, what was taken out and what was put in.

What the lists have in common at their beginning and end is cut off first, so that the cost is that of the difference.
Elements that differ are held for one that changed where they are of one kind and stand alike, or share their words.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import eq

from thoughtkeep.identity import OPAQUE_KEYS
from thoughtkeep.turns import Json

# What a message or a block is: nothing that changes is known by these, and none is another where they differ.
KINDS = ("role", "type")

# Keys by which one element is known for sure.
_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")

# A list that repeats itself costs SequenceMatcher up to the cube of its length: past so many steps it is not asked.
_STEPS = 10_000_000

# Lines of one element that are looked at, and elements that have a line in common: past that it says nothing.
_MOST = 10_000
_COMMON = 64

# A number that may be written without its fraction or exponent: `1.0`, `1e+16`.
_FLOAT = re.compile(r"\d(?:\.0|e)")

_encode = json.JSONEncoder(sort_keys=True, check_circular=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of two lists that differs. `rough`: there is too much of it to find what is alike in it."""

    before: range
    after: range
    rough: bool = False


def stretches[T](found: Sequence[Block], before: Sequence[T]) -> Iterator[Sequence[T]]:
    """What stands before, between and behind the blocks: both lists have it."""
    start = 0
    for block in found:
        yield before[start : block.before.start]
        start = block.before.stop
    yield before[start:]


# Positions before and after: as many on both sides are elements that changed, else one side is empty.
type Part = tuple[range, range]


def mark(value: Json) -> str:
    """One text for all spellings of a value: of keys the order, of numbers the fraction that is none."""
    text = _encode(value)
    return _encode(_whole(value)) if _FLOAT.search(text) else text


def _whole(value: Json) -> Json:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value


class Marks:
    """Numbers for values, for equal ones the same. No value is walked twice, however deep it stands among others."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[int, int] = {}  # of objects and arrays, by their identity: they outlive the comparison

    def __call__(self, value: Json) -> int:
        """The number of a value."""
        if not isinstance(value, (dict, list)):
            plain = _whole(value)
            return self._number((type(plain), plain))
        if id(value) not in self._known:
            if isinstance(value, dict):
                number = self._number(frozenset([(key, self(inner)) for key, inner in value.items()]))
            else:
                number = self._number(tuple([self(inner) for inner in value]))
            self._known[id(value)] = number
        return self._known[id(value)]

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def same(before: Json, after: Json) -> bool:
    """Whether two values are equal JSON. To Python alone `true` is 1, in whatever depth."""
    return before is after or (before == after and mark(before) == mark(after))


def blocks[T](
    before: Sequence[T], after: Sequence[T], equal: Callable[[T, T], bool], key: Callable[[T], Hashable]
) -> list[Block]:
    """The stretches that differ, in order. `equal` compares two elements, `key` is the same for equal ones."""
    start, end = 0, 0
    shorter = min(len(before), len(after))
    while start < shorter and equal(before[start], after[start]):
        start += 1
    while end < shorter - start and equal(before[-1 - end], after[-1 - end]):
        end += 1
    rows, columns = len(before) - start - end, len(after) - start - end
    whole = Block(range(start, start + rows), range(start, start + columns))
    if rows == 0 and columns == 0:
        return []
    if rows == 0 or columns == 0 or rows == columns == 1:
        return [whole]
    old, new = [key(before[at]) for at in whole.before], [key(after[at]) for at in whole.after]
    counts = Counter(new)
    if rows == columns and sum(map(eq, old, new)) == (Counter(old) & counts).total():
        reaches = [(reach, reach) for reach in _unequal(old, new)]  # no other way finds more that are equal
    elif _steps([counts[text] for text in old if text in counts], rows) > _STEPS:
        return [Block(whole.before, whole.after, rough=True)]
    else:
        found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        reaches = [(range(a, b), range(c, d)) for kind, a, b, c, d in found if kind != "equal"]
    return [Block(_moved(was, start), _moved(now, start)) for was, now in reaches]


def _unequal(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[range]:
    """The runs of positions at which two lists of one length differ."""
    for equal, run in groupby(range(len(old)), key=lambda at: old[at] == new[at]):
        if not equal:
            positions = list(run)
            yield range(positions[0], positions[-1] + 1)


def _steps(matches: Sequence[int], count: int) -> int:
    """About how long SequenceMatcher takes: for each element that is found it walks over all pairs of equal ones."""
    return len(matches) * (sum(matches) + count) // 2


def _moved(reach: range, by: int) -> range:
    return range(reach.start + by, reach.stop + by)


def parts(block: Block, before: Sequence[Json], after: Sequence[Json]) -> Iterator[Part]:
    """A block as what changed, what was taken out and what was put in, in order.

    As many elements of the same kinds are pairs that changed; else those are that share their words.
    """
    if len(block.before) == len(block.after) and all(
        _is_alike(before[was], after[now]) for was, now in zip(block.before, block.after, strict=True)
    ):
        yield block.before, block.after
        return
    old, new = block.before.start, block.after.start
    for was, now in [*_akin(block, before, after), (block.before.stop, block.after.stop)]:
        if old < was:
            yield range(old, was), range(0)
        if new < now:
            yield range(0), range(new, now)
        if was < block.before.stop:
            yield range(was, was + 1), range(now, now + 1)
        old, new = was + 1, now + 1


def _is_alike(before: Json, after: Json) -> bool:
    """Whether one may have become the other: both plain, both texts, both lists, or objects of one role and type."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        shapes = (dict, list, str)
        return [isinstance(before, shape) for shape in shapes] == [isinstance(after, shape) for shape in shapes]
    if any(before[key] != after[key] for key in KINDS if key in before and key in after):
        return False
    return not before.keys().isdisjoint(after)


def _akin(block: Block, before: Sequence[Json], after: Sequence[Json]) -> Iterator[tuple[int, int]]:
    """Pairs that share an id, or half the words of the shorter one, or are the only ones of their kind; in order."""
    words = {at: _words(before[at]) for at in block.before}
    totals = {at: sum(lines.values()) for at, lines in words.items()}
    where: dict[str, list[int]] = {}
    for at, lines in words.items():
        for line in lines:
            where.setdefault(line, []).append(at)
    old, new = ({at: _kind(side[at]) for at in reach} for side, reach in ((before, block.before), (after, block.after)))
    single = _single(old)
    is_single = _single(new).keys()
    first = block.before.start
    for now in block.after:
        mine = _words(after[now])
        total = sum(mine.values())
        shared = Counter[int]()
        for line, weight in mine.items():
            found = where.get(line, ())
            if len(found) <= _COMMON:
                shared.update({at: weight for at in found if at >= first})
        akin = [
            at
            for at, weight in shared.items()
            if _same_id(before[at], after[now]) or 2 * weight >= min(total, totals[at])
        ]
        if new[now] in is_single and single.get(new[now], -1) >= first:
            akin.append(single[new[now]])
        akin = [at for at in akin if _is_alike(before[at], after[now])]
        if akin:
            room = block.before.stop - (block.after.stop - now - 1)  # as many are left as come behind this one
            was = max(akin, key=lambda at: (shared[at], at if at < room else -at))
            yield was, now
            first = was + 1


def _kind(value: Json) -> str:
    return mark([value.get(key) for key in KINDS]) if isinstance(value, dict) else ""


def _single(kinds: Mapping[int, str]) -> dict[str, int]:
    """The kinds that one element alone has, and which that is."""
    counts = Counter(kinds.values())
    return {kind: at for at, kind in kinds.items() if kind and counts[kind] == 1}


def _same_id(before: Json, after: Json) -> bool:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    return any(before[key] and before[key] == after[key] for key in _IDS if key in before and key in after)


def _words(value: Json) -> Mapping[str, int]:
    """The lines of an element's texts, each with its weight.

    What says of which kind it is does not count, nor does state: it moves from one element to another.
    """
    found: dict[str, int] = {}
    stack = [value]
    while stack and len(found) < _MOST:
        item = stack.pop()
        if isinstance(item, str):
            found |= {line: len(line) for line in item.split("\n") if line.strip()}
        elif isinstance(item, dict):
            stack += [inner for key, inner in item.items() if key not in KINDS and key not in OPAQUE_KEYS]
        elif isinstance(item, list):
            stack += item
    return found
