"""mitmproxy addon for tests: the list of flows that mitmweb and mitmproxy have, in a mitmdump."""

from mitmproxy.addons.view import View

addons = [View()]
