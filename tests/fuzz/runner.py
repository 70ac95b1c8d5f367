"""Fuzzes one target: `python -m fuzz.runner TARGET [libFuzzer's options] [FOLDER…]`. Ends with a finding, or when told.

Only a process of its own can do this: libFuzzer never returns, and the code under test is changed as it is imported.
"""

import sys

import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]  # not everywhere there

with atheris.instrument_imports(include=["thoughtkeep"], enable_loader_override=False):
    from fuzz.targets import TARGETS

from fuzz.mutator import Mutator
from fuzz.wire import PLACES


def main() -> None:
    """See the module."""
    target = TARGETS[sys.argv[1]]
    names = [] if target.name in ("events", "elements", "frames") else [name.encode() for name in PLACES]

    def once(data: bytes) -> int:
        return 0 if target.check(data) else -1  # what is no input is not worth keeping

    change = Mutator(target.inputs().values(), names, lambda data, longest: bytes(atheris.Mutate(data, longest)))
    options = [sys.argv[0], *sys.argv[2:]]
    if target.name in ("events", "elements"):
        atheris.Setup(options, once)
    else:
        atheris.Setup(options, once, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
