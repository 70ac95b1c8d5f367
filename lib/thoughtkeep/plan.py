"""What is to be done to one request.

The one way from a request and what the store knows of it to a plan: which turns are told, whether their state may go to
this target, and the edits that put it back. Nothing is changed that the plan does not name.
"""

from dataclasses import replace

from thoughtkeep.formats import Format
from thoughtkeep.identity import Trail
from thoughtkeep.profiles import Profile, family_of, withheld
from thoughtkeep.replay import Match, matches
from thoughtkeep.turns import Ask, Edit, Facts, Missed, Plan, Said


def decide(key: bytes, ask: Ask, trail: Trail, facts: Facts, form: Format, profile: Profile, group: str) -> Plan:
    """The plan for a request to a host of `group` (see profiles.group_of), of which the store knows `facts`."""
    edits: list[Edit] = []
    missed: list[Missed] = []
    found = matches(key, ask, trail, facts)
    for match in found:
        if not match.kept.turn.has_state:
            continue
        due = _due(match, ask, form, profile)
        reason = withheld(profile, group, ask, match.kept) if due else ""
        if reason:
            missed.append(Missed(match.said[0], reason))
        else:
            edits += due
    if family_of(ask.model) in profile.demands:
        told = {number for match in found for number in match.said}
        missed += [
            Missed(number, "unknown_turn")
            for number, said in enumerate(ask.said)
            if number not in told and said.calls and not _has_state(said)
        ]
    return Plan(tuple(edits), tuple(missed), tuple(match.kept.id for match in found))


def _due(match: Match, ask: Ask, form: Format, profile: Profile) -> list[Edit]:
    """The edits that give a turn its state back; where its batch was split, as one message again."""
    split = [ask.said[number] for number in match.said]
    turn = match.kept.turn
    if len(split) == 1:
        return form.restore(split[0], turn, profile, ask)
    if all(_has_state(said) for said in split):
        return []  # each message brings its own: the client's way of telling it is complete
    together = form.regroup(split) if match.whole else []
    return together + form.restore(_joined(split) if together else split[0], turn, profile, ask)


def _joined(split: list[Said]) -> Said:
    """A split batch as if it were one message."""
    messages = tuple(message for said in split for message in said.messages)
    return replace(split[0], messages=messages, pieces=tuple(piece for said in split for piece in said.pieces))


def _has_state(said: Said) -> bool:
    return any(message.state for message in said.messages) or any(piece.state for piece in said.pieces)
