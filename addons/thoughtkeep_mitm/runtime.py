"""What lives as long as the proxy: the checked options, the store, the counters."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any

from mitmproxy import ctx, exceptions
from mitmproxy.addonmanager import Loader
from mitmproxy.flow import Flow

from thoughtkeep.show.words import plural
from thoughtkeep_mitm import settings
from thoughtkeep_mitm.recent import Recent
from thoughtkeep_mitm.stories import Stories
from thoughtkeep_mitm.turnlog import TurnLog
from thoughtkeep_store import Store, open_or_memory

log = logging.getLogger("thoughtkeep")

# The settings that a store is opened with.
_STORE_OPTIONS = ("store", "ttl_days", "max_store_mb")


class Runtime:
    """Holds options and store for the other addons; itself an addon, so that mitmproxy tells it of changes."""

    def __init__(self) -> None:
        self.name = "thoughtkeep"
        self.counts: Counter[str] = Counter()
        self.settings = settings.OFF
        self._checked = False
        self.concerns: Callable[[Flow], bool] = lambda _flow: True
        self._store: Store | None = None
        self.own: set[str] = set()
        self.stories = Stories()
        self.recent = Recent()
        self.turn_log = TurnLog(self._warn)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._measuring: asyncio.Task[None] | None = None
        self.measured = "the store has not been measured yet: ask again"

    def load(self, loader: Loader) -> None:
        """Declare the options, and read what the command line says of them."""
        settings.declare(loader)
        try:
            ctx.options.process_deferred()
        except exceptions.OptionsError as fault:
            # mitmproxy meets it again in a task that nobody waits for, and would go on without the addon, in silence.
            log.error(f"thoughtkeep: {str(fault).partition(': [')[0]}")  # a list of values may hold a password

    def configure(self, updated: set[str]) -> None:
        """Check the options, once a change: reading them costs a copy each time."""
        if not any(name.startswith(settings.PREFIX) for name in updated):
            return
        first, self._checked = not self._checked, True
        before = self.settings
        try:
            self.settings = settings.read(ctx.options)
        except exceptions.OptionsError as fault:
            if not first:
                raise  # mitmproxy takes the change back
            # While a script loads it would show a stack trace. An error during start-up ends mitmdump.
            log.error(f"thoughtkeep: {fault}")
        self.concerns = self.settings.matcher()
        self._open_turn_log(first)
        # By value, not by name: what is taken back is named as changed too, and a store in memory forgets when closed.
        changed = any(getattr(before, name) != getattr(self.settings, name) for name in _STORE_OPTIONS)
        if self._store is not None and changed:
            self.spawn(self._store.close())
            self._store = None

    def _open_turn_log(self, first: bool) -> None:
        try:
            self.turn_log.open(self.settings.turn_log)
        except ValueError as fault:
            words = f"{settings.PREFIX}turn_log: {fault}"
            if not first:
                raise exceptions.OptionsError(words) from None  # type: ignore[no-untyped-call]  # mitmproxy's own
            log.error(f"thoughtkeep: {words}")

    def store(self) -> Store:
        """The store, opened when it is first needed: until then the options may still change.

        A method, not a property: mitmproxy reads every attribute of an addon when it looks for commands.
        """
        if self._store is None:
            self._store, warning = open_or_memory(
                self.settings.store,
                ttl=self.settings.ttl_days * 86_400.0,
                max_bytes=self.settings.max_store_mb * 1_000_000,
                on_fault=self._warn,
            )
            if warning:
                self._warn(warning)
            log.info(f"thoughtkeep: keeping reasoning state in {self._store.name}")
        return self._store

    def _warn(self, words: str) -> None:
        self.counts["store_faults"] += 1
        log.warning(f"thoughtkeep: {words}")

    def running(self) -> None:
        """Open the store before the first request, so that a fault is seen at the start."""
        if self.settings.replay != "off":
            self.measure()

    def flushing(self) -> asyncio.Task[None]:
        """The durable write of all that was put, as a task that goes on when nobody waits for it any more."""
        # It begins at once: every exchange waits for it, and a round of the event loop is much of that.
        return self._hold(asyncio.Task(self._flush(self.store()), loop=asyncio.get_running_loop(), eager_start=True))

    async def _flush(self, store: Store) -> None:
        try:
            await store.flush()
        except Exception as fault:  # said here: often nobody waits for the task
            self.counts["faults"] += 1
            log.error(f"thoughtkeep: fault in the store, it goes on in memory: {type(fault).__name__}")
            log.debug("thoughtkeep: the fault was", exc_info=fault)

    def measure(self, delay: float = 0) -> None:
        """Have the store say how much it holds, in `delay` seconds; the newest answer is in `measured`."""
        if self._measuring is None or self._measuring.done():
            self._measuring = self.spawn(self._measure(self.store(), delay))

    async def _measure(self, store: Store, delay: float) -> None:
        await asyncio.sleep(delay)
        held = await store.stats()
        turns, conversations = plural(held.turns, "turn"), plural(held.conversations, "conversation")
        self.measured = f"{held.backend}: {turns}, {conversations}, {held.bytes:,} bytes"

    def spawn[Result](self, work: Coroutine[object, object, Result]) -> asyncio.Task[Result]:
        """Let something run on its own; the reference kept here keeps it alive."""
        return self._hold(asyncio.get_running_loop().create_task(work))

    def _hold[Result](self, task: asyncio.Task[Result]) -> asyncio.Task[Result]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def done(self) -> Awaitable[None]:
        """Make durable what is not yet, and close the store.

        A task, not a coroutine: mitmproxy waits for it at its end, but for nothing where it reloads the script.
        """
        return self.spawn(self._close(frozenset(self._tasks)))

    async def _close(self, others: Collection[asyncio.Task[None]]) -> None:
        if others:
            await asyncio.wait(others, timeout=2)
        store, self._store = self._store, None
        if store is not None:
            await store.close()
        self.turn_log.close()
