"""thoughtkeep as mitmproxy loads it from an installed package, which has no addons/addon.py."""

from thoughtkeep_mitm import make_addons

addons = make_addons()
