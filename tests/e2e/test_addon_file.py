"""addons/addon.py itself: it is found and finds its code from anywhere, and says clearly what it lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from e2e.kit import ADDON, Talk, client, keeper
from e2e.upstream import Upstream
from proxy import Proxy, ProxyFailed

ROOT = ADDON.parent.parent

#: Logs where the code came from.
WITNESS = """
import logging, sys

class Witness:
    def running(self):
        for name in ("thoughtkeep", "thoughtkeep_mitm", "thoughtkeep_store"):
            logging.info(f"witness: {name} from {sys.modules[name].__file__}")

addons = [Witness()]
"""

#: Makes a package as good as not installed.
MISSING = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name == "orjson":
            raise ModuleNotFoundError("No module named 'orjson'", name=name)
        return None

sys.meta_path.insert(0, Nowhere())
for name in [name for name in sys.modules if name.partition(".")[0] == "orjson"]:
    del sys.modules[name]
"""


@pytest.fixture
def witness(tmp_path: Path) -> Path:
    path = tmp_path / "witness.py"
    path.write_text(WITNESS)
    return path


def works(proxy: Proxy) -> bool:
    talk = Talk()
    with Upstream(talk.answer) as upstream, client(proxy, headers=talk.headers) as asking:
        asking.post(upstream.url + talk.path, content=talk.first)
        asking.post(upstream.url + talk.path, content=talk.second)
        return talk.restored(upstream.requests[1].body)


def test_a_copy_of_the_tree_uses_its_own_code_wherever_mitmproxy_was_started(
    tmp_path: Path, witness: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "a copy, with spaces"
    for part in ("addons", "lib"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with keeper("-s", witness, addon=copy / "addons" / "addon.py") as proxy:
        for name, part in (("thoughtkeep", "lib"), ("thoughtkeep_mitm", "addons"), ("thoughtkeep_store", "lib")):
            assert f"witness: {name} from {copy / part / name}/__init__.py" in proxy.log()
        assert works(proxy)


def test_a_symbolic_link_to_the_file_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "linked.py").symlink_to(ADDON)
    monkeypatch.chdir(tmp_path)
    with keeper(addon=Path("linked.py")) as proxy:
        assert works(proxy)
        assert "rror" not in proxy.log()


def test_a_missing_package_ends_the_start_with_the_command_that_installs_it(tmp_path: Path) -> None:
    hide = tmp_path / "hide.py"
    hide.write_text(MISSING)
    with pytest.raises(ProxyFailed) as failure, keeper(before=[hide]):
        pass
    told = str(failure.value)
    assert "ended with status 1" in told
    assert "Traceback" not in told
    lines = [line for line in told.splitlines() if "is missing; install it with: " in line]
    assert len(lines) == 1
    assert "thoughtkeep: orjson is missing" in lines[0]
    assert lines[0].endswith(f'-m pip install "{ROOT}"')
