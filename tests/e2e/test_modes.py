"""Conversations keep their state, change hands and are rescued in every mode of mitmproxy, in the clear and in TLS.

What thoughtkeep asks by itself goes the way that the client's own requests go: to the same server, by the same name,
through the same proxies, with the same certificates checked.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import pytest

from e2e.kit import Talk
from e2e.steady import DONE, answered, demand
from e2e.switching import SUMMARY_KEY, TAG, Board
from e2e.ways import KNOWN, USER, WAYS, Through, Way, Ways, opened, socks


@pytest.fixture(scope="module", params=WAYS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Way]]:
    with opened(request.param, tmp_path_factory.mktemp("way")) as ways:
        yield ways


@pytest.fixture(params=["http", "https"])
def way(request: pytest.FixtureRequest, pair: list[Way]) -> Iterator[Way]:
    """A way on which nothing has happened yet. Whatever a test does, all that arrives must have come the same way."""
    way = pair[request.param == "https"]
    way.upstream.forget()
    before = len(way.proxy.log())
    yield way
    assert {request.header("host") for request in way.upstream.requests} == {way.host}
    assert set(way.upstream.names) <= {way.name}
    assert not [request for request in way.upstream.requests if request.header("proxy-authorization")]
    assert "fault" not in way.proxy.log()[before:]


@pytest.mark.parametrize("streamed", [True, False])
def test_in_every_mode_state_is_captured_and_put_back(streamed: bool, way: Way) -> None:
    talk = Talk(streamed=streamed)
    before = len(way.proxy.log())
    way.upstream.script = talk.answer
    answer = way.post(talk.first, talk.headers)
    assert (answer.status_code, answer.content) == (200, answered(talk))
    assert way.post(talk.second, talk.headers).status_code == 200
    first, second = way.upstream.requests
    assert first.body == talk.first
    assert talk.restored(second.body)
    assert second.header("content-length") == str(len(second.body))
    assert f"chat model-1 at {way.host.partition(':')[0]}, " in way.proxy.log()[before:]


def test_in_every_mode_a_summary_is_asked_of_the_server_that_the_client_asks(way: Way) -> None:
    board = Board()
    way.upstream.script = board.script
    session = Through(way)
    for model in ("model-a", "model-b", "model-b"):
        session.turn(model)
    assert [TAG in request.body.decode() for request in board.turns] == [False, True, True]
    (asked,) = board.summaries
    assert asked.target == board.turns[0].target
    assert asked.header("authorization") == "Bearer sk-client"


@pytest.mark.parametrize("streamed", [True, False])
def test_in_every_mode_a_request_that_was_refused_is_sent_again_to_the_same_server(streamed: bool, way: Way) -> None:
    talk = Talk(streamed=streamed)
    way.upstream.script = demand
    answer = way.post(talk.second, talk.headers)  # it began elsewhere
    assert (answer.status_code, answer.content) == (200, DONE)
    first, second = way.upstream.requests
    assert first.body == talk.second
    assert json.loads(second.body)["messages"][1]["reasoning_content"] == ""
    assert second.target == first.target


# -- what only some modes have ----------------------------------------------------------------------------------------


@pytest.fixture
def ways(tmp_path: Path) -> Iterator[Ways]:
    with ExitStack() as stack:
        yield Ways(stack, tmp_path)


def test_modes_of_one_proxy_share_what_they_know_and_none_stops_another(ways: Ways) -> None:
    """What a conversation begins in one mode goes on in each."""
    together = ways.together()
    upstream = together[0].upstream
    for begins, goes_on in product(together, repeat=2):
        talk = Talk()
        upstream.script = talk.answer
        assert begins.post(talk.first, talk.headers).content == answered(talk)
        goes_on.post(talk.second, talk.headers)
        assert talk.restored(upstream.requests[-1].body)
    for begins, goes_on in product(together, repeat=2):
        board = Board()
        upstream.script = board.script
        session = Through(begins)
        session.turn("model-a")
        session.way = goes_on
        session.turn("model-b")
        assert TAG in board.turns[1].body.decode()
        assert len(board.summaries) == 1
    assert {request.header("host") for request in upstream.requests} == {together[0].host}


def test_a_reverse_proxy_that_keeps_the_clients_host_still_asks_its_server_by_the_servers_name(ways: Ways) -> None:
    """In requests of our own as well: by the client's host the certificate would be somebody else's."""
    way = ways.reverse(True, "--set", "keep_host_header=true")
    board, talk = Board(), Talk()
    way.upstream.script = board.script
    session = Through(way)
    session.turn("model-a")
    session.turn("model-b")
    assert len(board.summaries) == 1
    way.upstream.script = demand
    assert way.post(talk.second, talk.headers).content == DONE
    assert {request.header("host") for request in way.upstream.requests} == {f"127.0.0.1:{way.proxy.port}"}
    assert set(way.upstream.names) == {"localhost"}


def test_the_password_for_the_reverse_proxys_server_goes_to_no_other_server(ways: Ways) -> None:
    board, other = Board(), Board()
    elsewhere = ways.upstream(False)
    elsewhere.script = other.script
    url = f"http://localhost:{elsewhere.port}/v1/chat/completions"
    options = [f"upstream_auth={USER}", f"thoughtkeep_handover_url={url}", "thoughtkeep_handover_key_env=SUMMARY_KEY"]
    way = ways.reverse(False, *(word for option in options for word in ("--set", option)))
    way.upstream.script = board.script
    session = Through(way)
    session.turn("model-a")
    session.turn("model-b")
    (asked,) = other.summaries
    assert (asked.header("authorization"), asked.header("host")) == (
        f"Bearer {SUMMARY_KEY}",
        f"localhost:{elsewhere.port}",
    )
    assert {request.header("authorization") for request in board.turns} == {
        f"Basic {base64.b64encode(USER.encode()).decode()}"
    }


def test_a_client_that_looked_the_address_up_itself_is_at_the_provider_that_its_handshake_names(ways: Ways) -> None:
    way = ways.socks5()[1]
    way.upstream.script = demand
    talk = Talk()
    url, headers = f"https://127.0.0.1:{way.upstream.port}{talk.path}", {**talk.headers, "host": KNOWN}
    answer = way.asking.post(url, content=talk.second, headers=headers, extensions={"sni_hostname": KNOWN})
    assert answer.content == DONE
    assert [request.header("host") for request in way.upstream.requests] == [KNOWN, KNOWN]
    assert set(way.upstream.names) == {KNOWN}
    assert f"chat model-1 at {KNOWN}, " in way.proxy.log()


def test_users_of_a_socks_proxy_are_kept_apart_although_they_share_a_key(ways: Ways) -> None:
    upstream, talk = ways.upstream(False), Talk()
    upstream.script = talk.answer
    proxy = ways.proxy("--mode", "socks5", "--proxyauth", "any")
    for user, body in (("alice", talk.first), ("bob", talk.second), ("alice", talk.second)):
        asking = ways.client(transport=socks(proxy, f"{user}:secret"))
        asking.post(f"http://localhost:{upstream.port}{talk.path}", content=body, headers=talk.headers)
    _, bobs, alices = (request.body for request in upstream.requests)
    assert bobs == talk.second
    assert talk.restored(alices)
