"""One summary for all proxies of a store: one of them asks, the others wait for what came of it, and not too long."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from desk import SUMMARY, Desk, Sent
from tongues import CHAT, Call, Event, Results, Says, System, User

from thoughtkeep.handover.record import FORMAT, Handover, to_kept
from thoughtkeep.turns import Facts, Keys
from thoughtkeep_mitm import handovers
from thoughtkeep_store import Store

HISTORY: list[Event] = [
    System("You are Q. Today is Monday."),
    User("Look at the first place."),
    Says("", [Call("call00001", "look", {"at": "place 1"})], "b3BhcXVlLXN0YXRlLW9mLXRoZS1vbGQtbW9kZWwtMDE", "Hm."),
    Results(("call00001", "an old oak")),
    Says("There is an oak.", (), "b3BhcXVlLXN0YXRlLW9mLXRoZS1vbGQtbW9kZWwtMDI", "Well."),
    User("And the second one?"),
]


class Shared:
    """A store that another proxy uses too: it is asked for leases, and `meanwhile` is what the other does then."""

    def __init__(self, store: Store, granted: Sequence[bool], meanwhile: Callable[[Keys], None]) -> None:
        self._store = store
        self._granted = list(granted)
        self._meanwhile = meanwhile
        self._keys = Keys("")
        self.calls: list[str] = []

    async def lease(self, name: str, seconds: float) -> bool:
        self.calls.append("lease")
        assert seconds > 1
        self._meanwhile(self._keys)
        return self._granted.pop(0) if len(self._granted) > 1 else self._granted[0]

    async def release(self, name: str) -> None:
        self.calls.append("release")

    async def flush(self) -> None:
        self.calls.append("flush")
        await self._store.flush()

    async def fetch(self, keys: Keys) -> Facts:
        self._keys = keys
        return await self._store.fetch(keys)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(handovers, "POLL", 0.01)
    with Desk(skip_value="off", handover_timeout=1) as made:
        yield made
        assert made.runtime.counts["faults"] == 0


def switched(desk: Desk, granted: Sequence[bool], other: str | None = None) -> tuple[Sent, Shared]:
    """A switch on a proxy that shares its store; the other one puts that text down where it is the first time asked."""
    desk.teach(CHAT, HISTORY)
    desk.answering(CHAT)
    store = desk.runtime.store()
    put: list[str] = []

    def meanwhile(keys: Keys) -> None:
        if other is not None and not put:
            put.append(other)
            place = handovers.places_of(store.key, _trail(desk), CHAT.target[1])[-1]
            store.put(to_kept(Handover(other, 5.0, "old"), place, keys.tenant, "root", CHAT.target[1]))

    shared = Shared(store, granted, meanwhile)
    desk.runtime._store = shared  # type: ignore[assignment]
    return desk.switch(CHAT, HISTORY), shared


def _trail(desk: Desk) -> Any:
    return desk.trails[-1]


@pytest.fixture(autouse=True)
def _trails(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> None:
    """Write down where handovers are looked for."""
    places, trails = handovers.places_of, []
    desk.trails = trails  # type: ignore[attr-defined]

    def noted(key: bytes, trail: Any, model: str) -> list[str]:
        trails.append(trail)
        return places(key, trail, model)

    monkeypatch.setattr(handovers, "places_of", noted)


def kept_handovers(desk: Desk, shared: Shared) -> list[str]:
    facts = desk._runner.run(shared._store.fetch(shared._keys))
    return [kept.turn.pieces[0].text for kept in facts.turns if kept.format == FORMAT]


def test_who_gets_the_lease_asks_and_lets_others_when_they_can_see_it(desk: Desk) -> None:
    sent, shared = switched(desk, [True])
    assert (sent.reason, len(desk.summaries)) == ("switch", 1)
    desk.send(*CHAT.target[::2], CHAT.body(CHAT.target[1], HISTORY))
    assert shared.calls == ["lease", "flush", "release"]


def test_who_does_not_get_it_uses_what_the_other_has_made(desk: Desk) -> None:
    sent, shared = switched(desk, [False], "OTHER-0815 has been made elsewhere.")
    assert (sent.reason, desk.summaries) == ("switch", [])
    assert "OTHER-0815" in sent.body.decode()
    assert "release" not in shared.calls


def test_what_was_made_in_the_moment_before_is_used(desk: Desk) -> None:
    sent, shared = switched(desk, [True], "OTHER-0815 has been made elsewhere.")
    assert (sent.reason, desk.summaries) == ("switch", [])
    assert "OTHER-0815" in sent.body.decode()
    assert shared.calls[0] == "lease"


def test_where_the_other_got_no_summary_the_history_goes(desk: Desk) -> None:
    sent, _ = switched(desk, [False], "")
    assert (sent.reason, desk.summaries) == ("summary_failed", [])
    assert "an old oak" in sent.body.decode()


def test_where_the_other_gives_up_without_a_word_it_is_asked_after_all(desk: Desk) -> None:
    sent, shared = switched(desk, [False, False, False, True])
    assert (sent.reason, len(desk.summaries)) == ("switch", 1)
    assert "SUMMARY-4711" in SUMMARY
    assert "SUMMARY-4711" in sent.body.decode()
    assert shared.calls[:4] == ["lease"] * 4


def test_the_other_is_not_waited_for_longer_than_for_an_answer_and_nothing_is_put_down(desk: Desk) -> None:
    sent, shared = switched(desk, [False])
    assert (sent.reason, desk.summaries) == ("summary_failed", [])
    assert "an old oak" in sent.body.decode()
    assert kept_handovers(desk, shared) == []
