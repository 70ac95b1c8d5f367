"""Edits into JSON text, touching nothing else.

A request body is never read, changed and written again: that would lose integers past 64 bits, `1.10`, duplicate keys
and escapes that the client chose. Here the text is walked once, along the paths that edits name; what no edit names is
carried over as the text it is. Of an object or array that is edited itself, each member stays its own text.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from thoughtkeep.jsontext import dumps
from thoughtkeep.turns import Edit, Op, Path

_SPACE = re.compile(r"[ \t\r\n]*")

# Values that are passed over are scanned, not kept: numbers as text, so that no digit limit applies.
_skip = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False).raw_decode

_OF_OBJECTS = (Op.PUT, Op.DROP)
_OF_ARRAYS = (Op.INSERT, Op.MOVE)


class Unfit(ValueError):
    """The edits do not fit the text: no such path, no JSON there, nested too deep to walk, or no JSON to be written."""


@dataclass(slots=True)
class _Node:
    """What is wanted at one path and below it."""

    edits: list[Edit] = field(default_factory=list)
    below: dict[str | int, "_Node"] = field(default_factory=dict)

    @property
    def only_puts(self) -> bool:
        return not self.below and all(edit.op is Op.PUT for edit in self.edits)

    def at(self, path: Path) -> "_Node":
        node = self
        for step in path:
            node = node.below.setdefault(step, _Node())
        return node


@dataclass(slots=True)
class _Member:
    """One member of an object or array: its text reaches from `start` to `end`, its value from `value` to `stop`.

    `grows` says that it is an object to which keys are only added, behind those that it has.
    """

    key: str | int
    start: int
    value: int
    stop: int
    end: int
    inner: "_Container | None"
    grows: bool


@dataclass(slots=True)
class _Container:
    start: int
    stop: int
    members: list[_Member]
    last: dict[str | int, _Member] = field(init=False)  # of duplicate keys the last one counts, as for every reader

    def __post_init__(self) -> None:
        self.last = {member.key: member for member in self.members}

    def find(self, key: str | int) -> _Member:
        if key not in self.last:
            raise Unfit(f"no {key!r} there")
        return self.last[key]


def apply(body: bytes, edits: Iterable[Edit]) -> bytes:
    """The body with the edits made. Raises Unfit when they do not fit, or when the body is no UTF-8 JSON."""
    root = _Node()
    for edit in edits:
        if edit.op in (Op.REPLACE, Op.REMOVE):
            root.at(edit.at[:-1]).edits.append(edit)
        else:
            root.at(edit.at).edits.append(edit)
        if edit.op is Op.MOVE:
            if edit.at[: len(edit.source)] == edit.source:
                raise Unfit("nothing moves into itself")
            root.at(edit.source)
            root.at(edit.source[:-1]).edits.append(Edit(Op.REMOVE, edit.source))
    try:
        text = body.decode("utf-8")
        start = _space(text, 0)
        tree = _scan(text, start, root)
        if _space(text, tree.stop) != len(text):
            raise Unfit("more than one value")
        out = [text[:start], *_emit(text, tree, root, root, tree), text[tree.stop :]]
        return "".join(out).encode("utf-8")
    except Unfit:
        raise
    except (ValueError, IndexError, RecursionError) as fault:
        raise Unfit(f"the body cannot be walked: {type(fault).__name__}") from fault


def spans(text: str, paths: Iterable[Path]) -> list[tuple[int, int]]:
    """Where the values at these paths stand in a text, from its first character to the one behind its last.

    Raises Unfit when there is no such value, or the text is no JSON.
    """
    root = _Node()
    paths = list(paths)
    for path in paths:
        root.at(path)
    found = []
    try:
        top = _scan(text, _space(text, 0), root)
        for path in paths:
            member = _member(top, path)
            found.append((member.value, member.stop))
    except Unfit:
        raise
    except (ValueError, IndexError, RecursionError) as fault:
        raise Unfit(f"the text cannot be walked: {type(fault).__name__}") from fault
    return found


def _member(tree: _Container, path: Path) -> _Member:
    for step in path[:-1]:
        inner = tree.find(step).inner
        if inner is None:
            raise Unfit("a path leads into a plain value")
        tree = inner
    return tree.find(path[-1])


def _space(text: str, at: int) -> int:
    if at < len(text) and text[at] > " ":  # as nearly always
        return at
    found = _SPACE.match(text, at)
    assert found  # it matches the empty text
    return found.end()


def _scan(text: str, start: int, node: _Node) -> _Container:
    """Where the members of the object or array at `start` stand, and those of the wanted ones below."""
    if text[start] not in "{[":
        raise Unfit("an edit leads into a plain value")
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    members: list[_Member] = []
    at = start + 1
    if text[_space(text, at)] == closing:
        return _Container(start, _space(text, at) + 1, members)
    while True:
        begin = at
        at = _space(text, at)
        key: str | int = len(members)
        if is_object:
            if text[at] != '"':
                raise Unfit("an object's key is no string")
            key, at = _skip(text, at)
            at = _space(text, at)
            if text[at] != ":":
                raise Unfit("no colon after a key")
            at = _space(text, at + 1)
        wanted = node.below.get(key)
        inner = None
        grows = False
        value = at
        if wanted is not None and (wanted.edits or wanted.below) and text[at] in "{[":
            if text[at] == "{" and wanted.only_puts:  # state that was lost: by far the most frequent edits
                have, at = _skip(text, at)
                grows = bool(have) and not any(edit.key in have for edit in wanted.edits)
            if not grows:
                inner = _scan(text, value, wanted)
                at = inner.stop
        else:
            at = _skip(text, at)[1]
        stop = at
        at = _space(text, at)
        members.append(_Member(key, begin, value, stop, at, inner, grows))
        if text[at] == closing:
            return _Container(start, at + 1, members)
        if text[at] != ",":
            raise Unfit("no comma between members")
        at += 1


def _emit(text: str, tree: _Container, node: _Node, root: _Node, top: _Container) -> Iterator[str]:
    """The text of an object or array, edited."""
    edits = node.edits
    if any(edit.op in (_OF_ARRAYS if text[tree.start] == "{" else _OF_OBJECTS) for edit in edits):
        raise Unfit("an object is edited as an array, or an array as an object")
    dropped = {edit.key for edit in edits if edit.op is Op.DROP}
    put = {edit.key: dumps(edit.value) for edit in edits if edit.op is Op.PUT}
    removed = {edit.at[-1] for edit in edits if edit.op is Op.REMOVE}
    replaced = {edit.at[-1]: dumps(edit.value) for edit in edits if edit.op is Op.REPLACE}
    inserted: dict[int, list[str]] = {}
    for edit in edits:
        if edit.op is Op.INSERT:
            inserted.setdefault(edit.index, []).append(dumps(edit.value))
        elif edit.op is Op.MOVE:
            inserted.setdefault(edit.index, []).append(_moved(text, edit.source, root, top))
    for step in (*node.below, *removed, *replaced):
        tree.find(step)

    chunks: list[str] = []
    for position, member in enumerate(tree.members):
        chunks += inserted.pop(position, ())
        key = member.key
        if key in dropped or key in removed:
            continue
        head, tail = text[member.start : member.value], text[member.stop : member.end]
        wanted = node.below.get(key)
        if tree.last[key] is not member:
            value = text[member.value : member.stop]
        elif isinstance(key, str) and key in put:
            value = put.pop(key)
        elif key in replaced:
            value = replaced[key]
        elif member.inner is not None and wanted is not None:
            value = "".join(_emit(text, member.inner, wanted, root, top))
        elif member.grows and wanted is not None:
            value = _grown(text, member, wanted)
        elif wanted is not None and (wanted.edits or wanted.below):
            raise Unfit("an edit leads into a plain value")
        else:
            value = text[member.value : member.stop]
        chunks.append(head + value + tail)
    for position in sorted(inserted):
        chunks += inserted[position]
    chunks += [f"{dumps(key)}:{value}" for key, value in put.items()]
    if not tree.members and not chunks:
        yield text[tree.start : tree.stop]
        return
    yield text[tree.start]
    yield ",".join(chunks)
    yield text[tree.stop - 1]


def _grown(text: str, member: _Member, node: _Node) -> str:
    """The text of an object with keys added."""
    put = {edit.key: edit.value for edit in node.edits}
    added = "".join(f",{dumps(key)}:{dumps(value)}" for key, value in put.items())
    return f"{text[member.value : member.stop - 1]}{added}}}"


def _moved(text: str, source: Path, root: _Node, top: _Container) -> str:
    """The text of an element that moves, with the edits that are made to it."""
    node, tree = root, top
    for step in source[:-1]:
        inner = tree.find(step).inner
        if inner is None:
            raise Unfit("nothing to move there")
        node, tree = node.below[step], inner
    member = tree.find(source[-1])
    wanted = node.below[source[-1]]
    if member.inner is not None:
        return "".join(_emit(text, member.inner, wanted, root, top))
    if member.grows:
        return _grown(text, member, wanted)
    return text[member.value : member.stop]
