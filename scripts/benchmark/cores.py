"""Which processor runs what: the proxies have one to themselves, as a proxy at work has.

Else the client and the upstream push them from one to the other, and take the caches with them: times of one run to the
next then differ by a half. Both proxies are bound to the same one; only one of them has anything to do at a time.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def apart(proxies: Iterable[int], others: Iterable[int]) -> Iterator[bool]:
    """Bind processes, given by their numbers, and this one beside `others`. Whether that is possible here."""
    if not hasattr(os, "sched_setaffinity"):  # it is Linux's
        yield False
        return
    before = os.sched_getaffinity(0)
    first, *rest = sorted(before)
    if not rest:
        yield False
        return
    for pid in proxies:
        _bind(pid, {first})
    for pid in (os.getpid(), *others):
        _bind(pid, set(rest))
    try:
        yield True
    finally:
        os.sched_setaffinity(0, before)


def _bind(pid: int, cores: set[int]) -> None:
    """Bind all threads of a process; those that they begin are bound with them."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):  # it has just ended
            os.sched_setaffinity(int(thread.name), cores)
