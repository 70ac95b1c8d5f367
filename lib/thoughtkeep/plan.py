"""What is to be done to one request.

The one way from a request and what the store knows of it to a plan: which turns are told, whether their state may go to
this target, and the edits that put it back. Nothing is changed that the plan does not name.
"""

from collections.abc import Sequence

from thoughtkeep import foreign
from thoughtkeep.dues import Dues, has_state
from thoughtkeep.foreign import clean
from thoughtkeep.formats import Format
from thoughtkeep.handover import rewrite
from thoughtkeep.identity import Trail
from thoughtkeep.profiles import Profile, binds_thinking, family_of, withheld
from thoughtkeep.replay import Match, matches
from thoughtkeep.rescue import skip as skip_value
from thoughtkeep.rescue.skip import demands_signature, open_steps, put_skip
from thoughtkeep.turns import Ask, Edit, Facts, Kind, Missed, Op, Plan

# The reasons of edits that put nothing back: they go on where a request has become too long by what was put back.
NOT_ADDED = frozenset((foreign.TAKEN_OUT, foreign.LEGAL, skip_value.REASON, rewrite.REASON))


def decide(
    key: bytes,
    ask: Ask,
    trail: Trail,
    facts: Facts,
    form: Format,
    profile: Profile,
    group: str,
    *,
    found: list[Match] | None = None,
    start: int = 0,
    skip: bool = True,
    dues: Dues | None = None,
) -> Plan:
    """The plan for a request to a host of `group` (see profiles.group_of), of which the store knows `facts`.

    `start` is the first assistant turn that goes out: a handover may have replaced those before it. `found` are the
    matches of the request, where they are known already. With `skip` Google's stand-in is put where a signature is
    demanded that nobody has. `dues` remembers what earlier requests lacked.
    """
    dues = dues or Dues()
    everything = matches(ask, trail, facts) if found is None else found
    found = [match for match in everything if match.said[0] >= start]
    known = tuple(match.kept.id for match in everything)
    if ask.held:  # the server has the state itself, and takes a second copy for a duplicate
        return Plan(known=known)
    due: dict[int, Sequence[Edit]] = {}
    missed: list[Missed] = []
    for match in found:
        first, kept = match.said[0], match.kept
        if not kept.turn.has_state:
            continue
        if kept.format != ask.format:  # the same words at another endpoint: its state has no place here
            missed.append(Missed(first, "other_format"))
            continue
        edits = dues.of(match, ask, form, profile)
        reason = withheld(profile, group, ask, kept) if edits else ""
        if reason:
            missed.append(Missed(first, reason))
        elif edits:
            due[first] = edits
    cleaned = clean(key, ask, trail, found, facts, form, profile, group, start)
    if binds_thinking(ask.model):
        missed += _unbound(found, due, ask, trail)
    if family_of(ask.model) in profile.demands:
        told = {number for match in found for number in match.said}
        missed += [
            Missed(number, "unknown_turn")
            for number, said in enumerate(ask.said)
            if number >= start and number not in told and said.calls and not has_state(said)
        ]
    if skip and demands_signature(ask.model):
        cleaned += _stand_ins(ask, found, cleaned, profile, group, start)
    edits = cleaned + [edit for number in sorted(due) for edit in due[number]]
    return Plan(tuple(edits), tuple(missed), known, _since(ask, due))


def _stand_ins(
    ask: Ask, found: list[Match], cleaned: list[Edit], profile: Profile, group: str, start: int
) -> list[Edit]:
    """Google's stand-in on each step of the current turn whose signature nobody has, or whose own was taken out."""
    own = [match for match in found if match.kept.format == ask.format]
    own = [match for match in own if not withheld(profile, group, ask, match.kept)]
    known = {number for match in own for number in match.said}
    gone = {edit.at for edit in cleaned if edit.op is Op.DROP}
    edits: list[Edit] = []
    for number in open_steps(ask):
        if number < start or number in known:
            continue
        said = ask.said[number]
        places = [message.at for message in said.messages] + [piece.at for piece in said.pieces if piece.at]
        edits += put_skip(ask, said, profile, replace=any(at in gone for at in places))
    return edits


def _unbound(found: list[Match], due: dict[int, Sequence[Edit]], ask: Ask, trail: Trail) -> list[Missed]:
    """Leave out, for a model that binds thinking to what stands before it, all but the newest turns that still fit.

    A block fails where anything before it changed, and all behind it fail with it; only a leading run may be missing
    (platform.claude.com, notes on Fable 5.1). So from the newest turn back: as long as each stands behind the very
    request that it was made for, and behind no thinking that was missing when it was made.
    """
    missed: list[Missed] = []
    least, fits = 0, True
    for match in reversed(found):
        number, kept = match.said[0], match.kept
        has_thinking = any(piece.kind is Kind.THOUGHT for piece in kept.turn.pieces)
        if not has_thinking:
            continue
        fits = fits and number >= least and bool(kept.frame) and kept.frame == trail.places[number].frame
        least = max(least, kept.since)
        if not fits and number in due:
            del due[number]
            missed.append(Missed(number, "prefix_changed"))
    return missed


def _since(ask: Ask, due: dict[int, Sequence[Edit]]) -> int:
    """The first assistant turn that goes out with thinking: the client's own, or put back here."""
    thinks = (
        number
        for number, said in enumerate(ask.said)
        if number in due or any(piece.kind is Kind.THOUGHT for piece in said.pieces)
    )
    return next(thinks, len(ask.said))
