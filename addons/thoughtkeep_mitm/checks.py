"""Warnings about mitmproxy's own options where they endanger or defeat the addon."""

import logging

from mitmproxy import ctx

log = logging.getLogger("thoughtkeep")

# Modes that listen on a port for whoever can reach it.
_LISTENING = ("regular", "reverse", "socks5", "upstream", "transparent", "http")


class Checks:
    """Says once, whenever the options change, what is unwise in them."""

    def __init__(self) -> None:
        self.name = "thoughtkeep-checks"
        self._said: set[str] = set()

    def configure(self, updated: set[str]) -> None:
        """Look at the options that matter."""
        open_ports = ctx.options.server and not ctx.options.listen_host
        named = any(mode.partition(":")[0] in _LISTENING and "@" not in mode for mode in ctx.options.mode)
        if updated & {"listen_host", "mode", "server"} and open_ports and named:
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
