"""The numbered databases of a test's Redis server, one after the other to the tests that ask."""

from pathlib import Path

#: Databases that a server has.
NUMBER = 16


class Databases:
    """Hands them out by the folders of tests."""

    def __init__(self) -> None:
        self._given: dict[Path, int] = {}

    def of(self, folder: Path) -> tuple[int, bool]:
        """The number for a test that has this folder, and whether it is given out just now and to be emptied."""
        is_new = folder not in self._given
        return self._given.setdefault(folder, len(self._given) % NUMBER), is_new
