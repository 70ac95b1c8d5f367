"""What told turns lack: the edits that give each its state back, and what earlier requests were found to lack.

A turn that was told in an earlier request is the very same object when it is told again (see Readings), and so is a
stored one as long as it is at hand: then it lacks what it lacked before.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from thoughtkeep.formats import Format
from thoughtkeep.profiles import Profile
from thoughtkeep.replay import Match
from thoughtkeep.turns import Ask, Edit, Kept, Kind, Said, Turn

# Told turns that are remembered. What they hold is mostly that of the requests that are remembered anyway.
REMEMBERED = 4096


class Dues:
    """Finds what told turns lack, and remembers it of those that were told last."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        # A told turn is kept beside its number in memory: that is given again when its object is gone.
        self._known: OrderedDict[tuple[int, str, str], tuple[Said, Kept, Profile, Sequence[Edit]]] = OrderedDict()

    def of(self, match: Match, ask: Ask, form: Format, profile: Profile) -> Sequence[Edit]:
        """The edits that give a turn its state back; where its batch was split, as one message again."""
        said = ask.said[match.said[0]]
        if len(match.said) > 1:
            return _due_together([ask.said[number] for number in match.said], match, ask, form, profile)
        name = (id(said), match.kept.id, ask.spelling)  # nothing else of a request counts for it
        known = self._known.get(name)
        if known is None or known[1] is not match.kept or known[2] is not profile:
            turn = match.kept.turn
            edits = [] if _is_told_whole(said, turn) else form.restore(said, turn, profile, ask)
            known = self._known[name] = (said, match.kept, profile, edits)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return known[-1]


def has_state(said: Said) -> bool:
    """Whether the client brings state; a key that it has as null (SDKs write all that they know) is none."""
    states = [message.state for message in said.messages] + [piece.state for piece in said.pieces]
    return any(value is not None for state in states for value in state.values())


def _due_together(split: list[Said], match: Match, ask: Ask, form: Format, profile: Profile) -> list[Edit]:
    """The same for a batch that the client tells in several messages: they become one again."""
    turn = match.kept.turn
    together = form.regroup(split)
    if together is None or (together and not match.whole):
        return form.restore(split[0], turn, profile, ask)
    if together and all(has_state(said) for said in split):
        return []  # each message brings its own: the client's way of telling it is complete
    return together + form.restore(_joined(split), turn, profile, ask)


def _is_told_whole(said: Said, turn: Turn) -> bool:
    """Whether a client tells a turn to the letter: most do, and there is nothing to look for in it.

    Thoughts stand among other pieces, and their places count: those are left to the format.
    """
    if len(said.messages) != 1 or len(said.pieces) != len(turn.pieces):
        return False
    for told, issued in zip(said.pieces, turn.pieces, strict=True):
        if told.kind is not issued.kind or issued.kind not in (Kind.TEXT, Kind.CALL):
            return False
        if told.state != issued.state or (told.call and issued.call and told.call.id != issued.call.id):
            return False
    have = said.messages[0].state
    return all(name in have and have[name] == value for name, value in turn.state.items())


def _joined(split: list[Said]) -> Said:
    """A split batch as if it were one message."""
    messages = tuple(message for said in split for message in said.messages)
    return replace(split[0], messages=messages, pieces=tuple(piece for said in split for piece in said.pieces))
