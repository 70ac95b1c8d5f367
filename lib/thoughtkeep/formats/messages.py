"""Anthropic's Messages, and all who speak it (Vertex AI, Databricks, OpenRouter, DeepSeek, Kimi): requests.

Wire facts (platform.claude.com "Thinking", "Preserved thinking"): thinking blocks go back complete and unmodified, in
the message they came in, in their order among its text and tool_use blocks. Nothing may be set on them, no
`cache_control` either.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Literal
from urllib.parse import quote

from thoughtkeep.align import align
from thoughtkeep.formats.base import Assembler, Earlier, Endpoint
from thoughtkeep.formats.conversation import Conversation, mark_of, words_of
from thoughtkeep.formats.messages_answer import THOUGHTS, MessagesAssembler, block_piece
from thoughtkeep.formats.regroup import together
from thoughtkeep.identity import digest, is_base64, same_base64
from thoughtkeep.jsontext import canonical
from thoughtkeep.mend import mend, same_words
from thoughtkeep.profiles import Profile
from thoughtkeep.repair import Repairer
from thoughtkeep.turns import Ask, Edit, Json, Kind, Op, Path, Piece, Said, Thinking, Turn

_PATH = re.compile(r"/messages$|/publishers/anthropic/models/([^/:]+):(?:(stream)R|r)awPredict$")

RESTORED = "thinking restored"

# The longest block of a system prompt, in characters, that is a client's name and not yet its instructions.
_SELF_NAMING = 120


class MessagesFormat:
    """The `messages` format."""

    name = "messages"
    content = "content"
    ids: tuple[str, str] | None = ("id", "tool_use_id")
    unique_ids = True
    refs_bind = False
    ends = re.compile(rb'message_stop|"stop_reason"\s*:\s*"')

    def endpoint(self, path: str, body: Json | None) -> Endpoint | None:
        """See Format. Vertex names the model in the path and leaves it out of the body."""
        found = _PATH.search(path)
        if not found:
            return None
        if body is None:
            return Endpoint(self, "", False)
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list) or "max_tokens" not in body:
            return None
        model = body.get("model", found[1])
        streamed = body.get("stream") is True or bool(found[2])
        return Endpoint(self, model, streamed) if isinstance(model, str) and model else None

    def history(self, body: Json) -> tuple[Path, Sequence[Json]]:
        """See Format."""
        return ("messages",), body["messages"]

    def read(self, body: Json, endpoint: Endpoint, earlier: Earlier | None = None) -> Ask:
        """See Format."""
        talk = Conversation(earlier)
        for number, message in talk.unread(body["messages"]):
            if not isinstance(message, dict):
                continue
            at: Path = ("messages", number)
            content = message.get("content")
            if message.get("role") == "assistant":
                talk.assistant(at, {}, _pieces(content, (*at, "content")))
            elif message.get("role") == "system":
                # From Claude Opus 4.8 on, behind a message of the user and before an answer (platform.claude.com
                # "Mid-conversation system messages"). Claude Code 2.1 tells so which tools it can load.
                talk.aside(words_of(content), at)
            elif isinstance(content, str):
                talk.user(content, at=at)
            else:
                _user_blocks(talk, content, (*at, "content"))
        return Ask(
            format=self.name,
            model=endpoint.model,
            streamed=endpoint.streamed,
            **talk.ask(),
            thinking=_thinking(body.get("thinking")),
            tools=bool(body.get("tools")),
        )

    def assembler(self, profile: Profile) -> Assembler:
        """See Format."""
        return MessagesAssembler()

    def restore(self, said: Said, turn: Turn, profile: Profile, ask: Ask) -> list[Edit]:
        """See Format.

        Lost blocks go back between the blocks they came between. A client that has the blocks in another order, or in
        several messages in a row, gets the order of the answer back, in one message: a provider that checks the run of
        blocks refuses any other ("Expected `thinking` …, but found `tool_use`": CopilotKit #2191). A client that brings
        thinking of another origin has a run of its own, and no stored block belongs into it.
        """
        to = _pair(turn.pieces, said.pieces)
        edits: list[Edit] = []
        for piece, match in zip(turn.pieces, to, strict=True):
            if match is not None and (other := said.pieces[match]).at is not None:
                edits += mend(other.at, _unaltered(other, piece), piece.state, RESTORED)
        thoughts = [n for n, piece in enumerate(turn.pieces) if piece.kind is Kind.THOUGHT]
        lost = [n for n in thoughts if to[n] is None]
        found = [match for match in to if match is not None]
        own = any(p.kind is Kind.THOUGHT and n not in found for n, p in enumerate(said.pieces))
        ordered = found == sorted(found)
        one, in_a_row = len(said.messages) == 1, _in_a_row(said)
        if not thoughts or own or (one and ordered and not lost):
            return edits
        if not one and not in_a_row:
            return edits + _first_thoughts(said, turn, to)
        blocks = [piece.at for piece in said.pieces if piece.at and len(piece.at) > 3]
        if one and not blocks:
            return edits + _around_text(said, turn, (*said.messages[0].at, "content"))
        if one and ordered:
            return edits + list(_insert(said, turn, to, lost))
        complete = len(found) == len(said.pieces) and all(
            match is not None or piece.kind is Kind.THOUGHT for piece, match in zip(turn.pieces, to, strict=True)
        )
        if complete and blocks:
            return edits + _rebuild(said, turn, to, blocks[0][:-1])
        return edits if one else edits + _first_thoughts(said, turn, to)

    def words(self, text: str) -> Json:
        """See Format."""
        return {"type": "text", "text": text}

    def message(self, role: Literal["user", "assistant"], text: str) -> Json:
        """See Format."""
        return {"role": role, "content": text}

    def question(self, body: Json, model: str, text: str, max_tokens: int, keep: Sequence[str]) -> Json:
        """See Format. A subscription token wants the lines by which its client names itself, first in its `system`."""
        asked: dict[str, Json] = {"max_tokens": max_tokens, "messages": [self.message("user", text)]}
        asked |= {key: body[key] for key in keep if key in body}
        system = body.get("system")
        names = list(takewhile(lambda text: 0 < len(text) <= _SELF_NAMING, map(_block_text, _blocks(system))))
        if names:
            asked["system"] = [self.words(name) for name in names]
        if "anthropic_version" in body:  # Vertex has no model in the body
            return {"anthropic_version": body["anthropic_version"], **asked}
        return {"model": model, **asked}

    def model_path(self, path: str, model: str) -> str:
        """See Format. Only Vertex has the model in the path."""
        return re.sub(r"(/anthropic/models/)[^/:]+:", lambda found: f"{found[1]}{quote(model, safe='@')}:", path)

    def question_path(self, path: str, model: str) -> str:
        """See Format."""
        return self.model_path(path.replace(":streamRawPredict", ":rawPredict"), model)

    def repairer(self, profile: Profile) -> Repairer | None:
        """See Format."""
        return None

    def regroup(self, split: Sequence[Said]) -> list[Edit] | None:
        """See Format. The blocks of one reply stand in one message, the results of its calls in the one behind it."""
        return together(split, results=True)

    def frames(self, key: bytes, body: Json, ask: Ask) -> list[str]:
        """See Format: `system`, `tools` and all earlier messages, without thinking and without cache marks."""
        try:
            return _frames(key, body)
        except RecursionError:  # nested too deep: no thinking can be told to fit
            return []


def _frames(key: bytes, body: Json) -> list[str]:
    messages = [message for message in body["messages"] if isinstance(message, dict)]
    system = body.get("system")
    prompt = [block for block in system if not _is_billing(block)] if isinstance(system, list) else system
    frame = digest(key, canonical(_bare([prompt, body.get("tools")])))
    frames: list[str] = []
    inside = False
    for message in messages:
        is_assistant = message.get("role") == "assistant"
        if is_assistant and not inside:
            frames.append(frame)
        inside = is_assistant
        frame = digest(key, frame, canonical(_bare(message)))
    return [*frames, frame]


def _blocks(content: Json) -> list[Json]:
    return content if isinstance(content, list) else []


def _block_text(block: Json) -> str:
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else ""


def _is_billing(block: Json) -> bool:
    """Whether a block of the system prompt is Claude Code's word to the till: another one in each request (2.1.197)."""
    return _block_text(block).startswith("x-anthropic-billing-header")


def _pieces(content: Json, at: Path) -> list[Piece]:
    if isinstance(content, str):
        return [Piece(Kind.TEXT, content, at=at)] if content else []
    blocks = enumerate(_blocks(content))
    return [block_piece(block, (*at, number)) for number, block in blocks if isinstance(block, dict)]


def _user_blocks(talk: Conversation, content: Json, at: Path) -> None:
    if not content:
        talk.user("", at=at[:-1])  # empty, and yet the end of the answer before it
    for number, block in enumerate(_blocks(content)):
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result":
            answered = str(block.get("tool_use_id") or "")
            content = block.get("content")
            talk.result((*at, number), answered, words_of(content), message=at[:-1], mark=mark_of(content))
        else:
            talk.heard(block, at=at[:-1], block=(*at, number))


def _thinking(setting: Json) -> Thinking:
    kind = setting.get("type") if isinstance(setting, dict) else None
    return "absent" if not isinstance(kind, str) else "off" if kind == "disabled" else "on"


def _bare(value: Json) -> Json:
    """A part of a request without what may change under a bound thinking block: cache marks, thinking itself.

    A content that is a string is short for one text block (platform.claude.com "Messages"): clients write it so where
    they set no mark.
    """
    if isinstance(value, dict):
        kept = {key: inner for key, inner in value.items() if key != "cache_control"}
        if isinstance(text := kept.get("content"), str):
            kept["content"] = [{"type": "text", "text": text}]
        return {key: _bare(inner) for key, inner in kept.items()}
    if isinstance(value, list):
        return [_bare(inner) for inner in value if not (isinstance(inner, dict) and inner.get("type") in THOUGHTS)]
    return value


def _pair(issued: Sequence[Piece], told: Sequence[Piece]) -> list[int | None]:
    """Which block of the request each block of the answer is, in whatever order the client has them.

    Thinking blocks are known by signature or data, then by their words, empty ones by their order; the others by their
    content.
    """
    to = list(align(issued, told).to)
    thoughts: dict[int, int] = {}
    for surely in (_BY_MARK, _BY_WORDS, _EMPTY):
        for number, piece in enumerate(issued):
            if piece.kind is Kind.THOUGHT and number not in thoughts:
                kin = (n for n, other in enumerate(told) if _kinship(piece, other) == surely)
                match = next((n for n in kin if n not in thoughts.values()), None)
                thoughts |= {} if match is None else {number: match}
    for number, piece in enumerate(issued):
        if piece.kind is Kind.THOUGHT:
            to[number] = thoughts.get(number)
    taken = set(to)
    for number, piece in enumerate(issued):
        if to[number] is None and piece.kind in (Kind.TEXT, Kind.OTHER):
            same = (n for n, o in enumerate(told) if n not in taken and o.kind is piece.kind and o.text == piece.text)
            to[number] = next(same, None)
            taken.add(to[number])
    return to


def _unaltered(other: Piece, piece: Piece) -> dict[str, Json]:
    """What a block of the request has, without words that are not to the letter those that were signed.

    They would be refused; only what stands in omitted thinking is not looked at (platform.claude.com "Thinking").
    """
    altered = piece.kind is Kind.THOUGHT and piece.text not in ("", other.text)
    return {key: value for key, value in other.state.items() if not (altered and key == "thinking")}


# By what a thinking block of a request is known for one of an answer.
_NOT, _EMPTY, _BY_WORDS, _BY_MARK = range(4)


def _kinship(piece: Piece, other: Piece) -> int:
    if other.kind is not Kind.THOUGHT or ("data" in piece.state) != ("data" in other.state):
        return _NOT
    for key in ("signature", "data"):
        mark, have = piece.state.get(key), other.state.get(key)
        if mark and have:
            if same_base64(mark).startswith(same_base64(have)):
                return _BY_MARK
            if is_base64(have) or not (other.text or is_base64(mark)):  # else it is no mark
                return _NOT
    if other.text:
        return _BY_WORDS if same_words(piece.text, other.text) else _NOT
    return _EMPTY if other.state else _NOT


def _insert(said: Said, turn: Turn, to: Sequence[int | None], lost: Sequence[int]) -> Iterator[Edit]:
    """Lost blocks, each before the block that followed it, else behind the one before it.

    Where a server's tool blocks were lost between two thinking blocks they go back too: the run is checked as a whole.
    """
    wanted = set(lost)
    for number, piece in enumerate(turn.pieces):
        between = min(lost) < number < max(lost)
        if number not in wanted and not (between and to[number] is None and piece.kind is Kind.OTHER):
            continue
        follower = next((match for match in to[number + 1 :] if match is not None), None)
        leader = next((match for match in reversed(to[:number]) if match is not None), None)
        near = leader if follower is None else follower
        beside = None if near is None else said.pieces[near].at
        if beside is not None and isinstance(beside[-1], int):
            index = beside[-1] + (follower is None)
            yield Edit(Op.INSERT, beside[:-1], index=index, value=piece.value, reason=RESTORED)


def _around_text(said: Said, turn: Turn, at: Path) -> list[Edit]:
    """A client that told the message as a string gets blocks: thinking cannot stand in a string."""
    texts = [piece for piece in said.pieces if piece.kind is Kind.TEXT]
    if len(texts) != 1 or any(piece.kind in (Kind.CALL, Kind.OTHER) for piece in turn.pieces):
        return []
    issued = [piece for piece in turn.pieces if piece.kind is Kind.TEXT]
    if len(issued) != 1:
        return []
    text = {"type": "text", "text": texts[0].text}
    blocks = [text if piece.kind is Kind.TEXT else piece.value for piece in turn.pieces]
    return [Edit(Op.PUT, at[:-1], key="content", value=blocks, reason=RESTORED)]


def _in_a_row(said: Said) -> bool:
    """Whether a reply is told in messages with nothing between them, not even results."""
    numbers = [message.at[-1] for message in said.messages]
    return all(isinstance(a, int) and b == a + 1 for a, b in pairwise(numbers))


def _rebuild(said: Said, turn: Turn, to: Sequence[int | None], at: Path) -> list[Edit]:
    """The client's own blocks in the order of the answer, the lost ones between them, all in the message of `at`."""
    edits: list[Edit] = []
    for piece, match in zip(turn.pieces, to, strict=True):
        own = said.pieces[match] if match is not None else None
        if own is not None and own.at is not None and len(own.at) > 3:
            edits.append(Edit(Op.MOVE, at, index=0, source=own.at, reason=RESTORED))
        else:
            value = {"type": "text", "text": own.text} if own is not None else piece.value
            edits.append(Edit(Op.INSERT, at, index=0, value=value, reason=RESTORED))
    emptied = [message.at for message in said.messages if message.at != at[:-1]]
    return edits + [Edit(Op.REMOVE, place, reason=RESTORED) for place in emptied]


def _first_thoughts(said: Said, turn: Turn, to: Sequence[int | None]) -> list[Edit]:
    """A reply told in several messages: the blocks lost before its first block, where the reply begins."""
    first = next((n for n, match in enumerate(to) if match is not None), None)
    beside = said.pieces[to[first] or 0].at if first is not None else None
    if first is None or beside is None or not isinstance(beside[-1], int):
        return []
    lost = [piece for piece in turn.pieces[:first] if piece.kind is Kind.THOUGHT]
    return [Edit(Op.INSERT, beside[:-1], index=beside[-1], value=piece.value, reason=RESTORED) for piece in lost]
