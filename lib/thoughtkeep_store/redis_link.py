"""The way to a Redis server, which may be gone for a while: scripts are sent, and the server is looked for by itself.

Here and nowhere else: what an error of the server or of its client means, what is told of it (never the password, also
not where the server repeats it), and how long anybody waits.
"""

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from . import redis_scripts as scripts
from .faults import Fault, Faults
from .patience import Patience
from .redis_url import Address

# Seconds that the first look at the server may take, for which everything waits, and each later one.
OPENING = 1.0

# Seconds between looks at a server that is away: at first, and at most.
RETRY_FIRST = 0.1
RETRY_MOST = 2.0

# Connections that one proxy has at most: who waits for one waits for all that goes on on the event loop meanwhile.
CONNECTIONS = 32

# Seconds that letting go of connections may take.
CLOSING = 1.0

_AWAY = (exceptions.ConnectionError, exceptions.TimeoutError, TimeoutError, OSError)

# Codes that an error of the server begins with, or has in it where it is one of a script.
_CODES = {
    "OOM": "its memory is full",
    "READONLY": "it is a replica that cannot be written",
    "NOPERM": "it does not permit its user what is needed",
    "MISCONF": "it cannot save its data",
}
_CLASSES: dict[type[exceptions.RedisError], str] = {
    exceptions.OutOfMemoryError: _CODES["OOM"],
    exceptions.ReadOnlyError: _CODES["READONLY"],
    exceptions.NoPermissionError: _CODES["NOPERM"],
    exceptions.BusyLoadingError: "it is still loading its data",
}


class OtherKey(Exception):
    """The server has another key than we know."""


class Budget:
    """How many seconds of waiting for the server are left."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds


class Link:
    """A way to the server at an address. Belongs to one event loop.

    `up` says whether the server answered last. When it does again, `met` is called with its key.
    """

    def __init__(self, address: Address, faults: Faults, met: Callable[[bytes], None]) -> None:
        self.up = False
        self._address = address
        self._faults = faults
        self._met = met
        self._key = b""
        self._client: Redis | None = None
        self._returning: asyncio.Task[None] | None = None
        self._sending: dict[Patience, asyncio.Future[None]] = {}
        self._closed = False

    def open(self, key: bytes) -> None:
        """Look whether the server is there, which takes a moment at most, and give it the key if it has none.

        On a thread of its own: there may be no event loop yet, or one that cannot be waited for.
        """
        self._key = key
        answer: Future[bytes] = Future()

        def look() -> None:
            try:
                answer.set_result(asyncio.run(_look_once(self._address, key)))
            except BaseException as error:
                answer.set_exception(error)

        Thread(target=look, name="thoughtkeep-redis", daemon=True).start()
        try:
            self._arrived(answer.result(OPENING))
        except Exception as error:
            self._tell_away(error)

    async def send(self, budget: Budget, script: str, *arguments: str | bytes | float) -> Any:
        """Have the server run a script. Raises whatever goes wrong."""
        if not self.up or self._closed:
            raise exceptions.ConnectionError
        bound = Patience(budget.left)
        ended = self._sending[bound] = asyncio.get_running_loop().create_future()
        try:
            async with bound:
                reply = await _run(self._connected(), script, self._key, *arguments)
        finally:
            budget.left = bound.left
            del self._sending[bound]
            ended.set_result(None)
        if reply is None:
            raise OtherKey
        return reply

    async def failed(self, error: Exception, otherwise: Fault, meanwhile: str) -> None:
        """Draw the consequences of what `send` raised."""
        if isinstance(error, (OtherKey, *_AWAY)):
            if self.up:
                self.up = False
                self.look()
            return
        self._faults.tell(otherwise, f"{self._address.name}: {reason(error)}; {meanwhile} until this has passed")
        if isinstance(error, exceptions.ReadOnlyError):
            await self._disconnect()  # another server may have taken over at this address

    def look(self) -> None:
        """Have the server looked for until it is there, if it is not and if there is an event loop."""
        if self.up or self._closed or (self._returning and not self._returning.done()):
            return
        with suppress(RuntimeError):
            loop = asyncio.get_running_loop()
            self._returning = loop.create_task(self._return())

    async def close(self) -> None:
        """Let go of all connections. What is being sent is given up: it would connect anew."""
        self._closed = True
        self.up = False
        if self._returning:
            self._returning.cancel()
            await asyncio.wait((self._returning,))
        for bound in self._sending:
            bound.give_up()
        if self._sending:
            await asyncio.wait(self._sending.values(), timeout=CLOSING)
        await self._disconnect(used=True)
        self._client = None

    async def _return(self) -> None:
        wait = RETRY_FIRST
        while True:
            await self._disconnect()
            try:
                async with asyncio.timeout(OPENING):
                    key = await _greet(self._connected(), self._key)
            except Exception as error:
                self._tell_away(error)
            else:
                break
            await asyncio.sleep(wait)
            wait = min(2 * wait, RETRY_MOST)
        self._arrived(key)

    def _arrived(self, key: bytes) -> None:
        self.up = True
        self._key = key
        self._faults.passed(Fault.AWAY, sentence=f"{self._address.name}: it is there again")
        self._met(key)

    def _tell_away(self, error: Exception) -> None:
        words = "turns are kept in memory until it is back"
        self._faults.tell(Fault.AWAY, f"{self._address.name}: {reason(error)}; {words}")

    def _connected(self) -> Redis:
        if self._client is None:
            self._client = _client(self._address)
        return self._client

    async def _disconnect(self, *, used: bool = False) -> None:
        if self._client:
            with suppress(Exception):
                async with asyncio.timeout(CLOSING):
                    await self._client.connection_pool.disconnect(inuse_connections=used)


def reason(error: BaseException) -> str:
    """Return what an error means, in words that hold nothing of its own but a code."""
    if known := next((words for kind, words in _CLASSES.items() if isinstance(error, kind)), ""):
        return known
    if isinstance(error, exceptions.AuthenticationError):
        return "it demands a password" if "required" in str(error) else "it refuses the user or the password"
    if isinstance(error, exceptions.ResponseError):
        first = re.match(r"[A-Z]{2,}\b", str(error))
        code = next((code for code in _CODES if code in str(error)), first[0] if first else "ERR")
        return _CODES.get(code, f"it answers with an error ({code})")
    if isinstance(error, TimeoutError | exceptions.TimeoutError):
        return "it does not answer"
    cause = error.__context__ or error
    if isinstance(cause, ssl.SSLError):
        return f"there is no secure connection to it ({getattr(cause, 'verify_message', cause.reason)})"
    if isinstance(cause, socket.gaierror):
        return "its host is not known"
    if isinstance(cause, OSError) and cause.errno:
        return f"it cannot be reached ({os.strerror(cause.errno)})"
    return "it cannot be reached" if isinstance(error, _AWAY) else f"it answers nonsense ({type(error).__name__})"


async def _look_once(address: Address, key: bytes) -> bytes:
    client = _client(address)
    try:
        async with asyncio.timeout(OPENING):
            return await _greet(client, key)
    finally:
        with suppress(Exception):
            await client.aclose()


async def _greet(client: Redis, key: bytes) -> bytes:
    """Return the server's key, which is this one if it had none."""
    found = await _run(client, scripts.GREET, key)
    if not isinstance(found, bytes) or len(found) != len(key):
        raise ValueError("not a key")
    return found


async def _run(client: Redis, script: str, key: bytes, *arguments: str | bytes | float) -> Any:
    execute: Callable[..., Awaitable[Any]] = client.execute_command  # which has no types
    return await execute("EVAL", script, 1, scripts.KEY, key, *arguments)


def _client(address: Address) -> Redis:
    pool = BlockingConnectionPool.from_url(
        address.url,
        max_connections=CONNECTIONS,
        timeout=None,  # whoever sends has a bound
        socket_timeout=None,
        socket_connect_timeout=OPENING,
        retry=Retry(NoBackoff(), 1),  # a connection that was idle may be gone
        protocol=2,
        driver_info=None,
        decode_responses=False,
    )
    return Redis.from_pool(pool)
