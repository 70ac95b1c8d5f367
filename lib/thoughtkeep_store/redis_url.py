"""Where a Redis or Valkey server is, from a URL: and what logs may say of it.

Here and nowhere else: which URLs are taken. A URL may hold a password, so no message has any part of one that is wrong,
and a name has none of what stands before the host.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

SCHEMES = ("redis", "rediss", "unix")

_FORMS = (
    "redis://[user:password@]host[:port][/db], rediss://… for TLS, or unix:///path/to/socket[?db=1] "
    "(special characters of a password are written as %XX)"
)

# What may follow a question mark, where the scheme is one with TLS and where it is not: the client takes much more, and
# some of it would undo what the store relies on.
_TLS = {
    "ssl_ca_certs": ".+",
    "ssl_certfile": ".+",
    "ssl_keyfile": ".+",
    "ssl_cert_reqs": "none|optional|required",
    "ssl_check_hostname": "yes|no|true|false",
}
_SETTINGS = {"db": "[0-9]{1,4}"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is. `name` tells logs, without user and password."""

    url: str = field(repr=False)
    name: str


def is_ours(url: str) -> bool:
    """Whether the URL's scheme is one of a server."""
    return url.partition(":")[0] in SCHEMES and ":" in url


def address_of(url: str) -> Address:
    """Return the address that a URL gives. Raises ValueError if it is none, or if the client is not installed."""
    scheme = url.partition(":")[0]
    if find_spec("redis") is None:
        raise ValueError(f'{scheme}:… needs the client for Redis: pip install "redis>=8,<9"')
    if url.startswith(f"{scheme}://"):
        with suppress(ValueError):  # its message may hold a part of the URL
            return Address(url, _name(urlsplit(url)))
    raise ValueError(f"not a store: {scheme}:… is not of the form {_FORMS}")


def _name(parts: SplitResult) -> str:
    """Return how logs call it. Raises ValueError for what the client would not take, or not as it is meant."""
    path = unquote(parts.path)
    database = path.removeprefix("/") if parts.scheme != "unix" else ""
    settings = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    if database:
        settings.setdefault("db", []).append(database)
    known = _SETTINGS | (_TLS if parts.scheme == "rediss" else {})
    for name, values in settings.items():
        if len(values) > 1 or not re.fullmatch(known.get(name, ""), values[0]):
            raise ValueError
    number = int(settings["db"][0]) if "db" in settings else 0
    if parts.scheme == "unix":
        where, rest = path, f" {number}" if number else ""
        wrong = bool(parts.hostname) or not path.strip("/")
    else:
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        where, rest = f"{host}:{parts.port or 6379}", f"/{number}"
        wrong = not parts.hostname
    if wrong or parts.fragment:
        raise ValueError
    return f"redis {where}{rest}"
