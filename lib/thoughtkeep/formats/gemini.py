"""Google's generateContent: the Gemini API, Vertex AI, and Code Assist's wrapper around it. Requests.

Wire facts (ai.google.dev "Thought Signatures"): a signature stands on its part, beside `functionCall`, `text` or
`inlineData`, never inside; signed and unsigned parts are not merged; parts keep their order.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import quote

from thoughtkeep.align import align
from thoughtkeep.formats.base import Assembler, Earlier, Endpoint
from thoughtkeep.formats.conversation import Conversation, mark_of
from thoughtkeep.formats.gemini_answer import GeminiAssembler, part_piece, snake
from thoughtkeep.formats.regroup import together
from thoughtkeep.identity import same_base64
from thoughtkeep.jsontext import told
from thoughtkeep.mend import mend
from thoughtkeep.profiles import Profile
from thoughtkeep.repair import Repairer
from thoughtkeep.turns import Ask, Edit, Json, Kind, Op, Path, Piece, Said, Turn

_PATH = re.compile(r"(?:/(?:models|tunedModels|endpoints)/([^/:]+)|/v1internal):(stream)?[gG]enerateContent$")

_RESULTS = ("functionResponse", "function_response")


class GeminiFormat:
    """The `gemini` format."""

    name = "gemini"
    content = "parts"
    ids: tuple[str, str] | None = None
    unique_ids = False
    refs_bind = False
    ends = re.compile(rb'"finish_?[rR]eason"\s*:\s*[^\sn]')  # whatever is not null

    def endpoint(self, path: str, body: Json | None) -> Endpoint | None:
        """See Format. Code Assist names the model in its wrapper, the others in the path."""
        found = _PATH.search(path)
        if not found:
            return None
        if body is None:
            return Endpoint(self, "", False)
        inner = _inner(body)
        if not isinstance(inner.get("contents"), list):
            return None
        model = found[1] or body.get("model")
        return Endpoint(self, model, bool(found[2])) if isinstance(model, str) and model else None

    def history(self, body: Json) -> tuple[Path, Sequence[Json]]:
        """See Format."""
        return (*_top(body), "contents"), _inner(body)["contents"]

    def read(self, body: Json, endpoint: Endpoint, earlier: Earlier | None = None) -> Ask:
        """See Format."""
        inner, top = _inner(body), _top(body)
        talk = Conversation(earlier)
        for number, content in talk.unread(inner["contents"]):
            if not isinstance(content, dict):
                continue
            at: Path = (*top, "contents", number)
            if content.get("role") == "model":
                state = {key: value for key, value in content.items() if key not in ("role", "parts")}
                pieces = [part_piece(part, (*at, "parts", place)) for place, part in _parts(content)]
                talk.assistant(at, state, pieces)
                continue
            if not _parts(content):
                talk.user("", at=at)  # empty, and yet the end of the answer before it
            for place, part in _parts(content):
                answer = next((part[key] for key in _RESULTS if isinstance(part.get(key), dict)), None)
                if answer is not None:
                    name = str(answer.get("id") or answer.get("name") or "")
                    text, mark = told(answer.get("response")), mark_of(answer.get("parts"))
                    talk.result((*at, "parts", place), name, text, message=at, mark=mark)
                else:
                    talk.heard(part, at=at, block=(*at, "parts", place))
        config = inner.get("generationConfig")
        choices = config.get("candidateCount") if isinstance(config, dict) else 1
        return Ask(
            format=self.name,
            model=endpoint.model,
            streamed=endpoint.streamed,
            **talk.ask(),
            choices=choices if isinstance(choices, int) else 1,
            tools=bool(inner.get("tools")),
            spelling="snake" if _is_snake(inner) else "camel",
        )

    def assembler(self, profile: Profile) -> Assembler:
        """See Format."""
        return GeminiAssembler()

    def restore(self, said: Said, turn: Turn, profile: Profile, ask: Ask) -> list[Edit]:
        """See Format. State goes on its part; a part that holds nothing but state goes back where it stood."""
        spell: Callable[[str], str] = snake if ask.spelling == "snake" else str
        pairs = align(turn.pieces, said.pieces)
        there = {value for piece in said.pieces for value in _opaque(piece)}
        edits: list[Edit] = []
        for number, (piece, match) in enumerate(zip(turn.pieces, pairs.to, strict=True)):
            if not piece.call and there & _opaque(piece):
                continue  # the client has put it on a part beside: an accepted form, and only calls are checked
            if match in pairs.joined:
                if pairs.joined[match][0] == number:
                    edits += _unjoin(said.pieces[match], [turn.pieces[n] for n in pairs.joined[match]], spell)
            elif match is not None:
                edits += _mend(said, match, piece, spell)
            elif piece.state and not piece.call and (piece.kind is not Kind.TEXT or not piece.text):
                edits += _insert(number, piece, pairs.to, said, spell)
        return edits

    def frames(self, key: bytes, body: Json, ask: Ask) -> list[str]:
        """See Format."""
        return []

    def words(self, text: str) -> Json:
        """See Format."""
        return {"text": text}

    def message(self, role: Literal["user", "assistant"], text: str) -> Json:
        """See Format."""
        return {"role": "model" if role == "assistant" else role, "parts": [self.words(text)]}

    def question(self, body: Json, model: str, text: str, max_tokens: int, keep: Sequence[str]) -> Json:
        """See Format. Code Assist's wrapper stays."""
        asked = {"contents": [self.message("user", text)], "generationConfig": {"maxOutputTokens": max_tokens}}
        if _inner(body) is body:
            return asked
        kept = {key: body[key] for key in keep if key in body}
        return {"model": model, **kept, "request": asked}

    def model_path(self, path: str, model: str) -> str:
        """See Format."""
        return re.sub(r"/models/[^/:]+:", lambda _: f"/models/{quote(model, safe='')}:", path)

    def question_path(self, path: str, model: str) -> str:
        """See Format."""
        plain, _, query = path.partition("?")
        plain = self.model_path(re.sub(r":streamGenerateContent$", ":generateContent", plain), model)
        rest = "&".join(word for word in query.split("&") if word and word != "alt=sse")
        return f"{plain}?{rest}" if rest else plain

    def repairer(self, profile: Profile) -> Repairer | None:
        """See Format."""
        return None

    def regroup(self, split: Sequence[Said]) -> list[Edit] | None:
        """See Format. Calls move into the first content, results into the one behind it; the emptied contents go.

        The results of a step stand together in one content, in the order of its calls (ai.google.dev "Function
        calling": FC1, FC2, FR1, FR2). The contents with results are those just behind each message.
        """
        return together(split, results=True)


def _inner(body: Json) -> Mapping[str, Json]:
    """The request proper: itself, or what Code Assist wraps (`{model, project, request: {…}}`)."""
    if not isinstance(body, dict):
        return {}
    wrapped = body.get("request")
    return wrapped if isinstance(wrapped, dict) and "contents" not in body else body


def _top(body: Json) -> Path:
    return () if _inner(body) is body else ("request",)


def _parts(content: Mapping[str, Json]) -> list[tuple[int, dict[str, Json]]]:
    """The parts of a content with their positions."""
    parts = content.get("parts")
    return (
        [(place, part) for place, part in enumerate(parts) if isinstance(part, dict)] if isinstance(parts, list) else []
    )


def _is_snake(inner: Mapping[str, Json]) -> bool:
    """Whether the client spells in snake case: told by the keys that it has, wherever one shows it."""
    keys: set[str] = set(inner)
    for content in inner.get("contents", ()):
        if isinstance(content, dict):
            for _, part in _parts(content):
                keys |= part.keys()
    keys -= {"contents", "tools"}
    snakes = sum("_" in key for key in keys)
    return snakes > sum(key != key.lower() for key in keys)


def _opaque(piece: Piece) -> set[str]:
    return {same_base64(value) for value in piece.state.values() if isinstance(value, str)}


def _mend(said: Said, match: int, piece: Piece, spell: Callable[[str], str]) -> Iterator[Edit]:
    """Give a part its state; where that stood on another part or inside the call, it goes from there."""
    other = said.pieces[match]

    def spelled(key: str) -> str:  # as the part spells it, whatever the client does elsewhere
        return snake(key) if snake(key) in other.state else spell(key)

    edits = list(mend(other.at, other.state, piece.state, "signature restored", spelled)) if other.at else []
    yield from edits
    for beside in said.pieces if edits else ():
        for key, value in beside.state.items():
            outer, _, inner = key.rpartition("/")
            stray = beside is not other or outer
            if stray and beside.at and isinstance(value, str) and same_base64(value) in _opaque(piece):
                at = (*beside.at, outer) if outer else beside.at
                yield Edit(Op.DROP, at, key=inner, reason="signature moved to its place")


def _spelled(value: Json, spell: Callable[[str], str]) -> Json:
    return {spell(key): inner for key, inner in value.items()} if isinstance(value, dict) else value


def _unjoin(other: Piece, pieces: Sequence[Piece], spell: Callable[[str], str]) -> Iterator[Edit]:
    """Give a text that the client joined from several parts its parts back, where one of them was signed.

    Only if it is the very text, and nothing else stands on it: a signature covers its part to the letter.
    """
    if not any(piece.state for piece in pieces) or other.at is None or other.state:
        return
    at, number = other.at[:-1], other.at[-1]
    if other.text != "".join(piece.text for piece in pieces) or not isinstance(number, int):
        return
    for place, piece in enumerate(pieces):
        value, reason = _spelled(piece.value, spell), "signed text parted from unsigned"
        if place == 0:
            yield Edit(Op.REPLACE, other.at, value=value, reason=reason)
        else:
            yield Edit(Op.INSERT, at, index=number + 1, value=value, reason=reason)


def _insert(
    number: int, piece: Piece, to: Sequence[int | None], said: Said, spell: Callable[[str], str]
) -> Iterator[Edit]:
    """Put a part that the client dropped back behind the part before it, or before the one behind it."""
    leader = next((match for match in reversed(to[:number]) if match is not None), None)
    follower = next((match for match in to[number + 1 :] if match is not None), None)
    beside = leader if leader is not None else follower
    at = said.pieces[beside].at if beside is not None else None
    if at is not None and isinstance(at[-1], int):
        index = at[-1] + (leader is not None)
        yield Edit(Op.INSERT, at[:-1], index=index, value=_spelled(piece.value, spell), reason="signed part restored")
