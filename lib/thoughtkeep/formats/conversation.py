"""Reading a conversation in order: runs of assistant messages, and what stands between them.

Every format walks its messages and tells this builder what each is; how the runs and their surroundings become `Said`
is the same for all.
"""

from collections.abc import Mapping, Sequence

from thoughtkeep.identity import without_reminders
from thoughtkeep.turns import Json, Message, Path, Piece, Said


class Conversation:
    """Builds the assistant turns of a request."""

    def __init__(self) -> None:
        self.first = ""
        self._said: list[_Run] = []
        self._open = False
        self._between = _Between()

    def assistant(self, at: Path, state: Mapping[str, Json], pieces: Sequence[Piece]) -> None:
        """An assistant message, at its place, with the keys on it that may be state."""
        if not self._open:
            self._said.append(_Run(self._between))
            self._between = _Between()
            self._open = True
        self._said[-1].messages.append(Message(at, state))
        self._said[-1].pieces += pieces

    def user(self, text: str, *, speaks: bool = True) -> None:
        """Words of the user or of the system (`speaks` False): whatever is no assistant message and no tool result."""
        self._open = False
        self._between.words.append(text)
        self._between.only_results = False
        if speaks and not self.first:
            self.first = without_reminders(text)

    def result(self, at: Path, name: str, text: str) -> None:
        """The result of a tool call: its place, the id (or name) of the call, its text."""
        self._open = False
        self._between.words.append(text)
        self._between.results.append(name)
        if self._said:
            self._said[-1].answers.append(at)

    def said(self) -> tuple[Said, ...]:
        """The assistant turns, in order."""
        return tuple(run.said() for run in self._said)

    def words(self) -> str:
        """What came after the last assistant turn."""
        return "\n".join(self._between.words)


class _Between:
    def __init__(self) -> None:
        self.words: list[str] = []
        self.results: list[str] = []
        self.only_results = True


class _Run:
    def __init__(self, before: _Between) -> None:
        self.before = before
        self.messages: list[Message] = []
        self.pieces: list[Piece] = []
        self.answers: list[Path] = []

    def said(self) -> Said:
        before = self.before
        return Said(
            tuple(self.messages),
            tuple(self.pieces),
            words="\n".join(before.words),
            results=tuple(before.results),
            only_results=before.only_results and bool(before.results),
            answers=tuple(self.answers),
        )
