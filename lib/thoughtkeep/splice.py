"""Edits into JSON text, touching nothing else.

A request body is never read, changed and written again: that would lose integers past 64 bits, `1.10`, duplicate keys
and escapes that the client chose. Here the text is walked once, along the paths that edits name; what no edit names is
carried over as the text it is. Of an object or array that is edited itself, each member stays its own text.
"""

from collections.abc import Hashable, Iterable

from thoughtkeep.jsontext import dumps
from thoughtkeep.turns import Edit, Op, Path
from thoughtkeep.walk import Container, Member, Node, Outlines, Unfit, reach, walk

__all__ = ["Unfit", "apply"]

_OF_OBJECTS = (Op.PUT, Op.DROP)
_OF_ARRAYS = (Op.INSERT, Op.MOVE)


def apply(body: bytes, edits: Iterable[Edit], outlines: Outlines | None = None, name: Hashable = None) -> bytes:
    """The body with the edits made. Raises Unfit when they do not fit, or when the body is no UTF-8 JSON.

    `outlines` remembers where the messages stood in the last body of that name.
    """
    edits = list(edits)
    root = _wanted(edits)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise Unfit("the body is no UTF-8") from fault
    tree = walk(text, root, outlines.of(name) if outlines else None)
    if outlines and (path := _array_of(edits)) is not None:
        outlines.remember(name, text, reach(tree, path))
    out = [text[: tree.start]]
    try:
        _Emission(text, root, tree).emit(tree, root, out)
        out.append(text[tree.stop :])
        return "".join(out).encode("utf-8")
    except Unfit:
        raise
    except (ValueError, IndexError, RecursionError) as fault:
        raise Unfit(f"the edits cannot be written: {type(fault).__name__}") from fault


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


def _array_of(edits: Iterable[Edit]) -> Path | None:
    """The array that holds what is edited first: the messages, nearly always."""
    for edit in edits:
        for depth, step in enumerate(edit.at):
            if isinstance(step, int):
                return edit.at[:depth]
    return None


class _Emission:
    """Writes a text anew, in pieces. `root` and `top` are its edits and its outermost object or array."""

    def __init__(self, text: str, root: Node, top: Container) -> None:
        self._text, self._root, self._top = text, root, top

    def emit(self, tree: Container, node: Node, out: list[str]) -> None:
        """Add the text of an object or array, edited."""
        text, edits = self._text, node.edits
        if any(edit.op in (_OF_ARRAYS if text[tree.start] == "{" else _OF_OBJECTS) for edit in edits):
            raise Unfit("an object is edited as an array, or an array as an object")
        gone: set[str | int] = {edit.key for edit in edits if edit.op is Op.DROP}
        gone |= {edit.at[-1] for edit in edits if edit.op is Op.REMOVE}
        put = {edit.key: dumps(edit.value) for edit in edits if edit.op is Op.PUT}
        replaced = {edit.at[-1]: dumps(edit.value) for edit in edits if edit.op is Op.REPLACE}
        for step in (*node.below, *(edit.at[-1] for edit in edits if edit.op in (Op.REMOVE, Op.REPLACE))):
            tree.find(step)
        inserted = self._inserted(edits)

        begin = len(out)
        run: Member | None = None  # where members begin that stay as they are, one behind the other
        last: Member | None = None
        for position, member in enumerate(tree.members):
            key = member.key
            coming = inserted.pop(position, ())
            counts = tree.last[key] == position and (key in put or key in replaced or key in node.below)
            if run is not None and last is not None and (coming or counts or key in gone):
                out += (",", text[run.start : last.end])
                run = None
            for value in coming:
                out += (",", value)
            if key in gone:
                continue
            last = member
            if not counts:
                run = run or member
                continue
            out += (",", text[member.start : member.value])
            if isinstance(key, str) and key in put:
                out.append(put.pop(key))
            elif key in replaced:
                out.append(replaced[key])
            else:
                self._value(tree, position, node.below[key], out)
            out.append(text[member.stop : member.end])
        if run is not None and last is not None:
            out += (",", text[run.start : last.end])
        for position in sorted(inserted):
            for value in inserted[position]:
                out += (",", value)
        for key, value in put.items():
            out += (",", f"{dumps(key)}:{value}")
        if len(out) > begin:
            out[begin] = text[tree.start]  # in the place of the first comma
            out.append(text[tree.stop - 1])
        elif tree.members:
            out += (text[tree.start], text[tree.stop - 1])
        else:
            out.append(text[tree.start : tree.stop])

    def _inserted(self, edits: Iterable[Edit]) -> dict[int, list[str]]:
        """What comes into an array, by the position of the element that it comes before."""
        inserted: dict[int, list[str]] = {}
        for edit in edits:
            if edit.op is Op.INSERT:
                inserted.setdefault(edit.index, []).append(dumps(edit.value))
            elif edit.op is Op.MOVE:
                inserted.setdefault(edit.index, []).append(self._moved(edit.source))
        return inserted

    def _moved(self, source: Path) -> str:
        """The text of an element that moves, with the edits that are made to it."""
        tree = reach(self._top, source[:-1])
        out: list[str] = []
        self._value(tree, tree.find(source[-1]), self._root.at(source), out)
        return "".join(out)

    def _value(self, tree: Container, position: int, wanted: Node, out: list[str]) -> None:
        """Add the text of a member's value, with what is wanted of it."""
        member = tree.members[position]
        if (inner := tree.inner.get(position)) is not None:
            self.emit(inner, wanted, out)
        elif position in tree.grows:
            put = {edit.key: edit.value for edit in wanted.edits}
            out.append(self._text[member.value : member.stop - 1])
            out += [f",{dumps(key)}:{dumps(value)}" for key, value in put.items()]
            out.append("}")
        elif wanted.edits or wanted.below:
            raise Unfit("an edit leads into a plain value")
        else:
            out.append(self._text[member.value : member.stop])
