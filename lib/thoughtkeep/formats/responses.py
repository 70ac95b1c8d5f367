"""OpenAI's Responses, and all who speak it (Azure, Codex's backend, xAI, DeepSeek, OpenRouter): requests.

Wire facts: a reasoning item goes back before the item that it led to; validation hangs on the item ids ("provided
without its required 'reasoning' item", "without its required following item"), so an id is sent only where the
follower has its own.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from thoughtkeep.align import align
from thoughtkeep.formats.base import Assembler, Earlier, Endpoint
from thoughtkeep.formats.conversation import Conversation, mark_of, words_of
from thoughtkeep.formats.responses_answer import FOLDED, ResponsesAssembler, is_said, item_piece
from thoughtkeep.mend import mend
from thoughtkeep.profiles import Profile
from thoughtkeep.repair import Repairer
from thoughtkeep.turns import Ask, Edit, Json, Kind, Op, Path, Piece, Said, Turn

_PATH = re.compile(r"/responses$")

RESTORED = "reasoning item restored"
COMPLETED = "reasoning item completed"
UNNAMED = "id taken off an item whose reasoning is lost"


class ResponsesFormat:
    """The `responses` format."""

    name = "responses"
    content = "content"
    ids: tuple[str, str] | None = ("call_id", "call_id")
    unique_ids = False
    refs_bind = True
    ends = re.compile(rb'response\.(completed|incomplete|failed|done)|"status"\s*:\s*"(completed|incomplete)"')

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

    def history(self, body: Json) -> tuple[Path, Sequence[Json]]:
        """See Format."""
        items = body["input"]
        return ("input",), items if isinstance(items, list) else ()

    def read(self, body: Json, endpoint: Endpoint, earlier: Earlier | None = None) -> Ask:
        """See Format. With `previous_response_id` or `conversation` the server has the state itself."""
        talk = Conversation(earlier)
        items = body["input"]
        for number, item in talk.unread(items if isinstance(items, list) else ()):
            if not isinstance(item, dict):
                continue
            at: Path = ("input", number)
            if is_said(item):
                talk.assistant(at, {}, [item_piece(item, at)])
            elif isinstance(call_id := item.get("call_id"), str):
                talk.result(at, call_id, words_of(item.get("output")), mark=mark_of(item.get("output")))
            else:
                _heard(talk, item, at)
        if isinstance(items, str):
            talk.user(items, at=("input",))
        return Ask(
            format=self.name,
            model=endpoint.model,
            streamed=endpoint.streamed,
            **talk.ask(),
            tools=bool(body.get("tools")) or _has(items, "additional_tools"),
            folded=_has(items, *FOLDED),
            # What the server keeps itself it would take a copy of for a duplicate.
            held=bool(body.get("previous_response_id") or body.get("conversation")) or _has(items, "item_reference"),
        )

    def assembler(self, profile: Profile) -> Assembler:
        """See Format."""
        return ResponsesAssembler()

    def restore(self, said: Said, turn: Turn, profile: Profile, ask: Ask) -> list[Edit]:
        """See Format. An item goes back before the very item it led to, or before what the client has left of its run.

        What keeps its id is refused without the reasoning that it needs ("provided without its required 'reasoning'
        item"). Where that cannot stand there under its own id, the id goes: nothing is demanded without it (taken from
        earendil-works/pi, which does so on a change of model).
        """
        to = _pair(_posts(turn.pieces), _posts(said.pieces))
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
            run = _run(issued, number)
            left = [(issued[n], posts[place]) for n in run if (place := match[n]) is not None]
            if not left:
                continue
            follower = left[0][1]
            named = bool(issued[run[0]].ref) and issued[run[0]].ref == told[follower].ref
            others = [other.state.get("encrypted_content") for other in issued if other is not piece]
            echoed = _echo(piece, told, follower, taken, [blob for blob in others if blob])
            if echoed is not None:
                taken.add(echoed)
                edits += _complete(piece, told, echoed, follower, run[0] - number - 1, named=named)
                named = named or bool(told[echoed].ref)
            elif piece.value.get("encrypted_content") or piece.value.get("content"):  # else only the server has it
                edits += _insert(piece, told[_front(issued[number + 1 : run[0]], told, follower)], named=named)
            if not named and piece.value.get("encrypted_content"):
                edits += [
                    Edit(Op.DROP, told[n].at or (), key="id", reason=UNNAMED)
                    for post, n in left
                    if post.ref and post.ref == told[n].ref
                ]
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

    def model_path(self, path: str, model: str) -> str:
        """See Format."""
        return path

    def question_path(self, path: str, model: str) -> str:
        """See Format."""
        return path

    def repairer(self, profile: Profile) -> Repairer | None:
        """See Format."""
        return None

    def regroup(self, split: Sequence[Said]) -> list[Edit] | None:
        """See Format. Items stand by themselves: a batch is one wherever its items stand."""
        return []

    def frames(self, key: bytes, body: Json, ask: Ask) -> list[str]:
        """See Format."""
        return []


def _has(items: Json, *kinds: str) -> bool:
    """Whether an item of one of these types is there."""
    return isinstance(items, list) and any(isinstance(item, dict) and item.get("type") in kinds for item in items)


def _pair(issued: Sequence[Piece], told: Sequence[Piece]) -> list[int | None]:
    """Which item of the request each item of the answer is; those that a client reworded are known by their order."""
    to = list(align(issued, told).to)
    if [piece.kind for piece in issued] == [piece.kind for piece in told]:
        to = [number if match is None and number not in to else match for number, match in enumerate(to)]
    return to


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


def _echo(piece: Piece, told: Sequence[Piece], follower: int, taken: set[int], others: Collection[Json]) -> int | None:
    """The item of the request that echoes a stored one: by id, by ciphertext, or standing in its place.

    What stands there whole under another id is the same item too: some gateways name and seal it anew with each event
    that tells of it.
    """
    blob = piece.state.get("encrypted_content")
    free = [n for n, other in enumerate(told) if other.kind is Kind.THOUGHT and n not in taken]
    for number in free:
        if blob and told[number].state.get("encrypted_content") == blob:
            return number
    for number in free:  # ids repeat (xAI): with the ciphertext of another item it is that one
        same = bool(told[number].ref) and told[number].ref == piece.ref
        if same and told[number].state.get("encrypted_content") not in others:
            return number
    before = follower - 1
    while before >= 0 and told[before].kind is Kind.THOUGHT:
        other, have = told[before], told[before].state.get("encrypted_content")
        if before in free and other.text == piece.text and have not in others and (have or not other.ref):
            return before
        before -= 1
    return None


def _run(issued: Sequence[Piece], number: int) -> list[int]:
    """The items that a reasoning item led to: those behind it, up to the next one."""
    run: list[int] = []
    for n in range(number + 1, len(issued)):
        if issued[n].kind is not Kind.THOUGHT:
            run.append(n)
        elif run:
            break
    return run


def _front(between: Sequence[Piece], told: Sequence[Piece], follower: int) -> int:
    """The item before which one goes: its follower, or those of the issued ones in between that the client has."""
    marks = {mark for piece in between for mark in (piece.ref, piece.state.get("encrypted_content")) if mark}
    while follower and told[follower - 1].kind is Kind.THOUGHT:
        other = told[follower - 1]
        if not marks & {other.ref, other.state.get("encrypted_content")}:
            break
        follower -= 1
    return follower


def _complete(
    piece: Piece, told: Sequence[Piece], echoed: int, follower: int, between: int, *, named: bool
) -> list[Edit]:
    """Complete an item that the client echoes, and carry it before its follower if it stands elsewhere.

    A blob that is shorter than the issued one under the same id is the preliminary one of `output_item.added`; those of
    the end are made anew, but as long (OpenAI 844, then 1060 characters; seen on the wire).
    """
    other = told[echoed]
    have, blob = other.state, piece.state.get("encrypted_content")
    if blob and other.ref and other.ref == piece.ref and len(have.get("encrypted_content") or blob) < len(blob):
        have = {key: value for key, value in have.items() if key != "encrypted_content"}
    at, to = other.at or (), told[follower].at or ()
    edits = list(mend(at, have, piece.state, COMPLETED))
    if named and piece.ref and not other.ref:
        edits.append(Edit(Op.PUT, at, key="id", value=piece.ref, reason=COMPLETED))
    gap = told[echoed + 1 : follower]
    beside = echoed < follower and len(gap) <= between and all(each.kind is Kind.THOUGHT for each in gap)
    if blob and not beside and to and isinstance(to[-1], int):
        edits.append(Edit(Op.MOVE, to[:-1], index=to[-1], source=at, reason=COMPLETED))
    return edits


def _insert(piece: Piece, follower: Piece, *, named: bool) -> list[Edit]:
    """Put an item back before its follower; with its id only if the follower has kept its own.

    An item in plain words has no other mark than its id, and nobody checks whom it stands before (DeepSeek).
    """
    if follower.at is None or not isinstance(follower.at[-1], int):
        return []
    value = {key: inner for key, inner in piece.value.items() if key != "status"}
    if value.get("encrypted_content") and not named:
        value.pop("id", None)
    return [Edit(Op.INSERT, follower.at[:-1], index=follower.at[-1], value=value, reason=RESTORED)]
