"""OpenAI's chat completions: putting answers together, streamed and plain, and the pieces that both sides share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from thoughtkeep.formats.chat_calls import OpenCalls
from thoughtkeep.formats.merge import add_block, add_entry, changing
from thoughtkeep.identity import content_digest, think_tag
from thoughtkeep.jsontext import arguments, settled, strings
from thoughtkeep.profiles import ENTRIES, FURNITURE, PROSE, Profile
from thoughtkeep.turns import Call, Json, Kind, Path, Piece, Turn

# The keys of a tool call that the format models; `index` only numbers the deltas of a stream.
_CALL_KEYS = frozenset(("id", "type", "function", "custom", "index"))
_FUNCTION_KEYS = frozenset(("name", "arguments", "input"))

# Content blocks that are visible words, and those that are reasoning (Mistral; Databricks fmapi-schema; Anthropic's).
_TEXT_BLOCKS = ("text", "output_text", "refusal")
_THOUGHT_BLOCKS = ("thinking", "reasoning", "redacted_thinking")


def call_piece(call: Mapping[str, Json], at: Path | None = None) -> Piece:
    """A tool call as a piece: what OpenAI's shape does not model is its state (`function/x` inside `function`)."""
    kind = "function" if isinstance(call.get("function"), dict) else "custom"
    inner = call.get(kind)
    inner = inner if isinstance(inner, dict) else {}
    state = {key: value for key, value in call.items() if key not in _CALL_KEYS and value is not None}
    state |= {f"{kind}/{key}": value for key, value in inner.items() if key not in _FUNCTION_KEYS and value is not None}
    raw = inner.get("arguments", inner.get("input"))
    name, call_id = inner.get("name"), call.get("id")
    return Piece(
        Kind.CALL,
        call=Call(call_id if isinstance(call_id, str) else "", name if isinstance(name, str) else "", arguments(raw)),
        state=state,
        at=at,
    )


def content_pieces(content: Json, at: Path | None = None) -> list[Piece]:
    """The pieces of a message's content: one for a string, one a block for an array."""
    if isinstance(content, str):
        return [Piece(Kind.TEXT, content, at=at)] if content else []
    blocks = content if isinstance(content, list) else ()
    return [_block_piece(block, None if at is None else (*at, number)) for number, block in enumerate(blocks)]


def _block_piece(block: Json, at: Path | None) -> Piece:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in _TEXT_BLOCKS:
        text = block.get("text", block.get("refusal"))
        return Piece(Kind.TEXT, text if isinstance(text, str) else "", value=block, at=at)
    if kind in _THOUGHT_BLOCKS:
        prose = "".join(_said(block.get(key)) for key in ("thinking", "summary", "text", "content"))
        return Piece(Kind.THOUGHT, prose, value=block, at=at)
    return Piece(Kind.OTHER, content_digest(block), value=block, at=at)


def _said(value: Json) -> str:
    """The words of a text, or of a list of entries with a text each; no signature that stands beside it."""
    entries = value if isinstance(value, list) else [value]
    texts = [entry.get("text") if isinstance(entry, dict) else entry for entry in entries]
    return "".join(text for text in texts if isinstance(text, str))


def is_prose_only(key: str, value: Json) -> bool:
    """Whether a message key holds reasoning in words, and no signature or ciphertext that must come with them."""
    if key not in ENTRIES or not isinstance(value, list):
        return key in PROSE
    return bool(value) and all(
        isinstance(entry, dict) and not any(entry.get(name) for name in ("signature", "data", "encrypted_content"))
        for entry in value
    )


# The keys of an entry of `reasoning_details` that holds words only.
_PROSE_ENTRY = frozenset(("type", "text", "summary", "thinking", "index", "id", "format", "signature"))


@dataclass(slots=True)
class _Choice:
    """One choice on its way."""

    profile: Profile
    text: list[str] = field(default_factory=list)
    blocks: list[Json] | None = None
    calls: OpenCalls = field(default_factory=OpenCalls)
    prose: dict[str, list[str]] = field(default_factory=dict)
    state: dict[str, Json] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    finished: bool = False

    def take(self, delta: Mapping[str, Json], whole: bool) -> None:
        """One delta, or the message of a plain answer (`whole`)."""
        for key, value in delta.items():
            if key == "content":
                self._content(value, whole)
            elif key == "tool_calls":
                for piece in value if isinstance(value, list) else ():
                    if isinstance(piece, dict):
                        self.calls.take(piece, whole=whole)
            elif value is None or key in FURNITURE:
                continue
            elif key in PROSE:
                self._prose(key, value)
            elif key in ENTRIES and isinstance(value, list):
                if not isinstance(entries := self.state.get(key), list):  # something else may stand there
                    entries = self.state[key] = []
                for piece in value:
                    self._entry(entries, piece, whole)
            else:
                self._other(key, value)
        for prose, opaque in self.profile.pairs:
            if delta.get(opaque):  # the prose up to here belongs to this opaque value, and to no other
                self.closed.pop(prose, None)
                if said := self.prose.pop(prose, None):
                    self.closed[prose] = "".join(said)

    def _content(self, value: Json, whole: bool) -> None:
        if isinstance(value, str):
            if self.blocks is None:
                self.text.append(value)
            elif value:
                add_block(self.blocks, {"type": "text", "text": value})
        elif isinstance(value, list):
            if self.blocks is None:
                words = "".join(self.text)
                self.blocks = [{"type": "text", "text": words}] if words else []
            for block in value:
                self.blocks.append(block) if whole else add_block(self.blocks, block)

    def _prose(self, key: str, value: Json) -> None:
        if not isinstance(value, str):
            self.state[key] = value
            return
        said = self.prose.setdefault(key, [])
        if self.profile.cumulative and said and value.startswith(so_far := "".join(said)) and len(value) > len(so_far):
            said[:] = [value]
        else:
            said.append(value)

    def _entry(self, entries: list[Json], piece: Json, whole: bool) -> None:
        if whole:  # only a stream has entries in pieces: what a plain answer parts is parted
            entries.append(piece)
        else:
            add_entry(entries, piece, cumulative=self.profile.cumulative)

    def _other(self, key: str, value: Json) -> None:
        """A key that nobody told us of. Deltas append; a value that comes again whole is the same value."""
        have = self.state.get(key)
        if any(key == opaque for _, opaque in self.profile.pairs):
            self.state[key] = value
        elif isinstance(have, str) and isinstance(value, str):
            self.state[key] = have if value == have else have + value
        elif isinstance(have, list) and isinstance(value, list):
            have.extend(item for item in value if item not in have)
        elif isinstance(have, dict) and isinstance(value, dict):
            self.state[key] = {**have, **value}
        else:
            self.state[key] = list(value) if isinstance(value, list) else value

    def held(self) -> Json:
        calls = [[call.value, call.arguments] for call in self.calls.calls]
        return [self.text, self.blocks, calls, self.prose, self.state, self.closed]

    def turn(self, complete: bool) -> Turn:
        """The choice as a turn: the whole of it, or (not complete) what had closed with a signature."""
        if not complete:
            return self._partial()
        prose = {name: "".join(said) for name, said in self.prose.items()} | self.closed
        pieces = self._pieces()
        shown = "".join(piece.text for piece in pieces if piece.kind is Kind.THOUGHT)
        state = _returned({**prose, **settled(self.state)}, self.profile)
        names = tuple(name for name in PROSE if name in prose)
        words = next((prose[name] for name in names if prose[name]), "") or _entry_words(state) or shown
        return Turn(tuple(pieces), state, words, names)

    def _pieces(self) -> list[Piece]:
        text = "".join(self.text)
        if self.blocks is not None:
            pieces = content_pieces(settled(self.blocks))
        elif self.profile.think_tags and (tag := think_tag(text)):
            pieces = [Piece(Kind.THOUGHT, tag, value=tag), Piece(Kind.TEXT, text[len(tag) :])]
        else:
            pieces = content_pieces(text)
        return pieces + [call_piece(call.told()) for call in self.calls.calls]

    def _partial(self) -> Turn:
        """What an answer that never ended had closed: signed entries, complete calls; no prose, no opaque rest."""
        signed = ("signature", "data", "encrypted_content")
        state: dict[str, Json] = {}
        for key in ENTRIES:
            entries = settled(self.state.get(key))
            entries = entries if isinstance(entries, list) else ()
            kept = [entry for entry in entries if isinstance(entry, dict) and any(entry.get(name) for name in signed)]
            if kept:
                state[key] = kept
        pieces = content_pieces("".join(self.text))
        for call in self.calls.calls:
            if not call.is_whole:
                break
            pieces.append(call_piece(call.told()))
        return Turn(tuple(pieces), _returned(state, self.profile), complete=False)


def _returned(found: Mapping[str, Json], profile: Profile) -> dict[str, Json]:
    """The message keys that go back to this vendor, the same words only once."""
    order = (*ENTRIES, *PROSE) if profile.returns is None else profile.returns
    keys = sorted(found, key=lambda key: order.index(key) if key in order else len(order))
    state: dict[str, Json] = {}
    for key in keys:
        value = found[key]
        if profile.returns is not None and key not in profile.returns:
            continue
        if key not in (*PROSE, *ENTRIES) and not any(strings(value)):
            continue  # a flag or a number is no state
        if key in PROSE and any(state.get(entries) for entries in ENTRIES):
            continue  # the entries are the source, the prose repeats them
        if value and any(_repeats(value, other) for name, other in state.items() if _alike(key, name)):
            continue
        state[key] = value
    return state


def _alike(key: str, other: str) -> bool:
    """Whether two keys may hold the same state under two names."""
    return (key in PROSE) == (other in PROSE) and key not in ENTRIES and other not in ENTRIES


def _repeats(value: Json, other: Json) -> bool:
    words = strings(value)
    return bool(words) and set(words) <= set(strings(other))


def _entry_words(state: Mapping[str, Json]) -> str:
    entries = next((state[key] for key in ENTRIES if isinstance(state.get(key), list) and state[key]), ())
    words = [
        entry.get(name) for entry in entries if isinstance(entry, dict) for name in ("text", "summary", "thinking")
    ]
    return "".join(word for word in words if isinstance(word, str))


def _growing(key: str, value: Json) -> list[Path] | None:
    """The texts of a key of a delta that the next delta may go on with; None where it says anything else."""
    if isinstance(value, str) and key in ("content", *PROSE):
        return [(key,)]
    if value in (None, "", []) or (key in FURNITURE and key not in ("content", "tool_calls", "refusal")):
        return []
    entry = value[0] if isinstance(value, list) and len(value) == 1 else None
    if not isinstance(entry, dict):
        return None
    if key in ENTRIES and entry.keys() <= _PROSE_ENTRY and not entry.get("signature"):
        return [(key, 0, name) for name in ("text", "summary", "thinking") if isinstance(entry.get(name), str)]
    if key == "tool_calls" and isinstance(entry.get("index"), int) and not entry.get("id"):
        inner = entry.get("function")
        if isinstance(inner, dict) and not inner.get("name") and isinstance(inner.get("arguments"), str):
            return [(key, 0, "function", "arguments")]
    return None


class ChatAssembler:
    """Puts chat completions together: deltas of a stream, or the messages of a plain answer."""

    def __init__(self, profile: Profile) -> None:
        self.served = ""
        self.upstream = ""
        self.tokens = 0
        self.reason = ""
        self.failed = False
        self._profile = profile
        self._choices: dict[int, _Choice] = {}
        self._done = False

    def feed(self, events: Sequence[Json]) -> None:
        """See Assembler."""
        for event in events:
            if not isinstance(event, dict):
                continue
            if event.get("error"):
                self.failed = True
            if not self.served and isinstance(event.get("model"), str):
                self.served = event["model"]
            if not self.upstream and isinstance(event.get("provider"), str):
                self.upstream = event["provider"]
            usage = event.get("usage")
            if isinstance(usage, dict) and isinstance(usage.get("total_tokens"), int):
                self.tokens = usage["total_tokens"]
            choices = event.get("choices")
            if isinstance(choices, list):
                for choice in choices:
                    if isinstance(choice, dict):
                        self._choice(choice)

    def _choice(self, choice: Mapping[str, Json]) -> None:
        index = choice.get("index")
        number = 0 if self._profile.joins_choices or not isinstance(index, int) else index
        have = self._choices.get(number)
        if have is None:
            have = self._choices[number] = _Choice(self._profile)
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            have.take(delta, whole=False)
        elif isinstance(message, dict):
            have.take(message, whole=True)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.reason = reason
        for said in (delta, message):
            if isinstance(said, dict) and said.get("refusal"):
                self.reason = "refusal"
        if reason == "error":
            self.failed = True
        elif reason or isinstance(message, dict):  # a plain answer is whole even where it gives no reason (Snowflake)
            have.finished = True

    def end(self) -> None:
        """See Assembler."""
        self._done = True

    def alike(self, event: Json) -> Mapping[Path, bool] | None:
        """See Assembler: deltas of one choice that only say more of the same."""
        if self._profile.cumulative or not isinstance(event, dict) or event.get("error"):
            return None
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
        if not isinstance(choice, dict) or choice.get("message") or choice.get("finish_reason"):
            return None
        delta = choice.get("delta")
        if not isinstance(delta, dict) or any(delta.get(opaque) for _, opaque in self._profile.pairs):
            return None
        grows: list[Path] = []
        for key, value in delta.items():
            more = _growing(key, value)
            if more is None:
                return None
            grows += more
        if not grows:
            return None
        said = {("choices", 0, "delta", *path): True for path in grows}
        return {**said, **changing(event, "created", "obfuscation", "usage")}

    @property
    def ended(self) -> bool:
        """See Assembler: every choice said why it finished, or the stream said that it was done."""
        if self.failed or not self._choices:
            return False
        return self._done or all(choice.finished for choice in self._choices.values())

    def held(self) -> Json:
        """See Assembler."""
        return [choice.held() for choice in self._choices.values()]

    def turns(self) -> list[Turn]:
        """See Assembler."""
        whole = not self.failed
        return [choice.turn(whole and (self._done or choice.finished)) for _, choice in sorted(self._choices.items())]
