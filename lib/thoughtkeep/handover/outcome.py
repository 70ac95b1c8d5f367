"""What became of a request's history: what was decided about it, the edits that do it, and figures for people."""

from dataclasses import dataclass

from thoughtkeep.turns import Edit


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided and done: the edits, and the first assistant turn that still goes out.

    `invoked` says that a summary was asked for, `failed` why none came of it. `source` is the model that had the
    conversation before. The tokens are estimates of the replaced history and of the summary.
    """

    reason: str
    edits: tuple[Edit, ...] = ()
    start: int = 0
    invoked: bool = False
    failed: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    summary_ms: int = 0
    source: str = ""

    @property
    def reused(self) -> bool:
        """Whether a stored summary was used again."""
        return self.reason == "handover_reused"

    @property
    def replaces(self) -> bool:
        """Whether a summary stands in the place of history."""
        return bool(self.edits)
