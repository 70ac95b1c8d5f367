"""The variables of the agent, the files that they name, and the proxy that the user has already."""

from __future__ import annotations

from pathlib import Path

import certifi
import pytest

from thoughtkeep_mitm.launch import certificates
from thoughtkeep_mitm.launch.environment import ADDING, BASE_URLS, REPLACING, Outer, base_urls, outer, variables

CA, BUNDLE = Path("/ca.pem"), Path("/bundle.pem")
LOCAL = "localhost,127.0.0.1,::1"
ONE, TWO, THREE = (
    f"-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----".encode() for name in ("one", "two", "three")
)


def test_all_that_is_set_and_nothing_else() -> None:
    proxy = "http://127.0.0.1:1234"
    assert variables(proxy, CA, BUNDLE, {"PATH": "/bin", "SSL_CERT_FILE": "/own.pem"}) == {
        "HTTPS_PROXY": proxy,
        "HTTP_PROXY": proxy,
        "https_proxy": proxy,
        "http_proxy": proxy,
        "NO_PROXY": LOCAL,
        "no_proxy": LOCAL,
        "NODE_USE_ENV_PROXY": "1",
        "NODE_EXTRA_CA_CERTS": "/ca.pem",
        "SSL_CERT_FILE": "/bundle.pem",
        "REQUESTS_CA_BUNDLE": "/bundle.pem",
        "CURL_CA_BUNDLE": "/bundle.pem",
        "GIT_SSL_CAINFO": "/bundle.pem",
        "CODEX_CA_CERTIFICATE": "/bundle.pem",
        "DENO_CERT": "/bundle.pem",
    }


@pytest.mark.parametrize(
    ("base", "hosts"),
    [
        ({}, LOCAL),
        ({"NO_PROXY": "", "no_proxy": " , "}, LOCAL),
        ({"NO_PROXY": ".corp.example"}, f".corp.example,{LOCAL}"),
        ({"no_proxy": ".corp.example"}, f".corp.example,{LOCAL}"),
        ({"NO_PROXY": "a,b", "no_proxy": "b c"}, f"a,b,c,{LOCAL}"),
        ({"NO_PROXY": "127.0.0.1,a"}, "127.0.0.1,a,localhost,::1"),
        ({"NO_PROXY": "*"}, f"*,{LOCAL}"),
    ],
)
def test_whom_the_user_asks_directly_stays_so_and_this_machine_is(base: dict[str, str], hosts: str) -> None:
    found = variables("http://127.0.0.1:1", CA, BUNDLE, base)
    assert found["NO_PROXY"] == found["no_proxy"] == hosts


def test_base_urls_lead_to_the_proxy_past_a_proxy_of_the_users() -> None:
    url = "http://127.0.0.1:1/api/v1"
    assert base_urls(f"{url}/", {"NO_PROXY": "a"}) == dict.fromkeys(BASE_URLS, url)
    hosts = f"a,{LOCAL}"
    expected = {**dict.fromkeys(BASE_URLS, url), "NO_PROXY": hosts, "no_proxy": hosts}
    assert base_urls(url, {"NO_PROXY": "a", "https_proxy": "http://corp:80"}) == expected


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "", "https_proxy": " "}, None),
        ({"HTTP_PROXY": "http://corp:3128"}, None),  # https goes directly, so it does from here
        ({"HTTPS_PROXY": "http://corp:3128"}, Outer("http://corp:3128")),
        ({"HTTPS_PROXY": "http://upper:1", "https_proxy": "http://lower:2"}, Outer("http://lower:2")),
        ({"ALL_PROXY": "http://all:1"}, Outer("http://all:1")),
        ({"ALL_PROXY": "http://all:1", "HTTPS_PROXY": "http://corp:3128/"}, Outer("http://corp:3128")),
        ({"HTTPS_PROXY": "corp:3128"}, Outer("http://corp:3128")),
        ({"HTTPS_PROXY": "http://corp"}, Outer("http://corp:80")),
        ({"HTTPS_PROXY": "https://corp"}, Outer("https://corp:443")),
        ({"HTTPS_PROXY": "http://[::1]:8080"}, Outer("http://[::1]:8080")),
        ({"HTTPS_PROXY": "http://me:pass%40word@corp:3128"}, Outer("http://corp:3128", "me:pass@word")),
        ({"HTTPS_PROXY": "http://me@corp:3128"}, Outer("http://corp:3128", "me:")),
    ],
)
def test_the_proxy_that_the_user_has_already(base: dict[str, str], found: Outer | None) -> None:
    assert outer(base) == found


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("socks5://me:secret@corp:1080", "HTTPS_PROXY names a socks5 proxy"),
        ("http://me:secret@corp:port", "HTTPS_PROXY is not a proxy's address"),
        ("http://me:secret@corp:1/path", "HTTPS_PROXY is not a proxy's address"),
        ("http://", "HTTPS_PROXY is not a proxy's address"),
    ],
)
def test_one_that_cannot_be_used_is_said_without_its_password(value: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as fault:
        outer({"HTTPS_PROXY": value})
    assert "secret" not in str(fault.value)


def pem(folder: Path, name: str, *found: bytes) -> str:
    path = folder / name
    path.write_bytes(b"\n".join(found) + b"\n")
    return str(path)


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A system that has a bundle of one certificate."""
    path = pem(tmp_path, "system.pem", ONE)
    monkeypatch.setattr(certificates, "_places", lambda: [tmp_path / "none.pem", Path(path), Path(certifi.where())])
    return path


def test_the_systems_certificates_are_trusted(system: str) -> None:
    assert certificates.trusted({}) == [ONE]


def test_what_the_user_names_stands_in_their_place_or_adds_to_them(system: str, tmp_path: Path) -> None:
    own, more = pem(tmp_path, "own.pem", TWO), pem(tmp_path, "more.pem", THREE)
    assert set(certificates.trusted({"SSL_CERT_FILE": own})) == {TWO}
    assert set(certificates.trusted({"REQUESTS_CA_BUNDLE": own, ADDING: more})) == {ONE, TWO, THREE}
    assert set(certificates.trusted({"SSL_CERT_FILE": own, ADDING: more})) == {TWO, THREE}


@pytest.mark.parametrize("name", [*REPLACING, ADDING])
def test_files_that_are_not_there_and_folders_change_nothing(name: str, system: str, tmp_path: Path) -> None:
    assert certificates.trusted({name: "/nonexistent.pem"}) == certificates.trusted({name: str(tmp_path)}) == [ONE]
    assert certificates.trusted({name: ""}) == [ONE]


def test_a_bundle_holds_each_certificate_once_and_no_key(tmp_path: Path) -> None:
    key = b"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----"
    source = Path(pem(tmp_path, "all.pem", "# Müller".encode("latin-1"), ONE, key, TWO, ONE))
    bundle = certificates.written(tmp_path / "bundle.pem", certificates.certificates(source))
    assert bundle.read_bytes() == ONE + b"\n" + TWO + b"\n"


def test_this_system_has_certificates() -> None:
    assert len(certificates.trusted({})) > 20
