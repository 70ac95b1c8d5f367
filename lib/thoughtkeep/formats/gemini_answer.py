"""Google's generateContent: putting answers together, and the parts that both sides share."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from thoughtkeep.formats.merge import changing
from thoughtkeep.identity import OPAQUE_KEYS, content_digest
from thoughtkeep.jsontext import Growing, arguments, settled
from thoughtkeep.turns import Call, Json, Kind, Path, Piece, Turn

_CALL = ("functionCall", "function_call")
# What only a stream says of a call (Vertex's streamed arguments).
_STREAMING = frozenset(("willContinue", "partialArgs", "will_continue", "partial_args"))
_CALL_KEYS = _STREAMING | {"name", "args", "id"}

# What a part may hold; all else on it is state.
_CONTENT = frozenset(
    "text thought functionCall function_call functionResponse function_response inlineData inline_data fileData "
    "file_data executableCode executable_code codeExecutionResult code_execution_result toolCall tool_call "
    "toolResponse tool_response videoMetadata video_metadata".split()
)

# What a part holds that is nothing but words.
_PLAIN = frozenset(("text", "thought"))

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")


def snake(key: str) -> str:
    """`thoughtSignature` as `thought_signature`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), key)


def camel(key: str) -> str:
    """`thought_signature` as `thoughtSignature`."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), key)


def called(part: Mapping[str, Json]) -> dict[str, Json] | None:
    """The call that a part holds, in either spelling."""
    return next((part[key] for key in _CALL if isinstance(part.get(key), dict)), None)


def part_piece(part: Mapping[str, Json], at: Path | None = None) -> Piece:
    """A part as a piece. The keys of its state are as the client spells them; in an answer (no `at`) in camel case."""
    spell = camel if at is None else str
    value = part if at is None else None
    state = {spell(key): inner for key, inner in part.items() if key not in _CONTENT and inner is not None}
    outer = next((key for key in _CALL if isinstance(part.get(key), dict)), None)
    if outer is not None:
        call = part[outer]
        name, call_id = call.get("name"), call.get("id")
        extra = {spell(f"{outer}/{key}"): v for key, v in call.items() if key not in _CALL_KEYS and v is not None}
        told = Call(
            call_id if isinstance(call_id, str) else "",
            name if isinstance(name, str) else "",
            arguments(call.get("args")),
        )
        return Piece(Kind.CALL, call=told, state={**state, **extra}, value=value, at=at)
    text = part.get("text")
    if isinstance(text, str):
        return Piece(Kind.THOUGHT if part.get("thought") else Kind.TEXT, text, state=state, value=value, at=at)
    return Piece(Kind.OTHER, _content_mark(part), state=state, value=value, at=at)


def _content_mark(part: Mapping[str, Json]) -> str:
    """What tells a part without text from another: its kind, and its id where it has one, else its content.

    Clients rename the keys inside built-in tools' parts, and add to them (google-genai, seen on the wire). Of a part of
    no known kind, the names of its keys.
    """
    content = {camel(key): value for key, value in part.items() if key in _CONTENT}
    if not content:
        return content_digest(sorted(camel(key) for key in part if key not in OPAQUE_KEYS))
    ids = [f"{key} {value['id']}" for key, value in content.items() if isinstance(value, dict) and value.get("id")]
    return content_digest(ids or list(content.items()))


def set_at(args: Json, path: str, value: Json) -> Json:
    """Arguments with a value set at a JSON path (`$.a.b[0]['c d']`), containers made on the way.

    A string is appended to one that stands there: Vertex streams long strings in pieces (seen on the wire).
    """
    steps = [int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path)]
    if not steps:
        return value
    node = args
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        fresh: Json = [] if isinstance(following, int) else {}
        if isinstance(step, int) and isinstance(node, list) and step <= len(node):
            if step == len(node):
                node.append(value if following is None else fresh)
            elif following is None:
                node[step] = _grown(node[step], value)
            node = node[step]
        elif isinstance(step, str) and isinstance(node, dict):
            if following is None:
                node[step] = _grown(node.get(step), value)
            node = node.setdefault(step, fresh)
        else:
            break  # the path leads through a value of another kind
    return args


def _value(key: str, value: Json) -> Json:
    """The value of a streamed argument: null comes as the name of an enum (google-genai's types)."""
    return None if key in ("nullValue", "null_value") else value


def _grown(have: Json, value: Json) -> Json:
    return have + value if isinstance(have, str) and isinstance(value, str) else value


@dataclass(slots=True)
class _Candidate:
    """One candidate on its way."""

    parts: list[dict[str, Json]] = field(default_factory=list)
    open: dict[str, Json] | None = None  # the part whose call is still coming
    finished: bool = False

    def take(self, part: Mapping[str, Json]) -> None:
        call = called(part)
        if call is not None:
            self._call(part, call)
        elif isinstance(part.get("text"), str) and self._continues(part):
            last = self.parts[-1]
            if isinstance(last["text"], str):
                last["text"] = Growing(last["text"])
            last["text"].parts.append(part["text"])
        else:
            self.parts.append(dict(part))

    def _continues(self, part: Mapping[str, Json]) -> bool:
        """Whether a text only lengthens the one before it: same kind, and neither carries anything else."""
        last = self.parts[-1] if self.parts else {}
        if not isinstance(last.get("text"), (str, Growing)) or not (last.keys() <= _PLAIN and part.keys() <= _PLAIN):
            return False
        return bool(last.get("thought")) == bool(part.get("thought"))

    def _call(self, part: Mapping[str, Json], call: Mapping[str, Json]) -> None:
        """A call, whole or in fragments: `willContinue` opens one, an empty one closes it (Vertex, seen on the wire).

        The signature comes with the first fragment only.
        """
        going = bool(call.get("willContinue") or call.get("will_continue"))
        beside = {key: inner for key, inner in part.items() if key not in _CALL}
        part_of = self.open
        if call.get("name") or part_of is None:
            if not call:
                return
            part_of = {"functionCall": {key: inner for key, inner in call.items() if key not in _STREAMING}}
            self.parts.append(part_of)
        part_of.update(beside)
        self.open = part_of if going else None
        current = part_of["functionCall"]
        pieces = call.get("partialArgs", call.get("partial_args"))
        for piece in pieces if isinstance(pieces, list) else ():
            path = piece.get("jsonPath", piece.get("json_path")) if isinstance(piece, dict) else None
            values = [_value(key, piece[key]) for key in piece if key.endswith(("Value", "_value"))] if path else []
            if isinstance(path, str) and values:
                current["args"] = set_at(current.get("args") or {}, path, values[0])

    def turn(self, complete: bool) -> Turn:
        parts = self.parts
        if not complete:  # unsigned text may be cut short; a call whose arguments still come is none
            parts = [part for part in parts if part is not self.open]
        pieces = tuple(part_piece(settled(part)) for part in parts)
        prose = "".join(piece.text for piece in pieces if piece.kind is Kind.THOUGHT)
        return Turn(tuple(_stored(piece) for piece in pieces), prose=prose, complete=complete)


def _stored(piece: Piece) -> Piece:
    """What a turn keeps of a piece: the whole part only where it may have to go back whole."""
    keeps = (bool(piece.state) and not piece.call) or piece.kind is Kind.TEXT
    return piece if keeps else Piece(piece.kind, piece.text, piece.call, piece.state)


class GeminiAssembler:
    """Puts generateContent answers together: the chunks of a stream, or a plain answer as the only one."""

    def __init__(self) -> None:
        self.served = ""
        self.upstream = ""
        self.tokens = 0
        self.reason = ""
        self.failed = False
        self._candidates: dict[int, _Candidate] = {}

    def feed(self, events: Sequence[Json]) -> None:
        """See Assembler."""
        for event in events:
            if isinstance(event, dict) and isinstance(event.get("response"), dict):
                event = event["response"]  # Code Assist's wrapper
            if not isinstance(event, dict):
                continue
            if event.get("error"):
                self.failed = True
            version = event.get("modelVersion", event.get("model_version"))
            if isinstance(version, str):
                self.served = version
            usage = event.get("usageMetadata", event.get("usage_metadata"))
            if isinstance(usage, dict) and isinstance(usage.get("totalTokenCount"), int):
                self.tokens = usage["totalTokenCount"]
            candidates = event.get("candidates")
            for candidate in candidates if isinstance(candidates, list) else ():
                if isinstance(candidate, dict):
                    self._take(candidate)

    def _take(self, candidate: Mapping[str, Json]) -> None:
        index = candidate.get("index")
        have = self._candidates.setdefault(index if isinstance(index, int) else 0, _Candidate())
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                have.take(part)
        reason = candidate.get("finishReason") or candidate.get("finish_reason")
        if reason:
            self.reason = str(reason)
            have.finished = True

    def alike(self, event: Json) -> Mapping[Path, bool] | None:
        """See Assembler: texts and thoughts of one candidate that only go on."""
        wrapped = isinstance(event, dict) and isinstance(event.get("response"), dict)
        inner = event["response"] if wrapped else event
        if not isinstance(inner, dict) or inner.get("error"):
            return None
        top: Path = ("response",) if wrapped else ()
        candidates = inner.get("candidates")
        candidate = candidates[0] if isinstance(candidates, list) and len(candidates) == 1 else None
        if not isinstance(candidate, dict) or candidate.get("finishReason") or candidate.get("finish_reason"):
            return None
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        part = parts[0] if isinstance(parts, list) and len(parts) == 1 else None
        if not isinstance(part, dict) or not part.keys() <= _PLAIN or not isinstance(part.get("text"), str):
            return None
        counts = changing(inner, "usageMetadata", "usage_metadata")
        said: dict[Path, bool] = {(*top, "candidates", 0, "content", "parts", 0, "text"): True}
        return said | {(*top, *path): joined for path, joined in counts.items()}

    def end(self) -> None:
        """See Assembler. Google's streams have no end mark; a gateway may add one, which says nothing."""

    @property
    def ended(self) -> bool:
        """See Assembler."""
        done = [candidate.finished for candidate in self._candidates.values()]
        return bool(done) and all(done) and not self.failed

    def held(self) -> Json:
        """See Assembler."""
        return [have.parts for have in self._candidates.values()]

    def turns(self) -> list[Turn]:
        """See Assembler."""
        whole = not self.failed
        return [have.turn(whole and have.finished) for _, have in sorted(self._candidates.items())]
