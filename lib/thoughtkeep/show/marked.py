"""Two tellings of one conversation as one: what was added, and what was taken out, marked line by line.

The client's request and the one that was sent are told in the same way, and compared: so nothing can be changed without
its mark, whatever changed it.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from textwrap import wrap

from thoughtkeep.show.blocks import Block
from thoughtkeep.show.words import plural

ADDED, GONE, SAME = "+ ", "- ", "  "

# Blocks that changed nothing are shown at the beginning and at the end of a conversation; between them they fold.
_FIRST = 4
_LAST = 40

# Blocks that were taken out are shown, one line each, up to so many in a row.
_GONE = 12

# Columns of a line behind its mark: what UIs show without scrolling sideways. A longer one goes on below itself.
COLUMNS = 88

# A longer difference is not searched for what is alike in it: it would take too long.
_SEARCHED = 2_000


def marked(before: Sequence[Block], after: Sequence[Block]) -> list[str]:
    """The lines of `after`, each behind its mark, with what of `before` is gone where it stood."""
    parts = list(_parts(before, after))
    lines: list[str] = []
    for number, (gone, come) in enumerate(parts):
        if gone == come:
            first = _FIRST if number == 0 else 1
            last = _LAST if number == len(parts) - 1 else 1
            lines += _alike(come, first, last)
        else:
            lines += _changed(gone, come)
    return lines


def _parts(before: Sequence[Block], after: Sequence[Block]) -> Iterator[tuple[Sequence[Block], Sequence[Block]]]:
    """The conversation cut into parts that are alike and parts that are not, in order."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    if start:
        yield before[:start], after[:start]
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) * len(new) > _SEARCHED**2:
        yield old, new
    else:
        for _, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            yield old[a:b], new[c:d]
    if end:
        yield before[len(before) - end :], after[len(after) - end :]


def _alike(blocks: Sequence[Block], first: int, last: int) -> Iterator[str]:
    if len(blocks) <= first + last + 1:
        first, last = len(blocks), 0
    for block in blocks[:first]:
        yield from _told(SAME, block)
    if last:
        yield f"{SAME}\u2026 {plural(len(blocks) - first - last, 'message')} folded \u2026"
        for block in blocks[-last:]:
            yield from _told(SAME, block)


def _changed(gone: Sequence[Block], come: Sequence[Block]) -> Iterator[str]:
    """What both sides tell differently line by line, in between what is gone, in short, and what came."""
    at = 0
    for number, block in enumerate(come):
        old = _same(gone, at, block, len(come) - number - 1)
        if old is None:
            yield from _told(ADDED, block)
            continue
        yield from _gone(gone[at:old])
        yield f"{SAME}{_rule(block.heading)}"
        yield from _lines(gone[old].lines, block.lines)
        at = old + 1
    yield from _gone(gone[at:])


def _same(gone: Sequence[Block], at: int, block: Block, behind: int) -> int | None:
    """The block that was changed into this one: told by the same speaker, with a line in common; the last such one.

    `behind` blocks come behind it: as many are left for them, where there are as many.
    """
    speaker, lines = _speaker(block), {line for line in block.lines if line.strip()}
    end = max(len(gone) - behind, at)
    found = [n for n in range(at, end) if _speaker(gone[n]) == speaker and lines & set(gone[n].lines)]
    if found:
        return found[-1]
    return at if len(gone) - at == behind + 1 and _speaker(gone[at]) == speaker else None


def _gone(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks[:_GONE]:
        yield f"{GONE}{block.heading}: {_gist(block)}"
    if len(blocks) > _GONE:
        yield f"{GONE}\u2026 and {plural(len(blocks) - _GONE, 'more message')} \u2026"


def _speaker(block: Block) -> str:
    return block.heading.partition(" ")[0]


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from _shown(SAME, new[c:d])
        else:
            yield from _shown(GONE, old[a:b])
            yield from _shown(ADDED, new[c:d])


def _told(mark: str, block: Block) -> Iterator[str]:
    yield f"{mark}{_rule(block.heading)}"
    yield from _shown(mark, block.lines)


def _shown(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if len(line) <= COLUMNS:
            yield f"{mark}{line}"
        else:
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            yield from (f"{mark}{part}" for part in wrap(line, COLUMNS, subsequent_indent=indent))


def _rule(heading: str) -> str:
    return f"\u2500\u2500 {heading} ".ljust(64, "\u2500")


def _gist(block: Block) -> str:
    first = next((line.strip() for line in block.lines if line.strip()), "(nothing)")
    return first if len(first) <= 90 else f"{first[:90]}\u2026"
