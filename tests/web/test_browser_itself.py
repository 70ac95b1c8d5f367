"""The harness that drives mitmweb's page, on a mitmweb without the addon."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.kit import client
from e2e.upstream import Line, Request, Upstream
from proxy import Proxy
from web import browser
from web.browser import WINDOW, View, Web, needs_chromium

ASKED = '{"word":"héllo","list":[1]}'
ANSWERED = "\n".join(["first", "", " third", *map(str, range(600))])
COLUMNS = ["icon", "path", "method", "version", "status", "comment"]


def answer(request: Request, line: Line) -> None:
    line.answer(ANSWERED.encode(), {"content-type": "text/plain"}, "201 Created")


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(answer) as running:
        yield running


@pytest.fixture(scope="module")
def proxy(upstream: Upstream) -> Iterator[Proxy]:
    """A mitmweb through which three requests went: /one, /two and one that failed."""
    columns = [word for column in COLUMNS for word in ("--set", f"web_columns={column}")]
    with Proxy(*columns, program="mitmweb") as running, client(running) as http:
        for url in (f"{upstream.url}/one", f"{upstream.url}/two", "http://127.0.0.1:1/nobody"):
            http.post(url, content=ASKED.encode(), headers={"content-type": "application/json"})
        yield running


@pytest.fixture
def web(proxy: Proxy) -> Iterator[Web]:
    with Web(proxy) as window:
        yield window


@needs_chromium
def test_the_rows_are_the_flows_by_column(web: Web, upstream: Upstream) -> None:
    one, _, failed = web.until(lambda page: rows if len(rows := page.rows()) == 3 else None)
    assert one == {
        "icon": "plain",
        "marker": "",
        "signs": "",
        "path": f"{upstream.url}/one",
        "method": "POST",
        "version": "HTTP/1.1",
        "status": "201",
        "comment": "",
    }
    assert (failed["status"], "Connect call failed" in failed["signs"]) == ("", True)
    assert web.problems() == []


@needs_chromium
def test_the_details_show_a_body_in_the_view_that_was_chosen(web: Web) -> None:
    web.select("/one")
    pretty = '{\n    "word": "héllo",\n    "list": [\n        1\n    ]\n}'
    assert web.view() == View("JSON", "auto", pretty, more=False)
    assert "hex dump" in web.views()
    web.choose_view("Raw")
    assert web.view() == View("Raw", "raw", ASKED, more=False)
    web.choose_view("Hex Dump")
    assert web.view().text.startswith("0000:")
    web.select(-1)
    assert web.view().choice == "auto"

    web.select("/two")
    web.tab("response")
    shown = web.view()
    assert (shown.title, shown.more) == ("Raw", True)
    assert ANSWERED.startswith(shown.text)
    web.choose_view("hex stream")
    assert web.view().text == ANSWERED.encode().hex()
    web.tab("connection")
    with pytest.raises(AssertionError, match="no body"):
        web.view()
    assert web.problems() == []


@needs_chromium
def test_a_command_answers_and_its_effect_shows(web: Web) -> None:
    assert web.command("flow.comment @all hello") == ""
    assert web.command("flow.mark @all :red_circle:") == ""
    web.until(lambda page: [(row["comment"], row["marker"]) for row in page.rows()] == [("hello", "🔴")] * 3)
    web.select("/two")
    web.tab("comment")
    assert web.command(f"flow.comment @{web.flow_id()} 'my own'") == ""
    web.until(lambda page: [row["comment"] for row in page.rows()] == ["hello", "my own", "hello"])
    assert web.details() == "Comment\nmy own"
    assert web.command("view.properties.length") == "3"
    assert web.command("no.such.command") == '"Unknown command: no.such.command"'


@needs_chromium
def test_the_event_log_is_read_in_whole(web: Web, proxy: Proxy) -> None:
    events = web.events()
    assert len(events) > 12
    assert [event.split("] ")[-1] for event in events[1:3]] == [
        f"HTTP(S) proxy listening at 127.0.0.1:{proxy.port}.",
        f"Web server listening at {proxy.web_url.partition('?')[0]}",
    ]
    assert web.events()[: len(events)] == events


@needs_chromium
def test_a_screenshot_has_the_size_that_was_asked_for(web: Web, tmp_path: Path) -> None:
    for name, size in (("own.png", WINDOW), ("small.png", (640, 480))):
        web.screenshot(tmp_path / name, *size)
        data = (tmp_path / name).read_bytes()
        assert (data[:8], struct.unpack(">II", data[16:24])) == (b"\x89PNG\r\n\x1a\n", size)
    assert web.do(lambda page: page.viewport_size) == dict(zip(("width", "height"), WINDOW, strict=True))


@needs_chromium
def test_what_goes_wrong_on_the_page_is_told(web: Web) -> None:
    wrong = "console.error('wrong'); alert('look'); throw new Error('uncaught')"
    web.do(lambda page: page.evaluate(f"() => new Promise(done => setTimeout(() => {{ done(); {wrong} }}))"))
    web.until(lambda page: len(page.problems()) == 3)
    assert [problem.partition(" (")[0] for problem in web.problems()] == [
        "console: wrong",
        "alert: look",
        "error: uncaught",
    ]


@needs_chromium
def test_an_event_loop_may_run_while_a_window_is_open(web: Web) -> None:
    async def read() -> int:
        return len(await asyncio.to_thread(web.rows))

    assert asyncio.run(read()) == 3


def test_where_there_is_no_browser_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(browser.importlib.util, "find_spec", lambda name: name)
    assert browser.missing() == "no Chromium on PATH: apt install chromium"
    monkeypatch.setattr(browser.importlib.util, "find_spec", lambda name: None)
    assert browser.missing() == "no Python package playwright: scripts/setup"
