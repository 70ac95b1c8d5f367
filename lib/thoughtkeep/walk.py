"""Walking a JSON text: where the members of its objects and arrays stand, along the paths that are wanted.

Nothing else of the text is taken apart, and no value is kept. A text is bytes read as Latin-1: one character a byte, so
that positions are those of the bytes, and nothing is decoded that is only passed over. Keys are what they are in UTF-8.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from thoughtkeep.turns import END, Edit, Op, Path

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
    member of an object by its key: of duplicate keys the last one counts, as for every reader.
    """

    start: int
    stop: int = 0
    members: list[Member] = field(default_factory=list)
    inner: dict[int, "Container"] = field(default_factory=dict)
    grows: set[int] = field(default_factory=set)
    last: dict[str | int, int] = field(default_factory=dict)

    def find(self, key: str | int) -> int:
        """The position of a member. Raises Unfit where there is none."""
        if isinstance(key, int) and key < len(self.members) and self.members[key].key == key:
            return key
        if key not in self.last:
            raise Unfit(f"no {key!r} there")
        return self.last[key]


class Outline(NamedTuple):
    """Where the elements of an array stand in a text: it begins at `start`, and has at least one."""

    start: int
    elements: list[Member]


@contextmanager
def fitting(what: str) -> Iterator[None]:
    """Run the block; errors of a text that is not as it should be are Unfit, with a word about what failed."""
    try:
        yield
    except Unfit:
        raise
    except (ValueError, IndexError, RecursionError) as fault:
        raise Unfit(f"{what}: {type(fault).__name__}") from fault


def text_of(body: bytes) -> str:
    """A body as a text to be walked."""
    return body.decode("latin-1")


def walk(text: str, root: Node, outline: Outline | None = None) -> Container:
    """Where all that is wanted stands in a text, of one of whose arrays the outline is known. Raises Unfit."""
    with fitting("the text cannot be walked"):
        tree = _scan(text, space(text, 0), root, outline)
        if space(text, tree.stop) != len(text):
            raise Unfit("more than one value")
        return tree


def outline_of(body: bytes, path: Path) -> Outline | None:
    """The outline of the array at a path; None where it is empty, or no array. Raises Unfit."""
    root = Node()
    root.at((*path, END))
    text = text_of(body)
    array = reach(walk(text, root), path)
    return Outline(array.start, array.members) if text[array.start] == "[" and array.members else None


def extended(body: bytes, known: Outline) -> Outline:
    """The outline of an array, given that of its first elements. Raises Unfit."""
    count, offset = len(known.elements), known.elements[-1].end
    text, rest = text_of(body[offset:]), Container(0)
    with fitting("the text cannot be walked"):
        if text[_members(text, rest, 0, Node(), None)] != "]":
            raise Unfit("no comma between members")
    new = (Member(count + number, *(at + offset for at in one[1:])) for number, one in enumerate(rest.members))
    return Outline(known.start, [*known.elements, *new])


def spans(body: bytes, paths: Iterable[Path]) -> list[tuple[int, int]]:
    """Where the values at these paths stand in a body, from its first byte to the one behind its last.

    Raises Unfit when there is no such value, or the body is no JSON.
    """
    root = Node()
    paths = list(paths)
    for path in paths:
        root.at(path)
    top = walk(text_of(body), root)
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
    at = start + 1
    if outline is not None and start == outline.start:
        known = tree.members = outline.elements
        for step, wanted in node.below.items():
            if isinstance(step, int) and step < len(known):
                if _lacks(text, known[step], wanted):
                    tree.grows.add(step)
                else:
                    _enter(text, tree, step, known[step].value, wanted, outline)
        at = known[-1].end
    elif text[space(text, at)] == closing:
        tree.stop = space(text, at) + 1
        return tree
    else:
        at = _member(text, tree, at, is_object, node, outline)
        at = _members(text, tree, at, node, outline, is_object)
    if text[at] != closing:
        raise Unfit("no comma between members")
    tree.stop = at + 1
    if is_object:
        tree.last = {member.key: position for position, member in enumerate(tree.members)}
    return tree


def _members(text: str, tree: Container, at: int, node: Node, outline: Outline | None, is_object: bool = False) -> int:
    """Take the members behind the comma here, if there is one, and so on. Returns where the last one ends."""
    while text[at] == ",":
        at = _member(text, tree, at + 1, is_object, node, outline)
    return at


def _member(text: str, tree: Container, begin: int, is_object: bool, node: Node, outline: Outline | None) -> int:
    """Take the member that begins here. Returns where it ends."""
    position = len(tree.members)
    key: str | int = position
    at = space(text, begin)
    if is_object:
        if text[at] != '"':
            raise Unfit("an object's key is no string")
        key, at = _key(text, at)
        at = space(text, at)
        if text[at] != ":":
            raise Unfit("no colon after a key")
        at = space(text, at + 1)
    wanted = node.below.get(key)
    stop = _skip(text, at)[1] if wanted is None else _enter(text, tree, position, at, wanted, outline)
    end = space(text, stop)
    tree.members.append(Member(key, begin, at, stop, end))
    return end


def _key(text: str, at: int) -> tuple[str, int]:
    """The key that begins here, and where it ends."""
    key, stop = _skip(text, at)
    if not key.isascii():  # the scanner has taken its bytes for characters
        key, _ = _skip(text[at:stop].encode("latin-1").decode("utf-8"), 0)
    return key, stop


def _enter(text: str, tree: Container, position: int, at: int, wanted: Node, outline: Outline | None) -> int:
    """Look into the value of a member as far as that is wanted. Returns where the value ends."""
    if not (wanted.edits or wanted.below) or text[at] not in "{[":
        return _skip(text, at)[1]
    if text[at] == "{" and wanted.only_puts:  # state that was lost: by far the most frequent edits
        have, stop = _skip(text, at)
        if have and not any(edit.key in have for edit in wanted.edits) and all(map(str.isascii, have)):
            tree.grows.add(position)
            return stop
    inner = tree.inner[position] = _scan(text, at, wanted, outline)
    return inner.stop


def _lacks(text: str, member: Member, wanted: Node) -> bool:
    """Whether an object surely lacks all that is put to it, and has something else: told without taking it apart."""
    value, stop = member.value, member.stop
    if text[value] != "{" or not wanted.edits or not wanted.only_puts or text.find("\\u", value, stop) >= 0:
        return False
    return text[space(text, value + 1)] == '"' and all(
        edit.key.isidentifier() and edit.key.isascii() and text.find(f'"{edit.key}"', value, stop) < 0
        for edit in wanted.edits
    )
