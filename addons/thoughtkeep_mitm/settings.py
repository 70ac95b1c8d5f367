"""The options: their names, defaults and help texts, and what makes a value valid."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mitmproxy import exceptions, flowfilter
from mitmproxy.addonmanager import Loader
from mitmproxy.flow import Flow
from mitmproxy.options import Options
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

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

    @field_validator("store")
    @classmethod
    def _store(cls, value: str) -> str:
        check_url(value)
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
        "Where reasoning state is kept: sqlite:///PATH (~ is your home, four slashes begin an absolute path), or "
        "memory: to forget it all when the proxy ends.",
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
)


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
        wrong = [
            f"{PREFIX}{error['loc'][0]}: {error['msg'].removeprefix('Value error, ')} (it is {error['input']!r})"
            for error in fault.errors()
        ]
        raise exceptions.OptionsError("; ".join(wrong)) from fault  # type: ignore[no-untyped-call]  # mitmproxy's own
