"""Edits into JSON text, touching nothing else.

A request body is never read, changed and written again: that would lose integers past 64 bits, `1.10`, duplicate keys
and escapes that the client chose. Here the text is walked once, along the paths that edits name; what no edit names is
carried over as the text it is. Of an object or array that is edited itself, each member stays its own text.
"""

from collections.abc import Iterable

from thoughtkeep.jsontext import dumps
from thoughtkeep.turns import Edit, Json, Op, Path
from thoughtkeep.walk import Container, Node, Outline, Unfit, fitting, reach, text_of, walk

__all__ = ["Unfit", "apply"]

_OF_OBJECTS = (Op.PUT, Op.DROP)
_OF_ARRAYS = (Op.INSERT, Op.MOVE)

type _Piece = bytes | memoryview


def apply(body: bytes, edits: Iterable[Edit], outline: Outline | None = None) -> bytes:
    """The body with the edits made. Raises Unfit when they do not fit, or when the body is no UTF-8 JSON.

    `outline` is that of an array of the body, where it is known.
    """
    root = _wanted(edits)
    if outline is None:  # else it was read before
        try:
            body.decode("utf-8")
        except UnicodeDecodeError as fault:
            raise Unfit("the body is no UTF-8") from fault
    tree = walk(text_of(body), root, outline)
    with fitting("the edits cannot be written"):
        return _Emission(body, root, tree).whole()


def _wanted(edits: Iterable[Edit]) -> Node:
    root = Node()
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
    return root


class _Emission:
    """Writes a body anew, in pieces. `root` and `top` are its edits and its outermost object or array."""

    def __init__(self, body: bytes, root: Node, top: Container) -> None:
        self._body, self._root, self._top = memoryview(body), root, top  # slices of it are no copies

    def whole(self) -> bytes:
        """The body, edited."""
        top = self._top
        out: list[_Piece] = [self._body[: top.start]]
        self._emit(top, self._root, out)
        out.append(self._body[top.stop :])
        return b"".join(out)

    def _emit(self, tree: Container, node: Node, out: list[_Piece]) -> None:
        """Add the text of an object or array, edited."""
        body, edits, members = self._body, node.edits, tree.members
        is_object = body[tree.start] == ord("{")
        if any(edit.op in (_OF_ARRAYS if is_object else _OF_OBJECTS) for edit in edits):
            raise Unfit("an object is edited as an array, or an array as an object")
        gone: set[str | int] = {edit.key for edit in edits if edit.op is Op.DROP}
        gone |= {edit.at[-1] for edit in edits if edit.op is Op.REMOVE}
        put: dict[str | int, bytes] = {edit.key: _json(edit.value) for edit in edits if edit.op is Op.PUT}
        replaced = {edit.at[-1]: _json(edit.value) for edit in edits if edit.op is Op.REPLACE}
        for step in (*node.below, *(edit.at[-1] for edit in edits if edit.op in (Op.REMOVE, Op.REPLACE))):
            tree.find(step)
        inserted = self._inserted(edits)

        begin, at = len(out), 0  # of the members before `at` all is written
        for position in sorted({*inserted, *_positions(tree, is_object, {*node.below, *put, *replaced, *gone})}):
            if at < min(position, len(members)):
                out += (b",", body[members[at].start : members[min(position, len(members)) - 1].end])
                at = position
            for value in inserted.get(position, ()):
                out += (b",", value)
            if position >= len(members):
                continue
            member = members[position]
            key = member.key
            if key in gone:
                at = position + 1
                continue
            if key not in put and key not in replaced and key not in node.below:
                continue  # something stands before it, that is all
            if tree.find(key) != position:  # a duplicate that does not count
                continue
            at = position + 1
            out += (b",", body[member.start : member.value])
            if key in put:
                out.append(put.pop(key))
            elif key in replaced:
                out.append(replaced[key])
            else:
                self._value(tree, position, node.below[key], out)
            out.append(body[member.stop : member.end])
        if at < len(members):
            out += (b",", body[members[at].start : members[-1].end])
        for key, value in put.items():
            out += (b",", _json(key), b":", value)
        if len(out) > begin:
            out[begin] = body[tree.start : tree.start + 1]  # in the place of the first comma
            out.append(body[tree.stop - 1 : tree.stop])
        elif members:
            out += (body[tree.start : tree.start + 1], body[tree.stop - 1 : tree.stop])
        else:
            out.append(body[tree.start : tree.stop])

    def _inserted(self, edits: Iterable[Edit]) -> dict[int, list[bytes]]:
        """What comes into an array, by the position of the element that it comes before."""
        inserted: dict[int, list[bytes]] = {}
        for edit in edits:
            if edit.op is Op.INSERT:
                inserted.setdefault(edit.index, []).append(_json(edit.value))
            elif edit.op is Op.MOVE:
                inserted.setdefault(edit.index, []).append(self._moved(edit.source))
        return inserted

    def _moved(self, source: Path) -> bytes:
        """The text of an element that moves, with the edits that are made to it."""
        tree = reach(self._top, source[:-1])
        out: list[_Piece] = []
        self._value(tree, tree.find(source[-1]), self._root.at(source), out)
        return b"".join(out)

    def _value(self, tree: Container, position: int, wanted: Node, out: list[_Piece]) -> None:
        """Add the text of a member's value, with what is wanted of it."""
        member = tree.members[position]
        if (inner := tree.inner.get(position)) is not None:
            self._emit(inner, wanted, out)
        elif position in tree.grows:
            put = {edit.key: edit.value for edit in wanted.edits}
            out.append(self._body[member.value : member.stop - 1])
            for key, value in put.items():
                out += (b",", _json(key), b":", _json(value))
            out.append(b"}")
        elif wanted.edits or wanted.below:
            raise Unfit("an edit leads into a plain value")
        else:
            out.append(self._body[member.value : member.stop])


def _positions(tree: Container, is_object: bool, keys: set[str | int]) -> list[int]:
    """Where the members with these keys stand, duplicates among them."""
    if is_object:
        return [position for position, member in enumerate(tree.members) if member.key in keys]
    return [key for key in keys if isinstance(key, int)]


def _json(value: Json) -> bytes:
    return dumps(value).encode()
