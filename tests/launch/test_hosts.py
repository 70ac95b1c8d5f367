"""Which hosts are looked into: the regular expression on `host:port`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtkeep.profiles import NEUTRAL, profile_for
from thoughtkeep_mitm.launch.hosts import allowed, expression, llm_hosts


def matches(address: str, *more: str) -> bool:
    """As mitmproxy asks."""
    return re.search(allowed(more), address, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    ("address", "looked_into"),
    [
        ("api.openai.com:443", True),
        ("API.OpenAI.com:443", True),
        ("api.openai.com.:443", True),
        ("api.openai.com:8443", True),
        ("x.openai.azure.com:443", True),
        ("a.b.openai.azure.com:443", True),
        ("europe-west4-aiplatform.googleapis.com:443", True),
        ("aiplatform.eu.rep.googleapis.com:443", True),
        ("chatgpt.com:443", True),
        ("api.openai.com.evil.example:443", False),
        ("evil.example/api.openai.com:443", False),
        ("xapi.openai.com:443", False),
        ("apixopenai.com:443", False),
        ("openai.azure.com:443", False),
        ("api.openai.com:443@evil.example:443", False),
        ("api.openai.com", False),
        ("api.openai.com:", False),
        ("auth.openai.com:443", False),
        ("github.com:443", False),
        ("127.0.0.1:443", False),
    ],
)
def test_llm_hosts_alone_match_and_all_of_the_name_must(address: str, looked_into: bool) -> None:
    assert matches(address) is looked_into


@pytest.mark.parametrize("pattern", llm_hosts())
@pytest.mark.parametrize("star", ["x", "eu-west-1", "a.b"])
def test_every_pattern_of_the_profiles_matches_what_it_names(pattern: str, star: str) -> None:
    assert matches(f"{pattern.replace('*', star)}:443")


@given(st.sampled_from(llm_hosts()), st.text("abc.-x1", max_size=12))
def test_what_matches_is_what_has_a_profile(pattern: str, end: str) -> None:
    host = pattern.replace("*", "eu") + end
    assert matches(f"{host}:443") is (profile_for(host) is not NEUTRAL and not host.endswith(".."))


@pytest.mark.parametrize(
    ("pattern", "address", "matching"),
    [
        ("llm.example.com", "llm.example.com:443", True),
        ("llm.example.com", "llmxexample.com:443", False),
        ("*.example.com", "a.b.example.com:80", True),
        ("*.example.com", "example.com:80", False),
        ("box?", "box1:8000", True),
        ("box?", "box:8000", False),
        ("box:8000", "box:8000", True),
        ("box:8000", "box:80001", False),
        ("box:8000", "box:443", False),
        ("10.0.0.*", "10.0.0.7:443", True),
    ],
)
def test_a_pattern_of_the_users_own(pattern: str, address: str, matching: bool) -> None:
    assert (re.search(expression([pattern]), address) is not None) is matching
    assert matches(address, pattern) is matching
    assert matches("api.openai.com:443", pattern)
    if ":" not in pattern:
        assert fnmatchcase(address.rpartition(":")[0], pattern) is matching


@pytest.mark.parametrize(
    "pattern", ["", "https://llm.example.com", "a b", "host:port", "[ab].example.com", "a|b", ":80"]
)
def test_what_is_no_host_is_said(pattern: str) -> None:
    with pytest.raises(ValueError, match="not a host name or pattern"):
        allowed([pattern])
