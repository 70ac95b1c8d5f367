"""mitmproxy addon for tests and the demo: connections to real provider hosts end at loopback ports instead.

`--set redirect_hosts=api.deepseek.com=40001,openrouter.ai=40002`. A host that is not named gets no connection at all,
so that nothing run with this addon can reach the network.
"""

from __future__ import annotations

from mitmproxy import ctx
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy.server_hooks import ServerConnectionHookData


class RedirectHosts:
    """Maps host names to loopback ports."""

    def load(self, loader: Loader) -> None:
        loader.add_option("redirect_hosts", str, "", "Loopback ports for host names: host=port,host=port")

    def server_connect(self, data: ServerConnectionHookData) -> None:
        host = data.server.address[0] if data.server.address else ""
        pairs = (pair.partition("=") for pair in ctx.options.redirect_hosts.split(",") if pair)
        ports = {name: int(port) for name, _, port in pairs}
        if host in ports:
            data.server.address = ("127.0.0.1", ports[host])
        else:
            data.server.error = f"redirect_hosts does not name {host}"


addons = [RedirectHosts()]
