"""mitmproxy addon for tests: the proxy's clock is off by as many seconds as the file `clock` beside this one says.

Load a copy of it before thoughtkeep, which takes the clock along when it is loaded.
"""

from __future__ import annotations

import time
from pathlib import Path

_FILE = Path(__file__).with_name("clock")
_true = time.time


def _jumped() -> float:
    return _true() + float(_FILE.read_text())


time.time = _jumped
