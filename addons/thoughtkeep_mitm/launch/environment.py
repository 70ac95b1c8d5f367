"""The variables by which an agent's runtime finds a proxy and trusts its certificate, all for one process alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Whom an agent asks directly. Some have a local server of their own.
LOCAL = ("localhost", "127.0.0.1", "::1")

# A file that stands in the place of the system's certificates, by who reads it: OpenSSL, Python, Go and Rust; requests;
# curl; git; Codex; Deno.
REPLACING = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CODEX_CA_CERTIFICATE",
    "DENO_CERT",
)

# A file that comes on top of them: Node and Bun.
ADDING = "NODE_EXTRA_CA_CERTS"

# Where a base URL is read from: OpenAI's SDKs, older ones of them and litellm, Anthropic's, Google's.
BASE_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")


def variables(proxy: str, ca: Path, bundle: Path, base: Mapping[str, str]) -> dict[str, str]:
    """What is to be set so that an agent goes through `proxy` and trusts it.

    `ca` holds what comes on top of the certificates that a runtime has of its own, `bundle` what stands in their place.
    """
    return {
        **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), proxy),
        **direct(base),
        "NODE_USE_ENV_PROXY": "1",
        ADDING: str(ca),
        **dict.fromkeys(REPLACING, str(bundle)),
    }


def base_urls(url: str, base: Mapping[str, str]) -> dict[str, str]:
    """What is to be set so that an agent takes `url`, which is on this machine, for its provider's.

    Where the user has a proxy, that must not be asked for it.
    """
    through = any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") and base[name] for name in base)
    return {**dict.fromkeys(BASE_URLS, url.rstrip("/")), **(direct(base) if through else {})}


def direct(base: Mapping[str, str]) -> dict[str, str]:
    """Who is asked without a proxy: whom the user named, and this machine."""
    named = re.split(r"[,\s]+", f"{base.get('NO_PROXY', '')},{base.get('no_proxy', '')}")
    hosts = ",".join(dict.fromkeys([*filter(None, named), *LOCAL]))
    return {"NO_PROXY": hosts, "no_proxy": hosts}


@dataclass(frozen=True, slots=True)
class Outer:
    """The proxy that the user has already, a company's say; ours goes through it."""

    url: str
    """Without its credentials: this shows in the list of processes."""

    auth: str = ""
    """`user:password`, where there is one."""


def outer(base: Mapping[str, str]) -> Outer | None:
    """The proxy that the user's environment names for https. Raises ValueError where mitmproxy could not use it."""
    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    name = next((name for name in names if base.get(name, "").strip()), "")
    return proxy_at(base[name], name) if name else None


def proxy_at(value: str, name: str) -> Outer:
    """A proxy's address, as URL or `host:port`. Raises ValueError, which tells nothing of its credentials."""
    value = value.strip()
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{name} is not a proxy's address") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{name} names a {parts.scheme} proxy; only http and https proxies will do")
    if not host or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"{name} is not a proxy's address (such as http://127.0.0.1:8080)")
    port = port or (443 if parts.scheme == "https" else 80)
    auth = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Outer(f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}", auth)
