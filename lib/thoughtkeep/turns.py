"""The values that everything else passes around: frozen, without behaviour beyond what they are.

What an answer was made of (`Turn`), what a request says it was (`Said`), who issued it (`Owner`), what the store
knows (`Kept`, `Keys`, `Facts`) and what is to be done about it (`Edit`, `Plan`). No wire format and no vendor is named
here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

# A parsed JSON value. mypy's recursive form makes every walk over foreign data a cast, and proves nothing about it.
type Json = Any

# Where a value stands in a parsed body: object keys and array positions from the top.
type Path = tuple[str | int, ...]

# As the index of an edit: behind the last element, however many there are.
END = 1 << 62

# Whether the request asks for thinking: said so, refused it, or left it to the provider.
type Thinking = Literal["on", "off", "absent"]


class Kind(StrEnum):
    """What a piece of an assistant message is to a client."""

    TEXT = "text"  # visible words
    CALL = "call"  # a tool call
    THOUGHT = "thought"  # reasoning that stands among the content
    OTHER = "other"  # images, code, results of built-in tools


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the id it was given (may be empty, may repeat), its name, its canonical arguments."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Piece:
    """One part, block or call of an assistant message, in its order.

    `text` holds visible words (TEXT), reasoning prose (THOUGHT) or a digest of the content (OTHER). `state` maps the
    keys that stand on the piece beyond what the format models to their values, as received. `value` is the whole piece
    as received, kept where it goes back whole. `at` is its place in the request; None in an answer. `ref` is
    an id by which other pieces refer to it, where the format has such ids.
    """

    kind: Kind
    text: str = ""
    call: Call | None = None
    state: Mapping[str, Json] = field(default_factory=dict)
    value: Json = None
    at: Path | None = None
    ref: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One assistant answer as the provider wrote it.

    `state` holds the keys of the message itself. `prose` is its reasoning in words, `names` the message keys that they
    came under (a provider may send the same words under two; `state` has one). `complete` is false for what an answer
    that never ended had closed.
    """

    pieces: tuple[Piece, ...]
    state: Mapping[str, Json] = field(default_factory=dict)
    prose: str = ""
    names: tuple[str, ...] = ()
    complete: bool = True

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls, in order."""
        return tuple([piece.call for piece in self.pieces if piece.call])

    @property
    def has_state(self) -> bool:
        """Whether anything of this turn must go back."""
        return bool(self.state) or any(
            piece.state or (piece.kind is Kind.THOUGHT and piece.value is not None) for piece in self.pieces
        )


@dataclass(frozen=True, slots=True)
class Message:
    """An assistant message of a request: its place, and the keys on it that may be state."""

    at: Path
    state: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Said:
    """An assistant turn as a request tells it: a run of assistant messages with nothing between them.

    `words` is what the user and the tools said between the turn before and this one; `results` the call ids (or names)
    of the tool results among it; `only_results` whether it is nothing but tool results. `answers` are the places of the
    tool results behind this turn, `answered` the call ids (or names) that they give, `shared` whether the user speaks
    in a message of theirs.
    """

    messages: tuple[Message, ...]
    pieces: tuple[Piece, ...]
    words: str = ""
    results: tuple[str, ...] = ()
    only_results: bool = False
    answers: tuple[Path, ...] = ()
    answered: tuple[str, ...] = ()
    shared: bool = False

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls, in order."""
        return tuple([piece.call for piece in self.pieces if piece.call])


class Who(StrEnum):
    """Who speaks in a conversation."""

    SYSTEM = "system"  # system and developer messages, wherever they stand
    ASIDE = "aside"  # a system message that belongs to the user's message before it, and may stand nowhere else
    USER = "user"
    ASSISTANT = "assistant"
    CALL = "call"  # a tool call: `name` and its canonical arguments
    RESULT = "result"  # the result of a tool call, `name` as the call's

    @property
    def is_system(self) -> bool:
        """Whether it is the system, wherever it may stand."""
        return self in (Who.SYSTEM, Who.ASIDE)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One thing said in a conversation, in plain words, and where: the place of its message, and of its own block.

    `block` is its place in the message's content where that is a list; the message's place where it is a string.
    """

    who: Who
    text: str
    at: Path
    block: Path
    name: str = ""


@dataclass(frozen=True, slots=True)
class Border:
    """Where an assistant turn begins in what was said: how much of `talk` and of `listed` stands before it.

    `first` are the first words of the user so far, `shown` what stands for them where there are none.
    """

    talk: int
    listed: int
    first: str
    shown: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, read: which model is asked, and the conversation so far.

    `first` is the first user words; `words` what came after the last assistant turn; `pins` the upstreams that the
    request allows, empty where it allows any; `choices` how many answers it wants; `held` whether the server keeps the
    state of the conversation itself; `folded` whether history was folded into an item that only providers can read;
    `tools` whether it defines any; `talk` all that was said, in order; `listed` every
    message (or item) with who speaks in it; `borders` where each turn of `said` begins in these two; `spelling` how the
    client spells keys that have two spellings.
    """

    format: str
    model: str
    streamed: bool
    said: tuple[Said, ...]
    first: str
    words: str = ""
    thinking: Thinking = "absent"
    pins: tuple[str, ...] = ()
    choices: int = 1
    held: bool = False
    folded: bool = False
    tools: bool = False
    talk: tuple[Utterance, ...] = ()
    listed: tuple[tuple[Path, Who], ...] = ()
    borders: tuple[Border, ...] = ()
    spelling: Literal["camel", "snake"] = "camel"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who issued state: the host group (or the host), the upstream it named, the model asked for and the one named."""

    group: str
    model: str
    served: str = ""
    upstream: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """A turn in the store, with what finds it again.

    `id` is unique. `root`, `lineage`, `after`, `context` and `near` are digests (see identity): the conversation, the
    place before the turn, the places that the turn may lead to, all words before it, the words just before it.
    `call_ids` are the provider's ids as given, `values` digests of its opaque values. `made` is in Unix seconds.
    `frame` is a digest of the request that it was made for, `since` the first assistant turn that stood there with its
    thinking: for models that bind their thinking to both. `tools` says whether the request defined any.
    """

    id: str
    tenant: str
    owner: Owner
    format: str
    root: str
    lineage: str
    after: tuple[str, ...]
    context: str
    near: str
    thinking: Thinking
    made: float
    turn: Turn
    call_ids: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    frame: str = ""
    since: int = 0
    tools: bool = False


@dataclass(frozen=True, slots=True)
class Keys:
    """What to ask the store for: one tenant, and the lineages, call ids and value digests that a request mentions.

    `notes` are places at which the tenant's own notes may stand (handovers, lessons): nobody else's are asked for.
    """

    tenant: str
    lineages: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a turn of some tenant, without its state: all that one tenant may learn of another's."""

    lineage: str
    after: tuple[str, ...]
    owner: Owner
    made: float
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What the store knows of a request: turns of its tenant, newest first, and origins of other tenants' turns."""

    turns: tuple[Kept, ...] = ()
    origins: tuple[Origin, ...] = ()


class Op(StrEnum):
    """What an edit does to the body."""

    PUT = "put"  # set `key` of the object at `at` to `value`
    DROP = "drop"  # take `key` out of the object at `at`
    REPLACE = "replace"  # put `value` in the place of the value at `at`
    INSERT = "insert"  # put `value` into the array at `at`, before the element that is `index` now
    REMOVE = "remove"  # take the array element at `at` out
    MOVE = "move"  # carry the element at `source`, as it is, into the array at `at`, before `index`


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to a request body. Paths and positions are those of the body before any edit."""

    op: Op
    at: Path
    key: str = ""
    index: int = 0
    value: Json = None
    source: Path = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Missed:
    """State that was due and is not put back: for which assistant turn, counted from 0, and why."""

    said: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done to one request, and why: the sole source of all that is told about it.

    `known` are the ids of the stored turns that the request tells, whether anything of them had to be put back or not.
    `since` is the first assistant turn that goes out with its thinking, their number where none does. `handover` says
    what was decided about the history, and why.
    """

    edits: tuple[Edit, ...] = ()
    missed: tuple[Missed, ...] = ()
    known: tuple[str, ...] = ()
    since: int = 0
    handover: str = ""
