"""What is said at the end, by what the proxy did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from thoughtkeep_mitm.launch.proxy import Report
from thoughtkeep_mitm.launch.summary import lines

NONE = "thoughtkeep: no request to an LLM came through the proxy: "


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ({"counts": {"exchanges": 1}}, "1 exchange, 0 turns kept, 0 requests restored"),
        (
            {
                "counts": {
                    "exchanges": 1400,
                    "turns_kept": 1,
                    "requests_restored": 9,
                    "handover_switch": 1,
                    "rescued": 2,
                },
                "store": "memory",
            },
            "1,400 exchanges, 1 turn kept, 9 requests restored, 1 handover, 2 refusals rescued (store: memory)",
        ),
        (
            {"counts": {"exchanges": 1}, "store": f"sqlite {Path.home()}/.thoughtkeep/store.sqlite3"},
            "1 exchange, 0 turns kept, 0 requests restored (store: ~/.thoughtkeep/store.sqlite3)",
        ),
    ],
)
def test_what_was_kept(told: dict[str, Any], line: str) -> None:
    assert lines(Report(**told), "") == [f"thoughtkeep: {line}"]


@pytest.mark.parametrize(
    ("told", "reverse", "why"),
    [
        ({}, "", "the agent asked nobody, or does not read HTTPS_PROXY (try --reverse"),
        ({}, "http://127.0.0.1:1/v1", "the agent reads none of OPENAI_BASE_URL, OPENAI_API_BASE, ANTHROPIC_BASE_URL, "),
        ({}, "http://127.0.0.1:1/v1", "GOOGLE_GEMINI_BASE_URL; set the base URL http://127.0.0.1:1/v1 in its config"),
        ({"connected": ["a"]}, "", "a passed undecrypted; --host a has that host looked into"),
        ({"connected": list("abcde")}, "", "a, b, c and 2 more passed undecrypted; --host a has"),
        ({"connected": ["a"], "requests": 2}, "", "2 requests of other kinds did"),
        (
            {"connected": ["a"], "counts": {"certificates_refused": 1}},
            "",
            "the agent trusts its certificate through none",
        ),
    ],
)
def test_why_nothing_was(told: dict[str, Any], reverse: str, why: str) -> None:
    (line,) = lines(Report(**told), reverse)
    assert line.startswith(NONE)
    assert why in line


def test_warnings_come_first() -> None:
    told = lines(Report(warnings=["thoughtkeep: one", "thoughtkeep: two"], more_warnings=1), "")
    assert told[:3] == [
        "thoughtkeep: one",
        "thoughtkeep: two",
        "thoughtkeep: and 1 more warning: --log FILE keeps them",
    ]
    assert len(told) == 4
