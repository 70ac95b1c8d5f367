"""Clients that refuse mitmproxy's certificate: the commonest fault of a new set-up, said in words that help."""

import logging
from pathlib import Path

from mitmproxy import ctx, tls

from thoughtkeep.show.words import printable
from thoughtkeep_mitm.runtime import Runtime

log = logging.getLogger("thoughtkeep")

# What a client says when it refuses a certificate (RFC 8446, 6.2), as OpenSSL has it. Who merely hangs up says nothing.
_REFUSALS = (
    "unknown ca",
    "bad certificate",
    "certificate unknown",
    "unsupported certificate",
    "certificate expired",
    "certificate revoked",
)

# Hosts that are named at most: whoever reaches the proxy can name any.
_MOST = 100


class Trust:
    """Says once of each host that its client does not trust the proxy, and what to set."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = "thoughtkeep-trust"
        self.runtime = runtime
        self._said: set[str] = set()

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """A handshake came to nothing."""
        reason = (data.conn.error or "").lower()
        if not any(refusal in reason for refusal in _REFUSALS):
            return
        self.runtime.counts["certificates_refused"] += 1
        address = data.context.server.address
        host = printable(data.context.client.sni or (address[0] if address else "an unnamed host"))
        if host in self._said or len(self._said) >= _MOST:
            return
        self._said.add(host)
        file = Path(ctx.options.confdir).expanduser() / "mitmproxy-ca-cert.pem"
        log.warning(
            f"thoughtkeep: the agent does not trust mitmproxy's certificate for {host}: start it with the variable "
            f"NODE_EXTRA_CA_CERTS (Node, Bun), SSL_CERT_FILE (Python, Rust, Go) or CODEX_CA_CERTIFICATE (Codex) set to "
            f"{file}"
        )
