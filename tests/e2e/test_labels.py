"""What flows show in lists: a marker, a comment and words to filter by where something was done, nothing elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.kit import HERE, WITNESS, Talk, backstage, client, keeper, wait_for, witnessed
from e2e.switching import SHAPES, Board, Session, handing
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy

MARKING = """
from mitmproxy import http

class Marking:
    def requestheaders(self, flow):
        if "x-comment" in flow.request.headers:
            flow.comment = flow.request.headers.pop("x-comment")
            flow.marked = ":grapes:"

addons = [Marking()]
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    marking = tmp_path_factory.mktemp("addons") / "marking.py"
    marking.write_text(MARKING)
    with keeper("-s", WITNESS, before=[marking]) as proxy:
        yield proxy


def play(proxy: Proxy, talk: Talk, *bodies: bytes, **headers: str) -> list[dict[str, Any]]:
    """Send bodies of a talk; what their flows show at the end."""
    before = len(witnessed(proxy, "flow"))
    with Upstream(talk.answer) as upstream, client(proxy, headers={**talk.headers, **headers}) as asking:
        for body in bodies:
            asking.post(upstream.url + talk.path, content=body)
    wait_for(lambda: len(witnessed(proxy, "flow")) >= before + len(bodies))
    return witnessed(proxy, "flow")[before:]


def test_a_flow_that_was_changed_is_marked_and_says_what_was_done(watched: Proxy) -> None:
    talk = Talk()
    first, second = play(watched, talk, talk.first, talk.second)
    assert (first["comment"], first["marked"]) == ("", "")
    assert "thoughtkeep_done" not in first["metadata"]
    assert (second["comment"], second["marked"]) == ("restored 1", ":brain:")
    assert second["metadata"]["thoughtkeep_done"] == "restored"


def test_a_complete_request_leaves_its_flow_as_it_is(watched: Proxy) -> None:
    talk = Talk()
    shown = [(told["comment"], told["marked"]) for told in play(watched, talk, talk.first, talk.complete)]
    assert shown == [("", "")] * 2


def test_with_observe_nothing_is_done_and_nothing_is_marked(watched: Proxy) -> None:
    talk = Talk()
    told = play(watched, talk, talk.first, talk.second, **{"x-thoughtkeep": "observe"})
    assert [each["comment"] for each in told] == ["", ""]


def test_a_comment_and_a_marker_of_somebody_else_stay(watched: Proxy) -> None:
    talk = Talk()
    first, second = play(watched, talk, talk.first, talk.second, **{"x-comment": "look here"})
    assert (first["comment"], first["marked"]) == ("look here", ":grapes:")
    assert (second["comment"], second["marked"]) == ("look here | restored 1", ":grapes:")


def test_flow_metadata_holds_primitives_and_the_names_of_what_was_kept(watched: Proxy) -> None:
    talk = Talk()
    (told,) = play(watched, talk, talk.first)
    meta = told["metadata"]
    assert all(value is None or isinstance(value, (str, int, bool)) for value in meta.values())
    assert meta["thoughtkeep_turns"].endswith("-0")
    assert len(meta["thoughtkeep_conversation"]) == len(meta["thoughtkeep_tenant"]) == 32


def test_flows_of_other_hosts_and_paths_show_nothing(watched: Proxy) -> None:
    def answer(request: Request, line: Line) -> None:
        line.answer(b"{}", {"content-type": "application/json"})

    before = len(witnessed(watched, "flow"))
    with Upstream(answer) as upstream, client(watched) as asking:
        asking.post(upstream.url + "/v1/embeddings", content=b'{"model":"m","input":"x"}')
    told = wait_for(lambda: witnessed(watched, "flow")[before:])[0]
    assert (told["comment"], told["marked"], told["metadata"]) == ("", "", {})


@pytest.mark.parametrize("shape", SHAPES)
def test_a_handover_says_from_whom_it_is_and_what_it_saves(shape: str) -> None:
    with handing("-s", HERE / "witness_addon.py") as proxy, Upstream(Board(shape).script) as upstream:
        session = Session(proxy, upstream.url, SHAPES[shape])
        for _ in range(3):
            session.turn("model-a", "words " * 200)
        session.turn("model-b")
        told = [each for each in witnessed(proxy, "flow") if each["comment"]]
    ours = [each for each in told if each["comment"].startswith("handover")]
    assert [each["marked"] for each in ours] == [":handshake:"]
    assert ours[0]["comment"].startswith("handover from model-a: ")
    assert ours[0]["comment"].endswith(" tokens")
    assert [each["comment"] for each in told if each not in ours] == ["thoughtkeep asks for a summary"]


def test_the_response_header_says_in_a_word_what_was_done_where_it_is_wanted(watched: Proxy) -> None:
    for streamed in (True, False):
        talk = Talk(streamed=streamed)
        with Upstream(talk.answer) as upstream, client(watched, headers=talk.headers) as asking:
            assert "x-thoughtkeep" not in asking.post(upstream.url + talk.path, content=talk.first).headers
            backstage(watched, thoughtkeep_response_header="on")
            try:
                told = [asking.post(upstream.url + talk.path, content=body) for body in (talk.first, talk.second)]
            finally:
                backstage(watched, thoughtkeep_response_header="off")
        assert [answer.headers["x-thoughtkeep"] for answer in told] == ["unchanged", "restored"]


def test_the_response_header_tells_of_a_rescue(watched: Proxy) -> None:
    refusal = {"error": {"message": "Function call is missing a thought_signature in functionCall parts."}}
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "x"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        ]
    }

    def answer(request: Request, line: Line) -> None:
        kind = {"content-type": "application/json"}
        if b"skip_thought" in request.body:
            line.answer(b'{"candidates":[{"content":{"parts":[{"text":"y"}]},"finishReason":"STOP"}]}', kind)
        else:
            line.answer(json.dumps(refusal).encode(), kind, "400 Bad Request")

    backstage(watched, thoughtkeep_response_header="on")
    try:
        with Upstream(answer) as upstream, client(watched) as asking:
            told = asking.post(upstream.url + "/v1beta/models/gemini-2.5-pro:generateContent", json=body)
    finally:
        backstage(watched, thoughtkeep_response_header="off")
    assert (told.status_code, told.headers["x-thoughtkeep"]) == (200, "rescued")
    flows = [each for each in witnessed(watched, "flow") if "gemini-2.5" in each["path"]]
    assert [(each["comment"], each["marked"]) for each in flows] == [
        ("thoughtkeep tries again", ""),
        ("rescued (signature_missing)", ":ambulance:"),
    ]
