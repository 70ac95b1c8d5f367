"""OpenAI's chat completions, and all who speak it: requests.

Wire facts: reasoning stands on the assistant message (`reasoning_content`, `reasoning_details`…), on the tool call as a
sibling of `function` (`extra_content`, `thoughtSignature`…), or among the content as typed blocks (Mistral's, those of
Databricks).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import quote

from thoughtkeep.align import align
from thoughtkeep.formats.base import Assembler, Earlier, Endpoint
from thoughtkeep.formats.chat_answer import ChatAssembler, call_piece, content_pieces, is_prose_only
from thoughtkeep.formats.chat_repair import ChatRepairer
from thoughtkeep.formats.conversation import Conversation, mark_of, words_of
from thoughtkeep.formats.regroup import together
from thoughtkeep.identity import bare, visible
from thoughtkeep.mend import mend, same_words
from thoughtkeep.profiles import FURNITURE, PROSE, Profile
from thoughtkeep.repair import Repairer
from thoughtkeep.turns import Ask, Edit, Json, Kind, Message, Op, Path, Piece, Said, Thinking, Turn

_PATH = re.compile(r"/chat/completions$|/serving-endpoints/([^/]+)/invocations$")

# Azure names the model in the path only.
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/chat/completions$")

_ASSISTANT = ("assistant", "model")  # Google's own examples for its compat endpoint say `model`

CONTENT_RESTORED = "reasoning in the content restored"

# OpenRouter's entries for Gemini name the call that they belong to (captured in MadAppGang/claudish).
_FOLLOWS_CALL = "google-gemini-v1"


class ChatFormat:
    """The `chat` format."""

    name = "chat"
    content = "content"
    ids: tuple[str, str] | None = ("id", "tool_call_id")
    unique_ids = False
    refs_bind = False
    ends = re.compile(rb'"finish_reason"\s*:\s*[^\sn]')  # whatever is not null

    def endpoint(self, path: str, body: Json | None) -> Endpoint | None:
        """See Format. Databricks' older path and Azure's name the model themselves."""
        found = _PATH.search(path)
        if not found:
            return None
        if body is None:
            return Endpoint(self, "", False)
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            return None
        named = found[1] or (deployment[1] if (deployment := _DEPLOYMENT.search(path)) else "")
        model = body.get("model") or named
        return Endpoint(self, model, body.get("stream") is True) if isinstance(model, str) and model else None

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
            role = message.get("role")
            if role in _ASSISTANT:
                state = {key: value for key, value in message.items() if key not in FURNITURE}
                talk.assistant(at, state, _pieces(message, at))
            elif role in ("tool", "function"):
                answered = message.get("tool_call_id") or message.get("name")
                content = message.get("content")
                talk.result(at, str(answered or ""), words_of(content), mark=mark_of(content))
            else:
                _heard(talk, message.get("content"), (*at, "content"), role == "user")
        choices = body.get("n")
        return Ask(
            format=self.name,
            model=endpoint.model,
            streamed=endpoint.streamed,
            **talk.ask(),
            thinking=_thinking(body),
            pins=_pins(body.get("provider")),
            choices=choices if isinstance(choices, int) else 1,
            tools=bool(body.get("tools") or body.get("functions")),
        )

    def assembler(self, profile: Profile) -> Assembler:
        """See Format."""
        return ChatAssembler(profile)

    def restore(self, said: Said, turn: Turn, profile: Profile, ask: Ask) -> list[Edit]:
        """See Format."""
        issued, told = [p for p in turn.pieces if p.call], [p for p in said.pieces if p.call]
        pairs = align(issued, told)
        ids: dict[str, str] = {}
        edits: list[Edit] = []
        for number, match in enumerate(pairs.to):
            if match is not None:
                ids[turn.calls[number].id] = said.calls[match].id
                other = told[match]
                edits += mend(other.at or (), other.state, issued[number].state, "call state restored")
        edits += _message_edits(said, turn, ids)
        content = list(_content_edits(said, turn))
        if content:  # its reasoning stands in the content again, not beside it
            edits += _renamed(said, turn)
        return edits + content

    def frames(self, key: bytes, body: Json, ask: Ask) -> list[str]:
        """See Format."""
        return []

    def words(self, text: str) -> Json:
        """See Format."""
        return {"type": "text", "text": text}

    def message(self, role: Literal["user", "assistant"], text: str) -> Json:
        """See Format."""
        return {"role": role, "content": text}

    def question(self, body: Json, model: str, text: str, max_tokens: int, keep: Sequence[str]) -> Json:
        """See Format. The limit goes under the key that the client uses, if any: OpenAI refuses the other one."""
        limit = next((key for key in ("max_completion_tokens", "max_tokens") if key in body), None)
        kept = {key: body[key] for key in keep if key in body} | ({limit: max_tokens} if limit else {})
        return {"model": model, "messages": [self.message("user", text)], "stream": False, **kept}

    def model_path(self, path: str, model: str) -> str:
        """See Format. Only Databricks and Azure have the model in the path."""
        for pattern in (r"(/serving-endpoints/)[^/?]+(/invocations)", r"(/deployments/)[^/?]+(/chat/)"):
            path = re.sub(pattern, lambda found: found[1] + quote(model, safe="") + found[2], path)
        return path

    def question_path(self, path: str, model: str) -> str:
        """See Format."""
        return self.model_path(path, model)

    def repairer(self, profile: Profile) -> Repairer | None:
        """See Format."""
        return ChatRepairer(profile.repairs) if profile.repairs else None

    def regroup(self, split: Sequence[Said]) -> list[Edit] | None:
        """See Format. The calls move to the first message; the emptied messages go, the results follow in order."""
        return together(split, results=False)


def _pieces(message: Mapping[str, Json], at: Path) -> list[Piece]:
    pieces = content_pieces(message.get("content"), (*at, "content"))
    calls = message.get("tool_calls")
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            pieces.append(call_piece(call, (*at, "tool_calls", position)))
    return pieces


def _heard(talk: Conversation, content: Json, at: Path, speaks: bool) -> None:
    """Words of the user or the system: a string, or an array of typed parts."""
    message = at[:-1]
    if not isinstance(content, list) or not content:
        talk.user(content if isinstance(content, str) else "", speaks=speaks, at=message)
        return
    for number, part in enumerate(content):
        talk.heard(part, at=message, block=(*at, number), speaks=speaks)


def _thinking(body: Mapping[str, Json]) -> Thinking:
    """What the request says of thinking, in any vendor's words."""
    thinking = body.get("thinking")  # DeepSeek, Moonshot, Z.ai: {type: enabled|disabled}
    if isinstance(thinking, dict) and isinstance(kind := thinking.get("type"), str):
        return "off" if kind == "disabled" else "on"
    template = body.get("chat_template_kwargs")  # vLLM, SGLang
    for place in (body, template if isinstance(template, dict) else {}):
        if isinstance(flag := place.get("enable_thinking", place.get("thinking")), bool):  # Qwen
            return "on" if flag else "off"
    return "absent"


def _pins(provider: Json) -> tuple[str, ...]:
    """The upstreams that a request allows (openrouter.ai "Provider routing"); empty where it allows all."""
    if not isinstance(provider, dict):
        return ()
    pinned = provider.get("only")
    if not pinned and provider.get("allow_fallbacks") is False:
        pinned = provider.get("order")
    return tuple(name for name in pinned if isinstance(name, str)) if isinstance(pinned, list) else ()


def _message_edits(said: Said, turn: Turn, ids: Mapping[str, str]) -> Iterator[Edit]:
    """Edits to the keys of the message: what was issued goes where the first call stands, else to the first message."""
    home = _home(said)
    echoed = any(_is_prose_of(turn, message.state.get(name)) for name in turn.names for message in said.messages)
    restored = False
    for key, value in turn.state.items():
        if echoed and is_prose_only(key, value):
            continue  # the same words stand there already, under one of the names that they came with
        at = next((message for message in said.messages if message.state.get(key) is not None), home)
        have = at.state.get(key)
        if isinstance(have, list) and (followed := _following(have, ids)) != have:
            # Whole, but for the call that it names: that id is refused where no call has it (OpenRouter, inspect_ai).
            yield Edit(Op.PUT, at.at, key=key, value=followed, reason="entries follow their call to its new id")
            continue
        edits = list(mend(at.at, at.state, {key: _following(value, ids)}, "message state restored"))
        restored = restored or bool(edits)
        yield from edits
    if restored:
        yield from _renamed(said, turn)


def _renamed(said: Said, turn: Turn) -> Iterator[Edit]:
    """Take out a copy of restored reasoning that the client has under a name that it did not come with.

    Only where it was restored: a client that has both names says so on purpose.
    """
    for message in said.messages:
        for name in PROSE:
            if name not in turn.names and _is_prose_of(turn, message.state.get(name)):
                yield Edit(Op.DROP, message.at, key=name, reason="given back under the name it came with")


def _is_prose_of(turn: Turn, value: Json) -> bool:
    return isinstance(value, str) and bool(value) and same_words(value, turn.prose)


def _home(said: Said) -> Message:
    at = next((piece.at[:2] for piece in said.pieces if piece.call and piece.at), None)
    return next((message for message in said.messages if message.at == at), said.messages[0])


def _following(value: Json, ids: Mapping[str, str]) -> Json:
    """Entries that name a call follow it to the id that the client gave it."""
    if not isinstance(value, list) or all(old == new for old, new in ids.items()):
        return value
    return [{**entry, "id": ids[entry["id"]]} if _names_one(entry, ids) else entry for entry in value]


def _names_one(entry: Json, ids: Mapping[str, str]) -> bool:
    if not isinstance(entry, dict) or entry.get("format") != _FOLLOWS_CALL:
        return False
    name = entry.get("id")
    return isinstance(name, str) and name in ids


def _content_edits(said: Said, turn: Turn) -> Iterator[Edit]:
    """Edits to the content, where state stands in it: typed blocks, or thinking tags before the text."""
    issued = [piece for piece in turn.pieces if not piece.call]
    if not any(piece.kind is Kind.THOUGHT for piece in issued):
        return
    told = [piece for piece in said.pieces if not piece.call]
    if any(piece.at is not None and len(piece.at) > 3 for piece in told):
        yield from _block_edits(issued, told)
        return
    places = {piece.at[:2] for piece in told if piece.at}
    if len(places) > 1:
        return  # told in several messages: one of them would say the words of the others again
    at = next(iter(places), _home(said).at)
    words = bare(visible(told))
    if any(isinstance(piece.value, str) for piece in issued):
        tagged = "".join(piece.text for piece in issued)
        if words == bare(visible(issued)) and not _is_tagged(told):
            yield Edit(Op.PUT, at, key="content", value=tagged, reason=CONTENT_RESTORED)
    elif words in (bare(visible(issued)), bare(turn.prose) + bare(visible(issued))):
        value = [piece.value for piece in issued]
        yield Edit(Op.PUT, at, key="content", value=value, reason=CONTENT_RESTORED)


def _is_tagged(told: Sequence[Piece]) -> bool:
    return any("<think>" in piece.text for piece in told)


def _block_edits(issued: Sequence[Piece], told: Sequence[Piece]) -> Iterator[Edit]:
    """Insert the thinking blocks that an array of content lost, each before what it led to."""
    pairs = align(issued, told)
    for number, piece in enumerate(issued):
        if piece.kind is not Kind.THOUGHT or pairs.to[number] is not None:
            continue
        if isinstance(piece.value, str) and _is_tagged(told):
            continue
        follower = next((to for to in pairs.to[number + 1 :] if to is not None), None)
        leader = next((to for to in reversed(pairs.to[:number]) if to is not None), None)
        near = leader if follower is None else follower
        beside = None if near is None else told[near].at
        if beside is not None and isinstance(beside[-1], int):
            index = beside[-1] + (follower is None)
            value = {"type": "text", "text": piece.value} if isinstance(piece.value, str) else piece.value
            yield Edit(Op.INSERT, beside[:-1], index=index, value=value, reason=CONTENT_RESTORED)
