"""Whom an agent trusts: the system's certificate authorities, those that the user named, and mitmproxy's."""

import re
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path

import certifi

from thoughtkeep_mitm.launch.environment import ADDING, REPLACING

# Where systems keep their bundle: Debian, Fedora, SUSE, Alpine and macOS and BSD, Homebrew.
_USUAL = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/opt/homebrew/etc/ca-certificates/cert.pem",
    "/usr/local/etc/ca-certificates/cert.pem",
)

# Certificates alone: a file may hold keys too, which belong into no copy.
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def certificates(path: Path) -> list[bytes]:
    """The certificates of a PEM file, none where it cannot be read."""
    try:
        return _PEM.findall(path.expanduser().read_bytes())
    except OSError:
        return []


def trusted(base: Mapping[str, str]) -> list[bytes]:
    """What the user trusts without us: what stands in the place of the system's bundle or that, and what adds to it."""
    replaced = certificates(Path(base["SSL_CERT_FILE"])) if base.get("SSL_CERT_FILE") else []
    found = replaced or next(filter(None, map(certificates, _places())), [])
    named = [base[name] for name in (*REPLACING, ADDING) if base.get(name)]
    return [*found, *(each for path in dict.fromkeys(named) for each in certificates(Path(path)))]


def written(path: Path, found: Iterable[bytes]) -> Path:
    """Write certificates to a file, each of them once."""
    path.write_bytes(b"".join(each + b"\n" for each in dict.fromkeys(found)))
    return path


def _places() -> list[Path]:
    own = ssl.get_default_verify_paths().openssl_cafile
    return [Path(each) for each in (own, *_USUAL, certifi.where()) if each]
