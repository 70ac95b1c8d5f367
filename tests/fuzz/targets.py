"""All that is fuzzed, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzz import answers, frames, handovers, requests, rescues, seeds, streams

#: Inputs that once broke a promise, one folder a target; the name of a file says what was wrong.
FINDINGS = Path(__file__).parent / "findings"


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that is fuzzed.

    `check` raises where a promise does not hold, and is false where the input is none; `seeds` are what it begins with.
    """

    name: str
    about: str
    check: Callable[[bytes], bool]
    seeds: Callable[[], dict[str, bytes]]

    def inputs(self) -> dict[str, bytes]:
        """The seeds and the earlier findings, by name."""
        folder = FINDINGS / self.name
        found = {path.stem: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}
        return {**self.seeds(), **found}


TARGETS = {
    target.name: target
    for target in (
        Target("events", "server-sent events", streams.check_events, streams.event_seeds),
        Target("elements", "elements of a JSON array", streams.check_elements, streams.element_seeds),
        Target("answers", "answers, put together and repaired", answers.check, seeds.answer_seeds),
        Target("frames", "frames of a WebSocket", frames.check, seeds.frame_seeds),
        Target("requests", "requests, their state put back", requests.check, seeds.request_seeds),
        Target("rescues", "refused requests, repaired", rescues.check, seeds.refusal_seeds),
        Target("handovers", "requests with a summary for their history", handovers.check, seeds.handover_seeds),
    )
}
