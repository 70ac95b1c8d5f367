"""Whether a request is where a conversation changes hands.

Decided on what was captured, never on headers, keys or prompts that side requests share: whose the newest captured
assistant turn of this very conversation is. In this order, so that a client which sends the whole history again on
every turn gets the same prefix again, and so that titles, sub-agents and compaction are left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thoughtkeep.handover.record import Handover
from thoughtkeep.handover.rewrite import part
from thoughtkeep.identity import Trail
from thoughtkeep.profiles import plain_model
from thoughtkeep.replay import Match, origins
from thoughtkeep.turns import Ask, Facts, Who

# How long a provider's prompt cache stays warm, in seconds (five minutes is the usual default).
WARM = 300.0

# How long a place at which no summary could be made is left alone, in seconds.
COOL_DOWN = 120.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about a request's history.

    `border` is the place before which history is replaced, by number (that of the assistant turn behind it, their count
    for the end), None where nothing is. `handover` is the stored one that does it. `make` says that a summary is to be
    made for the end, on top of `handover` where there is one. `reason` is for log and plan.
    """

    reason: str
    border: int | None = None
    handover: Handover | None = None
    make: bool = False
    source: str = ""


def detect(
    ask: Ask,
    trail: Trail,
    found: Sequence[Match],
    facts: Facts,
    stored: Mapping[int, Handover],
    now: float,
    *,
    min_tokens: int,
    switch_from: str = "",
    skip: bool = False,
) -> Decision:
    """Decide. `stored` are the handovers to this model by the number of their place; `now` is in Unix seconds.

    `switch_from` is the model that a router says made the history; `skip` that the client asks for no handover.
    """
    end = len(ask.said)
    border = max((number for number, made in stored.items() if made.text), default=None)
    used = Decision("handover_reused", border, stored[border]) if border is not None else Decision("no_prior_turn")
    start = border or 0
    if border == end:
        return used
    if skip:
        return _instead(used, "skipped")
    makers = _makers(ask, trail, found, facts, start)
    target = plain_model(ask.model)
    source = makers[max(makers)][0] if makers else ""
    if switch_from and end > start and not (end - 1 in makers and plain_model(source) == target):
        source = switch_from  # a router may say it on every request: not where the last turn is the target's own
    if not source:
        return used
    if plain_model(source) == target:
        return used if border is not None else Decision("same_model")
    failed = stored.get(end)
    if failed is not None and now - failed.made < COOL_DOWN:
        return _instead(used, "summary_failed")
    if ask.held or _ends_on_assistant(ask):
        return _instead(used, "server_state" if ask.held else "ends_on_assistant")
    if not ask.tools and any(match.kept.tools for match in found if match.said[0] >= start):
        return _instead(used, "side_call")
    if ask.folded:  # there is a summary already, by the provider, and what it stands for cannot be read
        return _instead(used, "folded")
    if any(plain_model(model) == target and now - made < WARM for model, made in makers.values()):
        return _instead(used, "returned_warm")
    if replaced_tokens(ask, end, start) < min_tokens:
        return _instead(used, "below_min_tokens")
    return Decision("switch", border, used.handover, make=True, source=source)


def _instead(used: Decision, reason: str) -> Decision:
    """The stored handover goes on being used, and nothing is added to it, for this reason."""
    return Decision(reason, used.border, used.handover)


def _makers(ask: Ask, trail: Trail, found: Sequence[Match], facts: Facts, start: int) -> dict[int, tuple[str, float]]:
    """Who made the captured assistant turns from `start` on, and when: of this tenant, and of any other that the
    same conversation was carried on with (a change of vendor changes the key)."""
    makers = {match.said[-1]: (match.kept.owner.model, match.kept.made) for match in found if match.said[0] >= start}
    for number, origin in origins(trail, facts):
        if number >= start and number not in makers:
            makers[number] = (origin.owner.model, origin.made)
    return makers


def _ends_on_assistant(ask: Ask) -> bool:
    """Whether the assistant has the last word, an empty one or one of thinking included."""
    return next((who for _, who in reversed(ask.listed) if not who.is_system), None) is Who.ASSISTANT


def replaced_tokens(ask: Ask, border: int, start: int = 0) -> int:
    """About how many tokens a summary at `border` replaces: a quarter of the characters.

    `start` is the border of the handover that it builds on.
    """
    cut = part(ask, border, start)
    told = [u for u in cut.history if not u.who.is_system] if cut else []
    return sum(len(u.text) + len(u.name) for u in told) // 4
