"""JSON texts as clients write them, and edits that fit them."""

import json
from dataclasses import replace
from itertools import count
from typing import Any

from hypothesis import strategies as st

from thoughtkeep.turns import END, Edit, Op, Path

Json = Any

SPACES = st.sampled_from(["", "", "", " ", "\n", "\t \r\n"])
STRINGS = st.sampled_from(
    ['"a"', '""', '"b c"', '"\\ud800"', '"\\u00e9"', '"é"', '"\\/\\n\\""', '"]}{[,:"', '"\\\\"', '"\u2028"', '"😀"']
)
NUMBERS = st.sampled_from(
    ["0", "-0", "1", "1.10", "1e2", "-1.0E+2", "123456789012345678901234567890", "1" * 5000, "9.007199254740993e15"]
)
SCALARS = STRINGS | NUMBERS | st.sampled_from(["true", "false", "null"])
KEYS = st.sampled_from(['"a"', '"b"', '"content"', '"\\u0061"', '"é"', '"\\ud800"', '"x y"', '""'])


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """The text of an object (keys may repeat) or array around some texts, with white space anywhere."""
    members = draw(st.lists(inner, max_size=4))
    if draw(st.booleans()):
        text = [f"{draw(SPACES)}{member}{draw(SPACES)}" for member in members]
        return f"[{','.join(text) or draw(SPACES)}]"
    text = [f"{draw(SPACES)}{draw(KEYS)}{draw(SPACES)}:{draw(SPACES)}{member}{draw(SPACES)}" for member in members]
    return f"{{{','.join(text) or draw(SPACES)}}}"


TEXTS = st.recursive(SCALARS, containers, max_leaves=12)
BODIES = st.builds("{}{}{}".format, SPACES, containers(TEXTS), SPACES)


def parse(text: str | bytes) -> Json:
    """The value of a text, with numbers as the digits that they are written in."""
    found: Json = json.loads(text, parse_int=lambda digits: (digits,), parse_float=lambda digits: (digits,))
    return found


def value_at(value: Json, path: Path) -> Json:
    for step in path:
        value = value[step]
    return value


def places(value: Json, at: Path = ()) -> list[Path]:
    """The paths of a value and of all within it."""
    steps = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [at, *(place for step in steps for place in places(value[step], (*at, step)))]


@st.composite
def edits_to(draw: st.DrawFn, text: str) -> list[Edit]:
    """Edits that fit a body: several in one container, inside moved elements, at the end."""
    value = parse(text)
    paths = places(value)
    containing = [path for path in paths if isinstance(value_at(value, path), (dict, list))]
    marks = count()
    edits: list[Edit] = []
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.sampled_from(containing))
        inner = value_at(value, at)
        new = draw(st.sampled_from(["new", 2**70, {"k": ["\ud800", None]}, [], "é\n", 1.5]))
        if isinstance(inner, dict):
            kinds = [Op.PUT, Op.DROP, *([Op.REPLACE] if inner else [])]
        else:
            kinds = [Op.INSERT, Op.MOVE, *([Op.REPLACE, Op.REMOVE] if inner else [])]
        op = draw(st.sampled_from(kinds))
        steps = list(inner if isinstance(inner, dict) else range(len(inner)))
        if op is Op.PUT:
            edit = Edit(op, at, key=draw(st.sampled_from([*steps, "fresh", "\ud801"])), value=new)
        elif op is Op.DROP:
            edit = Edit(op, at, key=draw(st.sampled_from([*steps, "absent"])))
        elif op in (Op.REPLACE, Op.REMOVE):
            edit = Edit(op, (*at, draw(st.sampled_from(steps))), value=new)
        else:
            index = draw(st.sampled_from([*range(len(steps) + 1), END]))
            edit = Edit(op, at, index=index, value=[next(marks), new])
            sources = [path for path in paths if path and isinstance(path[-1], int) and at[: len(path)] != path]
            if op is Op.MOVE and sources:
                edit = replace(edit, source=draw(st.sampled_from(sources)), value=None)
            else:
                edit = replace(edit, op=Op.INSERT)
        edits.append(edit)
    return edits
