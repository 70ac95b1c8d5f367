"""What the log says of an exchange: a pair of lines with the same id, and one where state was due and is not restored.

A start without an end is a stalled exchange. Nothing secret: no credential, no signature, no words of a prompt.
"""

import logging
import time
from collections import Counter
from typing import Any

from thoughtkeep.answer import Answer
from thoughtkeep.turns import Ask, Plan
from thoughtkeep_mitm.handovers import Outcome

log = logging.getLogger("thoughtkeep")


class Journal:
    """The lines and counts of one exchange."""

    def __init__(self, counts: Counter[str], number: str, host: str, ask: Ask) -> None:
        self._counts = counts
        self._label = f"[{number}] {ask.format} {_printable(ask.model)} at {_printable(host)}"
        self._began = time.monotonic()
        self._restored = 0
        self._streamed = ask.streamed
        self._turns = len(ask.said)

    def started(self) -> None:
        """The request is about to leave."""
        self._counts["exchanges"] += 1
        kind = "stream" if self._streamed else "plain"
        log.info(f"thoughtkeep: start {self._label}, {kind}, {self._turns} assistant turns so far")

    def handed_over(self, outcome: Outcome, metadata: dict[str, Any]) -> None:
        """What was decided about the history: for the log, the counters and (primitives only) the flow's metadata."""
        reused = outcome.reason == "handover_reused"
        metadata["thoughtkeep_handover_reason"] = outcome.reason
        metadata["handover_invoked"] = outcome.invoked
        metadata["handover_reused"] = reused
        metadata["handover_fallback_to_full_history"] = bool(outcome.failed)
        if outcome.invoked or reused:
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

    def planned(self, plan: Plan, *, applied: bool, why: str) -> None:
        """What is done about the request; `why` says what kept the edits of a plan from being applied."""
        if applied:
            self._restored = len(plan.edits)
            self._counts["edits"] += len(plan.edits)
            self._counts["requests_restored"] += 1
            reasons = Counter(edit.reason for edit in plan.edits)
            told = ", ".join(f"{reason} ({number})" for reason, number in reasons.items())
            log.debug(f"thoughtkeep: {self._label}: {told}")
        elif plan.edits:
            self._counts["requests_not_changed"] += 1
            log.info(f"thoughtkeep: {self._label}: {len(plan.edits)} edits are due, not made: {why}")
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

    def ended(self, answer: Answer | None, kept: int, status: str, repaired: int = 0) -> None:
        """The answer is over. `repaired` counts its events that were made readable."""
        self._counts["turns_kept"] += kept
        spent = round((time.monotonic() - self._began) * 1000)
        words = [f"status {status}", f"captured {kept}", f"restored {self._restored}"]
        if repaired:
            self._counts["answers_repaired"] += 1
            words.append(f"repaired {repaired}")
        if answer is not None and answer.tokens:
            words.append(f"tokens {answer.tokens}")
        if answer is not None and answer.stopped:
            self._counts["captures_stopped"] += 1
            words.append(f"capture stopped: {_printable(answer.stopped)}")
        log.info(f"thoughtkeep: end {self._label}, {', '.join(words)}, {spent} ms")


def _printable(words: str) -> str:
    """Foreign words as one short line: no control character reaches a terminal."""
    return "".join(char if char.isprintable() else "?" for char in words)[:120]
