"""Reading a conversation in order: runs of assistant messages, and what stands between them.

Every format walks its messages and tells this builder what each is; how the runs and their surroundings become `Said`,
and all of it the talk, is the same for all.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from thoughtkeep.formats.base import Earlier
from thoughtkeep.identity import content_digest, without_reminders
from thoughtkeep.turns import Ask, Border, Json, Kind, Message, Path, Piece, Said, Utterance, Who


class Conversation:
    """Builds the assistant turns of a request, and what was said in it.

    Goes on from the last turn that an `earlier` request has in common with it: an agent tells all of its conversation
    again in each request, and reading a long one takes some milliseconds.
    """

    def __init__(self, earlier: Earlier | None = None) -> None:
        self.first = ""
        self.talk: list[Utterance] = []
        self.listed: list[tuple[Path, Who]] = []
        self._said: list[_Run] = []
        self._open = False
        self._between = _Between()
        self._names: dict[str, str] = {}
        self._shown = ""  # what the user showed before any words: it stands for them, or later ones would be the first
        self._done: tuple[Said, ...] = ()
        self._borders: list[Border] = []
        self._begin = 0
        if earlier:
            self._go_on(*earlier)

    def _go_on(self, ask: Ask, same: int) -> None:
        """Take over what was read of an earlier request, up to the last turn that begins in its first messages.

        That turn itself is read again: it may have become longer, and results may stand behind it.
        """
        common = (number for number in reversed(range(len(ask.said))) if _begin(ask.said[number]) < same)
        last = next(common, None)
        if last is None:
            return
        said, border = ask.said[last], ask.borders[last]
        self._begin = _begin(said)
        self._done, self._borders = ask.said[:last], list(ask.borders[:last])
        self.talk, self.listed = list(ask.talk[: border.talk]), list(ask.listed[: border.listed])
        self.first, self._shown = border.first, border.shown
        self._between.words, self._between.results = [said.words], list(said.results)
        self._between.only_results = said.only_results
        self._names = {call.id: call.name for told in self._done for call in told.calls}

    def unread(self, messages: Sequence[Json]) -> Iterator[tuple[int, Json]]:
        """Each message that is to be read, with its number."""
        return enumerate(messages[self._begin :], self._begin)

    def assistant(self, at: Path, state: Mapping[str, Json], pieces: Sequence[Piece]) -> None:
        """An assistant message, at its place, with the keys on it that may be state."""
        if not self._open:
            self._borders.append(Border(len(self.talk), len(self.listed), self.first, self._shown))
            self._said.append(_Run(self._between))
            self._between = _Between()
            self._open = True
            self.first = self.first or self._shown
        self._said[-1].messages.append(Message(at, state))
        self._said[-1].pieces += pieces
        self._list(at, Who.ASSISTANT)
        for piece in pieces:
            block = piece.at or at
            if piece.call:
                self._names[piece.call.id] = piece.call.name
                self.talk.append(Utterance(Who.CALL, piece.call.arguments, at, block, piece.call.name))
            elif piece.kind is Kind.TEXT:
                self.talk.append(Utterance(Who.ASSISTANT, piece.text, at, block))

    def user(self, text: str, *, speaks: bool = True, at: Path = (), block: Path = (), mark: str = "") -> None:
        """Words of the user or of the system (`speaks` False): whatever is no assistant message and no tool result.

        `at` is the place of the message, `block` that of the words in it; `mark` stands for content without words.
        """
        self._open = False
        words = without_reminders(text)
        if speaks and (words or mark):  # what the system says may hold the date, or the model's name
            self._between.words.append(words + mark)
        self._between.only_results = False
        if speaks and not self.first:
            self.first = words
            self._shown = self._shown or mark
        who = Who.USER if speaks else Who.SYSTEM
        self._list(at, who)
        self.talk.append(Utterance(who, text, at, block or at))

    def aside(self, text: str, at: Path) -> None:
        """What the system says behind a user's message or a result, which are what they were without it."""
        self._open = False
        self._list(at, Who.ASIDE)
        self.talk.append(Utterance(Who.ASIDE, text, at, at))

    def heard(self, part: Json, *, at: Path, block: Path, speaks: bool = True) -> None:
        """A typed part of a message of the user or the system: its words, or a stand-in for an image, a file…"""
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            self.user(text, speaks=speaks, at=at, block=block)
        else:
            self.user("", speaks=speaks, at=at, block=block, mark=mark_of([part]))

    def result(self, at: Path, name: str, text: str, *, message: Path = (), mark: str = "") -> None:
        """The result of a tool call: its place, the id (or name) of the call, its text.

        `message` is where it stands, `mark` stands for what of it is no text.
        """
        self._open = False
        self._between.words.append(text + mark)
        self._between.results.append(name)
        if self._said:
            self._said[-1].answers.append(at)
            self._said[-1].answered.append(name)
            self._said[-1].answering.add(message)
        self._list(message or at, Who.RESULT)
        self.talk.append(Utterance(Who.RESULT, text, message or at, at, self._names.get(name, name)))

    def _list(self, at: Path, who: Who) -> None:
        """A message that holds results and words of the user counts as the user's."""
        if not self.listed or self.listed[-1][0] != at:
            self.listed.append((at, who))
        elif who is Who.USER:
            self.listed[-1] = (at, who)

    def ask(self) -> dict[str, Any]:
        """What an Ask has of the conversation, by the names of its fields."""
        spoken = {at for at, who in self.listed if who is Who.USER}
        return {
            "said": (*self._done, *(run.said(spoken) for run in self._said)),
            "first": self.first or self._shown,
            "words": "\n".join(self._between.words),
            "talk": tuple(self.talk),
            "listed": tuple(self.listed),
            "borders": tuple(self._borders),
        }


def _begin(said: Said) -> int:
    """The number of the message that a turn begins with."""
    number = said.messages[0].at[-1]
    assert isinstance(number, int)
    return number


def words_of(content: Json) -> str:
    """The words of a result's content: a string, or a list of typed parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def mark_of(content: Json) -> str:
    """A stand-in for what of some content is no text (images, files), cache marks left out; empty where all is."""
    parts = content if isinstance(content, list) else ()
    shown = [part for part in parts if not (isinstance(part, dict) and isinstance(part.get("text"), str))]
    bare = [
        {key: value for key, value in part.items() if key != "cache_control"} if isinstance(part, dict) else part
        for part in shown
    ]
    return content_digest(bare) if bare else ""


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
        self.answered: list[str] = []
        self.answering: set[Path] = set()

    def said(self, spoken: set[Path]) -> Said:
        before = self.before
        return Said(
            tuple(self.messages),
            tuple(self.pieces),
            words="\n".join(before.words),
            results=tuple(before.results),
            only_results=before.only_results and bool(before.results),
            answers=tuple(self.answers),
            answered=tuple(self.answered),
            shared=bool(self.answering & spoken),
        )
