"""Python's garbage collector, set for a proxy.

By default it looks through all that is young every 700 objects, and through everything soon after: a request of a
megabyte makes tens of thousands, so that more than half of the time it took went into looking for cycles that are not
there (measured: 27 ms, 10 ms without). mitmproxy's own objects, some hundred thousand, are never garbage while it runs.
"""

import gc

# Objects that are made before the young are looked through.
YOUNG = 10_000


class Collector:
    """An addon that sets the collector while the proxy runs; what somebody else has set higher stays."""

    def __init__(self) -> None:
        self.name = "thoughtkeep-collector"
        self._before: tuple[int, int, int] | None = None

    def running(self) -> None:
        """All that is there now stays there: it need not be looked through again."""
        before = gc.get_threshold()
        if 0 < before[0] < YOUNG:
            self._before = before
            gc.set_threshold(YOUNG, *before[1:])
            gc.collect()
            gc.freeze()

    def done(self) -> None:
        """As it was."""
        if self._before is not None:
            gc.set_threshold(*self._before)
            gc.unfreeze()
            self._before = None
