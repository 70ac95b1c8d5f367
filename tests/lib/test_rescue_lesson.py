"""What a rescue taught: kept like a turn, found again under its conversation and its provider alone."""

import asyncio

import pytest

from thoughtkeep.rescue.fault import Fault, FaultKind
from thoughtkeep.rescue.lesson import FORMAT, Lesson, from_kept, place_of, to_kept
from thoughtkeep.turns import Kept, Keys
from thoughtkeep_store import MemoryStore
from thoughtkeep_store.records import decode, encode

KEY = b"k" * 32
PLACE = place_of(KEY, "root", "group")

LESSONS = [
    Lesson(Fault("signature_refused"), ("mark-1", "mark-2")),
    Lesson(Fault("reasoning_missing", ("fc_1",)), ("fc_1",)),
    Lesson(Fault("overflow"), ()),
]


def kept(lesson: Lesson, place: str = PLACE, tenant: str = "tenant") -> Kept:
    return to_kept(lesson, place, tenant, "root", "group", "model", 7.5)


def fetched(store: MemoryStore, place: str, tenant: str = "tenant") -> list[Kept]:
    return list(asyncio.run(store.fetch(Keys(tenant, (place,)))).turns)


def a_store() -> MemoryStore:
    return MemoryStore(ttl=1e9, max_bytes=1 << 20, clock=lambda: 8.0)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_comes_back_as_it_was_learnt(lesson: Lesson) -> None:
    record = encode(kept(lesson))
    assert from_kept(decode(record.head, record.body)) == lesson


def test_a_store_gives_the_lessons_of_a_place_and_a_tenant_and_no_others() -> None:
    store = a_store()
    for lesson in LESSONS:
        store.put(kept(lesson))
    store.put(kept(LESSONS[0], place_of(KEY, "root", "other")))
    store.put(kept(LESSONS[0], PLACE, "somebody"))
    found = fetched(store, PLACE)
    assert sorted(from_kept(one).fault.kind for one in found) == ["overflow", "reasoning_missing", "signature_refused"]
    assert {one.format for one in found} == {FORMAT}
    assert [len(fetched(store, PLACE, tenant)) for tenant in ("somebody", "nobody")] == [1, 0]


def test_of_each_kind_a_conversation_has_one_lesson_the_newest() -> None:
    store = a_store()
    kind: FaultKind = "signature_refused"
    for marks in (("mark-1",), ("mark-1", "mark-2")):
        store.put(kept(Lesson(Fault(kind), marks)))
    assert [from_kept(one).marks for one in fetched(store, PLACE)] == [("mark-1", "mark-2")]


def test_places_differ_by_conversation_provider_and_store() -> None:
    places = [place_of(KEY, "root", "group"), place_of(KEY, "other", "group"), place_of(KEY, "root", "other")]
    assert len({*places, place_of(b"l" * 32, "root", "group")}) == 4


def test_a_lesson_is_found_by_its_place_alone_and_tells_no_origin() -> None:
    one = kept(LESSONS[0])
    assert (one.call_ids, one.values, one.after) == ((), (), ())
    assert one.turn.calls == ()
