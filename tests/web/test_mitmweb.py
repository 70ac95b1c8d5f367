"""mitmweb with thoughtkeep, in a real browser: views, the comment column, the diff, each command in its command bar."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.kit import ADDON, BACKSTAGE, FINISHED, Talk, agent, client, logged, redirect, wait_for
from e2e.switching import SHAPES, SUMMARY, Board, Session
from e2e.upstream import Line, Request, Upstream
from providers import PROVIDERS, Provider, Site
from proxy import Proxy
from web.browser import Web, needs_chromium

pytestmark = needs_chromium

COLUMNS = [word for name in ("path", "status", "comment") for word in ("--set", f"web_columns={name}")]

#: A provider of each format, what its second request puts back, and how the line begins that shows it.
SESSIONS = {
    "chat": ("openrouter-claude", "+ reasoning_details 1 entry, \u2039"),
    "gemini": ("gemini", "+   thoughtSignature \u2039"),
    "messages": ("anthropic", "+ signature \u2039"),
    "responses": ("openai-responses", "+ encrypted_content \u2039"),
}


def watching(*words: str | Path) -> Proxy:
    """A mitmweb with the addon."""
    options = ["--set", "thoughtkeep_store=memory:", "--set", "thoughtkeep_handover_min_tokens=0", *COLUMNS]
    return Proxy(*options, "-s", BACKSTAGE, "-s", ADDON, *words, program="mitmweb")


@pytest.fixture(scope="module")
def mitmweb() -> Iterator[Proxy]:
    with watching() as proxy:
        yield proxy


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("form", SESSIONS)
def test_a_session_of_each_format_reads_like_the_conversation_with_what_was_put_back_marked(
    form: str, streamed: bool
) -> None:
    name, mark = SESSIONS[form]
    provider = Provider(PROVIDERS[name])
    mode = next(mode for mode, how in provider.dialect.modes.items() if how.streamed == streamed)
    with Site(provider, lifetime=120) as site, watching(*redirect(site.port)) as proxy:
        outcome = agent(provider, mode, provider.url(mode, real=True), proxy=proxy.url)
        assert outcome.texts == FINISHED
        with Web(proxy) as web:
            rows = web.rows()
            assert [bool(row["comment"]) for row in rows] == [False, True, True, True, True]
            assert rows[1]["comment"].startswith("restored ")
            assert [row["marker"] for row in rows] == ["", *["\U0001f9e0"] * 4]
            web.select(1)
            web.tab("request")
            view = web.view()
            assert view.title.startswith("thoughtkeep")
            lines = view.text.splitlines()
            assert any(line.startswith(mark) for line in lines)
            assert any("What is the weather in Paris" in line for line in lines)
            assert any('call get_weather {"city":"Paris"' in line for line in lines)
            assert not [line for line in lines if line.startswith("- ")]
            web.tab("response")
            answer = web.view()
            assert answer.title.startswith("thoughtkeep")
            assert "call get_time" in answer.text
            assert "1 turn kept" in answer.text
            web.choose_view("raw")
            assert web.view().text.startswith(("data:", "event:", ":") if streamed else "{")
            web.tab("request")
            web.choose_view("thoughtkeep-diff")
            diff = web.view().text.splitlines()
            assert diff[0].startswith("restored ")
            assert diff[1].startswith("@ ")
            assert [line for line in diff if line.startswith("+ ")]
            assert not [line for line in diff if line.startswith("- ")]
            assert web.problems() == []


def test_the_diff_shows_exactly_what_was_put_in(mitmweb: Proxy) -> None:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(mitmweb, headers=talk.headers) as asking, Web(mitmweb) as web:
        for body in (talk.first, talk.second):
            asking.post(upstream.url + talk.path, content=body)
        web.until(lambda w: any(row["comment"] == "restored 1" for row in w.rows()))
        web.select(len(web.rows()) - 1)
        web.tab("request")
        web.choose_view("thoughtkeep-diff")
        told = web.view().text.splitlines()
        sent = json.loads(upstream.requests[1].body)["messages"][1]
    assert told[:2] == ["restored 1", "@ messages[1]"]
    (line,) = [line for line in told if line.startswith("+ ")]
    assert line == f"+ reasoning_content: Reasoning {talk.name}: é\\u2028—"
    assert sent["reasoning_content"] == talk.thought


@pytest.mark.parametrize("shape", SHAPES)
def test_a_handover_shows_its_summary_its_sizes_and_what_it_replaced(shape: str) -> None:
    with watching() as proxy, Upstream(Board(shape).script) as upstream, Web(proxy) as web:
        session = Session(proxy, upstream.url, SHAPES[shape])
        for number in range(3):
            session.turn("model-a", f"Question {number}. " + "words " * 200)
        session.turn("model-b", "And now?")
        web.until(lambda w: any(row["comment"].startswith("handover") for row in w.rows()))
        rows = web.rows()
        assert "thoughtkeep asks for a summary" in [row["comment"] for row in rows]
        web.select(next(number for number, row in enumerate(rows) if row["comment"].startswith("handover")))
        web.tab("request")
        lines = web.view().text.splitlines()
    assert any(line.startswith("thoughtkeep: handover from model-a: ") and "tokens" in line for line in lines)
    assert [line for line in lines if line.startswith("- user: Question ")]
    assert "+ [handover summary]" in lines
    assert all(f"+ {line}" in lines for line in SUMMARY.splitlines())
    assert "  And now?" in lines


def test_the_flow_that_is_looked_at_is_the_focus_of_commands(mitmweb: Proxy) -> None:
    talks = [Talk(), Talk()]
    with Web(mitmweb) as web:
        for talk in talks:
            with Upstream(talk.answer) as upstream, client(mitmweb, headers=talk.headers) as asking:
                asking.post(upstream.url + talk.path, content=talk.first)
        web.until(lambda w: sum(talk.path in row["path"] for talk in talks for row in w.rows()) >= 4)
        last = len(web.rows()) - 1
        for number, talk in ((last, talks[1]), (last - 1, talks[0])):
            web.select(number)
            web.tab("request")
            assert talk.name in web.view().text
            assert talk.call in web.command("thoughtkeep.show @focus")


def test_the_command_bar_runs_each_command(mitmweb: Proxy, tmp_path: Path) -> None:
    talk = Talk()
    export, saved = tmp_path / "talk.json", tmp_path / "flows"
    with Upstream(talk.answer) as upstream, client(mitmweb, headers=talk.headers) as asking, Web(mitmweb) as web:

        def send(body: bytes) -> bytes:
            asking.post(upstream.url + talk.path, content=body)
            return upstream.requests[-1].body

        send(talk.first)
        send(talk.second)
        web.until(lambda w: bool(w.rows()) and w.rows()[-1]["comment"] == "restored 1")
        web.select(len(web.rows()) - 1)
        web.tab("request")
        focus = f"@{web.flow_id()}"
        wait_for(lambda: "memory: " in web.command("thoughtkeep.stats"))
        assert talk.call in web.command("thoughtkeep.show @focus")
        assert "@ messages[1]" in web.command("thoughtkeep.diff @focus")
        assert "writing to" in web.command(f"thoughtkeep.export @focus {export}")
        wait_for(export.exists)
        assert "is asked from its next request on" in web.command("thoughtkeep.switch @focus model-2")
        assert json.loads(send(talk.second))["model"] == "model-2"
        assert "own model is asked again" in web.command("thoughtkeep.switch @focus off")
        assert json.loads(send(talk.second))["model"] == "model-1"
        web.command(f"save.file {focus} {saved}")
        assert "reading" in web.command(f"thoughtkeep.seed {saved}")
        logged(mitmweb, f"kept from {saved}")
        assert "nothing was kept" in web.command("thoughtkeep.forget.turn @focus")
        assert "forgot the conversation" in web.command("thoughtkeep.forget.conversation @focus")
        assert not talk.restored(send(talk.second))
        assert "forgot everything" in web.command("thoughtkeep.forget.all")
        assert web.problems() == []
        assert "took " in web.command("thoughtkeep.prune 1")  # the page may ask once more for a flow that has gone
        web.until(lambda w: len(w.rows()) == 1)


def test_a_command_that_is_wrong_shows_one_clear_sentence(mitmweb: Proxy) -> None:
    with Web(mitmweb) as web:
        assert "keep 0 flows or more" in web.command("thoughtkeep.prune -1")


EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31mred\x1b[0m \u202egnp.exe"


def hostile(request: Request, line: Line) -> None:
    """An answer that would harm whoever shows it as it is."""
    message = {"role": "assistant", "content": EVIL, "reasoning_content": EVIL}
    call = {"id": EVIL, "type": "function", "function": {"name": EVIL, "arguments": json.dumps({EVIL: EVIL})}}
    choice = {"index": 0, "message": {**message, "tool_calls": [call]}, "finish_reason": EVIL}
    line.answer(json.dumps({"model": EVIL, "choices": [choice]}).encode(), {"content-type": "application/json"})


def test_hostile_words_are_shown_as_text_and_run_nothing(mitmweb: Proxy) -> None:
    body = {"model": EVIL, "messages": [{"role": "user", "content": EVIL}], "tools": [{"function": {"name": EVIL}}]}
    with Upstream(hostile) as upstream, client(mitmweb) as asking, Web(mitmweb) as web:
        asking.post(upstream.url + "/v1/chat/completions", json=body)
        web.until(lambda w: bool(w.rows()))
        web.select(len(web.rows()) - 1)
        for tab in ("request", "response"):
            web.tab(tab)
            text = web.view().text
            assert "<script>alert(1)</script>" in text
            assert "\\x1b[31mred" in text
            assert "\x1b" not in text
            assert "\u202e" not in text
        assert web.problems() == []


def test_an_answer_of_ten_megabytes_is_shown_within_bounds(mitmweb: Proxy) -> None:
    piece = json.dumps({"choices": [{"index": 0, "delta": {"content": "ten megabytes of words\n" * 40}}]})
    end = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})

    def answer(request: Request, line: Line) -> None:
        line.stream([f"data: {piece}\n\n".encode() * 500] * 22 + [f"data: {end}\n\n".encode()])

    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    with Upstream(answer) as upstream, client(mitmweb) as asking, Web(mitmweb) as web:
        assert len(asking.post(upstream.url + "/v1/chat/completions", json=body).content) > 10_000_000
        web.until(lambda w: bool(w.rows()))
        web.select(len(web.rows()) - 1)
        web.tab("response")
        view = web.view()
        assert view.title.startswith("thoughtkeep")
        assert "439,984 lines folded" in view.text
        assert len(view.text) < 10_000
