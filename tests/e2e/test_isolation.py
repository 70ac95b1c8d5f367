"""Whose state it is: one credential never gets another's, and a credential that is renewed stays who it was."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping

import pytest

from agentloop import run
from dialogues import DIALOGUES
from e2e.kit import Talk, client, keeper
from e2e.upstream import Upstream
from providers import PROVIDERS, TASKS, Provider
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
}


@pytest.mark.parametrize("way", RENEWED)
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


@pytest.mark.parametrize("name", PROVIDERS)
def test_whoever_goes_on_with_anothers_tool_loop_brings_back_nothing_of_its_state(
    name: str, proxy: Proxy, providers: Mapping[str, Provider]
) -> None:
    provider = providers[name]
    dialect = provider.dialect
    alice, bob = (
        {
            header: re.sub(r"[^ ]+$", f"key-of-{person}", value) if "made-up" in value else value
            for header, value in dialect.headers.items()
        }
        for person in ("alice", "bob")
    )
    mode = next(mode for mode, how in dialect.modes.items() if not how.streamed)
    model = dialect.model if dialect.modes[mode].model_in_body else None
    dialogue = DIALOGUES[dialect.shape](model, dialect.extra_of(mode))
    url = provider.url(mode)
    assert run(dialogue, url, TASKS, streamed=False, proxy=proxy.url, headers=alice, max_requests=1).requests == 1
    with client(proxy) as asking:
        asking.post(url, json=dialogue.body(False), headers=bob)
        assert not [record for record in provider.issued if record.returned]
        assert asking.post(url, json=dialogue.body(False), headers=alice).status_code == 200
        assert [record for record in provider.issued if record.returned]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Proxy]:
    """A proxy that asks everybody for a name."""
    with keeper("--set", "proxyauth=any") as running:
        yield running


def test_users_of_the_proxy_are_kept_apart_although_they_share_a_key(guarded: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream:
        url = upstream.url + talk.path
        for user, body in (("alice", talk.first), ("bob", talk.second), ("alice", talk.second)):
            with client(guarded, user=f"{user}:secret-of-{user}", headers=talk.headers) as asking:
                assert asking.post(url, content=body).status_code == 200
        _, bobs, alices = (request.body for request in upstream.requests)
        assert bobs == talk.second
        assert talk.restored(alices)
    assert "secret-of-" not in guarded.log()


def test_a_user_of_the_proxy_keeps_its_state_when_its_key_is_another(guarded: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(guarded, user="carol:x") as asking:
        url = upstream.url + talk.path
        asking.post(url, content=talk.first, headers={"x-api-key": "one"})
        asking.post(url, content=talk.second, headers={"x-api-key": "two"})
        assert talk.restored(upstream.requests[1].body)
