"""A conversation as blocks of lines: what was said, by whom, and the state that it carries.

State is never shown itself: its key, its size, a digest by which it is known again, and who issued it. Reasoning in
words is no secret to the user whose conversation it is, and is shown folded, each words once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thoughtkeep.handover.prompt import TAG
from thoughtkeep.identity import bare, visible
from thoughtkeep.jsontext import NotJson, canonical, loads, strings
from thoughtkeep.profiles import PROSE
from thoughtkeep.show.words import LINES, digest, fingerprint, fold, is_opaque, joined, plural, printable, short
from thoughtkeep.turns import Ask, Call, Json, Kept, Kind, Owner, Path, Piece, Said, Utterance, Who

# Names of a system prompt that stands beside the messages: Anthropic's, Google's in both spellings, OpenAI's.
_SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")

# Lines that one text of a block shows, and the values of a call's arguments.
_PROSE_LINES = 8
_ARGUMENT_LINES = 6

# A handover is read to its end.
_SUMMARY_LINES = 80

# Arguments that one call shows, and those that fit on its own line, in characters.
_ARGUMENTS = 12
_ON_ONE_LINE = 100

# Keys of state that hold reasoning in words, and keys that only say what stands beside them.
_WORDS = frozenset((*PROSE, "thinking", "text"))
_LABELS = frozenset(("type", "format", "status", "index", "name", "phase"))

# Keys of a message itself, which say nothing of what is in it.
_ENVELOPE = ("role", "content", "parts")

_TITLES = {
    Who.SYSTEM: "system",
    Who.ASIDE: "system",
    Who.USER: "user",
    Who.ASSISTANT: "assistant",
    Who.RESULT: "result",
}


@dataclass(frozen=True, slots=True)
class Block:
    """What one message (or one run of an assistant's) shows: a heading, and lines below it."""

    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Owners:
    """Who made which turn, as far as it is known: by its call ids, its state and its words."""

    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, known: Iterable[Kept]) -> "Owners":
        """From stored turns."""
        names: dict[str, str] = {}
        for kept in known:
            name = owner_name(kept.owner)
            states = [kept.turn.state, *(piece.state for piece in kept.turn.pieces)]
            names |= {digest(value): name for state in states for value in state.values()}
            names |= {f"call {call.id}": name for call in kept.turn.calls if call.id}
            names[_words_of(kept.turn.pieces)] = name
        return cls(names)

    def of_turn(self, said: Said) -> str:
        """Who made a turn that a request tells; empty where it is not known."""
        marks = [f"call {call.id}" for call in said.calls]
        marks += [digest(value) for piece in said.pieces for value in piece.state.values()]
        return next((self.names[mark] for mark in (*marks, _words_of(said.pieces)) if mark in self.names), "")

    def of_value(self, value: Json) -> str:
        """Who issued a value; empty where it is not known."""
        return self.names.get(digest(value), "")


def owner_name(owner: Owner) -> str:
    """Who issued state, in words: the model, the upstream where one is named, and the host."""
    return printable(f"{owner.served or owner.model} at {joined((owner.upstream, owner.group))}")[:160]


def _words_of(pieces: Iterable[Piece]) -> str:
    words = bare(visible(pieces))
    return f"words {fingerprint(words)}" if words else ""


def conversation(ask: Ask, body: Json, owners: Owners) -> list[Block]:
    """The blocks of a request, in its order: one a message, one a run of the assistant's messages."""
    blocks = [Block("system", tuple(fold(text))) for text in _system(body)]
    runs = {message.at: number for number, said in enumerate(ask.said) for message in said.messages}
    spoken: dict[Path, list[Utterance]] = {}
    for uttered in ask.talk:
        spoken.setdefault(uttered.at, []).append(uttered)
    shown: set[int] = set()
    for at, who in ask.listed:
        number = runs.get(at)
        if number is None:
            blocks.append(_heard(who, spoken.get(at, ()), body))
        elif number not in shown:
            shown.add(number)
            blocks.append(_said(ask.said[number], body, owners))
    return blocks


def _system(body: Json) -> list[str]:
    inner = body.get("request") if isinstance(body, dict) else None
    places = [place for place in (body, inner) if isinstance(place, dict)]
    return ["\n".join(strings_of_words(place[key])) for place in places for key in _SYSTEM if place.get(key)]


def strings_of_words(value: Json) -> list[str]:
    """The words of a prompt, however it is written: a string, or blocks and parts with a text each."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [value["text"]] if isinstance(value.get("text"), str) else strings_of_words(value.get("parts"))
    return [text for part in value for text in strings_of_words(part)] if isinstance(value, list) else []


def _heard(who: Who, spoken: Sequence[Utterance], body: Json) -> Block:
    """What the user, the system or a tool says."""
    results = [uttered for uttered in spoken if uttered.who is Who.RESULT]
    heading = _TITLES.get(who, "user")
    if who is Who.RESULT and len(results) == 1:
        heading = f"result of {short(results[0].name, 60)}"
    lines: list[str] = []
    for uttered in spoken:
        if uttered.who is Who.RESULT and len(spoken) > 1:
            lines.append(f"result of {short(uttered.name, 60)}:")
        if uttered.text:
            lines += fold(uttered.text, _SUMMARY_LINES if TAG in uttered.text else LINES)
        else:
            lines.append(f"({_named(value_at(body, uttered.block))})")
    return Block(heading, tuple(lines))


def value_at(body: Json, path: Path) -> Json:
    """What stands at a path that was read from the body."""
    for step in path:
        body = body[step]
    return body


def _named(value: Json) -> str:
    """What content without words is, by its type or its first key."""
    if isinstance(value, dict):
        kind = value.get("type") or next((key for key in value if key not in _ENVELOPE), "")
        return short(str(kind), 40) or "nothing"
    return "nothing" if not value else "no text"


def _said(said: Said, body: Json, owners: Owners) -> Block:
    maker = owners.of_turn(said)
    told = _Told(owners, maker)
    lines: list[str] = []
    for message in said.messages:
        lines += told.state(message.state)
    for piece in said.pieces:
        lines += told.piece(piece, value_at(body, piece.at or ()))
    return Block(f"assistant{f' (made by {maker})' if maker else ''}", tuple(lines))


def turn_block(heading: str, pieces: Sequence[Piece], state: Mapping[str, Json]) -> Block:
    """A turn of an answer, or one that is stored."""
    told = _Told(Owners(), "")
    lines = told.state(state)
    for piece in pieces:
        lines += told.piece(piece, piece.value)
    return Block(heading, tuple(lines))


class _Told:
    """The lines of one turn. Reasoning that comes under several names is told once."""

    def __init__(self, owners: Owners, maker: str) -> None:
        self._owners = owners
        self._maker = maker
        self._prose: set[str] = set()

    def piece(self, piece: Piece, value: Json) -> list[str]:
        """A piece with its state below it; `value` is the whole of it as it stands in the body."""
        if piece.call:
            return [*_call(piece.call), *(f"  {line}" for line in self.state(piece.state))]
        if piece.kind is Kind.TEXT:
            return [*fold(piece.text), *self.state(piece.state)]
        if piece.kind is Kind.OTHER:
            return [f"({_named(value)})", *self.state(piece.state)]
        # A thought may have its words in its state too (a block of Anthropic's), or nothing but the name of its kind.
        state = piece.state or (value if isinstance(value, dict) else {})
        if any(piece.text in strings(inner) for inner in state.values()):
            return self.state(state)
        named = [f"({short(piece.text, 40)})"] if piece.text and " " not in piece.text else self._thinking(piece.text)
        return [*named, *self.state(state)]

    def state(self, state: Mapping[str, Json]) -> list[str]:
        """State by its keys: what is opaque as a digest, reasoning as words."""
        lines: list[str] = []
        for key, value in state.items():
            name = short(key, 60)
            if isinstance(value, str) and key in _WORDS and value and not is_opaque(value):
                told = self._thinking(value)
                lines += ([] if told and key not in PROSE else [f"{name} {self._sealed(value)}"]) + told
            elif key in _LABELS or not isinstance(value, (str, dict, list)) or not value:
                lines.append(f"{name}: {_compact(value)}")
            else:
                lines.append(f"{name} {self._sealed(value)}")
                for text in strings(value):
                    if " " in text and not is_opaque(text):
                        lines += self._thinking(text)
        return lines

    def _sealed(self, value: Json) -> str:
        entries = "1 entry, " if isinstance(value, list) and len(value) == 1 else ""
        if isinstance(value, list) and not entries:
            entries = f"{len(value):,} entries, "
        issuer = self._owners.of_value(value)
        by = f" issued by {issuer}" if issuer and issuer != self._maker else ""
        return f"{entries}{digest(value)}{by}"

    def _thinking(self, text: str) -> list[str]:
        mark = fingerprint(bare(text))
        if not bare(text) or mark in self._prose:
            return []
        self._prose.add(mark)
        first, *rest = fold(text, _PROSE_LINES)
        return [f"thinking: {first}", *(f"          {line}" for line in rest)]


def _call(call: Call) -> list[str]:
    """A call with its arguments: on one line where they are short, else a line or more each."""
    name = f"call {short(call.name, 80)}"
    marked = f"   [{short(call.id, 60)}]" if call.id else ""
    if len(call.arguments) <= _ON_ONE_LINE:
        return [f"{name} {printable(call.arguments)}{marked}"]
    try:
        arguments = loads(call.arguments.encode("utf-8", "surrogatepass"))
    except NotJson:
        arguments = None
    if not isinstance(arguments, dict):
        return [f"{name}{marked}", *(f"    {line}" for line in fold(call.arguments, _ARGUMENT_LINES))]
    lines = [f"{name}{marked}"]
    for key, value in list(arguments.items())[:_ARGUMENTS]:
        told = fold(value, _ARGUMENT_LINES) if isinstance(value, str) and value else [_compact(value)]
        lines += [f"    {short(key, 60)}: {told[0]}", *(f"        {line}" for line in told[1:])]
    if len(arguments) > _ARGUMENTS:
        lines.append(f"    and {plural(len(arguments) - _ARGUMENTS, 'more argument')} {digest(call.arguments)}")
    return lines


def _compact(value: Json) -> str:
    """A value of no more than a line."""
    if isinstance(value, str):
        return short(value) or '""'
    try:
        return short(canonical(value))
    except RecursionError:
        return f"nested too deep to show {digest(value)}"
