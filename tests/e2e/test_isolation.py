"""Whose state it is: one credential never gets another's, and a credential that is renewed stays who it was."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import pytest

from e2e.kit import Talk, agent, assert_all_restored, assert_refused, client, keeper
from e2e.upstream import Upstream
from providers import Provider
from proxy import Proxy


def jwt(subject: str, serial: int) -> str:
    """A token that names its owner and is new each time."""
    parts = ({"alg": "none"}, {"iss": "https://issuer.invalid", "sub": subject, "exp": serial, "jti": str(serial)})
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return f"Bearer {coded[0]}.{coded[1]}.signature-{serial}"


#: By name: the header of a client before and after its credential was renewed, and another client's.
RENEWED = {
    "google oauth": ("authorization", "Bearer ya29.first", "Bearer ya29.second", "Bearer sk-of-somebody-else"),
    "jwt": ("authorization", jwt("alice", 1), jwt("alice", 2), jwt("bob", 1)),
    "copilot": ("authorization", "Bearer tid=one;exp=1;sku=x", "Bearer tid=one;exp=2;sku=x", "Bearer tid=two;exp=1"),
    "static key": ("x-goog-api-key", "AIza-first", "AIza-first", "AIza-other"),
    "sigv4": (
        "x-api-key",  # a signed body is never edited, so here the key id stands for itself
        "AKIAFIRST",
        "AKIAFIRST",
        "AKIAOTHER",
    ),
}
WAYS = list(RENEWED)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("streamed", [True, False])
def test_state_stays_with_the_owner_of_a_credential_when_it_is_renewed_and_goes_to_nobody_else(
    way: str, streamed: bool, proxy: Proxy
) -> None:
    header, before, after, other = RENEWED[way]
    talk = Talk(streamed=streamed)
    with Upstream(talk.answer) as upstream, client(proxy) as asking:
        url = upstream.url + talk.path
        asking.post(url, content=talk.first, headers={header: before})
        asking.post(url, content=talk.second, headers={header: other})
        asking.post(url, content=talk.second, headers={header: after})
        _, others, renewed = (request.body for request in upstream.requests)
        assert others == talk.second
        assert talk.restored(renewed)


def test_a_credential_in_the_query_tells_clients_apart_too(proxy: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(proxy) as asking:
        url = upstream.url + talk.path
        asking.post(f"{url}?key=one", content=talk.first)
        asking.post(f"{url}?key=two", content=talk.second)
        asking.post(f"{url}?key=one", content=talk.second)
        _, other, own = (request.body for request in upstream.requests)
        assert other == talk.second
        assert talk.restored(own)


@pytest.mark.parametrize("name", ["gemini", "openrouter-claude", "deepseek"])
def test_an_agent_that_goes_on_with_anothers_conversation_is_refused_as_without_the_addon(
    name: str, proxy: Proxy, providers: Mapping[str, Provider]
) -> None:
    """The same words, at the same provider, under another credential: each has to be told its own state."""
    provider = providers[name]
    url = provider.url("streamed")
    (header,) = provider.dialect.headers
    scheme = "Bearer " if header == "authorization" else ""
    keys = [{header: f"{scheme}key-of-{person}"} for person in ("alice", "bob")]
    alice = agent(provider, "streamed", url, proxy=proxy.url, headers=keys[0])
    assert_all_restored(provider, alice)
    values = {str(record.value) for record in provider.issued}

    provider.reset()
    assert_refused(provider, agent(provider, "streamed", url, proxy=proxy.url, headers={**keys[1], **OFF_LATER}))
    assert not [value for value in values for exchange in provider.exchanges if value.encode() in exchange.body]


#: Bob's own first answer is not captured, so that only Alice's could be put into his second request.
OFF_LATER = {"x-thoughtkeep": "off"}
