"""What goes from a SQLite file, and when: the same rule as in memory, in small steps.

Whole conversations go, the one that was used longest ago first, when they are older than the time to live or when all
together are over the bound; a conversation that is over the bound alone loses its oldest turns. A step deletes a
bounded number of turns, so that lookups get in between.
"""

from .database import Database

# Turns that one step deletes, and pages that it gives back to the file system.
STEP_TURNS = 128
STEP_PAGES = 512

# A conversation that has begun to go is older than all others, so that it goes whole.
DOOMED = -1e300

# Seconds and turns after which it is time to look.
EVERY_SECONDS = 60.0
EVERY_TURNS = 256


class Due:
    """When it is time to look what has to go."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._looked: float | None = None
        self._turns = 0
        self._bytes = 0

    def wrote(self, turns: int, size: int) -> None:
        """Take note of what was written."""
        self._turns += turns
        self._bytes += size

    def look(self) -> None:
        """Have it be time for a step: there may be many pages to give back."""
        self._looked = None

    def due(self, now: float) -> bool:
        """Whether it is time for a step: when told, some time or writes after the last, or with the clock set back."""
        return (
            self._looked is None
            or not 0 <= now - self._looked < EVERY_SECONDS
            or self._turns >= EVERY_TURNS
            or self._bytes * 16 >= self._max_bytes
        )

    def looked(self, now: float) -> None:
        """Take note that it was done."""
        self._looked, self._turns, self._bytes = now, 0, 0


class Pruning(Due):
    """Keeps a database within `ttl` seconds from last use and about `max_bytes` bytes."""

    def __init__(self, database: Database, *, ttl: float, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._database = database
        self._ttl = ttl

    def step(self, now: float) -> bool:
        """Delete some of what has to go. Returns whether there is more."""
        self.looked(now)
        with self._database.transaction("IMMEDIATE"):
            more = self._delete(now)
        return self._shrink() or more

    def _delete(self, now: float) -> bool:
        connection = self._database.connection
        _, _, total = self._database.counts()
        left = STEP_TURNS
        while left > 0:
            query = "SELECT number, used FROM conversation ORDER BY used, number LIMIT 2"
            oldest = connection.execute(query).fetchall()
            expired = bool(oldest) and oldest[0][1] < now - self._ttl
            if not oldest or (total <= self._max_bytes and not expired):
                return False
            whole = expired or len(oldest) > 1
            number, used = oldest[0]
            limit = left if whole else 1
            query = "SELECT number, made, marks, bytes FROM turn WHERE conversation = ? ORDER BY number LIMIT ?"
            turns = connection.execute(query, (number, limit)).fetchall()
            self._database.delete(turn[:3] for turn in turns)
            freed = sum(turn[3] for turn in turns)
            if len(turns) < limit:
                connection.execute("DELETE FROM conversation WHERE number = ?", (number,))
            else:
                query = "UPDATE conversation SET turns = turns - ?, bytes = bytes - ?, used = ? WHERE number = ?"
                connection.execute(query, (len(turns), freed, DOOMED if whole else used, number))
            total -= freed
            left -= max(len(turns), 1)
        return True

    def _shrink(self) -> bool:
        """Give free pages back, but for some that the next writes take. Returns whether there are more."""
        connection = self._database.connection
        (free,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_size"))
        excess = free - max(16, self._max_bytes // size // 16)
        if excess <= 0:
            return False
        connection.execute(f"PRAGMA incremental_vacuum({min(excess, STEP_PAGES)})").fetchall()
        if excess > STEP_PAGES:
            return True
        connection.execute("PRAGMA wal_checkpoint").fetchone()  # the file itself gets shorter now
        return False
