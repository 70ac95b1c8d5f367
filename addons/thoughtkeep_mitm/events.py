"""Events that other addons can listen to, as they listen to mitmproxy's own: by a method of the event's name.

An addon's method gets the flow and one frozen value. It may be a coroutine: it runs beside the traffic, which never
waits for it. State is not in the values; whoever needs it reads the flow.
"""

import asyncio
from dataclasses import dataclass

from mitmproxy import ctx
from mitmproxy.addonmanager import traverse
from mitmproxy.hooks import Hook
from mitmproxy.http import HTTPFlow

from thoughtkeep.show.blocks import owner_name
from thoughtkeep.show.story import Story
from thoughtkeep_mitm.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Captured:
    """An answer was kept: its `turns` (one a choice), by whom they were made, and the ids of their tool calls.

    `conversation` is the same for all requests of one conversation; it is a digest, and says nothing else. `state` is
    how many values of reasoning state the turns hold. `complete` is false for an answer that broke off.
    """

    conversation: str
    maker: str
    turns: int
    calls: tuple[str, ...]
    state: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Injected:
    """A request was changed before it left: how many edits were made, by their reasons."""

    conversation: str
    model: str
    edits: dict[str, int]


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A summary stands in the place of a request's history. The sizes are estimates in tokens."""

    conversation: str
    source: str
    target: str
    reused: bool
    tokens_before: int
    tokens_after: int


@dataclass
class ThoughtkeepCapturedHook(Hook):  # type: ignore[no-untyped-call]  # mitmproxy's own
    """Called when an answer was kept."""

    flow: HTTPFlow
    captured: Captured


@dataclass
class ThoughtkeepInjectedHook(Hook):  # type: ignore[no-untyped-call]  # mitmproxy's own
    """Called when a request was changed."""

    flow: HTTPFlow
    injected: Injected


@dataclass
class ThoughtkeepHandoverHook(Hook):  # type: ignore[no-untyped-call]  # mitmproxy's own
    """Called when a request's history was replaced by a summary."""

    flow: HTTPFlow
    handover: HandedOver


class Events:
    """Tells other addons, one event after another."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._before: asyncio.Task[None] | None = None

    def planned(self, flow: HTTPFlow, story: Story) -> None:
        """A request is about to leave."""
        name, outcome = story.root[:16], story.handover
        if story.made:
            self._tell(ThoughtkeepInjectedHook(flow, Injected(name, story.model, dict(story.made))))
        if outcome.replaces and story.made:
            told = HandedOver(
                name, outcome.source, story.model, outcome.reused, outcome.tokens_before, outcome.tokens_after
            )
            self._tell(ThoughtkeepHandoverHook(flow, told))

    def ended(self, flow: HTTPFlow, story: Story) -> None:
        """An answer is over."""
        if not story.kept:
            return
        turns = [kept.turn for kept in story.kept]
        told = Captured(
            conversation=story.root[:16],
            maker=owner_name(story.kept[0].owner),
            turns=len(turns),
            calls=tuple(call.id for turn in turns for call in turn.calls),
            state=sum(len(turn.state) + sum(len(piece.state) for piece in turn.pieces) for turn in turns),
            complete=all(turn.complete for turn in turns),
        )
        self._tell(ThoughtkeepCapturedHook(flow, told))

    def _tell(self, event: Hook) -> None:
        addons = traverse(ctx.master.addons.chain)  # type: ignore[no-untyped-call]  # mitmproxy's own
        if not any(hasattr(addon, event.name) for addon in addons):
            return  # as nearly always, and a task takes five times as long as the look
        self._before = self._runtime.spawn(_trigger(event, self._before))


async def _trigger(event: Hook, before: asyncio.Task[None] | None) -> None:
    if before is not None and not before.done():
        await asyncio.wait([before], timeout=5)  # in order, but not behind one that hangs
    await ctx.master.addons.trigger_event(event)
