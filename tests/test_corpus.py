"""Recorded exchanges of real clients and providers, where there are any: every one of them is drawn, and leaks nothing.

THOUGHTKEEP_CORPUS names a folder with a table TURNS.tsv (columns response_file, request_file, url, status,
content_type) and the files that it names. The recordings are others' data, and not part of the project.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from thoughtkeep.answer import Answer
from thoughtkeep.endpoint import recognise
from thoughtkeep.identity import OPAQUE_KEYS
from thoughtkeep.jsontext import NotJson, loads
from thoughtkeep.profiles import group_of, profile_for
from thoughtkeep.show.page import answer_page, request_page
from thoughtkeep.turns import Json, Owner

CORPUS = os.environ.get("THOUGHTKEEP_CORPUS", "")


def turns() -> list[dict[str, str]]:
    if not CORPUS:
        return []
    with (Path(CORPUS) / "TURNS.tsv").open(newline="") as file:
        return [turn for turn in csv.DictReader(file, delimiter="\t") if turn["request_file"] != "-"]


def sealed(value: Json, key: str = "") -> list[str]:
    """The opaque values of some JSON."""
    if isinstance(value, dict):
        return [text for name, inner in value.items() for text in sealed(inner, name)]
    if isinstance(value, list):
        return [text for inner in value for text in sealed(inner, key)]
    return [value] if key in OPAQUE_KEYS and isinstance(value, str) and len(value) > 40 else []


@pytest.mark.skipif(not CORPUS, reason="THOUGHTKEEP_CORPUS names no folder of recorded exchanges")
def test_every_recorded_exchange_is_drawn_and_shows_no_opaque_value() -> None:
    told = {turn["response_file"]: drawn(turn) for turn in turns()}
    assert sum(lines is not None for lines in told.values()) > 0.9 * len(told)


def drawn(turn: dict[str, str]) -> list[str] | None:
    """The page of one exchange; None where it is none of ours."""
    url = urlsplit(turn["url"])
    raw = (Path(CORPUS) / turn["request_file"]).read_bytes()
    body = loads(raw)
    endpoint = recognise("POST", url.path, body)
    if endpoint is None:
        return None
    answer = Answer(
        endpoint.format.assembler(profile_for(url.hostname or "")), endpoint.format.ends, turn["content_type"], ""
    )
    whole = (Path(CORPUS) / turn["response_file"]).read_bytes()
    answer.feed(whole)
    answer.close()
    lines = request_page(endpoint.format.read(body, endpoint), body, None, None)
    if turn["status"] == "200":
        lines += answer_page(answer, Owner(group_of(url.hostname or "", 443), endpoint.model), None)
    joiners = "\u200c\u200d\ufe0e\ufe0f"
    assert all(line.isprintable() or any(char in line for char in joiners) for line in lines), turn["response_file"]
    text = "\n".join(lines)
    events = [line.removeprefix(b"data:") for line in whole.splitlines()] if b"data:" in whole else [whole]
    seals = sealed(body)
    for event in events:
        try:
            seals += sealed(loads(event))
        except NotJson:
            continue
    assert not [seal for seal in seals if seal[:32] in text], turn["response_file"]
    return lines
