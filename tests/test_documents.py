"""The documents name every option, command and event that exists, and none that does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thoughtkeep_mitm import stories
from thoughtkeep_mitm.settings import OPTIONS, PREFIX

ROOT = Path(__file__).resolve().parent.parent
README, CHANGELOG, SEE, SECURITY = (
    ROOT / name for name in ("README.md", "CHANGELOG.md", "docs/see.md", "docs/security.md")
)

NAMES = {PREFIX + option.name for option in OPTIONS}
COMMANDS = set(
    re.findall(r'@_command\("([^"]+)"\)', (ROOT / "addons" / "thoughtkeep_mitm" / "commands.py").read_text())
)
EVENTS = {"thoughtkeep_captured", "thoughtkeep_injected", "thoughtkeep_handover"}
METADATA = {stories.DONE, stories.CONVERSATION, stories.TENANT, stories.TURNS, stories.STORE}
PACKAGES = {"thoughtkeep_store", "thoughtkeep_mitm"}


@pytest.mark.parametrize("document", [README, CHANGELOG], ids=lambda path: path.name)
def test_every_option_and_command_is_named(document: Path) -> None:
    text = document.read_text()
    assert [name for name in sorted(NAMES | COMMANDS) if f"`{name}" not in text] == []


def test_every_command_and_event_has_its_line_on_the_page_about_seeing() -> None:
    text = SEE.read_text()
    assert [name for name in sorted(COMMANDS | EVENTS | METADATA) if f"`{name}" not in text] == []


@pytest.mark.parametrize("document", [README, CHANGELOG, SEE], ids=lambda path: path.name)
def test_nothing_is_named_that_does_not_exist(document: Path) -> None:
    text = document.read_text()
    assert set(re.findall(r"thoughtkeep_[a-z_]+", text)) <= NAMES | EVENTS | METADATA | PACKAGES
    assert set(re.findall(r"`(thoughtkeep\.[a-z.]+)", text)) <= COMMANDS | {"thoughtkeep.forget"}


def test_every_file_that_is_linked_is_there() -> None:
    for document in (README, SEE):
        for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / link).exists(), link


def test_each_promise_of_the_page_about_security_names_a_test_that_is_there() -> None:
    named = re.findall(r"`(tests/\S+\.py)(?: -k (\w+))?`", SECURITY.read_text())
    assert len(named) > 20
    for file, name in named:
        assert f"def {name}" in (ROOT / file).read_text(), (file, name)
