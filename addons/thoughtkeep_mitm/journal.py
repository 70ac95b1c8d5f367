"""What the log says of an exchange: a pair of lines with the same id, and one where state was due and is not restored.

A start without an end is a stalled exchange. Nothing secret: no credential, no signature, no words of a prompt.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from thoughtkeep.handover.outcome import Outcome
from thoughtkeep.show.story import Story
from thoughtkeep.turns import Ask, Edit, Plan

log = logging.getLogger("thoughtkeep")

_WHY = {"signed": "signed body"}


class Journal:
    """The lines and counts of one exchange."""

    def __init__(self, counts: Counter[str], number: str, host: str, ask: Ask) -> None:
        self._counts = counts
        self._number, self._format, self._host = number, ask.format, _printable(host)
        self._label = self._labelled(ask.model)
        self._streamed = ask.streamed
        self._turns = len(ask.said)

    def _labelled(self, model: str) -> str:
        return f"[{self._number}] {self._format} {_printable(model)} at {self._host}"

    def started(self) -> None:
        """The request is about to leave."""
        self._counts["exchanges"] += 1
        kind = "stream" if self._streamed else "plain"
        log.info(f"thoughtkeep: start {self._label}, {kind}, {self._turns} assistant turns so far")

    def switched(self, model: str) -> None:
        """Another model is asked than the client named, as the user said."""
        self._counts["requests_switched"] += 1
        log.info(f"thoughtkeep: {self._label}: {_printable(model)} is asked instead")
        self._label = self._labelled(model)

    def not_switched(self, model: str) -> None:
        """The user said so, but the request names its model where it cannot be changed."""
        log.warning(f"thoughtkeep: {self._label}: this request cannot be made to ask {_printable(model)}")

    def handed_over(self, outcome: Outcome, metadata: dict[str, Any]) -> None:
        """What was decided about the history: for the log, the counters and (primitives only) the flow's metadata."""
        metadata["thoughtkeep_handover_reason"] = outcome.reason
        metadata["handover_invoked"] = outcome.invoked
        metadata["handover_reused"] = outcome.reused
        metadata["handover_fallback_to_full_history"] = bool(outcome.failed)
        if outcome.invoked or outcome.reused:
            metadata["thoughtkeep_tokens_before"] = outcome.tokens_before
            metadata["thoughtkeep_tokens_after"] = outcome.tokens_after
            metadata["thoughtkeep_summary_ms"] = outcome.summary_ms
        if outcome.reason not in ("off", "no_prior_turn", "same_model"):
            self._counts[f"handover_{outcome.reason.removeprefix('handover_')}"] += 1
            sizes = f", about {outcome.tokens_before} tokens as {outcome.tokens_after}" if outcome.edits else ""
            took = f", summary took {outcome.summary_ms} ms" if outcome.invoked else ""
            log.info(f"thoughtkeep: {self._label}: handover: {outcome.reason}{sizes}{took}")
        if outcome.failed:
            log.warning(
                f"thoughtkeep: {self._label}: no summary ({_printable(outcome.failed)}): "
                "the history goes as it would have gone without the switch"
            )

    def planned(self, plan: Plan, made: Sequence[Edit], *, applied: bool, why: str) -> None:
        """What is done about the request; `why` says what kept the edits of a plan from being made."""
        if applied:
            self._counts["edits"] += len(made)
            self._counts["requests_restored"] += 1
            reasons = Counter(edit.reason for edit in made)
            told = ", ".join(f"{reason} ({number})" for reason, number in reasons.items())
            log.debug(f"thoughtkeep: {self._label}: {told}")
        elif plan.edits:
            self._counts["requests_not_changed"] += 1
            log.info(f"thoughtkeep: {self._label}: {len(plan.edits)} edits are due, not made: {_WHY.get(why, why)}")
        if plan.missed:
            reasons = Counter(missed.reason for missed in plan.missed)
            self._counts.update({f"missed_{reason}": number for reason, number in reasons.items()})
            told = ", ".join(f"{reason} ({number})" for reason, number in sorted(reasons.items()))
            log.info(f"thoughtkeep: {self._label}: state is due and not restored: {told}")

    def rescued(self, outcome: str) -> None:
        """What came of a refusal (see Rescues.try_again); nothing is said where it was none of ours."""
        if outcome:
            self._counts["rescued" if outcome.endswith("rescued") else "not_rescued"] += 1
            log.info(f"thoughtkeep: {self._label}: refused: {_printable(outcome)}")

    def slow_store(self) -> None:
        """The store did not answer in time."""
        self._counts["slow_fetches"] += 1
        log.warning(f"thoughtkeep: {self._label}: the store did not answer in time, the request goes as it came")

    def ended(self, story: Story) -> None:
        """The answer is over."""
        self._counts["turns_kept"] += len(story.kept)
        restored = story.deeds().get("restored", 0)
        words = [f"status {story.status}", f"captured {len(story.kept)}", f"restored {restored}"]
        if story.repaired:
            self._counts["answers_repaired"] += 1
            words.append(f"repaired {story.repaired}")
        if story.tokens:
            words.append(f"tokens {story.tokens}")
        if story.stopped:
            self._counts["captures_stopped"] += 1
            words.append(f"capture stopped: {_printable(story.stopped)}")
        log.info(f"thoughtkeep: end {self._label}, {', '.join(words)}, {story.ms} ms")


def _printable(words: str) -> str:
    """Foreign words as one short line: no control character reaches a terminal."""
    return words[:120] if words.isprintable() else "".join(char if char.isprintable() else "?" for char in words[:120])
