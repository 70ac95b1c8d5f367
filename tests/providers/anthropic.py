"""Anthropic: the Claude API, a model there that binds its thinking to the conversation, and Claude on Vertex AI.

platform.claude.com "Thinking", "Preserved thinking", "Streaming"; order of events as seen in recorded traffic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from providers import thinking
from providers.dialect import Dialect, Mode, Reply, Shape, compact, halves
from providers.ledger import Ledger, canonical
from providers.messages import THOUGHTS, blocks_of, read_messages
from providers.refusal import Refusal, anthropic_body, encode
from providers.scenario import Past, Step

_BUDGET: Mapping[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
_ADAPTIVE: Mapping[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
_OMITTED: Mapping[str, Any] = {"thinking": {"type": "adaptive", "display": "omitted"}}
_NO_SIGNS = str.maketrans("+/=", "xyz")


class Anthropic(Dialect):
    """api.anthropic.com `/v1/messages`: thinking with a budget, or adaptive, shown or omitted.

    Its headers ask for interleaved thinking, which a model that thinks with a budget does for no other reason. Blocks
    of one Claude model are taken by another, as the real service takes them.
    """

    name = "anthropic"
    host = "api.anthropic.com"
    model = "claude-sonnet-4-6"
    shape: ClassVar[Shape] = "messages"
    kind = thinking.KIND
    path: ClassVar[str] = "/v1/messages"
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode(path, streamed=False, extra=_BUDGET),
        "streamed": Mode(path, streamed=True, extra=_BUDGET),
        "adaptive": Mode(path, streamed=False, extra=_ADAPTIVE),
        "adaptive-streamed": Mode(path, streamed=True, extra=_ADAPTIVE),
        "omitted": Mode(path, streamed=False, extra=_OMITTED),
        "omitted-streamed": Mode(path, streamed=True, extra=_OMITTED),
    }
    extra: ClassVar[Mapping[str, Any]] = {"max_tokens": 4096, **_BUDGET}
    headers: ClassVar[Mapping[str, str]] = {
        "x-api-key": "sk-ant-made-up",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "interleaved-thinking-2025-05-14",
    }
    ids: ClassVar[str] = "01"
    keys: ClassVar[frozenset[str]] = frozenset(
        "messages system tools tool_choice max_tokens stream thinking temperature top_p top_k stop_sequences metadata "
        "service_tier context_management output_config".split()
    )

    def mode_of(self, path: str, query: str, body: Mapping[str, Any]) -> Mode | None:
        if path != self.path:
            return None
        streamed = bool(body.get("stream"))
        found = [mode for mode in self.modes.values() if mode.streamed == streamed]
        found.sort(key=lambda mode: mode.extra.get("thinking") != body.get("thinking"))
        return found[0]

    def read(self, body: Mapping[str, Any]) -> Past:
        self.check_model(body)
        if odd := sorted(set(body) - self.keys - {"model", "anthropic_version"}):
            raise Refusal("shape", f"{odd[0]}: Extra inputs are not permitted")
        if not isinstance(body.get("max_tokens"), int):
            raise Refusal("shape", "max_tokens: Field required")
        return read_messages(body)

    def check_model(self, body: Mapping[str, Any]) -> None:
        """The model has to be named in the body. Raises Refusal."""
        if not isinstance(body.get("model"), str):
            raise Refusal("shape", "model: Field required")

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        thinking.check(past, ledger, body)
        return 0

    def reply(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Reply:
        blocks = self._blocks(step, ledger, body)
        if any(block["type"] in THOUGHTS for block in blocks):
            thinking.enter(ledger, blocks, demanded=bool(step.calls), origin=self.origin(body))
        message: dict[str, Any] = {
            "id": f"msg_{self.ids}{_letters(ledger, 22)}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": blocks,
            "stop_reason": "tool_use" if step.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 40, "output_tokens": 50},
        }
        if not mode.streamed:
            return Reply("application/json", (compact(message),))
        pieces = [_event(event) for event in _events(message)]
        return Reply("text/event-stream; charset=utf-8", tuple(pieces))

    def origin(self, body: Mapping[str, Any]) -> Any:
        """What else is kept of an answer's making."""
        return None

    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        return encode(anthropic_body(refusal))

    def _blocks(self, step: Step, ledger: Ledger, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The blocks of an answer. What a model thinks between its calls stands between them.

        Two calls with thinking before each and a text; a call behind two redacted blocks and a signed one; and, where
        thinking is adaptive, a call whose answer starts with a text.
        """
        calls: list[dict[str, Any]] = [
            {"type": "tool_use", "id": f"toolu_{self.ids}{_letters(ledger, 22)}", "name": c.name, "input": dict(c.args)}
            for c in step.calls
        ]
        said = [{"type": "text", "text": step.text or f"Just a moment — {len(calls)} to look up."}]
        how = thinking.asked(body)
        if how == "disabled":
            return [*said, *calls]
        hidden = how == "adaptive" and body["thinking"].get("display") == "omitted"

        def think(words: str, *, long: bool = False) -> dict[str, Any]:
            return {"type": "thinking", "thinking": "" if hidden else words, "signature": ledger.mint(long=long)}

        def redact() -> dict[str, Any]:
            return {"type": "redacted_thinking", "data": ledger.mint()}

        if len(calls) > 1:
            first = [think(step.reasoning, long=True), *said, calls[0]]
            return first + [block for call in calls[1:] for block in (think("The next one, then."), call)]
        if calls and calls[0]["name"] == "get_time":
            return [redact(), redact(), think(step.reasoning), calls[0]]
        if calls and how == "adaptive":
            return [*said, think(step.reasoning), *calls]
        return [think(step.reasoning), *said, *calls]


class AnthropicBound(Anthropic):
    """A model that binds its thinking to what stands before it (platform.claude.com, notes on Fable 5.1).

    `system`, `tools` and all earlier messages have to be what they were when a block was made; only cache marks may
    move, and a leading run of thinking blocks may be missing. It reads its own blocks and those of Opus 5.
    """

    name = "anthropic-bound"
    model = "claude-fable-5-1"
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode(Anthropic.path, streamed=False, extra=_ADAPTIVE),
        "streamed": Mode(Anthropic.path, streamed=True, extra=_ADAPTIVE),
        "omitted-streamed": Mode(Anthropic.path, streamed=True, extra=_OMITTED),
    }
    extra: ClassVar[Mapping[str, Any]] = {"max_tokens": 4096, **_ADAPTIVE}
    reads: ClassVar[tuple[str, ...]] = ("claude-fable-5-1", "claude-opus-5")

    def origin(self, body: Mapping[str, Any]) -> Any:
        return {"model": body.get("model"), "prefix": _prefix(body, len(body["messages"]))}

    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        skipped = super().verify(past, ledger, body)
        for said in past.said:
            before = _prefix(body, said.place)
            for number, block in enumerate(blocks_of(said.raw["content"])):
                known = thinking.issued_as(ledger, block) if block["type"] in THOUGHTS else None
                if known is None:
                    continue
                made = known[0].origin
                if made["model"] not in (*self.reads, body.get("model")):
                    raise thinking.wrong_signature(said.place, number, block)
                if not _stands_behind(before, made["prefix"]):
                    bound = ". The block is bound to a different conversation."
                    raise thinking.wrong_signature(said.place, number, block, bound)
        return skipped


class VertexAnthropic(Anthropic):
    """Claude on Vertex AI: the model is named by the path, and must not be named by the body."""

    name = "vertex-anthropic"
    host = "aiplatform.googleapis.com"
    base: ClassVar[str] = f"/v1/projects/demo/locations/global/publishers/anthropic/models/{Anthropic.model}"
    modes: ClassVar[Mapping[str, Mode]] = {
        "plain": Mode(f"{base}:rawPredict", streamed=False, model_in_body=False, extra=_BUDGET),
        "streamed": Mode(f"{base}:streamRawPredict", streamed=True, model_in_body=False, extra=_BUDGET),
        "adaptive-streamed": Mode(f"{base}:streamRawPredict", streamed=True, model_in_body=False, extra=_ADAPTIVE),
    }
    extra: ClassVar[Mapping[str, Any]] = {**Anthropic.extra, "anthropic_version": "vertex-2023-10-16"}
    headers: ClassVar[Mapping[str, str]] = {"authorization": "Bearer ya29.made-up"}
    ids = "vrtx_01"
    paths = re.compile(r"/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/[^/:]+:(rawP|streamRawP)redict")

    def mode_of(self, path: str, query: str, body: Mapping[str, Any]) -> Mode | None:
        found = self.paths.fullmatch(path)
        return None if found is None else self.modes["plain" if found[1] == "rawP" else "streamed"]

    def check_model(self, body: Mapping[str, Any]) -> None:
        if "model" in body:
            raise Refusal("shape", "model: Extra inputs are not permitted")
        if not isinstance(body.get("anthropic_version"), str):
            raise Refusal("shape", "anthropic_version: Field required")


def _letters(ledger: Ledger, count: int) -> str:
    return ledger.mint()[12 : 12 + count].translate(_NO_SIGNS)


def _event(event: Mapping[str, Any]) -> bytes:
    return b"event: " + str(event["type"]).encode() + b"\ndata: " + compact(event) + b"\n\n"


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a streamed answer; a ping may stand anywhere among them."""
    opening = {**message, "content": [], "stop_reason": None, "usage": {"input_tokens": 40, "output_tokens": 1}}
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(message["content"]):
        start, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "ping"}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 50}}
    yield {"type": "message_stop"}


def _streamed(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block starts in a stream, and the deltas that complete it. A redacted one comes whole."""
    kind = block["type"]
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in halves(block["text"])]
        return {"type": "text", "text": ""}, deltas
    if kind == "tool_use":
        pieces = ["", *halves(compact(block["input"]).decode())]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        return {**block, "input": {}}, deltas
    if kind == "thinking":
        pieces = [piece for piece in halves(block["thinking"]) if piece]
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
        return {**block, "thinking": "", "signature": ""}, [
            *deltas,
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    return dict(block), []


#: What stands before a message: for each block whether it is thinking, and where and what it is.
_Prefix = Sequence[tuple[bool, str]]


def _prefix(body: Mapping[str, Any], place: int) -> _Prefix:
    """Everything before message number `place`, without cache marks."""
    found = [(False, canonical(_unmarked([body.get("system"), body.get("tools")])))]
    for number, message in enumerate(body["messages"][:place]):
        for block in blocks_of(message["content"]):
            found.append((block["type"] in THOUGHTS, f"{number} {message['role']} {canonical(_unmarked(block))}"))
    return found


def _stands_behind(now: _Prefix, then: _Prefix) -> bool:
    """Whether what stands before a block is what stood there, apart from thinking that is missing from its start."""
    missing = sum(thought for thought, _ in then) - sum(thought for thought, _ in now)
    left = []
    for thought, text in then:
        if thought and missing > 0:
            missing -= 1
        else:
            left.append((thought, text))
    return left == list(now)


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(inner) for inner in value]
    return value
