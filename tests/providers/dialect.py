"""What every provider's dialect consists of: where it listens, what it demands, how it answers and how it refuses.

A dialect holds no state; what was issued is the ledger's. One module beside this one holds each family.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from providers.ledger import Ledger
from providers.refusal import Refusal
from providers.scenario import Past, Step

#: The client's side of the wire: OpenAI chat completions; Gemini's own, or the same inside Code Assist's wrapper;
#: Anthropic's Messages; OpenAI's Responses, or the same with a custom tool among the declared ones.
Shape = Literal["chat", "gemini", "code-assist", "messages", "responses", "responses-custom"]


@dataclass(frozen=True)
class Mode:
    """One way to ask: a path with its query, whether the answer is streamed, and whether the body names the model.

    `array` marks a stream that is one JSON array instead of server-sent events. `extra` are the body keys that ask
    this way, beside the provider's own.
    """

    path: str
    streamed: bool
    model_in_body: bool = True
    array: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """An answer in pieces. `pieces` are whole events of a stream, or the one piece of a plain answer."""

    content_type: str
    pieces: tuple[bytes, ...]


class Dialect(ABC):
    """One provider's facts and rules.

    `kind` is the field the provider's state travels in. `extra` are body keys that a client of this provider sends
    besides model, messages and tools; `headers` its (made-up) credential. `silent` marks a provider that takes history
    without its state and says nothing; what it would like back counts as demanded all the same.
    """

    name: ClassVar[str]
    host: ClassVar[str]
    model: ClassVar[str]
    shape: ClassVar[Shape]
    kind: ClassVar[str]
    modes: ClassVar[Mapping[str, Mode]]
    extra: ClassVar[Mapping[str, Any]] = {}
    headers: ClassVar[Mapping[str, str]] = {}
    silent: ClassVar[bool] = False

    def extra_of(self, mode: str) -> dict[str, Any]:
        """All body keys that a client sends to ask this way, besides model, messages and tools."""
        return {**self.extra, **self.modes[mode].extra}

    @abstractmethod
    def mode_of(self, path: str, query: str, body: Mapping[str, Any]) -> Mode | None:
        """The way of asking that this request uses; None if the provider has no such path."""

    @abstractmethod
    def read(self, body: Mapping[str, Any]) -> Past:
        """Read the history. Raises Refusal if it is malformed, or if calls and results don't pair."""

    @abstractmethod
    def verify(self, past: Past, ledger: Ledger, body: Mapping[str, Any]) -> int:
        """Check the state in the history and return how many skip values stood in for it. Raises Refusal."""

    @abstractmethod
    def reply(self, step: Step, mode: Mode, ledger: Ledger, body: Mapping[str, Any]) -> Reply:
        """Answer with `step`; what is issued goes into the ledger."""

    @abstractmethod
    def error(self, refusal: Refusal, mode: Mode | None) -> bytes:
        """The body of a refusal."""


def compact(value: Any) -> bytes:
    """JSON bytes without spaces, text left as UTF-8 so that a cut may fall inside a character."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def halves(text: str) -> tuple[str, str]:
    """Cut a text in two, as a stream would."""
    middle = len(text) // 2
    return text[:middle], text[middle:]
