"""Codex's way: the Responses API over a WebSocket. State is captured from its frames and put into them."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from e2e.kit import HERE, LIST, WITNESS, backstage, client, command, keeper, logged, wait_for, witnessed
from e2e.responses_socket import ResponsesSocket, output, result, talking, user
from e2e.switching import Board
from e2e.upstream import Upstream
from proxy import Proxy


@pytest.fixture(scope="module")
def watched() -> Iterator[Proxy]:
    with keeper("-s", LIST, "-s", WITNESS) as proxy:
        yield proxy


@pytest.fixture
def server() -> Iterator[ResponsesSocket]:
    with ResponsesSocket() as running:
        yield running


def words() -> str:
    return f"words of {uuid4().hex}"


def test_a_conversation_that_goes_on_by_response_ids_passes_byte_for_byte(
    watched: Proxy, server: ResponsesSocket
) -> None:
    with talking(watched, server) as talk:
        talk.send([], generate=False)
        first = talk.send([user(words())], previous_response_id="")
        second = talk.send([result(first)], previous_response_id=first["response"]["id"])
    assert output(second)[-1]["content"][0]["text"] == "It is blue."
    assert [len(frame["input"]) for frame in server.frames] == [0, 1, 1]
    assert server.frames[2]["input"] == [result(first)]


def test_state_that_was_captured_from_frames_is_put_back_into_the_frames_of_a_later_connection(
    watched: Proxy, server: ResponsesSocket
) -> None:
    said = user(words())
    with talking(watched, server) as talk:
        first = talk.send([said])
    thought, call = output(first)
    with talking(watched, server) as talk:
        second = talk.send([said, call, result(first)])
    assert second["type"] == "response.completed"
    assert server.frames[1]["input"] == [said, thought, call, result(first)]


def test_without_thoughtkeep_that_request_is_refused(watched: Proxy, server: ResponsesSocket) -> None:
    said = user(words())
    with talking(watched, server, **{"x-thoughtkeep": "off"}) as talk:
        first = talk.send([said])
        answer = talk.send([said, output(first)[1], result(first)])
    assert answer["type"] == "error"
    assert "without its required 'reasoning' item" in answer["error"]["message"]
    assert "x-thoughtkeep" not in server.headers[0]


def test_a_conversation_behind_a_warm_up_is_completed_too(watched: Proxy, server: ResponsesSocket) -> None:
    said, rules = user(words()), {"type": "message", "role": "developer", "content": "be brief"}
    with talking(watched, server) as talk:
        warm = talk.send([rules], generate=False)
        first = talk.send([said], previous_response_id=warm["response"]["id"])
    thought, call = output(first)
    with talking(watched, server) as talk:
        warm = talk.send([rules], generate=False)
        second = talk.send([said, call, result(first)], previous_response_id=warm["response"]["id"])
    assert second["type"] == "response.completed"
    assert server.frames[3]["input"] == [said, thought, call, result(first)]


def test_what_a_connection_captured_over_several_rounds_is_put_back_into_the_whole_history(
    watched: Proxy, server: ResponsesSocket
) -> None:
    said, more = user(words()), user(words())
    with talking(watched, server) as talk:
        first = talk.send([said])
        second = talk.send([result(first)], previous_response_id=first["response"]["id"])
        third = talk.send([more], previous_response_id=second["response"]["id"])
    kept = [item for answer in (first, second, third) for item in output(answer) if item["type"] != "reasoning"]
    with talking(watched, server) as talk:
        fourth = talk.send([said, kept[0], result(first), kept[1], more, kept[2], result(third)])
    assert fourth["type"] == "response.completed"
    sent = [item["type"] for item in server.frames[3]["input"]]
    assert sent.count("reasoning") == 3


def test_several_conversations_on_one_connection_are_kept_apart(watched: Proxy, server: ResponsesSocket) -> None:
    said = {name: user(words()) for name in "ab"}
    answers = {}
    with talking(watched, server) as talk:
        for name in "ab":
            answers[name] = talk.send([said[name]], stream_id=name)
        for name in "ab":
            going = answers[name]["response"]["id"]
            answer = talk.send([result(answers[name])], stream_id=name, previous_response_id=going)
            assert answer["type"] == "response.completed"
    with talking(watched, server) as talk:
        for name in "ab":
            call = output(answers[name])[1]
            answer = talk.send([said[name], call, result(answers[name])])
            assert answer["type"] == "response.completed"


def test_a_flow_with_frames_shows_what_was_done_last(watched: Proxy, server: ResponsesSocket) -> None:
    said = user(words())
    with talking(watched, server) as talk:
        first = talk.send([said])
    with talking(watched, server) as talk:
        talk.send([said, output(first)[1], result(first)])
        lines = wait_for(lambda: [each for each in witnessed(watched, "injected") if each["path"] == server.path])
    assert lines[-1]["edits"] == {"reasoning item restored": 1}
    assert "captured 1, restored 1" in logged(watched, "end [")


def test_a_refused_frame_is_sent_again_repaired_and_the_client_sees_only_the_good_answer(
    watched: Proxy, server: ResponsesSocket
) -> None:
    said = user(words())
    bad = {"type": "reasoning", "id": "rs_of_another_account", "summary": [], "encrypted_content": "gAAAAforeign" * 5}
    told = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}

    def refuse(frame: dict[str, object]) -> object:
        if "rs_of_another_account" in str(frame["input"]):
            text = "The encrypted content for item rs_of_another_account could not be verified."
            return {"type": "invalid_request_error", "code": "invalid_encrypted_content", "message": text}
        return None

    server.refuse = refuse
    with talking(watched, server) as talk:
        answer = talk.send([said, bad, told, user("go on")])
    assert answer["type"] == "response.completed"
    assert [event["type"] for event in answer["events"]].count("error") == 0
    assert len(server.frames) == 2
    assert "rs_of_another_account" not in str(server.frames[1])
    logged(watched, "reasoning_refused, rescued")
    with talking(watched, server) as talk:
        talk.send([said, bad, told, user("go on"), user("and on")])
    assert len(server.frames) == 3  # what was learnt is heeded


def test_where_the_second_try_fails_too_the_client_gets_the_first_error(
    watched: Proxy, server: ResponsesSocket
) -> None:
    bad = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAforeign" * 5}
    told = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
    tries = []

    def refuse(frame: object) -> object:
        tries.append(frame)
        text = "The encrypted content for item rs_1 could not be verified."
        return {"code": "invalid_encrypted_content", "message": f"{text} ({len(tries)})"}

    server.refuse = refuse
    with talking(watched, server) as talk:
        answer = talk.send([user(words()), bad, told, user("go on")])
        assert answer["type"] == "error"
        assert answer["error"]["message"].endswith("(1)")
        server.refuse = lambda frame: None
        assert talk.send([user(words())])["type"] == "response.completed"
    assert len(tries) == 2


def test_an_error_that_names_nothing_of_ours_reaches_the_client_as_it_is(
    watched: Proxy, server: ResponsesSocket
) -> None:
    server.refuse = lambda frame: {"code": "rate_limit_exceeded", "message": "Slow down."}
    with talking(watched, server) as talk:
        assert talk.send([user(words())])["error"]["message"] == "Slow down."
    assert len(server.frames) == 1


def test_a_connection_that_breaks_leaves_what_had_closed_and_no_fault(watched: Proxy, server: ResponsesSocket) -> None:
    before = watched.log().count("fault in")
    with talking(watched, server) as talk:
        talk._line.send('{"type":"response.create","model":"m","input":[]}')
        talk._line.socket.close()
    with talking(watched, server) as talk:
        assert talk.send([user(words())])["type"] == "response.completed"
    assert watched.log().count("fault in") == before


def test_frames_that_are_no_requests_pass_as_they_are(watched: Proxy, server: ResponsesSocket) -> None:
    with talking(watched, server) as talk:
        raw = '{ "type": "response.create", "model":"m", "input": [ ], "big": 123456789012345678901234567890, "x":1.10}'
        talk._line.send(raw)
        talk.receive()
    assert server.raw[-1].decode() == raw


def test_with_observe_nothing_is_changed(watched: Proxy, server: ResponsesSocket) -> None:
    said = user(words())
    with talking(watched, server) as talk:
        first = talk.send([said])
    with talking(watched, server, **{"x-thoughtkeep": "observe"}) as talk:
        assert talk.send([said, output(first)[1], result(first)])["type"] == "error"


def test_switched_off_the_upgrade_is_answered_with_426(watched: Proxy, server: ResponsesSocket) -> None:
    backstage(watched, thoughtkeep_websocket="off")
    try:
        with client(watched) as asking:
            answer = asking.get(
                f"http://127.0.0.1:{server.port}{server.path}",
                headers={
                    "connection": "Upgrade",
                    "upgrade": "websocket",
                    "sec-websocket-version": "13",
                    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
                },
            )
    finally:
        backstage(watched, thoughtkeep_websocket="on")
    assert answer.status_code == 426
    assert server.connections == 0


def test_a_conversation_that_moves_to_another_model_is_handed_over_in_its_frame(server: ResponsesSocket) -> None:
    board = Board("responses")
    said = user(f"{words()} " + "many words " * 400)
    with (
        keeper("--set", "thoughtkeep_handover_min_tokens=0", "-s", WITNESS) as proxy,
        Upstream(board.script) as summariser,
    ):
        backstage(proxy, thoughtkeep_handover_url=f"{summariser.url}/v1/responses")
        with talking(proxy, server) as talk:
            first = talk.send([said])
            second = talk.send([result(first)], previous_response_id=first["response"]["id"])
        history = [said, output(first)[1], result(first), output(second)[1]]
        with talking(proxy, server) as talk:
            warm = talk.send([], model="gpt-6", generate=False)
            third = talk.send([*history, user("go on")], model="gpt-6", previous_response_id=warm["response"]["id"])
            assert third["type"] == "response.completed"
        sent = server.frames[-1]["input"]
        assert len(sent) == 1
        assert "[handover summary]" in str(sent)
        assert "go on" in str(sent)
        assert len(board.summaries) == 1


@pytest.mark.parametrize("fault", ["begin", "_facts", "fetch", "decide", "commit", "finish", "turns", "put"])
def test_a_fault_inside_lets_the_frames_pass_as_they_are(fault: str, server: ResponsesSocket) -> None:
    said = user(words())
    with keeper(before=[HERE / "faults_addon.py"]) as proxy, talking(proxy, server, **{"x-fault": fault}) as talk:
        first = talk.send([said])
        second = talk.send([result(first)], previous_response_id=first["response"]["id"])
    assert second["type"] == "response.completed"
    assert server.frames[1]["input"] == [result(first)]


def test_mitmdump_draws_a_request_frame_like_the_conversation(server: ResponsesSocket) -> None:
    said = user(words())
    with keeper("--flow-detail", "3") as proxy:
        with talking(proxy, server) as talk:
            first = talk.send([said])
        with talking(proxy, server) as talk:
            talk.send([said, output(first)[1], result(first)])
        logged(proxy, "+ encrypted_content \u2039")
        text = proxy.log()
    assert "thoughtkeep: restored 1" in text
    assert 'call look {"at":"the sky"}' in text


def test_a_switched_conversation_asks_the_other_model_in_its_frames(watched: Proxy, server: ResponsesSocket) -> None:
    said, before = user(words()), len(witnessed(watched, "captured"))
    with talking(watched, server) as talk:
        first = talk.send([said])
    captured = wait_for(lambda: witnessed(watched, "captured")[before:])
    command(watched, "thoughtkeep.switch", f"@{captured[-1]['id']}", "gpt-9")
    with talking(watched, server) as talk:
        talk.send([said, output(first)[1], result(first)])
    assert server.frames[-1]["model"] == "gpt-9"
