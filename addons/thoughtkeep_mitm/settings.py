"""The options: their names, defaults and help texts, and what makes a value valid."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from mitmproxy import exceptions, flowfilter
from mitmproxy.addonmanager import Loader
from mitmproxy.flow import Flow
from mitmproxy.options import Options
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from thoughtkeep.endpoint import may_be
from thoughtkeep_store import check_url

PREFIX = "thoughtkeep_"

type Mode = Literal["on", "observe", "off"]


class Settings(BaseModel):
    """The options, checked."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    store: str
    filter: str
    replay: Mode
    ttl_days: int = Field(ge=1, le=3650)
    max_store_mb: int = Field(ge=1, le=1_000_000)
    repair_answers: Literal["auto", "off"] = "auto"
    skip_value: Literal["auto", "off"] = "auto"
    rescue: Literal["on", "off"] = "on"
    handover: Literal["auto", "off"] = "auto"
    handover_min_tokens: int = Field(default=2000, ge=0)
    handover_model: str = ""
    handover_url: str = ""
    handover_key_env: str = ""
    handover_timeout: int = Field(default=20, ge=1, le=600)
    handover_max_tokens: int = Field(default=1200, ge=100, le=32_000)
    summary_role: Literal["user", "assistant"] = "user"
    websocket: Literal["on", "off"] = "on"
    response_header: Literal["on", "off"] = "off"
    turn_log: str = ""
    max_body_mb: int = Field(default=16, ge=0, le=1000)
    keep_flows: int = Field(default=0, ge=0)
    redact_saved: Literal["on", "off"] = "off"

    @field_validator("store")
    @classmethod
    def _store(cls, value: str) -> str:
        check_url(value)
        return value

    @field_validator("handover_model")
    @classmethod
    def _handover_model(cls, value: str) -> str:
        summarisers(value)
        return value

    @field_validator("handover_url")
    @classmethod
    def _handover_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.hostname or not may_be("POST", parts.path)):
            raise ValueError("not the URL of a chat completions, messages, responses or generateContent endpoint")
        return value

    @field_validator("filter")
    @classmethod
    def _filter(cls, value: str) -> str:
        if value:
            flowfilter.parse(value)  # raises ValueError, with the reason
        return value

    def matcher(self) -> Callable[[Flow], bool]:
        """The flow filter as a test of flows; without one every flow passes."""
        if not self.filter:
            return lambda _flow: True
        matches = flowfilter.parse(self.filter)
        return lambda flow: bool(matches(flow))


def summarisers(option: str) -> tuple[tuple[str, str], ...]:
    """The option `handover_model` read: (pattern, model) pairs; a lone name is the model for all. Raises ValueError."""
    pairs = []
    for word in option.replace(",", " ").split():
        pattern, equals, model = word.rpartition("=")
        if (equals and not pattern) or not model:
            raise ValueError(f"not a model, nor a pattern=model pair: {word!r}")
        pairs.append((pattern or "*", model))
    return tuple(pairs)


@dataclass(frozen=True, slots=True)
class _Option:
    name: str
    kind: type
    default: str | int
    help: str
    choices: tuple[str, ...] = ()


OPTIONS = (
    _Option(
        "store",
        str,
        "sqlite:///~/.thoughtkeep/store.sqlite3",
        "Where reasoning state is kept: sqlite:///PATH (~ is your home, four slashes begin an absolute path), memory: "
        "to forget it all when the proxy ends, or redis://HOST:PORT/DB, a server that several proxies share.",
    ),
    _Option(
        "filter",
        str,
        "",
        "A mitmproxy flow filter: only matching requests are looked at, all else passes untouched. Empty: every "
        "request to an LLM endpoint.",
    ),
    _Option(
        "replay",
        str,
        "on",
        "on: put lost reasoning state back. observe: log what would be put back, change nothing. off: do nothing. "
        "The request header x-thoughtkeep: on|observe|off says it for one request.",
        ("on", "observe", "off"),
    ),
    _Option("ttl_days", int, 7, "Days until a conversation that is no longer used is forgotten, 1 to 3650."),
    _Option(
        "max_store_mb",
        int,
        512,
        "Megabytes that the store may hold; beyond it whole conversations are forgotten, the longest unused first.",
    ),
    _Option(
        "repair_answers",
        str,
        "auto",
        "auto: answers that clients of OpenAI's shape cannot read (Databricks, Google's compat endpoint) are made "
        "readable. off: answers are never changed.",
        ("auto", "off"),
    ),
    _Option(
        "skip_value",
        str,
        "auto",
        "auto: where Gemini 3 or later demands a thought signature that nobody has, send the stand-in that Google "
        "documents. off: never.",
        ("auto", "off"),
    ),
    _Option(
        "rescue",
        str,
        "on",
        "on: when a request is refused for lost or refused reasoning state, repair it, send it once more, and answer "
        "the client with that. off: never.",
        ("on", "off"),
    ),
    _Option(
        "handover",
        str,
        "auto",
        "auto: when a conversation moves to another model, send it a summary and the latest user turn in place of the "
        "history. off: the history goes as it is.",
        ("auto", "off"),
    ),
    _Option(
        "handover_min_tokens",
        int,
        2000,
        "Shorter histories (estimated: a token is four characters) are never replaced by a summary.",
    ),
    _Option(
        "handover_model",
        str,
        "",
        "The model that writes summaries: a name, or pairs PATTERN=MODEL (the pattern, with *, is of the model that "
        "takes over), separated by commas. Empty: the model that takes over.",
    ),
    _Option(
        "handover_url",
        str,
        "",
        "Where summaries are made instead of the host of the request: the full URL of an endpoint. The history is sent "
        "there, without the request's credentials.",
    ),
    _Option(
        "handover_key_env",
        str,
        "",
        "The name of the environment variable that holds the key for thoughtkeep_handover_url.",
    ),
    _Option("handover_timeout", int, 20, "Seconds to wait for a summary; then the full history goes."),
    _Option("handover_max_tokens", int, 1200, "About how long a summary may be, in tokens."),
    _Option(
        "summary_role",
        str,
        "user",
        "user: the summary stands in front of the user's words. assistant: in a message of the assistant before them.",
        ("user", "assistant"),
    ),
    _Option(
        "websocket",
        str,
        "on",
        "on: the frames of WebSockets at the Responses API (Codex) are read and completed like requests. off: such an "
        "upgrade is answered with 426, and Codex uses server-sent events.",
        ("on", "off"),
    ),
    _Option(
        "response_header",
        str,
        "off",
        "on: the header x-thoughtkeep of each answer says in a word what was done: unchanged, restored, cleaned, "
        "handover, rescued, repaired. off: answers have no such header.",
        ("on", "off"),
    ),
    _Option(
        "turn_log",
        str,
        "",
        "A file to which each exchange adds one line of JSON: what was kept, restored, handed over; no words, no "
        "secrets. Empty: none.",
    ),
    _Option(
        "max_body_mb",
        int,
        16,
        "Megabytes of a streamed answer that are kept for mitmproxy's views and saved flows; of a longer one nothing "
        "is. 0: streamed answers are never kept.",
    ),
    _Option(
        "keep_flows",
        int,
        0,
        "How many flows mitmweb and mitmproxy keep: older ones that are over go, with their bodies, but for those that "
        "you marked. 0: all are kept.",
    ),
    _Option(
        "redact_saved",
        str,
        "off",
        "on: when an exchange is over its credentials are taken out of the flow, so that no saved file holds them (it "
        "can then not be replayed). off: flows stay as they were.",
        ("on", "off"),
    ),
)


# What holds as long as the options are no valid ones.
OFF = Settings(store="memory:", filter="", replay="off", ttl_days=7, max_store_mb=1)


def declare(loader: Loader) -> None:
    """Tell mitmproxy of the options."""
    for option in OPTIONS:
        loader.add_option(PREFIX + option.name, option.kind, option.default, option.help, option.choices or None)


def read(options: Options) -> Settings:
    """The options as they stand. Raises mitmproxy's OptionsError, one sentence a wrong option."""
    values = {option.name: getattr(options, PREFIX + option.name) for option in OPTIONS}
    try:
        return Settings.model_validate(values)
    except ValidationError as fault:
        wrong = [f"{PREFIX}{error['loc'][0]}: {_told(error)}" for error in fault.errors()]
        # Without the cause: pydantic's own words show the value, and a store's URL may hold a password.
        raise exceptions.OptionsError("; ".join(wrong)) from None  # type: ignore[no-untyped-call]  # mitmproxy's own


def _told(error: ErrorDetails) -> str:
    if error["type"] == "value_error":  # a validator of ours: its words say as much of the value as may be said
        return error["msg"].removeprefix("Value error, ")
    return f"{error['msg']} (it is {error['input']!r})"
