"""What was read lately, up to a weight. Only one thread uses it."""

from collections import OrderedDict


class Cache[V]:
    """Values by a number (a row's, a digest), the least recently used going first. Weights are bytes or counts."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._weight = 0
        self._items: OrderedDict[int, tuple[V, int]] = OrderedDict()

    def get(self, number: int) -> V | None:
        """Return the value, which counts as used."""
        item = self._items.get(number)
        if item is None:
            return None
        self._items.move_to_end(number)
        return item[0]

    def peek(self, number: int) -> V | None:
        """Return the value, which does not count as used: half as long, for what is asked for by the hundred."""
        item = self._items.get(number)
        return None if item is None else item[0]

    def put(self, number: int, value: V, weight: int) -> None:
        """Keep a value. What has changed is dropped first, so a value that is there stays."""
        if number in self._items:
            return
        self._items[number] = (value, weight)
        self._weight += weight
        while self._weight > self._max_weight:
            _, (_, gone) = self._items.popitem(last=False)
            self._weight -= gone

    def drop(self, number: int) -> None:
        """Let a value go, if it is there."""
        if item := self._items.pop(number, None):
            self._weight -= item[1]

    def clear(self) -> None:
        """Let everything go."""
        self._items.clear()
        self._weight = 0
