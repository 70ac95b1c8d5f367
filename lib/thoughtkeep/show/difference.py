"""What changed between two request bodies, the client's and the one that was sent, as lines for a person.

Every change shows, and of what did not change no more than says where it stands. A heading names the place of what
follows (`@ messages[3].tool_calls[0]`, as counted in the body after; `(before)` stands behind the place of what is only
in the other). Below it `+ ` is put in, `- ` taken out, and two spaces stand before what is in both. Opaque values are
sizes and digests wherever they stand, long ones fold.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from thoughtkeep.identity import OPAQUE_KEYS
from thoughtkeep.jsontext import NotJson, loads_exact
from thoughtkeep.show.opcodes import KINDS, Block, Marks, blocks, mark, parts, same, stretches
from thoughtkeep.show.words import WIDTH, digest, folded, is_opaque, plural, printable, short
from thoughtkeep.turns import Json, Path

SPELLING = "only the spelling differs"

PUT, GONE, BOTH = "+ ", "- ", "  "

# Lines that one value shows: what is longer is named by its digest. And levels: below them its insides are no lines.
_LONGEST = 60
_DEEPEST = 16

# Levels down to which changes are looked for.
_SOUGHT = 64

# Lines past the limit that are counted; where there are more, nobody needs to know how many.
_COUNTED = 20_000

# Of many elements put in or taken out in a row the first and the last are shown.
_FIRST = 12
_LAST = 4

# Lines of a text that are shown around a change in it.
_AROUND = 2

# Keys that tell a person which message, block or call this is, those of what it holds included.
_NAMES = (*KINDS, "id", "call_id", "tool_call_id", "tool_use_id", "name")
_CALLS = ("function", "custom", "functionCall", "function_call", "functionResponse", "function_response")
_TEXTS = ("text", "content")
_NAMED = 60

# Names that stand without quotes, and texts that do not: they would be read as another value, or as none.
_NAME = re.compile(r"[\w$-]+")
_MISTAKEN = re.compile(r'|null|true|false|\{\}|[-\d"\u2039\[|\s].*|.*\s', re.DOTALL)


def difference(before: bytes, after: bytes, limit: int = 400) -> list[str]:
    """What changed between two bodies, in at most `limit` lines; none where the bytes are equal."""
    if before == after:
        return []
    sizes = f"{plural(len(before), 'byte')} before, {len(after):,} after"
    bodies = []
    try:
        for side, body in (("before", before), ("after", after)):
            try:
                bodies.append(loads_exact(body))
            except NotJson as fault:
                if isinstance(fault.__cause__, RecursionError):
                    raise fault.__cause__ from fault
                return [f"the body {side} is no JSON that can be read: {sizes}"]
        if same(*bodies):
            return [SPELLING]
        told = _Told(limit)
        _walk(told, _Place((), ()), *bodies)
    except RecursionError:
        return [f"nested too deep to show: {sizes}"]
    return told.all()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands in the body before, and where in the one after."""

    was: Path
    now: Path

    def at(self, old: str | int, new: str | int) -> "_Place":
        return _Place((*self.was, old), (*self.now, new))


@dataclass(slots=True)
class _Told:
    """The lines so far, no more of them than are shown, and the number of all."""

    limit: int
    lines: list[str] = field(default_factory=list)
    count: int = 0
    changes: int = 0
    heading: str = ""
    marks: Marks = field(default_factory=Marks)

    def change(self, heading: str, lines: Iterable[str], context: Iterable[str] = (), changes: int = 1) -> None:
        """Add a change under its heading; under the same one as the last change neither that nor the context again."""
        self.changes += changes
        if heading != self.heading:
            lines = chain([heading], context, lines)
            self.heading = heading
        left = _COUNTED + self.limit - self.count
        for line in islice(lines, max(left, 0)):
            self.count += 1
            if self.count <= self.limit:
                self.lines.append(line)

    def all(self) -> list[str]:
        """What is shown: where it is not all, the last line says so."""
        if self.count <= self.limit:
            return self.lines
        shown = max(self.limit - 1, 0)
        count = self.count - shown
        more = plural(count, "more line") if count <= _COUNTED else f"more than {_COUNTED:,} more lines"
        return [*self.lines[:shown], f"\u2026 {more}, {plural(self.changes, 'change')} in all"]


# -- what changed -----------------------------------------------------------------------------------------------------


def _walk(told: _Told, at: _Place, old: Json, new: Json) -> None:
    if not _is_sought(at, old, new):
        told.change(_heading(at.now), _replaced("", "", old, new))
    elif isinstance(new, dict):
        _object(told, at, old, new)
    else:
        _array(told, at, old, new)


def _is_sought(at: _Place, old: Json, new: Json, key: str = "") -> bool:
    """Whether a change is told by what changed inside: both are objects or both arrays, and their insides may show."""
    shapes = (isinstance(old, dict) and isinstance(new, dict)) or (isinstance(old, list) and isinstance(new, list))
    return shapes and key not in OPAQUE_KEYS and len(at.now) < _SOUGHT


def _object(told: _Told, at: _Place, old: dict[str, Json], new: dict[str, Json]) -> None:
    """Keys in the order of the body after, behind those that are gone; then what changed inside their values."""
    heading = _heading(at.now)
    inside = []
    for key, value in old.items():
        if key not in new:
            told.change(heading, _whole(GONE, _name(key), key, value), _context(old, new))
    for key, value in new.items():
        if key not in old:
            told.change(heading, _whole(PUT, _name(key), key, value), _context(old, new))
        elif same(old[key], value):
            continue
        elif _is_sought(at, old[key], value, key):
            inside.append(key)
        else:
            told.change(heading, _replaced(_name(key), key, old[key], value), _context(old, new))
    for key in inside:
        _walk(told, at.at(key, key), old[key], new[key])


def _array(told: _Told, at: _Place, old: list[Json], new: list[Json]) -> None:
    for block in blocks(old, new, same, told.marks):
        if block.rough:
            sizes = f"{len(block.before):,} taken out, {len(block.after):,} put in"
            told.change(_heading(at.now), [f"{BOTH}{sizes}: too many to compare"], changes=0)
            _one_sided(told, GONE, at.was, old, block.before)
            _one_sided(told, PUT, at.now, new, block.after)
            continue
        for before, after in parts(block, old, new):
            if not after:
                _one_sided(told, GONE, at.was, old, before)
            elif not before:
                _one_sided(told, PUT, at.now, new, after)
            for was, now in zip(before, after, strict=False):
                if _is_sought(at, old[was], new[now]):
                    _walk(told, at.at(was, now), old[was], new[now])
                else:
                    told.change(_heading(at.now), _replaced(f"[{now}]", "", old[was], new[now]))


def _one_sided(told: _Told, sign: str, path: Path, values: Sequence[Json], reach: range) -> None:
    """Elements that were put in or taken out: objects and arrays each under its heading, of many the middle folded."""
    side = " (before)" if sign == GONE else ""
    away = reach[_FIRST:-_LAST] if len(reach) > _FIRST + _LAST + 1 else range(0)
    for number in reach:
        value = values[number]
        if number in away:
            if number == away.start:
                size = f"{len(away):,} folded, {_digest(values[away.start : away.stop])}"
                told.change(_heading(path) + side, [f"{sign}[{number}] to [{away[-1]}]: {size}"], changes=len(away))
        elif isinstance(value, (dict, list)) and value:
            told.change(_heading((*path, number)) + side, _whole(sign, "", "", value))
        else:
            told.change(_heading(path) + side, _whole(sign, f"[{number}]", "", value))


# -- how it is told ---------------------------------------------------------------------------------------------------


def _heading(path: Path) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else _step(step) for step in path).removeprefix(".")
    if len(text) > WIDTH:
        text = f"\u2026{text[-WIDTH:]}"
    return f"@ {text or 'the body'}"


def _step(key: str) -> str:
    return f".{key}" if _is_name(key) else f"[{_name(key)}]"


def _name(key: str) -> str:
    """A key as shown: in quotes where it is no plain word."""
    told = short(key, _NAMED)
    return told if is_opaque(key) or _is_name(key) else f'"{told}"'


def _is_name(key: str) -> bool:
    return _NAME.fullmatch(key) is not None and len(key) <= _NAMED and not is_opaque(key)


def _context(old: dict[str, Json], new: dict[str, Json]) -> Iterator[str]:
    """What an object is known by and did not change: role, type, ids and names, else the beginning of its text."""
    lines = [_kept("", key, old, new) for key in _NAMES]
    for outer in _CALLS:
        was, now = old.get(outer), new.get(outer)
        if isinstance(was, dict) and isinstance(now, dict):
            lines.append(_kept(f"{outer}.", "name", was, now))
    if not any(lines[len(KINDS) :]):
        lines += [_kept("", key, old, new) for key in _TEXTS]
    yield from (f"{BOTH}{line}" for line in lines if line)


def _kept(prefix: str, key: str, old: dict[str, Json], new: dict[str, Json]) -> str:
    value = new.get(key)
    if not isinstance(value, str) or not value.strip() or old.get(key) != value:
        return ""
    text = value.strip().split("\n")[0]
    is_cut = len(text) > _NAMED and not is_opaque(text)
    return f"{prefix}{key}: {f'{printable(text[:_NAMED])}\u2026' if is_cut else short(text)}"


def _replaced(label: str, key: str, old: Json, new: Json) -> Iterator[str]:
    """One value in the place of another: two texts line by line, where they have lines in common."""
    if isinstance(old, str) and isinstance(new, str) and not (key in OPAQUE_KEYS or is_opaque(old) or is_opaque(new)):
        before, after = old.split("\n"), new.split("\n")
        found = blocks(before, after, str.__eq__, str)
        if any(line.strip() for kept in stretches(found, before) for line in kept):
            yield from _lines(label, found, before, after)
            return
    gone, come = list(_whole("", label, key, old)), list(_whole("", label, key, new))
    if gone == come:  # told alike, though they are not: an escape, and the same letters
        gone, come = ([f"{_label(label)}{_digest(value)}"] for value in (old, new))
    yield from (f"{GONE}{line}" for line in gone)
    yield from (f"{PUT}{line}" for line in come)


def _lines(label: str, found: Sequence[Block], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    if label:
        yield f"{BOTH}{label}: |"
    pad = "  " if label else ""
    for number, kept in enumerate(stretches(found, before)):
        head, tail = _AROUND * (number > 0), _AROUND * (number < len(found))
        if len(kept) > head + tail + 1:
            away = plural(len(kept) - head - tail, "line")
            shown = [*folded(kept[:head]), f"\u2039{away} as before\u203a", *folded(kept[len(kept) - tail :])]
        else:
            shown = folded(kept)
        yield from (f"{BOTH}{pad}{line}" for line in shown)
        if number < len(found):
            was, now = found[number].before, found[number].after
            sides = before[was.start : was.stop], after[now.start : now.stop]
            gone, come = map(folded, sides)
            if gone == come:  # told alike, though they are not
                gone, come = ([_digest(side)] for side in sides)
            yield from (f"{GONE}{pad}{line}" for line in gone)
            yield from (f"{PUT}{pad}{line}" for line in come)


def _whole(sign: str, label: str, key: str, value: Json) -> Iterator[str]:
    """The lines of a value, no more of them than one value may have."""
    lines = list(islice(_labelled(label, key, value, 0), _LONGEST + 1))
    if len(lines) > _LONGEST:
        lines[_LONGEST - 1 :] = [f"\u2026 the rest folded, {_digest(value)} in all"]
    yield from (f"{sign}{line}" for line in lines)


def _label(label: str) -> str:
    return f"{label}: " if label else ""


def _labelled(label: str, key: str, value: Json, depth: int) -> Iterator[str]:
    flat = _flat(key, value, depth)
    if flat is not None:
        yield f"{_label(label)}{flat}"
    elif label:
        yield f"{label}: |" if isinstance(value, str) else f"{label}:"
        yield from (f"  {line}" for line in _below(value, depth))
    else:
        yield from _below(value, depth)


def _below(value: Json, depth: int) -> Iterator[str]:
    """The lines of a value that has more than one: a text, an object's keys, an array's elements behind dashes."""
    if isinstance(value, str):
        yield from folded(value.split("\n"))
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _labelled(_name(name), name, inner, depth + 1)
    else:
        for inner in value:
            for number, line in enumerate(_labelled("", "", inner, depth + 1)):
                yield f"  {line}" if number else f"- {line}"


def _flat(key: str, value: Json, depth: int) -> str | None:
    """A value on one line; None where it takes more."""
    if key in OPAQUE_KEYS and value is not None:
        return _digest(value)
    if isinstance(value, str):
        if is_opaque(value):
            return digest(value)
        if "\n" in value:
            return None
        told = short(value, WIDTH)
        return f'"{told}"' if _MISTAKEN.fullmatch(value) else told
    if not isinstance(value, (dict, list)) or not value:
        return short(mark(value))
    if depth >= _DEEPEST:
        return _digest(value)
    if isinstance(value, list) and not any(isinstance(inner, (str, dict, list)) for inner in value):
        return short(mark(value).replace(",", ", "))
    return None


def _digest(value: Json) -> str:
    """The size and the digest of all that a value is, not of its texts alone."""
    return digest(value if isinstance(value, str) else mark(value))
