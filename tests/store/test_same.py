"""All backends give the same answers, whatever was put in whatever order."""

import random

import pytest

from .kit import Backend, kept, keys, run


@pytest.mark.parametrize("seed", range(5))
def test_all_backends_answer_alike(lasting: Backend, tmp_path, seed):
    chance = random.Random(seed)

    def some(kind: str, most: int) -> tuple[str, ...]:
        return tuple(f"{kind}{chance.randrange(8)}" for _ in range(chance.randrange(most + 1)))

    async def scenario():
        memory = Backend("memory", tmp_path)
        async with memory.open() as one, lasting.open() as two, lasting.open() as three:
            for step in range(150):
                id_ = f"t{chance.randrange(40)}"
                turn = kept(
                    id_,
                    tenant="alice" if chance.random() < 0.7 else "bob",
                    root=f"r{chance.randrange(4)}",
                    lineage=f"l{chance.randrange(10)}",
                    made=float(chance.randrange(5)),
                    call_ids=some("c", 3),
                    values=some("v", 2),
                    text=str(step),
                )
                one.put(turn)
                # Two proxies share it; each turn is written before the other one amends it.
                writer = chance.choice((two, three))
                writer.put(turn)
                await writer.flush()
                if (way := chance.random()) < 0.2:
                    ids, root = [f"t{chance.randrange(40)}" for _ in range(3)], f"r{chance.randrange(4)}"
                    for store in (one, writer):
                        if way < 0.1:
                            store.forget_turns(ids)
                        elif way < 0.19:
                            store.forget_conversation("alice", root)
                        else:
                            store.forget_all()
                    await writer.flush()
                question = keys(
                    *some("l", 4), tenant=chance.choice(("alice", "bob")), call_ids=some("c", 3), values=some("v", 2)
                )
                expected = await one.fetch(question)
                assert await two.fetch(question) == expected
                assert await three.fetch(question) == expected
                assert await two.conversation("alice", turn.root) == await one.conversation("alice", turn.root)
                figures = [await store.stats() for store in (one, two, three)]
                assert len({(stats.turns, stats.conversations) for stats in figures}) == 1
        assert lasting.faults == []

    run(scenario())
