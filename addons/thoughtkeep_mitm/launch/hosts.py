"""Which hosts mitmproxy looks into: its option `allow_hosts`, a regular expression on `host:port`.

mitmproxy searches with it, without regard to case, in what the client asked for and in what it connected to. Everything
that does not match passes without being decrypted.
"""

import re
from collections.abc import Iterable, Sequence

from thoughtkeep.profiles import PROFILES

_PATTERN = re.compile(r"([A-Za-z0-9.*?_-]+)(:[0-9]{1,5})?")


def llm_hosts() -> tuple[str, ...]:
    """The hosts of all vendors that thoughtkeep knows, as patterns: `*` for any run of characters."""
    return tuple(pattern for profile in PROFILES for pattern in profile.hosts)


def allowed(more: Sequence[str] = ()) -> str:
    """The regular expression of the known vendors' hosts and of `more` patterns. Raises ValueError."""
    return expression([*llm_hosts(), *more])


def expression(patterns: Iterable[str]) -> str:
    """The regular expression that matches `host:port` of these patterns and nothing else. Raises ValueError.

    A pattern is a host name with `*` (any run of characters) and `?` (any character), and a port where only that one is
    meant. The dot at the end of a fully qualified name changes nothing.
    """
    return f"^(?:{'|'.join(dict.fromkeys(map(_one, patterns)))})$"


def _one(pattern: str) -> str:
    parts = _PATTERN.fullmatch(pattern)
    if parts is None:
        raise ValueError(f"not a host name or pattern: {pattern!r} (such as llm.example.com, *.example.com, box:8000)")
    name = "".join(_ANY.get(char) or re.escape(char) for char in parts[1].rstrip("."))
    return rf"{name}\.?{parts[2] or r':\d+'}"


_ANY = {"*": ".*", "?": "."}
