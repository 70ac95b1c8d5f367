"""Redaction: saved flows hold no credential.

mitmproxy writes a flow in the very hook behind which the answer leaves for the client. So a message is sealed first:
it goes on as it is, but what is saved or copied of it is redacted. Once it has left, the flow gets the redacted copy
itself, for those who read flows directly: mitmweb, HAR files.
"""

import asyncio
import re
from typing import Any
from urllib.parse import unquote

from mitmproxy import ctx, http
from mitmproxy.connection import ConnectionState
from mitmproxy.hooks import UpdateHook

from thoughtkeep_mitm.guard import fault_in
from thoughtkeep_mitm.runtime import Runtime

REDACTED = "[redacted]"

# A header or parameter is secret by one of the words of its name.
_WORDS = set("authorization auth token secret key apikey cookie password credential credentials jwt signature".split())
_BORDER = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")

# What stays of a value. Known schemes only: the first word of anything else may be half of a secret.
_SCHEME = re.compile(r"(?:basic|bearer|digest|dpop|negotiate|ntlm|oauth|token|apikey|aws4-[a-z0-9-]+)\s+(?=\S)", re.I)

_PARAMETER = re.compile(r"([?&#]([^=?&#]*)=)[^&#]+")
_USERINFO = re.compile(r"(?<=://)[^/?#]+@")

# How soon, and at last how often, it is looked whether a message has left, in seconds.
_SOON, _LATER = 0.02, 1.0


def is_secret(name: str) -> bool:
    """Whether what has this name is a credential: one of its words says so (`tokens`, a number, is none of them)."""
    return not _WORDS.isdisjoint(_BORDER.sub("-", name).lower().split("-"))


def redact_url(url: str) -> str:
    """A URL, or the path of one, without the values of its secret parameters and without user and password."""

    def value(found: re.Match[str]) -> str:
        name = unquote(found[2])
        return found[1] + REDACTED if is_secret(name) or name.lower() == "sig" else found[0]

    return _USERINFO.sub(f"{REDACTED}@", _PARAMETER.sub(value, url))


def redact_header(name: str, value: str) -> str:
    """A header's value as it may be saved; the scheme in front of a credential stays."""
    # Browsers can send a WebSocket's credential only among its protocols, `openai-insecure-api-key.sk-…` for one.
    if value and (is_secret(name) or (name.lower() == "sec-websocket-protocol" and is_secret(value))):
        scheme = _SCHEME.match(value)
        return (scheme[0] if scheme else "") + REDACTED
    return redact_url(value) if name.lower() in ("location", "referer") else value


def redact_message(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a request or a response, the way mitmproxy writes it. (No URL of a request names a user in it.)"""
    state = dict(state)
    for part in ("headers", "trailers"):
        state[part] = state[part] and tuple(
            (name, redact_header(name.decode("latin-1"), value.decode("latin-1")).encode("latin-1"))
            for name, value in state[part]
        )
    if "path" in state:
        state["path"] = redact_url(state["path"].decode("latin-1")).encode("latin-1")
    return state


def redact_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """A flow's metadata; of one of mitmproxy's own users (user, password) the name stays."""
    auth = metadata.get("proxyauth")
    return {**metadata, "proxyauth": (auth[0], REDACTED)} if isinstance(auth, tuple | list) and auth else metadata


class _SealedRequest(http.RequestData):
    def get_state(self) -> dict[str, Any]:
        return redact_message(super().get_state())  # type: ignore[no-untyped-call]  # mitmproxy's own


class _SealedResponse(http.ResponseData):
    def get_state(self) -> dict[str, Any]:
        return redact_message(super().get_state())  # type: ignore[no-untyped-call]  # mitmproxy's own


def seal(flow: http.HTTPFlow) -> None:
    """From now on nothing secret of a flow can be saved or copied; what is sent of it stays as it is."""
    flow.request.data = _SealedRequest(**vars(flow.request.data))
    if flow.response is not None:
        flow.response.data = _SealedResponse(**vars(flow.response.data))
    flow.metadata.update(redact_metadata(flow.metadata))
    if flow._backup:  # the flow as it was before somebody edited it
        before: Any = flow._backup  # its state, not a flow
        before |= {part: before[part] and redact_message(before[part]) for part in ("request", "response")}
        before["metadata"] = redact_metadata(before["metadata"])


def is_sealed(flow: http.HTTPFlow) -> bool:
    """Whether that was done; for a request of our own before it is sent."""
    return isinstance(flow.request.data, _SealedRequest)


def strip(flow: http.HTTPFlow) -> None:
    """Take the credentials out of a flow of which nothing is to be sent any more.

    Its messages are replaced, not changed: the answer to a second try is in the client's flow too.
    """
    seal(flow)
    flow.request = flow.request.copy()
    flow.response = flow.response and flow.response.copy()


class Redaction:
    """Redacts what is over. Stands behind all other addons: they need the credentials."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = "thoughtkeep-redaction"
        self.runtime = runtime
        self._leaving: dict[str, http.HTTPFlow] = {}

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """A request of our own that is given up meets no later hook."""
        if is_sealed(flow):
            self._strip_when_left(flow)

    def response(self, flow: http.HTTPFlow) -> None:
        """The exchange is over, but the answer has yet to leave. A WebSocket only begins here."""
        if flow.websocket is None:
            self._over(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        """It is over without an answer."""
        self._over(flow)

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        """It is over."""
        self._over(flow)

    def configure(self, updated: set[str]) -> None:
        """Where flows are no longer saved to a file, mitmproxy writes those that are open."""
        if "save_stream_file" in updated:
            self._seal_open()

    def done(self) -> None:
        """So it does at its end, or where it only loads the script anew: then they go on."""
        self._seal_open()
        for flow in self._leaving.values():
            if ctx.master.should_exit.is_set() or not flow.live:
                strip(flow)

    def _over(self, flow: http.HTTPFlow) -> None:
        if not self._due(flow):
            return
        seal(flow)
        if flow.request.timestamp_end is not None:  # all of it has left, even where requests are streamed
            flow.request = flow.request.copy()
        if flow.id not in self._leaving:
            self._strip_when_left(flow)

    def _due(self, flow: http.HTTPFlow) -> bool:
        try:
            asked = self.runtime.settings.redact_saved == "on"
            return is_sealed(flow) or (asked and (flow.id in self.runtime.own or self.runtime.concerns(flow)))
        except Exception as fault:
            fault_in(self.runtime, "redaction", flow, fault)
            return True  # better too much than too little

    def _seal_open(self) -> None:
        save = ctx.master.addons.get("save")  # type: ignore[no-untyped-call]  # mitmproxy's own
        for flow in getattr(save, "active_flows", ()):
            if isinstance(flow, http.HTTPFlow) and self._due(flow):
                seal(flow)

    def _strip_when_left(self, flow: http.HTTPFlow, delay: float = _SOON) -> None:
        """Strip it now, or look again later: no hook tells that the last byte has left."""
        leaves = flow.live and flow.client_conn.state is not ConnectionState.CLOSED
        if leaves or flow.id in self.runtime.own:
            self._leaving[flow.id] = flow
            asyncio.get_running_loop().call_later(delay, self._strip_when_left, flow, min(2 * delay, _LATER))
            return
        strip(flow)
        if self._leaving.pop(flow.id, None):  # mitmweb has shown it already
            self.runtime.spawn(ctx.master.addons.trigger_event(UpdateHook([flow])))
