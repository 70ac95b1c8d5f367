"""What is said in a conversation, in no format: the events of which `tongues` makes requests and answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

type Json = Any


@dataclass(frozen=True)
class Image:
    """A picture that the user shows, by its base64 data."""

    data: str


@dataclass(frozen=True)
class Document:
    """A file of the user, by its base64 data."""

    data: str


@dataclass(frozen=True)
class System:
    text: str


@dataclass(frozen=True)
class Developer:
    text: str


class User:
    """The user speaks: words, pictures, documents. A lone text is written as the format's shortest form."""

    def __init__(self, *parts: str | Image | Document) -> None:
        self.parts = parts


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    args: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Says:
    """The assistant's answer; `state` is the opaque value that came with it, empty for none."""

    text: str = ""
    calls: Sequence[Call] = ()
    state: str = ""
    prose: str = ""


class Results:
    """The results of calls, (id, text) each, and what the user says in the same breath."""

    def __init__(self, *results: tuple[str, str], words: Sequence[str] = ()) -> None:
        self.results = results
        self.words = words


type Event = System | Developer | User | Says | Results
