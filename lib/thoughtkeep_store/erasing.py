"""Carrying out orders to forget in a SQLite file, in small steps, so that nothing of it is left on the disk.

A step deletes a bounded number of turns, so that lookups get in between. Deleted content is overwritten (see opening);
what the write-ahead log holds of it goes when the log is emptied, for which nobody may be reading it.
"""

from collections import Counter

from .database import Database
from .forgetting import UNMET, Everything, Forgetting, Order, Target
from .opening import BUSY_TIMEOUT

# Turns that one step deletes.
STEP_TURNS = 64


class Erasing:
    """Deletes from a database what is to be forgotten. `traces` says whether the log may still hold some of it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.traces = False

    def step(self, forgetting: Forgetting) -> list[tuple[Target, Order]]:
        """Delete some of what is to be forgotten. Returns the orders that are carried out with it."""
        done = []
        left = STEP_TURNS
        self.traces = True  # also of turns that go before anybody says so
        with self._database.transaction("IMMEDIATE"):
            last = self._database.last()
            for _, order in forgetting:
                if order.reach == UNMET:
                    order.reach = last
            for target, order in forgetting:
                rows = self._database.rows(target, order.reach, left + 1)
                self._database.remove(rows[:left])
                if len(rows) <= left:
                    done.append((target, order))
                left -= max(len(rows), 1)
                if left <= 0:
                    break
        return done

    def counts(self, forgetting: Forgetting) -> tuple[int, int, int]:
        """Return how many turns and conversations there are without what is to be forgotten, and their bytes."""
        with self._database.transaction("DEFERRED"):
            if not forgetting:
                return self._database.counts()
            after = forgetting.reach(Everything())
            turns, conversations, size = self._database.counts(after)
            targets = [(target, order.reach) for target, order in forgetting if target != Everything()]
            rows = [row for target, reach in targets for row in self._database.rows(target, reach)]
            gone = {row.number: row for row in rows if row.number > after}
            for number, count in Counter(row.conversation for row in gone.values()).items():
                conversations -= self._database.turns_of(number, after) == count
            return turns - len(gone), conversations, size - sum(row.size for row in gone.values())

    def clear(self) -> None:
        """Empty the write-ahead log if it holds traces. Where another connection reads it, they stay for now."""
        if not self.traces:
            return
        connection = self._database.connection
        connection.execute("PRAGMA busy_timeout = 0").fetchone()  # lookups would have to wait as well
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000:.0f}").fetchone()
        self.traces = bool(busy)
