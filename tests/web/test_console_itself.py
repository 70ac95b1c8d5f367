"""The harness that drives the console mitmproxy, on one without the addon."""

from __future__ import annotations

import os

import pytest

from e2e.kit import client
from e2e.upstream import Upstream
from web.console import Console, needs_tmux

pytestmark = needs_tmux


def test_keys_reach_the_program_and_its_screen_is_read() -> None:
    with (
        Upstream(lambda _, line: line.answer("antwört".encode(), {"content-type": "text/plain"})) as upstream,
        Console(size=(120, 40)) as console,
    ):
        with client(console) as http:
            assert http.get(f"{upstream.url}/one").status_code == 200
        lines = console.wait_for("/one").split("\n")
        assert len(lines) == 41
        assert all(len(line) <= 120 for line in lines)

        console.send("Enter")
        console.wait_for("Flow Details")
        console.send("Tab")
        console.wait_for("antwört")
        console.send("q")
        console.wait_for(lambda screen: "Flow Details" not in screen)

        console.send(":")
        console.wait_for("\n:")
        console.type("set view_filter one|ö;")
        console.wait_for(": set view_filter one|ö;")
        console.send("Enter")
        console.wait_for("[f:one|ö;]")

        pid = console.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_console_that_does_not_start_says_why() -> None:
    with pytest.raises(AssertionError, match=r"mitmproxy ended[\s\S]*No such script"):
        Console("-s", "/nonexistent/addon.py").__enter__()


def test_what_does_not_come_up_on_the_screen_is_not_waited_for_longer_than_asked() -> None:
    with Console() as console, pytest.raises(AssertionError, match=r"not so within 0\.1 s[\s\S]*Flows"):
        console.wait_for("no such text", 0.1)
