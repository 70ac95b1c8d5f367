"""What is to be forgotten, until it is: named by what it means, and out of sight from the moment it is named.

Here and nowhere else: which rows of a file an order reaches. Rows are numbered in the order they are written, and a
turn that was put before an order is written before the order meets the file, or never. So the order reaches the rows
up to the last one of that moment, and what was put later stays, also by other processes.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thoughtkeep.turns import Kept

# The reach of an order that has not met the file yet: every row.
UNMET = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class OneTurn:
    """The turn of that id."""

    id: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one tenant with one root."""

    tenant: str
    root: str

    def holds(self, kept: Kept) -> bool:
        """Whether the turn belongs to it."""
        return kept.tenant == self.tenant and kept.root == self.root


@dataclass(frozen=True, slots=True)
class Everything:
    """All turns."""


type Target = OneTurn | Conversation | Everything


@dataclass(slots=True, eq=False)
class Order:
    """An order to forget: the number of the turn that was put last before it, and of the last row that it reaches.

    Only the thread that deletes the rows looks at the reach.
    """

    after: int
    reach: int = UNMET


class Forgetting:
    """Orders that are to be carried out. Not safe for threads."""

    def __init__(self, orders: Iterable[tuple[Target, Order]] = ()) -> None:
        self._orders = dict(orders)

    def __len__(self) -> int:
        return len(self._orders)

    def __iter__(self) -> Iterator[tuple[Target, Order]]:
        """Go over the orders, each with its target, the oldest first."""
        return iter(self._orders.items())

    def add(self, target: Target, after: int) -> None:
        """Add an order. It takes the place of those that it includes, and is owed since then as they were."""
        replaced = [target] if target != Everything() else list(self._orders)
        for included in replaced:
            if order := self._orders.pop(included, None):
                after = min(after, order.after)
        self._orders[target] = Order(after)

    def done(self, orders: Iterable[tuple[Target, Order]]) -> None:
        """These were carried out, unless they were given again meanwhile."""
        for target, order in orders:
            if self._orders.get(target) is order:
                del self._orders[target]

    def owed(self, last: float) -> bool:
        """Whether there is an order from before any turn with a higher number than that was put."""
        return any(order.after <= last for order in self._orders.values())

    def reach(self, target: Target) -> int:
        """Return the last row that is to be forgotten as that target's; 0 if none is."""
        order = self._orders.get(target)
        return order.reach if order else 0

    def hides(self, number: int, id_: str, tenant: str, root: str) -> bool:
        """Whether the turn in the row of that number is to be forgotten."""
        if not self._orders:  # as nearly always
            return False
        targets: tuple[Target, ...] = (Everything(), OneTurn(id_), Conversation(tenant, root))
        return any(number <= self.reach(target) for target in targets)


class Forgets(ABC):
    """What a store is asked to forget, as targets."""

    def forget_turns(self, ids: Sequence[str]) -> None:
        """See Store."""
        self._forget(*map(OneTurn, ids))

    def forget_conversation(self, tenant: str, root: str) -> None:
        """See Store."""
        self._forget(Conversation(tenant, root))

    def forget_all(self) -> None:
        """See Store."""
        self._forget(Everything())

    @abstractmethod
    def _forget(self, *targets: Target) -> None:
        """Forget them, from now on."""
