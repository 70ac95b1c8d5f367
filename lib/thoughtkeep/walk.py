"""Walking a JSON text: where the members of its objects and arrays stand, along the paths that are wanted.

Nothing else of the text is taken apart, and no value is kept. Conversations grow at their end: where the elements of an
array stood in the last text is remembered, and a text that begins alike is walked from there.
"""

import json
import re
import sys
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from thoughtkeep.turns import Edit, Op, Path

# Bytes of texts of which it is remembered where their elements stood.
REMEMBERED = 16_000_000

# What an element takes in memory: its numbers, as objects.
_ELEMENT_BYTES = 200

_SPACE = re.compile(r"[ \t\r\n]*")

# Values that are passed over are scanned, not kept: numbers as text, so that no digit limit applies.
_skip = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False).raw_decode


class Unfit(ValueError):
    """What is wanted does not fit the text: no such path, no JSON there, nested too deep, or no JSON to be written."""


@dataclass(slots=True)
class Node:
    """What is wanted at one path and below it."""

    edits: list[Edit] = field(default_factory=list)
    below: dict[str | int, "Node"] = field(default_factory=dict)

    @property
    def only_puts(self) -> bool:
        """Whether it is an object to which keys are put, and no more."""
        return not self.below and all(edit.op is Op.PUT for edit in self.edits)

    def at(self, path: Path) -> "Node":
        """The node at a path from here, made where there is none."""
        node = self
        for step in path:
            node = node.below.setdefault(step, Node())
        return node


class Member(NamedTuple):
    """One member of an object or array: its text reaches from `start` to `end`, its value from `value` to `stop`."""

    key: str | int
    start: int
    value: int
    stop: int
    end: int


@dataclass(slots=True)
class Container:
    """An object or array. `inner`, `grows` and `last` tell of members by their position.

    Those that `grows` names are objects to which keys are only added, behind those that they have. `last` finds a
    member by its key: of duplicate keys the last one counts, as for every reader.
    """

    start: int
    stop: int = 0
    members: list[Member] = field(default_factory=list)
    inner: dict[int, "Container"] = field(default_factory=dict)
    grows: set[int] = field(default_factory=set)
    last: dict[str | int, int] = field(default_factory=dict)

    def find(self, key: str | int) -> int:
        """The position of a member. Raises Unfit where there is none."""
        if key not in self.last:
            raise Unfit(f"no {key!r} there")
        return self.last[key]


class Outline(NamedTuple):
    """Where the elements of an array stood, which began at `start`; `text` is all up to the end of the last one."""

    text: str
    start: int
    elements: list[Member]

    def known_in(self, text: str) -> list[Member]:
        """The elements that stand in another text as they stood in this one."""
        low, high = 0, len(self.elements)
        if text.startswith(self.text):
            low = high
        while low < high:
            middle = (low + high + 1) // 2
            if text.startswith(self.text[: self.elements[middle - 1].end]):
                low = middle
            else:
                high = middle - 1
        if low and text[self.elements[low - 1].end] not in ",]":
            low -= 1  # it goes on, as a number may
        return self.elements[:low]


class Outlines:
    """Outlines of the last texts of each name, those used last."""

    def __init__(self, max_bytes: int = REMEMBERED) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._known: OrderedDict[Hashable, Outline] = OrderedDict()

    def of(self, name: Hashable) -> Outline | None:
        """What is remembered of that name."""
        return self._known.get(name)

    def remember(self, name: Hashable, text: str, array: Container) -> None:
        """Remember where the elements of an array stand, in the place of what is remembered of that name."""
        if (before := self._known.pop(name, None)) is not None:
            self._size -= _size(before)
        if not array.members or text[array.start] != "[":
            return
        outline = Outline(text[: array.members[-1].end], array.start, array.members)
        self._known[name] = outline
        self._size += _size(outline)
        while self._size > self._max_bytes:
            self._size -= _size(self._known.popitem(last=False)[1])


def _size(outline: Outline) -> int:
    return sys.getsizeof(outline.text) + _ELEMENT_BYTES * len(outline.elements)


def walk(text: str, root: Node, outline: Outline | None = None) -> Container:
    """Where all that is wanted stands in a text. Raises Unfit."""
    try:
        tree = _scan(text, space(text, 0), root, outline)
        if space(text, tree.stop) != len(text):
            raise Unfit("more than one value")
        return tree
    except Unfit:
        raise
    except (ValueError, IndexError, RecursionError) as fault:
        raise Unfit(f"the text cannot be walked: {type(fault).__name__}") from fault


def spans(text: str, paths: Iterable[Path]) -> list[tuple[int, int]]:
    """Where the values at these paths stand in a text, from its first character to the one behind its last.

    Raises Unfit when there is no such value, or the text is no JSON.
    """
    root = Node()
    paths = list(paths)
    for path in paths:
        root.at(path)
    top = walk(text, root)
    found = []
    for path in paths:
        tree = reach(top, path[:-1])
        member = tree.members[tree.find(path[-1])]
        found.append((member.value, member.stop))
    return found


def reach(top: Container, path: Path) -> Container:
    """The object or array at a path. Raises Unfit where there is none, or none that was wanted."""
    tree = top
    for step in path:
        inner = tree.inner.get(tree.find(step))
        if inner is None:
            raise Unfit("a path leads into a plain value")
        tree = inner
    return tree


def space(text: str, at: int) -> int:
    """Where the white space ends that begins here."""
    if at < len(text) and text[at] > " ":  # as nearly always
        return at
    found = _SPACE.match(text, at)
    assert found  # it matches the empty text
    return found.end()


def _scan(text: str, start: int, node: Node, outline: Outline | None) -> Container:
    """Where the members of the object or array at `start` stand, and those of the wanted ones below."""
    if text[start] not in "{[":
        raise Unfit("an edit leads into a plain value")
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    tree = Container(start)
    members = tree.members
    at = start + 1
    if outline is not None and start == outline.start and (known := outline.known_in(text)):
        members += known
        for step, wanted in node.below.items():
            if isinstance(step, int) and step < len(known):
                _enter(text, tree, step, known[step].value, wanted, outline)
        at = known[-1].end
    elif text[space(text, at)] == closing:
        tree.stop = space(text, at) + 1
        return tree
    else:
        at = _member(text, tree, at, is_object, node, outline)
    while text[at] == ",":
        at = _member(text, tree, at + 1, is_object, node, outline)
    if text[at] != closing:
        raise Unfit("no comma between members")
    tree.stop = at + 1
    tree.last = {member.key: position for position, member in enumerate(members)}
    return tree


def _member(text: str, tree: Container, begin: int, is_object: bool, node: Node, outline: Outline | None) -> int:
    """Take the member that begins here. Returns where it ends."""
    position = len(tree.members)
    key: str | int = position
    at = space(text, begin)
    if is_object:
        if text[at] != '"':
            raise Unfit("an object's key is no string")
        key, at = _skip(text, at)
        at = space(text, at)
        if text[at] != ":":
            raise Unfit("no colon after a key")
        at = space(text, at + 1)
    wanted = node.below.get(key)
    stop = _skip(text, at)[1] if wanted is None else _enter(text, tree, position, at, wanted, outline)
    end = space(text, stop)
    tree.members.append(Member(key, begin, at, stop, end))
    return end


def _enter(text: str, tree: Container, position: int, at: int, wanted: Node, outline: Outline | None) -> int:
    """Look into the value of a member as far as that is wanted. Returns where the value ends."""
    if not (wanted.edits or wanted.below) or text[at] not in "{[":
        return _skip(text, at)[1]
    if text[at] == "{" and wanted.only_puts:  # state that was lost: by far the most frequent edits
        have, stop = _skip(text, at)
        if have and not any(edit.key in have for edit in wanted.edits):
            tree.grows.add(position)
            return stop
    inner = tree.inner[position] = _scan(text, at, wanted, outline)
    return inner.stop
