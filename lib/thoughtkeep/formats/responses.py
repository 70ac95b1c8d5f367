"""OpenAI's Responses, and all who speak it (Azure, Codex's backend, xAI, DeepSeek, OpenRouter): requests.

Wire facts: a reasoning item goes back before the item that it led to; validation hangs on the item ids ("provided
without its required 'reasoning' item", "without its required following item"), so an id is sent only where the
follower has its own.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from thoughtkeep.align import align
from thoughtkeep.formats.base import Assembler, Endpoint
from thoughtkeep.formats.conversation import Conversation
from thoughtkeep.formats.responses_answer import ResponsesAssembler, is_said, item_piece
from thoughtkeep.mend import mend
from thoughtkeep.profiles import Profile
from thoughtkeep.turns import Ask, Edit, Json, Kind, Op, Path, Piece, Said, Turn

_PATH = re.compile(r"/responses$")

RESTORED = "reasoning item restored"


class ResponsesFormat:
    """The `responses` format."""

    name = "responses"
    content = "content"
    ids: tuple[str, str] | None = ("call_id", "call_id")
    unique_ids = False
    refs_bind = True
    ends = re.compile(rb"response\.(completed|incomplete|failed|done)")

    def endpoint(self, path: str, body: Json | None) -> Endpoint | None:
        """See Format."""
        if not _PATH.search(path):
            return None
        if body is None:
            return Endpoint(self, "", False)
        if not isinstance(body, dict) or not isinstance(body.get("input"), (list, str)):
            return None
        model = body.get("model")
        return Endpoint(self, model, body.get("stream") is True) if isinstance(model, str) and model else None

    def read(self, body: Json, endpoint: Endpoint) -> Ask:
        """See Format. With `previous_response_id` or `conversation` the server has the state itself."""
        talk = Conversation()
        items = body["input"]
        for number, item in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(item, dict):
                continue
            at: Path = ("input", number)
            if is_said(item):
                talk.assistant(at, {}, [item_piece(item, at)])
            elif isinstance(call_id := item.get("call_id"), str):
                talk.result(at, call_id, _words(item.get("output")))
            else:
                _heard(talk, item, at)
        if isinstance(items, str):
            talk.user(items, at=("input",))
        return Ask(
            format=self.name,
            model=endpoint.model,
            streamed=endpoint.streamed,
            **talk.ask(),
            tools=bool(body.get("tools")),
            held=bool(body.get("previous_response_id") or body.get("conversation")),
        )

    def assembler(self, profile: Profile) -> Assembler:
        """See Format."""
        return ResponsesAssembler()

    def restore(self, said: Said, turn: Turn, profile: Profile, ask: Ask) -> list[Edit]:
        """See Format. An item goes back only before the very item it led to: one left alone is refused."""
        to = list(align(_posts(turn.pieces), _posts(said.pieces)).to)
        issued, told = list(turn.pieces), list(said.pieces)
        posts = [number for number, piece in enumerate(told) if piece.kind is not Kind.THOUGHT]
        places = iter(to)
        match = [None if piece.kind is Kind.THOUGHT else next(places) for piece in issued]
        edits: list[Edit] = []
        taken: set[int] = set()
        for number, piece in enumerate(issued):
            if piece.kind is not Kind.THOUGHT:
                place = match[number]
                if place is not None:
                    other = told[posts[place]]
                    edits += mend(other.at or (), other.state, piece.state, "item state restored")
                continue
            following = next((n for n in range(number + 1, len(issued)) if issued[n].kind is not Kind.THOUGHT), None)
            place = None if following is None else match[following]
            if following is None or place is None:
                continue
            echoed = _echo(piece, told, posts[place], taken)
            if echoed is not None:
                taken.add(echoed)
                edits += mend(told[echoed].at or (), told[echoed].state, piece.state, "reasoning item completed")
            elif piece.value.get("encrypted_content") or piece.value.get("content"):  # else only the server has it
                edits += _insert(piece, issued[following], told[posts[place]])
        return edits

    def words(self, text: str) -> Json:
        """See Format."""
        return {"type": "input_text", "text": text}

    def message(self, role: Literal["user", "assistant"], text: str) -> Json:
        """See Format."""
        block = self.words(text) if role == "user" else {"type": "output_text", "text": text, "annotations": []}
        return {"type": "message", "role": role, "content": [block]}

    def question(self, body: Json, model: str, text: str, max_tokens: int, keep: Sequence[str]) -> Json:
        """See Format."""
        kept = {key: body[key] for key in ("store", *keep) if key in body}
        limit = {"max_output_tokens": max_tokens} if "max_output_tokens" in body else {}
        return {"model": model, "input": [self.message("user", text)], "stream": False, **kept, **limit}

    def question_path(self, path: str, model: str) -> str:
        """See Format."""
        return path

    def regroup(self, split: Sequence[Said]) -> list[Edit] | None:
        """See Format. Items stand by themselves: a batch is one wherever its items stand."""
        return []

    def frames(self, key: bytes, body: Json, ask: Ask) -> list[str]:
        """See Format."""
        return []


def _posts(pieces: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.kind is not Kind.THOUGHT]


def _heard(talk: Conversation, item: Mapping[str, Json], at: Path) -> None:
    """An item of the user, the system or a developer: words as a string or in typed parts; anything else is a mark."""
    speaks = item.get("role") not in ("system", "developer")
    content = item.get("content")
    if isinstance(content, str):
        talk.user(content, speaks=speaks, at=at)
        return
    for number, part in enumerate(content if isinstance(content, list) else ()):
        talk.heard(part, at=at, block=(*at, "content", number), speaks=speaks)
    if not isinstance(content, list):
        talk.heard(item, at=at, block=at, speaks=speaks)


def _words(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def _echo(piece: Piece, told: Sequence[Piece], follower: int, taken: set[int]) -> int | None:
    """The item of the request that echoes a stored one: by id, by ciphertext, or standing in its place."""
    blob = piece.state.get("encrypted_content")
    for number, other in enumerate(told):
        if other.kind is Kind.THOUGHT and number not in taken:
            if other.ref and other.ref == piece.ref:
                return number
            if blob and other.state.get("encrypted_content") == blob:
                return number
    before = follower - 1
    while before >= 0 and told[before].kind is Kind.THOUGHT:
        if before not in taken and not told[before].ref:
            return before
        before -= 1
    return None


def _insert(piece: Piece, following: Piece, follower: Piece) -> list[Edit]:
    """Put an item back before its follower; with its id only if the follower has kept its own.

    An item in plain words has no other mark than its id, and nobody checks whom it stands before (DeepSeek).
    """
    if follower.at is None or not isinstance(follower.at[-1], int):
        return []
    value = {key: inner for key, inner in piece.value.items() if key != "status"}
    if value.get("encrypted_content") and (not following.ref or follower.ref != following.ref):
        value.pop("id", None)
    return [Edit(Op.INSERT, follower.at[:-1], index=follower.at[-1], value=value, reason=RESTORED)]
