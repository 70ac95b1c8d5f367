"""Commands for the command bars of mitmweb and mitmproxy. Their names are of letters and dots: mitmweb takes no others.

A command answers at once, as lines. What needs the store's file goes on beside the traffic, and the log tells its end.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import mitmproxy.types
from mitmproxy import command, exceptions, flow, http
from mitmproxy.log import ALERT

from thoughtkeep.handover import switch
from thoughtkeep.show.stored import turns_json, turns_page
from thoughtkeep.show.words import plural, printable
from thoughtkeep_mitm import flows, stories
from thoughtkeep_mitm.recent import Recent
from thoughtkeep_mitm.runtime import Runtime
from thoughtkeep_mitm.seeding import seed
from thoughtkeep_mitm.views import changes

log = logging.getLogger("thoughtkeep")

_NOT_OURS = "this flow is no exchange with an LLM endpoint that thoughtkeep has seen"


def _command[Method: Callable[..., Any]](name: str) -> Callable[[Method], Method]:
    """mitmproxy's decorator, with a type."""
    return command.command(name)  # type: ignore[no-any-return]


class Commands:
    """What users can ask for and do by hand."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = "thoughtkeep-commands"
        self.runtime = runtime

    @_command("thoughtkeep.stats")
    def stats(self) -> Sequence[str]:
        """Show how much is stored, and what was done since the proxy started."""
        self.runtime.measure()
        counts = self.runtime.counts
        return [self.runtime.measured, *(f"{name.replace('_', ' ')}: {counts[name]:,}" for name in sorted(counts))]

    @_command("thoughtkeep.show")
    def show(self, flow: flow.Flow) -> Sequence[str]:
        """Show the turns of a flow's conversation, as they are known."""
        story = self.runtime.stories.get(_http(flow))
        if story is not None:
            return turns_page([*story.known, *story.kept])
        self._later(self._show(*self._conversation(flow)))
        return ["The store is asked: see the log."]

    async def _show(self, tenant: str, root: str) -> str:
        turns = await self.runtime.store().conversation(tenant, root)
        return "\n".join(turns_page(turns))

    @_command("thoughtkeep.diff")
    def diff(self, flow: flow.Flow) -> Sequence[str]:
        """Show what of a request was changed, line by line. In mitmweb the view thoughtkeep-diff shows it better."""
        return changes(self.runtime, _http(flow))

    @_command("thoughtkeep.forget.turn")
    def forget_turn(self, flows: Sequence[flow.Flow]) -> Sequence[str]:
        """Forget what the answers of these flows brought."""
        ids = [name for each in flows for name in self._turns(each)]
        if not ids:
            raise exceptions.CommandError("nothing was kept of the answers of these flows")
        self.runtime.store().forget_turns(ids)
        return self._forgotten(plural(len(ids), "turn"))

    @_command("thoughtkeep.forget.conversation")
    def forget_conversation(self, flow: flow.Flow) -> Sequence[str]:
        """Forget the whole conversation of a flow: turns, handovers, what rescues taught, switches."""
        tenant, root = self._conversation(flow)
        self.runtime.store().forget_conversation(tenant, root)
        return self._forgotten("the conversation")

    @_command("thoughtkeep.forget.all")
    def forget_all(self) -> Sequence[str]:
        """Forget everything that is stored."""
        self.runtime.store().forget_all()
        return self._forgotten("everything")

    def _forgotten(self, what: str) -> Sequence[str]:
        self.runtime.recent = Recent()  # whole conversations are in it
        self.runtime.flushing()
        self.runtime.measure()
        log.info(f"thoughtkeep: forgot {what}")
        return [f"forgot {what}"]

    @_command("thoughtkeep.switch")
    def switch(self, flow: flow.Flow, model: str) -> Sequence[str]:
        """Ask another model from the next request of this conversation on; "off" ends it."""
        tenant, root = self._conversation(flow)
        store, name = self.runtime.store(), "" if model == "off" else model.strip()
        place = switch.place_of(store.key, root)
        store.put(switch.to_kept(name, place, tenant, root, time.time()))
        self.runtime.flushing()
        told = (
            f"{printable(name)} is asked from its next request on" if name else "the client's own model is asked again"
        )
        log.info(f"thoughtkeep: conversation {root[:16]}: {told}")
        return [told]

    @_command("thoughtkeep.export")
    def export(self, flow: flow.Flow, path: mitmproxy.types.Path) -> Sequence[str]:
        """Write a flow's conversation, as the store has it, to a JSON file: words and calls, no state, no secrets."""
        self._later(self._export(*self._conversation(flow), Path(path).expanduser()))
        return [f"writing to {path}: see the log"]

    async def _export(self, tenant: str, root: str, path: Path) -> str:
        turns = await self.runtime.store().conversation(tenant, root)
        text = json.dumps(turns_json(turns), ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")
        try:
            await asyncio.to_thread(_write, path, text)
        except OSError as fault:
            return f"{path} cannot be written: {fault.strerror}"
        return f"{plural(len(turns), 'turn')} written to {path}"

    @_command("thoughtkeep.seed")
    def seed(self, path: mitmproxy.types.Path) -> Sequence[str]:
        """Read a file of saved flows into the store, as if their answers had been seen live."""
        self._later(seed(self.runtime, Path(path).expanduser()))
        return [f"reading {path}: see the log"]

    @_command("thoughtkeep.prune")
    def prune(self, keep: int) -> Sequence[str]:
        """Take flows out of the list, oldest first, until so many are left; marked ones and live ones stay."""
        if keep < 0:
            raise exceptions.CommandError("keep 0 flows or more")
        return [f"took {plural(flows.prune(keep), 'flow')} out of the list"]

    def _later(self, work: Coroutine[object, object, str]) -> None:
        """Do something beside the traffic; its last words go to the log."""

        async def told() -> None:
            try:
                log.log(ALERT, f"thoughtkeep: {await work}")
            except Exception as fault:
                self.runtime.counts["faults"] += 1
                log.error(f"thoughtkeep: fault in a command: {type(fault).__name__}")
                log.debug("thoughtkeep: the fault was", exc_info=fault)

        self.runtime.spawn(told())

    def _turns(self, flow: flow.Flow) -> list[str]:
        story = self.runtime.stories.get(_http(flow))
        if story is not None:
            return [kept.id for kept in story.kept]
        return [name for name in str(flow.metadata.get(stories.TURNS, "")).split(",") if name]

    def _conversation(self, flow: flow.Flow) -> tuple[str, str]:
        """Tenant and root of a flow's conversation, of a flow that was saved by this store too."""
        story = self.runtime.stories.get(_http(flow))
        if story is not None:
            return story.tenant, story.root
        meta = flow.metadata
        if meta.get(stories.STORE) == stories.store_mark(self.runtime.store().key):
            return str(meta.get(stories.TENANT, "")), str(meta.get(stories.CONVERSATION, ""))
        raise exceptions.CommandError(_NOT_OURS)


def _write(path: Path, data: bytes) -> None:
    """Only its owner may read what is written: it is a conversation."""
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data)


def _http(each: flow.Flow) -> http.HTTPFlow:
    if not isinstance(each, http.HTTPFlow):
        raise exceptions.CommandError(_NOT_OURS)
    return each
