"""What the engines know of a wire format: the two protocols that each module of this package fulfils."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from thoughtkeep.profiles import Profile
from thoughtkeep.repair import Repairer
from thoughtkeep.turns import Ask, Edit, Json, Path, Said, Turn


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A request recognised: its format, the model it names, whether it asks for a stream."""

    format: "Format"
    model: str
    streamed: bool


class Earlier(NamedTuple):
    """An earlier request of the same format, read, whose first `same` messages this one has too, as they are."""

    ask: Ask
    same: int


class Assembler(Protocol):
    """Puts the events of one answer together. Unknown kinds of events are passed over, never an error."""

    served: str
    """The model that the answer names; empty until it does."""

    upstream: str
    """The upstream that the answer names (OpenRouter's `provider`)."""

    tokens: int
    """The tokens that the answer says it took, question included; 0 until it says."""

    reason: str
    """Why the answer ended, in the provider's words; empty until it says."""

    failed: bool
    """Whether the answer told of an error in its midst."""

    def feed(self, events: Sequence[Json]) -> None:
        """Take the next events, in order: parsed JSON values; a plain answer is one event."""

    def end(self) -> None:
        """The stream's own end mark was seen (`[DONE]`)."""

    def alike(self, event: Json) -> Mapping[Path, bool] | None:
        """Which texts and numbers may differ in events that come one after the other and amount to a single one.

        With True where the texts add up, with False where the last one counts. All else must be as in this event. None
        where each event counts for itself.
        """

    @property
    def ended(self) -> bool:
        """Whether the answer reached its semantic end, whatever happens to the connection afterwards."""

    def held(self) -> Json:
        """All strings that are held of the answer, in whatever arrangement: what it takes in memory."""

    def turns(self) -> list[Turn]:
        """One turn a choice or candidate, as far as it has come; without its end only what had closed."""


class Format(Protocol):
    """One wire format: reading requests, assembling answers, writing state back."""

    name: str

    ids: tuple[str, str] | None
    """The keys of a call's id and of the id that a result names, None where calls need none."""

    unique_ids: bool
    """Whether a provider refuses a call id that occurs twice."""

    refs_bind: bool
    """Whether the `id` of an item asks for the items that it came with."""

    content: str
    """The key of a message under which its content stands."""

    ends: re.Pattern[bytes]
    """Matches wherever an answer may end; may match elsewhere too."""

    def endpoint(self, path: str, body: Json | None) -> Endpoint | None:
        """Whether a POST to this path (without its query) with this body is ours. With body None: whether it may be."""

    def history(self, body: Json) -> tuple[Path, Sequence[Json]]:
        """Where the messages (or items) of a request stand, and what they are; none where it has none one by one."""

    def read(self, body: Json, endpoint: Endpoint, earlier: Earlier | None = None) -> Ask:
        """Read a request. What cannot be understood is left out, never an error.

        What `earlier` has in common with it is not read again, and the turns told there are the very same objects.
        """

    def assembler(self, profile: Profile) -> Assembler:
        """An assembler for one answer."""

    def restore(self, said: Said, turn: Turn, profile: Profile, ask: Ask) -> list[Edit]:
        """The edits that give an assistant turn of a request the state that it lost; none where it lost nothing."""

    def frames(self, key: bytes, body: Json, ask: Ask) -> list[str]:
        """For each assistant turn of the request, and for the answer asked for, a digest of what stands before it.

        Of what a model may bind its reasoning to: empty where no model of this format does.
        """

    def words(self, text: str) -> Json:
        """A user's words as one block of a message's content."""

    def message(self, role: Literal["user", "assistant"], text: str) -> Json:
        """A message that holds nothing but words."""

    def question(self, body: Json, model: str, text: str, max_tokens: int, keep: Sequence[str]) -> Json:
        """The body of a request that asks a model one thing, not streamed.

        `body` is that of the request at hand, `keep` the keys of it that must come along.
        """

    def model_path(self, path: str, model: str) -> str:
        """The path of a request (its query included), naming another model where it names one."""

    def question_path(self, path: str, model: str) -> str:
        """The path of such a question, made from that of the request at hand (its query included)."""

    def repairer(self, profile: Profile) -> Repairer | None:
        """What repairs the answers of a vendor that clients cannot read; None where they can."""

    def regroup(self, split: Sequence[Said]) -> list[Edit] | None:
        """The edits that make one assistant message of a batch that the client split; None where that cannot be."""
