"""Figures in columns."""

from collections.abc import Sequence


def show(head: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table; all columns but the first `left` ones end at the right."""
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    print()
    for line in [head, ["-" * width for width in widths], *lines]:
        cells = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    print()
