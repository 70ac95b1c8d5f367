"""mitmweb's page in a headless Chromium: what stands on it, and the verbs with which a person uses it.

`needs_chromium` marks the tests that do not run where there is no Chromium, or no package that drives it. One Chromium
serves all tests of a process; each `Web` is a window of its own with cookies of its own. Every wait is bounded.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import os
import queue
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

from proxy import Proxy, without_proxies

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page, Response

#: Seconds that any wait takes at most.
PATIENCE = 10.0
#: Width and height of the window. Rows that would need scrolling are not on the page at all.
WINDOW = (1280, 900)

# As root there is no sandbox, and nothing that is tested needs the network beyond 127.0.0.1.
_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --no-proxy-server"
).split()

# The cells of the rows by column. A column's name is mitmweb's own, as in the option web_columns.
_ROWS = """() => [...document.querySelectorAll(".flow-table tbody tr")].filter(tr => tr.cells.length).map(tr => {
    const row = {};
    for (const cell of tr.cells) {
        const name = cell.className.match(/col-([\\w-]+)/)[1].replace("http-version", "version");
        if (name === "quickactions" || name === "filler") continue;
        if (name === "path") {
            row.marker = cell.querySelector(".marker").textContent;
            row.signs = [...cell.querySelectorAll("title")].map(title => title.textContent).join("; ");
            row.path = [...cell.childNodes].filter(node => node.nodeType === Node.TEXT_NODE)
                .map(node => node.textContent).join("");
        } else {
            row[name] = cell.title || cell.textContent;
        }
    }
    return row;
})"""

_VIEW = """() => {
    const view = document.querySelector(".flow-detail .contentview");
    if (!view) return null;
    // An empty line is shown as a hard space. Where a long text is cut off stands a button.
    const lines = [...view.querySelectorAll("pre > *")], more = lines.findIndex(line => line.tagName === "BUTTON");
    return [
        view.querySelector("h5").textContent,
        view.querySelector(".controls a:has(.caret)").textContent.replace("View:", "").trim(),
        lines.slice(0, more < 0 ? undefined : more).map(line => line.textContent.replace(/^\\xa0$/, "")).join("\\n"),
        more >= 0,
    ];
}"""

# The log shows only what fits into it, so it is made as tall as it takes for a moment.
_EVENTS = """async () => {
    const log = document.querySelector(".eventlog"), list = log.querySelector("pre"), height = log.style.height;
    const frame = () => new Promise(requestAnimationFrame);
    const hidden = () => parseFloat(list.firstChild.style.height) + parseFloat(list.lastChild.style.height);
    log.style.height = list.style.minHeight = `${list.scrollHeight + 10000}px`;
    for (let i = 0; i < 100 && (i < 2 || hidden()); i++) {
        window.dispatchEvent(new Event("resize"));
        await frame();
    }
    const lines = [...list.children].slice(1, -1).map(line => line.textContent);
    log.style.height = height;
    list.style.minHeight = "";
    list.scrollTop = list.scrollHeight;
    window.dispatchEvent(new Event("resize"));
    await frame();
    return lines;
}"""


def chromium() -> str | None:
    """The browser's program: what CHROMIUM names, or the first one on PATH."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


def missing() -> str | None:
    """Why no test can use a browser here; None if they can."""
    if importlib.util.find_spec("playwright") is None:
        return "no Python package playwright: scripts/setup"
    return None if chromium() else "no Chromium on PATH: apt install chromium"


needs_chromium = pytest.mark.skipif(missing() is not None, reason=missing() or "")


class View(NamedTuple):
    """What the details pane shows of a body."""

    #: The view that made the text and what it says of the body, such as "JSON" or "JSON [decoded gzip]".
    title: str
    #: The choice in the menu, in lower case, such as "auto".
    choice: str
    text: str
    #: Whether that is only the beginning, and a button shows more.
    more: bool


class Web:
    """mitmweb's page in a window of its own. Use it as a context manager.

    A verb returns when the page shows what it did, and raises if the page does not within `PATIENCE` seconds. What
    mitmweb is told by others shows a moment later: wait for it with `until`.
    """

    def __init__(self, proxy: Proxy) -> None:
        self._url = proxy.web_url
        self._problems: list[str] = []
        self._window: BrowserContext | None = None
        self._page: Page | None = None

    def __enter__(self) -> Web:
        try:
            _chromium().do(self._open)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def do[T](self, action: Callable[[Page], T]) -> T:
        """Do something with Playwright's page that has no verb here. `action` runs on the browser's thread."""
        page = self._page
        if page is None:
            raise RuntimeError("use the window as a context manager")
        return _chromium().do(lambda: action(page))

    def until[T](self, what: Callable[[Web], T]) -> T:
        """Ask the page again and again, until the answer is something true; returns it."""
        return _until(lambda: what(self), time.sleep)

    def rows(self) -> list[dict[str, str]]:
        """The rows of the flow list, top down: the text of each shown column, by the column's name.

        Columns of icons say what hovering over the icon says. With the path come `marker`, and `signs`: what the icons
        beside it say, such as an error's message.
        """
        return self.do(lambda page: _rows(page))

    def select(self, row: str | int) -> None:
        """Click on a row: the only one whose path holds the text, or the one at that place."""

        def click(page: Page) -> None:
            rows = page.locator(".flow-table tbody tr:has(td)")
            wanted = rows.nth(row) if isinstance(row, int) else rows.filter(has=page.locator(".col-path", has_text=row))
            # At its left end: what is in the middle may be hidden behind the details.
            wanted.click(position={"x": 4, "y": 12})
            page.locator(".flow-detail").wait_for()
            _until(lambda: "selected" in (wanted.get_attribute("class") or "").split(), _pause(page))
            _loaded(page)

        self.do(click)

    def flow_id(self) -> str:
        """The id of the selected flow; `@` and it are a way to name the flow in a command."""
        return self.do(lambda page: urlsplit(page.url).fragment.split("/")[2])

    def tab(self, name: str) -> None:
        """Go to a tab of the selected flow's details, such as "request", "response" or "comment"."""

        def click(page: Page) -> None:
            label = page.locator(".flow-detail nav").get_by_text(re.compile(f"^{re.escape(name)}$", re.IGNORECASE))
            label.click()
            _until(lambda: label.get_attribute("class") == "active", _pause(page))
            _loaded(page)

        self.do(click)

    def details(self) -> str:
        """All text of the current tab of the details."""
        return self.do(lambda page: page.locator(".flow-detail > section").inner_text())

    def view(self) -> View:
        """What the current tab shows of the request's or the response's body."""
        return self.do(_view)

    def views(self) -> list[str]:
        """The choices in the menu of content views."""

        def names(page: Page) -> list[str]:
            menu = _open_views(page)
            found = menu.locator("a").all_inner_texts()
            _close_views(page, menu)
            return found

        return self.do(names)

    def choose_view(self, name: str) -> None:
        """Choose a content view from the menu, by its name in mitmproxy, in upper or lower case."""
        label = name.lower().replace("_", " ", 1)

        def answers(response: Response) -> bool:
            return unquote(urlsplit(response.url).path).lower().endswith(f"/content/{name.lower()}.json")

        def choose(page: Page) -> None:
            if _view(page).choice == name.lower():
                return
            with page.expect_response(answers) as waiting:
                menu = _open_views(page)
                menu.get_by_text(label, exact=True).click()
            _close_views(page, menu)
            made = waiting.value.json()
            title = f"{made['view_name']} {made['description']}".rstrip()
            lines = ["" if line == "\xa0" else line for line in made["text"].split("\n")]

            def shows() -> bool:
                shown = _view(page)
                begins = shown.text.split("\n")
                return shown.title == title and begins == (lines[: len(begins)] if shown.more else lines)

            # Until then the page shows the former view's text under the new choice.
            _until(shows, _pause(page))

        self.do(choose)

    def command(self, text: str) -> str:
        """Run a command in the command bar; returns the result that is shown, "" if it is none.

        A result is shown as JSON, and so is the message of an error.
        """

        def run(page: Page) -> str:
            _display(page, "Command Bar")
            results = page.locator(".command-result > div")
            before = results.count()
            line = page.get_by_placeholder("Enter command")
            line.fill(text)
            line.press("Enter")
            result = results.nth(before)
            result.wait_for()
            return (result.text_content() or "").removeprefix(result.locator("> div").text_content() or "")

        return self.do(run)

    def events(self) -> list[str]:
        """The messages in the event log, oldest first; it stays displayed."""

        def read(page: Page) -> list[str]:
            _display(page, "Event Log")
            lines: list[str] = page.evaluate(_EVENTS)
            return lines

        return self.do(read)

    def screenshot(self, path: str | Path, width: int = WINDOW[0], height: int = WINDOW[1]) -> None:
        """Write a PNG of the page in a window of that size."""

        def shoot(page: Page) -> None:
            _resize(page, width, height)
            page.screenshot(path=path, animations="disabled")
            _resize(page, *WINDOW)

        self.do(shoot)

    def problems(self) -> list[str]:
        """What went wrong on the page so far: uncaught errors, dialogs that came up, errors on its console."""

        def read(page: Page) -> list[str]:
            # The page's events come in before an answer that was asked for after them.
            page.evaluate("0")
            return self._problems.copy()

        return self.do(read)

    def _open(self) -> None:
        browser = _chromium().browser
        self._window = browser.new_context(viewport={"width": WINDOW[0], "height": WINDOW[1]}, locale="en-US")
        self._window.set_default_timeout(PATIENCE * 1000)
        self._page = page = self._window.new_page()
        page.on("pageerror", lambda error: self._problems.append(f"error: {error}"))
        page.on("dialog", self._dismiss)
        page.on("console", lambda said: self._said(said.type, said.text, said.location["url"]))
        page.goto(self._url)
        page.locator(".connection-indicator.established").wait_for()

    def _close(self) -> None:
        window, self._window, self._page = self._window, None, None
        if window is not None:
            _chromium().do(window.close)

    def _dismiss(self, dialog: Dialog) -> None:
        self._problems.append(f"{dialog.type}: {dialog.message}")
        dialog.dismiss()

    def _said(self, kind: str, text: str, url: str) -> None:
        # mitmweb's own page asks for a style sheet that is not there.
        if kind == "error" and not url.endswith("/src/css/vendor.less"):
            self._problems.append(f"console: {text} ({url})")


class _Chromium:
    """The one browser of this process, on a thread of its own.

    Playwright keeps an event loop running on the thread that it is used on, where tests could have none then.
    """

    def __init__(self, program: str) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._ends = contextlib.ExitStack()
        self._thread = threading.Thread(target=self._work, daemon=True, name="chromium")
        self._thread.start()
        # Not a fixture's part: windows are opened from tests of any folder, and from scripts.
        atexit.register(self._close)
        self.browser = self.do(lambda: self._launch(program))

    def do[T](self, action: Callable[[], T]) -> T:
        """Run something on the browser's thread, and return what it returns."""
        future: Future[T] = Future()
        self._jobs.put((action, future))
        return future.result(6 * PATIENCE)

    def _launch(self, program: str) -> Browser:
        from playwright.sync_api import sync_playwright

        # Its notes on crashes would lie among those of the user's own browser.
        folder = self._ends.enter_context(tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True))
        env = {**without_proxies(), "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        playwright = self._ends.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=program, args=_FLAGS, env=dict(env))
        self._ends.callback(browser.close)
        return browser

    def _close(self) -> None:
        self.do(self._ends.close)
        self._jobs.put(None)
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            action, future = job
            try:
                future.set_result(action())
            except BaseException as error:
                future.set_exception(error)


@functools.cache
def _chromium() -> _Chromium:
    program = chromium()
    if program is None:
        raise RuntimeError(missing())
    return _Chromium(program)


def _until[T](what: Callable[[], T], pause: Callable[[float], object]) -> T:
    end = time.monotonic() + PATIENCE
    while not (found := what()):
        if time.monotonic() > end:
            raise AssertionError(f"not so within {PATIENCE:g} s; the last answer is {found!r}")
        pause(0.02)
    return found


def _pause(page: Page) -> Callable[[float], object]:
    # Playwright's own pause, which lets the page's events come in.
    return lambda seconds: page.wait_for_timeout(seconds * 1000)


def _rows(page: Page) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = page.evaluate(_ROWS)
    return rows


def _view(page: Page) -> View:
    shown: tuple[str, str, str, bool] | None = page.evaluate(_VIEW)
    if shown is None:
        raise AssertionError("the details show no body")
    return View(*shown)


def _loaded(page: Page) -> None:
    page.locator(".contentview h5", has_text="Loading...").wait_for(state="detached")


def _open_views(page: Page) -> Locator:
    page.locator(".contentview .controls a:has(.caret)").click()
    menu = page.locator(".contentview .dropdown-menu")
    menu.wait_for()
    return menu


def _close_views(page: Page, menu: Locator) -> None:
    def closed() -> bool:
        # A menu that has only just come up does not hear of clicks yet.
        if menu.count():
            page.locator(".contentview h5").click()
        return not menu.count()

    _until(closed, _pause(page))


def _resize(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    # The page draws for a new size only after it has heard of it.
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _display(page: Page, what: str) -> None:
    """Switch on the command bar or the event log in the menu, and go back to the menu that was open."""
    if page.locator({"Command Bar": ".command", "Event Log": ".eventlog"}[what]).count():
        return
    menus = page.locator("header nav")
    former = menus.locator("a.active").inner_text()
    menus.get_by_text("Options", exact=True).click()
    page.get_by_label(f"Display {what}").check()
    menus.get_by_text(former, exact=True).click()
