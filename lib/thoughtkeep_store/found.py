"""What lookups bring home, and how the finds of a memory layer and of a file become one answer.

Here and nowhere else: the order of an answer, and that each turn is in it once.
"""

from dataclasses import dataclass, field

from thoughtkeep.turns import Facts, Kept, Origin

from .base import ORIGINS, PER_CONVERSATION

# `made` of the turn, and the number it got when it was put: later puts have higher numbers, also across layers.
type Rank = tuple[float, int]


@dataclass(slots=True)
class Found:
    """Turns and origins by the id of their turn, each with its rank."""

    turns: dict[str, tuple[Rank, Kept]] = field(default_factory=dict)
    origins: dict[str, tuple[Rank, Origin]] = field(default_factory=dict)

    def facts(self) -> Facts:
        """Return it as an answer: newest first, origins bounded."""
        return Facts(
            turns=tuple(kept for _, kept in sorted(self.turns.values(), key=_rank, reverse=True)),
            origins=tuple(origin for _, origin in sorted(self.origins.values(), key=_rank, reverse=True)[:ORIGINS]),
        )

    def conversation(self) -> tuple[Kept, ...]:
        """Return the turns as those of a conversation: oldest first, bounded to the newest."""
        return tuple(kept for _, kept in sorted(self.turns.values(), key=_rank)[-PER_CONVERSATION:])


def origin_of(kept: Kept) -> Origin:
    """Return what other tenants may learn of a turn."""
    return Origin(kept.lineage, kept.after, kept.owner, kept.made, kept.values)


def _rank(item: tuple[Rank, object]) -> Rank:
    return item[0]
