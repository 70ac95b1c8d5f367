"""A clock that jumps: nothing is stalled or refused, and what is forgotten is what the clock says is too old."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults.row import Row, table
from faults.stage import HERE, Scene, Watch, assert_begins_anew, assert_goes_on, begun, keeping
from proxy import Proxy

_HOUR, _YEARS = 3600, 3 * 365 * 86_400
_SERVED = "the upstream's own bytes"
_ALL = "what is from before is restored, and what is from between, then and later"


@dataclass(frozen=True)
class Jump(Row):
    """The clock is `by` seconds off for a while. Whether each conversation is restored; None where the clock may say
    that it is too old: `old` is from before, `new` from between, and both go on while it is off and when it is not.
    """

    by: int
    old: tuple[bool | None, bool | None] = (True, True)
    new: tuple[bool | None, bool | None] = (True, True)


ROWS = [
    Jump("clock-hour-back", "the clock jumps back an hour, and forward again", _SERVED, _ALL, -_HOUR),
    Jump("clock-hour-ahead", "the clock jumps ahead an hour, and back again", _SERVED, _ALL, _HOUR),
    Jump(
        "clock-years-back",
        "the clock jumps back three years, and forward again",
        _SERVED,
        "what is from before is restored; what is from between is, until it is three years old",
        -_YEARS,
        new=(True, None),
    ),
    Jump(
        "clock-years-ahead",
        "the clock jumps ahead three years, and back again",
        _SERVED,
        "what is three years old may be forgotten; what is from between is restored, then and later",
        _YEARS,
        old=(None, None),
    ),
]


def _goes_on(scene: Scene, proxy: Proxy, restored: bool | None) -> None:
    if restored is None:
        scene.ask(proxy, scene.talk.second)
        restored = scene.sent[-1] != scene.talk.second
    assert_goes_on(scene, proxy, restored)


class Clock:
    """The clock of a proxy."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(0)

    def set(self, seconds: int) -> None:
        """How much it is off from now on. Nobody reads half of that."""
        new = self._file.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._file)


@pytest.fixture(scope="module")
def clocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Clock]]:
    """A proxy and its clock."""
    folder = tmp_path_factory.mktemp("clock")
    script = Path(shutil.copy(HERE / "clock_addon.py", folder))
    clock = Clock(folder)
    with keeping(folder / "state.sqlite3", before=(script,)) as proxy:
        yield proxy, clock


@table(ROWS)
def test_a_clock_that_jumps(row: Jump, clocked: tuple[Proxy, Clock]) -> None:
    proxy, clock = clocked
    watch = Watch(proxy)
    with ExitStack() as stack:
        stack.callback(clock.set, 0)
        old = begun(proxy, stack)
        clock.set(row.by)
        new = begun(proxy, stack)
        _goes_on(old, proxy, row.old[0])
        _goes_on(new, proxy, row.new[0])
        watch.assert_unharmed()
        clock.set(0)
        last = begun(proxy, stack)
        _goes_on(old, proxy, row.old[1])
        _goes_on(new, proxy, row.new[1])
        assert_goes_on(last, proxy, restored=True)
        assert_begins_anew(old, proxy)
        watch.assert_unharmed()
