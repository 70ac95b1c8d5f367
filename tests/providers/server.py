"""The HTTP side: a site on loopback that hosts one or more strict providers and writes down what they are asked.

Everything here is bounded: body size, socket waits, the number of requests written down, and the site's own life.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from providers.delivery import Delivery
from providers.dialect import Dialect, Mode, Reply
from providers.ledger import Issued, Ledger
from providers.refusal import Refusal
from providers.scenario import next_step

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

#: No request of an agent is larger; what is larger gets a 413.
MAX_BODY = 16 * 2**20
#: Seconds after which a site stops by itself.
LIFETIME = 120.0


@dataclass(frozen=True)
class Exchange:
    """One request as it arrived, and what became of it.

    `target` is the path with its query, `headers` are in order and as sent, `body` are the raw bytes. `refusal` is the
    reason for a refusal, `issued` what the answer handed out, `restored` the values that came back rightly with the
    request, `skips` how many documented skip values stood in for missing ones.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    status: int
    refusal: Refusal | None = None
    issued: tuple[Issued, ...] = ()
    restored: tuple[Issued, ...] = ()
    skips: int = 0


@dataclass
class Provider:
    """A running strict provider: a dialect, what it issued, and what it was asked.

    `base` is the address of its site, `http://127.0.0.1:PORT`; empty while no site runs it.
    """

    dialect: Dialect
    delivery: Delivery = field(default_factory=Delivery)
    seed: int = 0
    base: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget everything, so that values issued before are unknown from now on."""
        with self._lock:
            self.exchanges.clear()
            # The name keeps two providers from issuing the same values.
            self.ledger = Ledger(f"{self.dialect.name}:{self.seed}")
            self.seed += 1

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    @property
    def issued(self) -> list[Issued]:
        return self.ledger.issued

    @property
    def skips(self) -> int:
        """How many skip values were taken in place of what was issued."""
        return sum(exchange.skips for exchange in self.exchanges)

    @property
    def refusals(self) -> list[Refusal]:
        return [exchange.refusal for exchange in self.exchanges if exchange.refusal is not None]

    def url(self, mode: str = "streamed", *, real: bool = False) -> str:
        """The address to ask at: on this site, or the real host's by plain http, for a proxy that redirects it."""
        return (f"http://{self.dialect.host}" if real else self.base) + self.dialect.modes[mode].path

    def handle(self, request: Request, body: bytes) -> tuple[int, Reply]:
        """Answer one request and write it down."""
        with self._lock:
            before = len(self.ledger.issued)
            counts = [record.returned for record in self.ledger.issued]
            mode, refusal, skips = None, None, 0
            try:
                parsed = _parse(request, body)
                mode = self.dialect.mode_of(request.path, request.query_string.decode("latin-1"), parsed)
                if mode is None:
                    raise Refusal("shape", f"No such path: {request.path}", 404)
                reply, skips = self._act(parsed, mode)
            except Refusal as error:
                refusal = error
                reply = Reply("application/json; charset=UTF-8", (self.dialect.error(error, mode),))
            status = refusal.status if refusal is not None else 200
            restored = [r for r, count in zip(self.ledger.issued, counts, strict=False) if r.returned > count]
            exchange = Exchange(
                request.method,
                request.full_path.rstrip("?"),
                tuple(request.headers.items()),
                body,
                status,
                refusal,
                tuple(self.ledger.issued[before:]),
                tuple(restored),
                skips,
            )
            self.exchanges.append(exchange)
            del self.exchanges[:-1000]
            return status, reply

    def _act(self, body: dict[str, Any], mode: Mode) -> tuple[Reply, int]:
        try:
            past = self.dialect.read(body)
            skips = self.dialect.verify(past, self.ledger, body)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # Readers check what matters for the rules; a field of the wrong type anywhere else ends here.
            raise Refusal("shape", f"Invalid JSON payload received. A field has the wrong type: {error}") from error
        return self.dialect.reply(next_step(past), mode, self.ledger, body), skips


class Site:
    """A threaded HTTP/1.1 server on a free loopback port. Use it as a context manager.

    With several providers a request goes to the one whose host, path and model it names; a request that names the
    loopback address goes by path and model alone.
    """

    def __init__(self, *providers: Provider, lifetime: float = LIFETIME) -> None:
        self.providers = providers
        self._lifetime = lifetime
        self._stopping = threading.Event()
        self._server: BaseWSGIServer | None = None
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("the site does not run")
        return self._server.server_port

    def __enter__(self) -> Site:
        self._server = make_server("127.0.0.1", 0, self, threaded=True, request_handler=_Handler)
        self._server.daemon_threads = True  # type: ignore[attr-defined]
        self._server.block_on_close = False  # type: ignore[attr-defined]
        for provider in self.providers:
            provider.base = f"http://127.0.0.1:{self.port}"
        serving = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        ending = threading.Thread(target=self._end, args=(self._server,), daemon=True)
        self._threads = [serving, ending]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(5)

    def _end(self, server: BaseWSGIServer) -> None:
        self._stopping.wait(self._lifetime)
        self._stopping.set()
        server.shutdown()
        server.server_close()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        request.max_content_length = MAX_BODY
        try:
            body = request.get_data()
        except RequestEntityTooLarge as error:
            return error(environ, start_response)
        provider = self._provider_of(request, body)
        if provider is None:
            return Response("no strict provider has this path\n", 404)(environ, start_response)
        status, reply = provider.handle(request, body)
        return self._respond(provider, status, reply)(environ, start_response)

    def _provider_of(self, request: Request, body: bytes) -> Provider | None:
        if len(self.providers) == 1:
            return self.providers[0]
        try:
            parsed = _parse(request, body)
        except Refusal:
            parsed = {}
        host = request.host.partition(":")[0]
        query = request.query_string.decode("latin-1")
        found = [
            provider
            for provider in self.providers
            if host in ("127.0.0.1", "localhost", provider.dialect.host)
            and provider.dialect.mode_of(request.path, query, parsed) is not None
        ]
        # One gateway serves several vendors at one path; there the model decides.
        found.sort(key=lambda provider: provider.dialect.model != parsed.get("model"))
        return found[0] if found else None

    def _respond(self, provider: Provider, status: int, reply: Reply) -> Response:
        headers = [("content-type", reply.content_type)]
        if status != 200:
            return Response(b"".join(reply.pieces), status, headers)
        delivery = provider.delivery
        if delivery.gzip:
            headers.append(("content-encoding", "gzip"))
        if len(reply.pieces) == 1 and delivery.chunking == "whole" and not delivery.gzip:
            return Response(reply.pieces[0], status, headers)
        return Response(delivery.send(reply.pieces, self._stopping), status, headers)


class _Handler(WSGIRequestHandler):
    timeout = 30
    disable_nagle_algorithm = True

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: the exchanges are written down by the provider."""


def _parse(request: Request, body: bytes) -> dict[str, Any]:
    if request.method != "POST":
        raise Refusal("shape", f"Method {request.method} is not allowed.", 405)
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise Refusal("shape", "Invalid JSON payload received.")
    return parsed


@contextmanager
def serving(provider: Provider, *, lifetime: float = LIFETIME) -> Iterator[Provider]:
    """Run one provider on a site of its own."""
    with Site(provider, lifetime=lifetime):
        yield provider
