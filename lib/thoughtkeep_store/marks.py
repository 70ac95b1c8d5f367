"""The marks that a turn is found by, and whether a turn that was found is an answer to the question.

A mark is a kind, a tenant and a key. A turn has marks of its own tenant (lineage, call ids, values) and marks that
other tenants may ask by (lineage, values; the tenant is empty). Both backends find by marks, and by nothing else.
"""

from collections.abc import Iterable

from thoughtkeep.turns import Kept, Keys, Origin

type Mark = tuple[str, str, str]


def own_marks(kept: Kept) -> list[Mark]:
    """Return the marks by which the turn's own tenant finds it, each once."""
    return _own(kept.tenant, (kept.lineage,), kept.call_ids, kept.values)


def shared_marks(kept: Kept) -> list[Mark]:
    """Return the marks by which other tenants find its origin, each once."""
    return _shared((kept.lineage,), kept.values)


class Question:
    """Keys, ready to look up and to check: `own` and `shared` are the marks they ask for."""

    __slots__ = ("_call_ids", "_lineages", "_values", "own", "shared", "tenant")

    def __init__(self, keys: Keys) -> None:
        self.tenant = keys.tenant
        self.own = _own(keys.tenant, (*keys.lineages, *keys.notes), keys.call_ids, keys.values)
        self.shared = _shared(keys.lineages, keys.values)
        self._lineages = frozenset((*keys.lineages, *keys.notes))
        self._call_ids = frozenset(keys.call_ids)
        self._values = frozenset(keys.values)

    def finds(self, kept: Kept) -> bool:
        """Whether the turn is this tenant's and has one of the keys."""
        return kept.tenant == self.tenant and (
            kept.lineage in self._lineages
            or not self._call_ids.isdisjoint(kept.call_ids)
            or not self._values.isdisjoint(kept.values)
        )

    def traces(self, tenant: str, origin: Origin) -> bool:
        """Whether the origin of that tenant's turn is another tenant's and has one of the keys."""
        return tenant != self.tenant and (
            origin.lineage in self._lineages or not self._values.isdisjoint(origin.values)
        )


def _own(tenant: str, lineages: Iterable[str], call_ids: Iterable[str], values: Iterable[str]) -> list[Mark]:
    # An empty key tells nothing apart: calls without an id would be one hot key.
    return [
        (kind, tenant, key)
        for kind, keys in (("lineage", lineages), ("call", call_ids), ("value", values))
        for key in dict.fromkeys(keys)
        if key
    ]


def _shared(lineages: Iterable[str], values: Iterable[str]) -> list[Mark]:
    return [
        (kind, "", key)
        for kind, keys in (("any lineage", lineages), ("any value", values))
        for key in dict.fromkeys(keys)
        if key
    ]
