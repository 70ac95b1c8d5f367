"""OpenAI's Responses: putting answers together, and the items that both sides share."""

from collections.abc import Mapping, Sequence

from thoughtkeep.formats.merge import changing
from thoughtkeep.identity import content_digest
from thoughtkeep.jsontext import arguments, strings
from thoughtkeep.turns import Call, Json, Kind, Path, Piece, Turn

# Items that hold nothing but state. Compaction stands for a history that the provider folded away.
FOLDED = ("compaction", "compaction_summary")
STATES = ("reasoning", *FOLDED)

# Keys that clients know, drop or set themselves; what else stands on an item is state.
_MESSAGE_KEYS = frozenset(("type", "id", "role", "content", "status", "name", "metadata", "agent"))
_CALL_KEYS = frozenset(
    "type id call_id name namespace arguments input action operation status output created_by metadata "
    "parsed_arguments pending_safety_checks caller execution agent".split()
)

# Whoever speaks besides the model.
_OTHERS = ("user", "system", "developer")

# Of a state item that the client echoes in part, only what is opaque or demanded is filled in.
_DEMANDED = ("encrypted_content", "summary")


def is_said(item: Mapping[str, Json]) -> bool:
    """Whether an item is the model's own: its message, call or state; not what the user or a tool said."""
    kind, role = item.get("type"), item.get("role")
    if kind in (None, "message"):
        return role == "assistant"
    if role in _OTHERS:
        return False  # `additional_tools`: Codex defines its tools in an item of the developer's (0.171, gpt-6)
    if not isinstance(kind, str) or kind in ("item_reference", "mcp_approval_response"):
        return False
    # The output of a tool that the server ran itself names no call; it belongs to the answer.
    return not kind.endswith("_output") or not isinstance(item.get("call_id"), str)


def item_piece(item: Mapping[str, Json], at: Path | None = None) -> Piece:
    """An item as a piece. What is no state goes back as the client has it: of it only the id is kept.

    The text of a state item is its kind: none stands for one of another kind.
    """
    kind, call_id, named = item.get("type"), item.get("call_id"), item.get("id")
    ref = named if isinstance(named, str) else ""
    if kind in STATES:
        state = {key: item[key] for key in _DEMANDED if item.get(key) is not None}
        return Piece(Kind.THOUGHT, kind, state=state, value=item if at is None else None, at=at, ref=ref)
    if kind in (None, "message"):
        return Piece(Kind.TEXT, _text(item.get("content")), state=_rest(item, _MESSAGE_KEYS), at=at, ref=ref)
    if isinstance(call_id, str):
        name = item.get("name")
        raw = next((item[key] for key in ("arguments", "input", "action", "operation") if key in item), None)
        call = Call(call_id, name if isinstance(name, str) else str(kind), arguments(raw))
        return Piece(Kind.CALL, call=call, state=_rest(item, _CALL_KEYS), at=at, ref=ref)
    return Piece(Kind.OTHER, content_digest([kind, ref] if ref else [item]), at=at, ref=ref)


def _rest(item: Mapping[str, Json], known: frozenset[str]) -> dict[str, Json]:
    """Keys that nobody modelled, where they hold words: `phase`, and whatever comes next."""
    return {key: value for key, value in item.items() if key not in known and any(strings(value))}


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    words = [part.get("text", part.get("refusal")) for part in parts if isinstance(part, dict)]
    return "".join(word for word in words if isinstance(word, str))


def _refuses(item: Mapping[str, Json]) -> bool:
    content = item.get("content")
    parts = content if isinstance(content, list) else ()
    return any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts)


class ResponsesAssembler:
    """Puts Responses together: the items of `response.output_item.done`, or the output of the whole response.

    Never the item of `response.output_item.added`: its `encrypted_content` is shorter and no good (seen on the wire of
    OpenAI, Azure and xAI). Kinds of events are told by their data, since some streams have no `event:` lines.
    """

    def __init__(self) -> None:
        self.served = ""
        self.upstream = ""
        self.tokens = 0
        self.reason = ""
        self.failed = False
        self._items: dict[int, dict[str, Json]] = {}
        self._finished = False

    def feed(self, events: Sequence[Json]) -> None:
        """See Assembler."""
        for event in events:
            if not isinstance(event, dict):
                continue
            kind = event.get("type")
            if kind == "response.output_item.done":
                item, index = event.get("item"), event.get("output_index")
                if isinstance(item, dict):
                    self._items[index if isinstance(index, int) else len(self._items)] = item
            elif kind in ("response.failed", "response.error", "error") or event.get("error"):
                self.failed = True
            elif kind in ("response.completed", "response.incomplete", "response.done"):
                self._whole(event.get("response"))
                self._finished = True
            elif kind in ("response.created", "response.in_progress"):
                self._name(event.get("response"))
            elif isinstance(event.get("output"), list):
                self._plain(event)

    def _name(self, response: Json) -> None:
        if isinstance(response, dict):
            model, usage = response.get("model"), response.get("usage")
            self.served = model if isinstance(model, str) else self.served
            if isinstance(usage, dict) and isinstance(usage.get("total_tokens"), int):
                self.tokens = usage["total_tokens"]

    def _whole(self, response: Json) -> None:
        """The response as its end tells it: only for items that were not done before.

        It has the same items, their ciphertext made anew; Codex's backend may list none (seen on the wire).
        """
        self._name(response)
        if isinstance(response, dict):
            self.reason = str(response.get("status") or "")
        output = response.get("output") if isinstance(response, dict) else None
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                self._items.setdefault(index, item)
        if any(_refuses(item) for item in self._items.values()):
            self.reason = "refusal"

    def _plain(self, response: Mapping[str, Json]) -> None:
        if response.get("status") in ("failed", "cancelled"):
            self.failed = True
        self._whole(response)
        self._finished = response.get("status") not in ("in_progress", "queued")

    def alike(self, event: Json) -> Mapping[Path, bool] | None:
        """See Assembler: deltas, of which nothing is taken, since each item comes whole when it is done."""
        if not isinstance(event, dict) or event.get("error") or isinstance(event.get("output"), list):
            return None
        if not str(event.get("type")).endswith(".delta"):
            return None
        return changing(event, *(key for key in event if key not in ("type", "error", "output")))

    def end(self) -> None:
        """See Assembler. `response.completed` is the end; a `[DONE]` that a gateway adds says nothing."""

    @property
    def ended(self) -> bool:
        """See Assembler."""
        return self._finished and not self.failed

    def held(self) -> Json:
        """See Assembler."""
        return list(self._items.values())

    def turns(self) -> list[Turn]:
        """See Assembler. Items are done one by one: without the end, those that were."""
        items = [self._items[index] for index in sorted(self._items)]
        pieces = tuple(item_piece(item) for item in items if is_said(item))
        words = [
            strings([item.get("summary"), item.get("content")]) for item in items if item.get("type") == "reasoning"
        ]
        prose = "".join(word for found in words for word in found if word not in ("summary_text", "reasoning_text"))
        return [Turn(pieces, prose=prose, complete=self.ended)] if pieces else []
