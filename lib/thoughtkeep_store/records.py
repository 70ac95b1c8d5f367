"""How a turn is written down: JSON in two parts, checked when it is read.

The head says whose turn it is and what finds it, the body is the turn itself: origins are read without their state.
Text is UTF-8 in which lone surrogates stand as they are, so that all strings survive; integers have any size; the
place in a request is not written. Fields that have their default are left out.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from thoughtkeep.turns import Json, Kept, Origin

RECORD_VERSION = 1

_KEPT = TypeAdapter(Kept)
_ORIGIN = TypeAdapter(Origin)


class Unreadable(ValueError):
    """A stored record that is not what was written: damaged, or of a version that is not known here."""


class Record(NamedTuple):
    """A turn, written down."""

    head: bytes
    body: bytes


class Traced(NamedTuple):
    """What a head alone tells: the id, the tenant and the root of the turn, and its origin."""

    id: str
    tenant: str
    root: str
    origin: Origin


def encode(kept: Kept) -> Record:
    """Write a turn down.

    Raises ValueError, TypeError or RecursionError if its state is not JSON (NaN and infinity are not).
    """
    head = _plain(kept)
    body = head.pop("turn")
    return Record(_dump({"v": RECORD_VERSION, **head}), _dump({"v": RECORD_VERSION, **body}))


def decode(head: bytes, body: bytes) -> Kept:
    """Read a turn. Raises Unreadable."""
    parsed = _load(head)
    parsed["turn"] = _load(body)
    try:
        return _KEPT.validate_python(parsed)
    except ValidationError as error:
        raise Unreadable(_shape(error)) from None


def decode_head(head: bytes) -> Traced:
    """Read what a head tells. Raises Unreadable."""
    parsed = _load(head)
    try:
        origin = _ORIGIN.validate_python(parsed)
    except ValidationError as error:
        raise Unreadable(_shape(error)) from None
    match parsed:
        case {"id": str(id_), "tenant": str(tenant), "root": str(root)}:
            return Traced(id_, tenant, root, origin)
    raise Unreadable("no id, no tenant or no root")


def _dump(value: dict[str, Json]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _load(data: bytes) -> dict[str, Json]:
    try:
        parsed = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, AttributeError, RecursionError) as error:
        raise Unreadable(f"not JSON ({type(error).__name__})") from None
    match parsed:
        case {"v": version} if version == RECORD_VERSION:
            return dict(parsed)
        case {"v": int(version)}:
            raise Unreadable(f"record version {version}, not {RECORD_VERSION}")
    raise Unreadable("not a record")


def _shape(error: ValidationError) -> str:
    """Say where a record is wrong, without its content."""
    where = ".".join(str(step) for step in error.errors(include_url=False, include_input=False)[0]["loc"])
    return f"wrong at {where}"


def _plain(value: Any) -> Any:
    """Turn values of ours into dicts and lists. What came from a provider is JSON already, and not walked."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)  # json knows no read-only view of a dict
    kind: type = type(value)
    layout = _layout(kind)
    if layout is None:
        return value
    written = {}
    for name, default, read in layout:
        if (item := read(value)) != default:
            written[name] = _plain(item)
    return written


@cache
def _layout(kind: type) -> tuple[tuple[str, object, Callable[[object], Any]], ...] | None:
    """Return name, default and reader of the fields that are written; None if the values are not ours."""
    if not is_dataclass(kind):
        return None
    # A field without a default has MISSING, which equals nothing.
    return tuple((item.name, item.default, attrgetter(item.name)) for item in fields(kind) if item.name != "at")
