"""The addon: `mitmdump -s addons/addon.py`. The list of addons, nothing else; the code is in thoughtkeep_mitm."""

import logging
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# Without an installed package its folders are found beside this file, wherever mitmproxy was started.
sys.path[:0] = [path for path in (str(_HERE), str(_HERE.parent / "lib")) if path not in sys.path]

try:
    from thoughtkeep_mitm import make_addons
except ModuleNotFoundError as fault:
    # An error during start-up ends mitmdump: better than a proxy that does nothing and says nothing.
    logging.error(
        f'thoughtkeep: {fault.name} is missing; install it with: "{sys.executable}" -m pip install "{_HERE.parent}"'
    )
    addons: list[object] = []
else:
    addons = make_addons()
