"""Commands: what they answer, what they do, and that a wrong word leads to one clear sentence."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.io import FlowReader

from e2e.kit import HERE, LIST, WITNESS, Talk, backstage, client, command, keeper, logged, wait_for, witnessed
from e2e.switching import SHAPES, Board, Session, handing
from e2e.upstream import Upstream
from proxy import Proxy

NOT_OURS = "no exchange with an LLM endpoint that thoughtkeep has seen"


@pytest.fixture(scope="module")
def listed() -> Iterator[Proxy]:
    with keeper("-s", LIST, "-s", WITNESS) as proxy:
        yield proxy


class Play:
    """A talk between a client and an upstream that stays there; flows by their number."""

    def __init__(self, proxy: Proxy, upstream: Upstream, talk: Talk) -> None:
        self.proxy, self.upstream, self.talk = proxy, upstream, talk
        self.flows: list[str] = []

    def send(self, body: bytes) -> bytes:
        """Send a body; what arrived of it."""
        before = len(witnessed(self.proxy, "flow"))
        with client(self.proxy, headers=self.talk.headers) as asking:
            asking.post(self.upstream.url + self.talk.path, content=body)
        wait_for(lambda: len(witnessed(self.proxy, "flow")) > before)
        self.flows.append("@" + witnessed(self.proxy, "flow")[-1]["id"])
        return self.upstream.requests[-1].body

    def restores(self) -> bool:
        """Whether the state of the first answer is put back."""
        return self.talk.restored(self.send(self.talk.second))


@pytest.fixture
def play(listed: Proxy) -> Iterator[Play]:
    talk = Talk()
    with Upstream(talk.answer) as upstream:
        played = Play(listed, upstream, talk)
        played.send(talk.first)
        yield played


def told(proxy: Proxy, *words: str) -> str:
    return "\n".join(command(proxy, *words))


def test_every_command_has_a_name_that_mitmwebs_command_bar_takes_and_a_help_text(listed: Proxy) -> None:
    source = (HERE.parent.parent / "addons" / "thoughtkeep_mitm" / "commands.py").read_text()
    names = re.findall(r'@_command\("([^"]+)"\)', source)
    assert len(names) == 10
    assert all(re.fullmatch(r"[a-z.]+", name) for name in names)


def test_stats_tells_what_is_stored_and_what_was_done(play: Play) -> None:
    assert play.restores()
    held = re.compile(r"memory: \d+ turns?, \d+ conversations?, [\d,]+ bytes")
    wait_for(lambda: held.search(told(play.proxy, "thoughtkeep.stats")))
    lines = told(play.proxy, "thoughtkeep.stats")
    assert re.search(r"^turns kept: \d+$", lines, re.M)
    assert re.search(r"^requests restored: \d+$", lines, re.M)


def test_show_tells_the_turns_of_a_flows_conversation_without_their_state(play: Play) -> None:
    text = told(play.proxy, "thoughtkeep.show", play.flows[0])
    assert "1 turn" in text
    assert "turn 1 by model-1 at 127.0.0.1" in text
    assert 'call look {"at":"the sky"}' in text
    assert "reasoning_content \u2039" in text


def test_diff_tells_what_was_put_in(play: Play) -> None:
    assert play.restores()
    text = told(play.proxy, "thoughtkeep.diff", play.flows[1])
    assert text.startswith("restored 1\n@ messages[1]")
    assert "+ reasoning_content: " in text
    assert "- " not in text
    assert told(play.proxy, "thoughtkeep.diff", play.flows[0]) == "The request left as the client sent it."


def test_with_observe_diff_tells_what_would_be_changed(play: Play) -> None:
    play.talk.headers["x-thoughtkeep"] = "observe"
    assert not play.restores()
    text = told(play.proxy, "thoughtkeep.diff", play.flows[1])
    assert text.startswith("What would be changed:\n@ messages[1]")


def test_a_forgotten_turn_is_not_put_back(play: Play) -> None:
    assert play.restores()
    assert told(play.proxy, "thoughtkeep.forget.turn", play.flows[0]) == "forgot 1 turn"
    assert not play.restores()


def test_a_forgotten_conversation_is_not_put_back_and_others_are(play: Play) -> None:
    other = Talk()
    with Upstream(other.answer) as upstream:
        beside = Play(play.proxy, upstream, other)
        beside.send(other.first)
        assert told(play.proxy, "thoughtkeep.forget.conversation", play.flows[0]) == "forgot the conversation"
        assert not play.restores()
        assert beside.restores()


def test_after_forgetting_all_nothing_is_put_back(play: Play) -> None:
    assert told(play.proxy, "thoughtkeep.forget.all") == "forgot everything"
    assert not play.restores()


def test_forgetting_what_brought_nothing_says_so(play: Play) -> None:
    assert play.restores()
    with pytest.raises(ValueError, match="nothing was kept of the answers of these flows"):
        command(play.proxy, "thoughtkeep.forget.turn", play.flows[1])


@pytest.mark.parametrize("name", ["show", "forget.conversation", "export", "switch"])
def test_a_command_about_a_flow_that_is_none_of_ours_says_so(listed: Proxy, name: str, tmp_path: Path) -> None:
    with Upstream(lambda request, line: line.answer(b"{}", {})) as upstream, client(listed) as asking:
        asking.get(upstream.url + "/other")
        others = wait_for(lambda: [each for each in witnessed(listed, "flow") if each["path"] == "/other"])
    flow = f"@{others[-1]['id']}"
    more = {"export": [str(tmp_path / "x.json")], "switch": ["model-2"]}.get(name, [])
    with pytest.raises(ValueError, match=NOT_OURS):
        command(listed, f"thoughtkeep.{name}", flow, *more)
    assert "is not known" in told(listed, "thoughtkeep.diff", flow)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["thoughtkeep.show"], "argument mismatch"),
        (["thoughtkeep.show", "@all"], "requires one flow"),
        (["thoughtkeep.prune", "many"], "invalid literal"),
        (["thoughtkeep.prune", "-1"], "keep 0 flows or more"),
        (["thoughtkeep.nothing"], "Unknown command"),
    ],
)
def test_wrong_words_lead_to_one_clear_sentence(play: Play, words: list[str], said: str) -> None:
    play.send(play.talk.first)
    with pytest.raises(ValueError, match=said):
        command(play.proxy, *words)


def test_an_export_is_a_file_of_its_owners_with_words_and_without_secrets(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    command(play.proxy, "thoughtkeep.export", play.flows[0], str(path))
    logged(play.proxy, f"1 turn written to {path}")
    exported = json.loads(path.read_text())
    (turn,) = exported["turns"]
    assert turn["calls"] == [{"id": play.talk.call, "name": "look", "arguments": {"at": "the sky"}}]
    assert turn["state"][0]["key"] == "reasoning_content"
    assert "sk-one" not in path.read_text()
    assert witnessed(play.proxy, "flow")[-1]["metadata"]["thoughtkeep_tenant"] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_export_to_a_folder_that_is_not_there_says_so(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "no" / "talk.json"
    command(play.proxy, "thoughtkeep.export", play.flows[0], str(path))
    logged(play.proxy, f"{path} cannot be written: No such file or directory")


def test_pruning_takes_the_oldest_flows_and_leaves_those_that_a_user_marked(play: Play) -> None:
    assert play.restores()
    command(play.proxy, "flow.mark", play.flows[0], ":grapes:")
    for _ in range(3):
        play.send(play.talk.first)
    command(play.proxy, "thoughtkeep.prune", "1")
    assert told(play.proxy, "thoughtkeep.show", play.flows[0])
    with pytest.raises(ValueError, match="matched 0"):
        command(play.proxy, "thoughtkeep.show", play.flows[1])


def test_the_list_prunes_itself_where_it_is_told_to() -> None:
    talk = Talk()
    with (
        keeper("-s", LIST, "-s", WITNESS, "--set", "thoughtkeep_keep_flows=3") as proxy,
        Upstream(talk.answer) as upstream,
    ):
        played = Play(proxy, upstream, talk)
        for _ in range(8):
            played.send(talk.first)
        assert command(proxy, "view.properties.length") <= 5


# -- switches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_a_switched_conversation_asks_the_other_model_hands_over_once_and_stays_there(shape: str) -> None:
    board = Board(shape)
    with handing("-s", LIST, "-s", HERE / "witness_addon.py") as proxy, Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url, SHAPES[shape])
        session.turn("model-a", "words " * 200)
        flow = "@" + witnessed(proxy, "flow")[-1]["id"]
        assert told(proxy, "thoughtkeep.switch", flow, "model-b") == "model-b is asked from its next request on"
        for _ in range(3):
            session.turn("model-a")
        assert len(board.summaries) == 1
        asked = [(request.target, json.loads(request.body).get("model")) for request in board.turns]
        assert all("model-b" in str(each) and "model-a" not in str(each) for each in asked[1:])
        comments = [each["comment"] for each in witnessed(proxy, "flow")]
        assert any(
            each.startswith("handover from model-a: ") and "asked model-b instead of model-a" in each
            for each in comments
        )
        assert told(proxy, "thoughtkeep.switch", flow, "off") == "the client's own model is asked again"
        session.turn("model-a")
        last = board.turns[-1]
        assert "model-a" in last.target + str(json.loads(last.body).get("model"))


def test_a_switch_holds_after_a_restart_and_concerns_no_other_conversation(tmp_path: Path) -> None:
    board = Board("chat")
    store = f"sqlite:///{tmp_path / 'store.sqlite3'}"
    with handing("-s", LIST, "-s", HERE / "witness_addon.py", store=store) as proxy, Upstream(board.script) as upstream:
        session, other = (Session(proxy, upstream.url, SHAPES["chat"]) for _ in range(2))
        session.turn("model-a")
        command(proxy, "thoughtkeep.switch", "@" + witnessed(proxy, "flow")[-1]["id"], "model-b")
        proxy.restart()
        session.turn("model-a")
        other.turn("model-a")
        assert [json.loads(request.body)["model"] for request in board.turns] == ["model-a", "model-b", "model-a"]


def test_a_switch_is_not_made_with_observe_and_a_request_without_a_model_to_change_says_so() -> None:
    board = Board("chat")
    with handing("-s", LIST, "-s", HERE / "witness_addon.py") as proxy, Upstream(board.script) as upstream:
        session = Session(proxy, upstream.url, SHAPES["chat"])
        session.turn("model-a")
        command(proxy, "thoughtkeep.switch", "@" + witnessed(proxy, "flow")[-1]["id"], "model-b")
        session.turn("model-a", **{"x-thoughtkeep": "observe"})
        assert json.loads(board.turns[-1].body)["model"] == "model-a"


# -- saved flows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [True, False])
def test_a_store_that_was_seeded_from_saved_flows_restores_what_they_held(streamed: bool, tmp_path: Path) -> None:
    talk, saved = Talk(streamed=streamed), tmp_path / "flows"
    with Upstream(talk.answer) as upstream:
        with keeper("-w", saved, "-s", WITNESS) as proxy:
            Play(proxy, upstream, talk).send(talk.first)
        with keeper("-s", LIST, "-s", WITNESS) as proxy:
            assert not Play(proxy, upstream, talk).restores()
            command(proxy, "thoughtkeep.seed", str(saved))
            logged(proxy, f"1 turn of 1 exchange kept from {saved}")
            assert Play(proxy, upstream, talk).restores()
            command(proxy, "thoughtkeep.seed", str(saved))
            logged(proxy, "0 turns of 0 exchanges kept")
            assert "1 known already" in logged(proxy, "0 turns of 0 exchanges kept")


def test_a_damaged_file_of_flows_is_read_up_to_the_damage(tmp_path: Path) -> None:
    talk, saved = Talk(), tmp_path / "flows"
    with Upstream(talk.answer) as upstream:
        with keeper("-w", saved, "-s", WITNESS) as proxy:
            Play(proxy, upstream, talk).send(talk.first)
        saved.write_bytes(saved.read_bytes() + b"12345:not a flow")
        with keeper("-s", LIST, "-s", WITNESS) as proxy:
            command(proxy, "thoughtkeep.seed", str(saved))
            assert "the file is damaged from there on" in logged(proxy, "1 turn of 1 exchange kept")
            command(proxy, "thoughtkeep.seed", str(tmp_path / "nothing"))
            logged(proxy, "cannot be read: No such file or directory")
            assert "Traceback" not in proxy.log()


def test_a_streamed_answer_is_saved_with_its_body_up_to_the_bound(tmp_path: Path) -> None:
    talk, saved = Talk(), tmp_path / "flows"
    with Upstream(talk.answer) as upstream, keeper("-w", saved, "-s", WITNESS) as proxy:
        played = Play(proxy, upstream, talk)
        played.send(talk.first)
        backstage(proxy, thoughtkeep_max_body_mb=0)
        played.send(talk.first)
        proxy.stop()
        with saved.open("rb") as file:
            flows: list[Any] = [each for each in FlowReader(file).stream() if each.request.host == "127.0.0.1"]  # type: ignore[attr-defined]  # they are HTTP flows
    assert [each.response.raw_content for each in flows] == [b"".join(talk.stream), None]


def test_a_conversation_of_saved_flows_can_be_shown_and_forgotten_where_the_store_has_it(tmp_path: Path) -> None:
    talk, saved, store = Talk(), tmp_path / "flows", f"sqlite:///{tmp_path / 'store.sqlite3'}"
    with Upstream(talk.answer) as upstream:
        with keeper("-w", saved, "-s", WITNESS, store=store) as proxy:
            Play(proxy, upstream, talk).send(talk.first)
        with keeper("-s", LIST, "-s", WITNESS, store=store) as proxy:
            command(proxy, "view.flows.load", str(saved))
            assert told(proxy, "thoughtkeep.show", "~u chat") == "The store is asked: see the log."
            logged(proxy, 'call look {"at":"the sky"}')
            assert told(proxy, "thoughtkeep.forget.turn", "~u chat") == "forgot 1 turn"
            assert not Play(proxy, upstream, talk).restores()
