"""What was done with one exchange, and its telling: in a word, in a line, as a record.

The plan says what is due; the story says what became of it. Log, comment, marker, turn log and events are all told from
here, so that none of them says what another doesn't.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from thoughtkeep import foreign
from thoughtkeep.handover import rewrite
from thoughtkeep.handover.outcome import Outcome
from thoughtkeep.handover.switch import SWITCHED
from thoughtkeep.rescue import repair, skip
from thoughtkeep.show.words import joined, printable, short
from thoughtkeep.turns import Json, Kept, Plan

# What may be done: `on`; nothing, the plan is only told (`observe`); nothing, the body is signed (`signed`).
type Mode = Literal["on", "observe", "off", "signed"]

# What an edit's reason is to people; all others put state back.
_DEEDS = {
    rewrite.REASON: "handover",
    foreign.TAKEN_OUT: "cleaned",
    foreign.LEGAL: "cleaned",
    skip.REASON: "stand_in",
    repair.REASON: "heeded",
    SWITCHED: "switched",
}

# The deeds in the order of their weight: what a single word or marker says of an exchange.
DEEDS = ("rescued", "handover", "switched", "restored", "stand_in", "heeded", "cleaned", "repaired")


@dataclass(frozen=True, slots=True)
class Story:
    """One exchange.

    `id` begins the ids of its turns. `made` counts the edits that were made by their reasons, `client` is the client's
    body (decoded) where it was changed. `known` are the stored turns that the request tells, `kept` those that its
    answer brought. `rescued` says what a refusal was and what came of it. `ms` is from the request to the answer's end.
    """

    id: str
    tenant: str
    root: str
    format: str
    model: str
    host: str
    streamed: bool
    mode: Mode
    plan: Plan = field(default_factory=Plan)
    made: Mapping[str, int] = field(default_factory=dict)
    handover: Outcome = field(default_factory=lambda: Outcome("off"))
    client: bytes | None = None
    known: tuple[Kept, ...] = ()
    kept: tuple[Kept, ...] = ()
    switched_from: str = ""
    rescued: str = ""
    repaired: int = 0
    status: str = ""
    tokens: int = 0
    ms: int = 0
    stopped: str = ""

    @property
    def is_rescued(self) -> bool:
        """Whether a refusal was made good."""
        return self.rescued.endswith(", rescued")

    @property
    def only_told(self) -> bool:
        """Whether what the plan says is told, and none of it done."""
        return self.mode in ("observe", "signed")

    def deeds(self) -> dict[str, int]:
        """What was done to request and answer, and how often; empty where both went as they came."""
        done = Counter[str]()
        for reason, count in self.made.items():
            done[_DEEDS.get(reason, "restored")] += count
        done["rescued"] = int(self.is_rescued)
        done["repaired"] = self.repaired
        return {deed: done[deed] for deed in DEEDS if done[deed]}

    def due(self) -> dict[str, int]:
        """What the plan would do, by reasons."""
        return dict(Counter(edit.reason for edit in self.plan.edits))

    def missed(self) -> dict[str, int]:
        """State that was due and is not put back, by reasons."""
        return dict(sorted(Counter(missed.reason for missed in self.plan.missed).items()))


def word(story: Story) -> str:
    """What was done, in a word (several, the weightiest first, where several things were)."""
    return ", ".join(deed.replace("_", "-") for deed in story.deeds() if deed != "heeded") or "unchanged"


def comment(story: Story) -> str:
    """What was done, in a line; empty where nothing was."""
    deeds = story.deeds()
    lines = {
        "rescued": f"rescued ({story.rescued.removesuffix(', rescued')})",
        "handover": handover_line(story.handover),
        "switched": f"asked {short(story.model, 60)} instead of {short(story.switched_from, 60)}",
        "restored": f"restored {deeds.get('restored', 0)}",
        "stand_in": f"stand-in for {deeds.get('stand_in', 0)} lost signature{'s' * (deeds.get('stand_in', 0) != 1)}",
        "heeded": "without what was refused before",
        "cleaned": f"cleaned {deeds.get('cleaned', 0)}",
        "repaired": "answer made readable",
    }
    return joined([lines[deed] for deed in deeds])


def handover_line(outcome: Outcome) -> str:
    """A handover with its figures."""
    sizes = f"{outcome.tokens_before:,} \u2192 {outcome.tokens_after:,} tokens"
    source = f" from {short(outcome.source, 60)}" if outcome.source else ""
    again = " (summary used again)" if outcome.reused else ""
    return f"handover{source}: {sizes}{again}"


def record(story: Story) -> dict[str, Json]:
    """The exchange for programs: figures and names, no words of anybody, no state, no credential."""
    outcome = story.handover
    told: dict[str, Json] = {
        "id": story.id,
        "conversation": story.root[:16],
        "format": story.format,
        "model": printable(story.model),
        "host": printable(story.host),
        "streamed": story.streamed,
        "mode": story.mode,
        "status": story.status,
        "ms": story.ms,
        "tokens": story.tokens,
        "captured": len(story.kept),
        "calls": sum(len(kept.turn.calls) for kept in story.kept),
        "known": len(story.known),
        "done": story.deeds(),
        "edits": dict(story.made),
        "missed": story.missed(),
        "handover": {"reason": outcome.reason},
    }
    if story.only_told:
        told["due"] = story.due()
    if outcome.invoked or outcome.replaces:
        told["handover"] |= {
            "from": printable(outcome.source),
            "tokens_before": outcome.tokens_before,
            "tokens_after": outcome.tokens_after,
            "summary_ms": outcome.summary_ms,
            "failed": short(outcome.failed),
        }
    for name, value in (("rescue", story.rescued), ("stopped", story.stopped), ("switched_from", story.switched_from)):
        if value:
            told[name] = short(value)
    return told
