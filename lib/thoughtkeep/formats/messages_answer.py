"""Anthropic's Messages: putting answers together, and the blocks that both sides share."""

from collections.abc import Mapping, Sequence

from thoughtkeep.identity import content_digest
from thoughtkeep.jsontext import NotJson, arguments, loads_exact
from thoughtkeep.turns import Call, Json, Kind, Path, Piece, Turn

# The keys of blocks that clients know, drop or set themselves.
_TEXT_KEYS = frozenset(("type", "text", "citations", "cache_control"))
_CALL_KEYS = frozenset(("type", "id", "name", "input", "caller", "cache_control"))

# What makes up a thinking block: all of it must come back as it was issued.
_THOUGHT_KEYS = ("thinking", "signature", "data")

# What comes in pieces that are joined.
_GROWING = ("text", "thinking", "partial_json")

# What of a usage makes up the whole; what the cache took is not among the input (platform.claude.com "Prompt caching").
_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")

THOUGHTS = ("thinking", "redacted_thinking")


def block_piece(block: Mapping[str, Json], at: Path | None = None) -> Piece:
    """A content block as a piece. Of a thinking block everything that it holds is state."""
    kind = block.get("type")
    value = block if at is None else None
    if kind in THOUGHTS:
        state = {key: block[key] for key in _THOUGHT_KEYS if isinstance(block.get(key), str)}
        return Piece(Kind.THOUGHT, state.get("thinking", ""), state=state, value=value, at=at)
    if kind == "text":
        text = block.get("text")
        return Piece(Kind.TEXT, text if isinstance(text, str) else "", state=_rest(block, _TEXT_KEYS), at=at)
    if kind == "tool_use":
        call_id, name = block.get("id"), block.get("name")
        call = Call(
            call_id if isinstance(call_id, str) else "",
            name if isinstance(name, str) else "",
            arguments(block.get("input")),
        )
        return Piece(Kind.CALL, call=call, state=_rest(block, _CALL_KEYS), at=at)
    # A server's tool and its result are told apart by their ids; clients reformat what is in them.
    named = block.get("id") or block.get("tool_use_id")
    return Piece(Kind.OTHER, content_digest([kind, named] if named else [block]), value=value, at=at)


def _rest(block: Mapping[str, Json], known: frozenset[str]) -> dict[str, Json]:
    return {key: value for key, value in block.items() if key not in known and value is not None}


class MessagesAssembler:
    """Puts Anthropic's answers together: the events of a stream, or a plain message as the only one.

    Blocks are complete at their `content_block_stop`, or when the message ends. `redacted_thinking` comes whole in
    `content_block_start`; an omitted thinking block has a signature and no text (platform.claude.com "Thinking").
    """

    def __init__(self) -> None:
        self.served = ""
        self.upstream = ""
        self.tokens = 0
        self.reason = ""
        self.failed = False
        self._blocks: dict[int, dict[str, Json]] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}
        self._closed: set[int] = set()
        self._usage: dict[str, int] = {}
        self._finished = False

    def feed(self, events: Sequence[Json]) -> None:
        """See Assembler."""
        for event in events:
            if isinstance(event, dict):
                self._take(event)

    def _take(self, event: Mapping[str, Json]) -> None:
        kind, index = event.get("type"), event.get("index")
        if kind == "content_block_delta":
            delta = event.get("delta")
            if isinstance(index, int) and index in self._pieces and isinstance(delta, dict):
                self._delta(index, delta)
        elif kind == "content_block_start":
            block = event.get("content_block")
            if isinstance(index, int) and isinstance(block, dict):
                self._blocks[index] = dict(block)
                self._pieces[index] = {}
        elif kind == "content_block_stop":
            if isinstance(index, int) and index in self._pieces:
                self._close(index)
        elif kind == "message_start":
            self._name(event.get("message"))
        elif kind == "message_delta":
            self._count(event.get("usage"))
            delta = event.get("delta")
            if isinstance(delta, dict):
                self.reason = str(delta.get("stop_reason") or self.reason)
        elif kind == "message_stop":
            for open_ in self._pieces.keys() - self._closed:
                self._close(open_)
            self._finished = True
        elif kind == "message":
            self._plain(event)
        elif kind == "error":
            self.failed = True

    def _name(self, message: Json) -> None:
        if isinstance(message, dict):
            model = message.get("model")
            self.served = model if isinstance(model, str) else self.served
            self._count(message.get("usage"))

    def _count(self, usage: Json) -> None:
        """The start tells what the question took, the end what the answer took, and may tell both."""
        if isinstance(usage, dict):
            self._usage |= {name: usage[name] for name in _COUNTS if isinstance(usage.get(name), int)}
            self.tokens = sum(self._usage.values())

    def _delta(self, index: int, delta: Mapping[str, Json]) -> None:
        """A piece of a block: text, thinking and argument pieces are joined; a signature and unknown keys are set."""
        for key, value in delta.items():
            if key == "type":
                continue
            if key in _GROWING and isinstance(value, str):
                self._pieces[index].setdefault(key, []).append(value)
            elif key == "citation":
                self._blocks[index].setdefault("citations", [])
            elif value is not None:
                self._blocks[index][key] = value

    def _close(self, index: int) -> None:
        block, pieces = self._blocks[index], self._pieces[index]
        for key in ("text", "thinking"):
            if pieces.get(key):
                block[key] = str(block.get(key) or "") + "".join(pieces.pop(key))
        if pieces.get("partial_json"):
            raw = "".join(pieces.pop("partial_json"))
            try:
                block["input"] = loads_exact(raw.encode("utf-8", "surrogatepass"))
            except NotJson:
                block["input"] = raw  # cut short: no request can tell it
        self._closed.add(index)

    def _plain(self, message: Mapping[str, Json]) -> None:
        self._name(message)
        self.reason = str(message.get("stop_reason") or "")
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict):
                self._blocks[index] = block
                self._pieces.pop(index, None)
                self._closed.add(index)
        self._finished = True

    def alike(self, event: Json) -> Mapping[Path, bool] | None:
        """See Assembler: deltas of one block's text, thinking or arguments."""
        delta = event.get("delta") if isinstance(event, dict) and event.get("type") == "content_block_delta" else None
        if not isinstance(delta, dict):
            return None
        said = [key for key in delta if key != "type"]
        grows = len(said) == 1 and said[0] in _GROWING and isinstance(delta[said[0]], str)
        return {("delta", said[0]): True} if grows else None

    def end(self) -> None:
        """See Assembler. `message_stop` is the end; a `[DONE]` that a gateway adds says nothing."""

    @property
    def ended(self) -> bool:
        """See Assembler."""
        return self._finished and not self.failed

    def held(self) -> Json:
        """See Assembler."""
        return [*self._blocks.values(), *self._pieces.values()]

    def turns(self) -> list[Turn]:
        """See Assembler. Without the end: the blocks that were closed, up to the first that was not."""
        whole = self.ended
        blocks = []
        for index in sorted(self._blocks):
            if index not in self._closed:
                break
            blocks.append(self._blocks[index])
        pieces = tuple(block_piece(block) for block in blocks if not _unsigned(block, whole))
        prose = "".join(piece.text for piece in pieces if piece.kind is Kind.THOUGHT)
        return [Turn(pieces, prose=prose, complete=whole)] if pieces else []


def _unsigned(block: Mapping[str, Json], whole: bool) -> bool:
    """Whether a thinking block of an answer that never ended lacks its signature: it would be refused."""
    return not whole and block.get("type") == "thinking" and not block.get("signature")
