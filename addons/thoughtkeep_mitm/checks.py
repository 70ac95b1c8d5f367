"""Warnings about mitmproxy's own options where they endanger or defeat the addon."""

import logging

from mitmproxy import ctx
from mitmproxy.proxy.mode_specs import ProxyMode

log = logging.getLogger("thoughtkeep")

# Modes that listen on a port for whoever can reach it.
_LISTENING = ("regular", "reverse", "socks5", "upstream", "transparent")


class Checks:
    """Says once, whenever the options change, what is unwise in them."""

    def __init__(self) -> None:
        self.name = "thoughtkeep-checks"
        self._said: set[str] = set()

    def configure(self, updated: set[str]) -> None:
        """Look at the options that matter."""
        modes = [ProxyMode.parse(spec) for spec in ctx.options.mode]
        # A mode may name a host of its own (`regular@127.0.0.1:8080`), or only a port.
        open_ports = any(
            mode.type_name in _LISTENING and not mode.listen_host(ctx.options.listen_host) for mode in modes
        )
        if updated & {"listen_host", "mode", "server"} and ctx.options.server and open_ports:
            self._say(
                "listening on all interfaces: whoever reaches this port can use the proxy; add --listen-host 127.0.0.1"
            )
        if "stream_large_bodies" in updated and ctx.options.stream_large_bodies:
            self._say(
                f"stream_large_bodies={ctx.options.stream_large_bodies}: larger requests leave before they can be "
                "completed, and nothing is kept of them"
            )

    def _say(self, words: str) -> None:
        if words not in self._said:
            self._said.add(words)
            log.warning(f"thoughtkeep: {words}")
