"""One message again of a batch of calls that a client split into several."""

from collections.abc import Sequence

from thoughtkeep.identity import visible
from thoughtkeep.turns import END, Edit, Op, Path, Said

REGROUPED = "split batch regrouped"


def together(split: Sequence[Said], *, results: bool) -> list[Edit] | None:
    """The edits that carry all calls into the first message, in order; None where a message holds more than calls.

    With `results` the tool results move too, into the first message with results: for formats in which the results of a
    batch stand together in one message. The emptied messages go; one in which the user speaks too is not empty.
    """
    first, later = split[0], split[1:]
    home = next((piece.at for piece in first.pieces if piece.call and piece.at), None)
    if home is None or (results and not first.answers):
        return None
    if any(len(said.messages) != 1 for said in split) or any(visible(said.pieces) for said in later):
        return None
    edits: list[Edit] = []
    emptied: list[Path] = []
    for said in later:
        moves = [(home, piece.at) for piece in said.pieces if piece.call and piece.at]
        emptied.append(said.messages[0].at)
        if results:
            moves += [(first.answers[-1], at) for at in said.answers]
            emptied += [] if said.shared else [at[:-2] for at in said.answers]
        edits += [Edit(Op.MOVE, to[:-1], index=END, source=at, reason=REGROUPED) for to, at in moves]
    return edits + [Edit(Op.REMOVE, at, reason=REGROUPED) for at in dict.fromkeys(emptied)]
