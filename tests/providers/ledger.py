"""What a provider issued, for what, and whether it came back.

A value is looked up by its bytes, not by its spelling: Google takes the url-safe alphabet of the same bytes back.
The ledger is the only memory of a strict provider.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
from dataclasses import dataclass
from typing import Any, Literal

#: Raw strings that Google documents for history without signatures (ai.google.dev "Thought Signatures"). The Vertex
#: pages name only the second.
SKIP_VALUES = ("context_engineering_is_the_way_to_go", "skip_thought_signature_validator")

Verdict = Literal["own", "other", "unknown", "skip"]


@dataclass
class Issued:
    """One value handed out.

    `kind` names the field, `anchor` what it was issued for (a call, an answer's calls, or a text), `value` is what was
    sent, `demanded` whether a request without it is refused while its turn is open. `due` counts the requests that
    held its answer, `returned` those among them that also held the value, at the right place and unaltered. `origin` is
    what else the provider has to know of its making: ids, the model, the request before it.
    """

    kind: str
    anchor: str
    value: Any
    demanded: bool
    due: int = 0
    returned: int = 0
    origin: Any = None


class Ledger:
    """All values one provider has issued since its last reset."""

    def __init__(self, seed: int | str = 0) -> None:
        self.issued: list[Issued] = []
        self._random = random.Random(seed)
        self._by_value: dict[tuple[str, bytes], Issued] = {}
        self._newest: dict[tuple[str, str], Issued] = {}

    def mint(self, *, long: bool = False) -> str:
        """Return a fresh signature: standard base64 that holds `+` and `/`; 64 or so bytes, about 3 kB if `long`."""
        size = self._random.randrange(2200, 2300) if long else self._random.randrange(48, 97)
        # The fixed head encodes to "EjRW++++////": both letters that the url-safe alphabet spells otherwise and that
        # form decoding eats, in every value.
        return base64.b64encode(b"\x12\x34\x56\xfb\xef\xbe\xff\xff\xff" + self._random.randbytes(size)).decode()

    def enter(self, kind: str, anchor: str, value: Any, *, demanded: bool, origin: Any = None) -> Issued:
        """Write down that `value` was issued for `anchor`."""
        record = Issued(kind, anchor, value, demanded, origin=origin)
        self.issued.append(record)
        self._by_value[kind, _essence(value)] = record
        self._newest[kind, anchor] = record
        return record

    def equal(self, record: Issued, value: Any) -> None:
        """Write down that `value` is as good as what was issued: the same, encrypted once more."""
        self._by_value[record.kind, _essence(value)] = record

    def find(self, kind: str, value: Any) -> Issued | None:
        """What this value was issued as, and count nothing; None if it never was."""
        return self._by_value.get((kind, _essence(value)))

    def expected(self, kind: str, anchor: str) -> Issued | None:
        """The newest value issued for `anchor`, and count it as due; None if nothing ever was."""
        record = self._newest.get((kind, anchor))
        if record is not None:
            record.due += 1
        return record

    def judge(self, kind: str, anchor: str, value: Any) -> tuple[Verdict, Issued | None]:
        """Say whose `value` is. `own`: issued for this very anchor, and counted as returned."""
        if skip_value(value) is not None:
            return "skip", None
        record = self._by_value.get((kind, _essence(value)))
        if record is None:
            return "unknown", None
        if record.anchor != anchor:
            return "other", record
        record.returned += 1
        return "own", record


def skip_value(value: Any) -> str | None:
    """The documented skip value that this is, raw or base64; None for any other value."""
    if not isinstance(value, str):
        return None
    for known in SKIP_VALUES:
        if value == known or _decoded(value) == known.encode():
            return known
    return None


def canonical(value: Any) -> str:
    """JSON text that is equal for equal JSON values.

    A field that is null counts as absent, since SDKs add and drop such fields; opaque fields count by their bytes.
    """
    return json.dumps(_comparable(value), sort_keys=True, ensure_ascii=False)


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: item.replace("-", "+").replace("_", "/").rstrip("=")
            if key in ("data", "signature") and isinstance(item, str)
            else _comparable(item)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    return value


def _essence(value: Any) -> bytes:
    if isinstance(value, str):
        decoded = _decoded(value)
        return b"s" + value.encode("utf-8", "surrogatepass") if decoded is None else b"b" + decoded
    return b"j" + canonical(value).encode("utf-8", "surrogatepass")


def _decoded(value: str) -> bytes | None:
    standard = value.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
