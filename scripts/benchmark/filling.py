"""Filling a store beforehand, to see whether the cost of a request depends on what the store holds."""

import asyncio
import random
import time

from thoughtkeep import identity
from thoughtkeep.turns import Call, Kept, Keys, Kind, Owner, Piece, Turn
from thoughtkeep_store import Store, open_store

#: The host whose requests `filling_addon.py` answers.
HOST = "filling.bench"

#: Turns of a conversation.
CONVERSATION = 20

#: Words of reasoning in a turn.
WORDS = 50


def room_for(turns: int) -> int:
    """The megabytes that a store must be allowed for so many turns, and others beside; at least the default."""
    return max(512, turns * 3 // 1_000)


def fill(url: str, turns: int) -> str:
    """Put turns of other conversations of the same tenant into a store. Returns what the store says of itself."""
    return asyncio.run(_fill(url, turns))


async def _fill(url: str, turns: int) -> str:
    store = open_store(url, ttl=7 * 86_400.0, max_bytes=room_for(turns) * 1_000_000, on_fault=print)
    await put(store, 0, turns)
    stats = await store.stats()
    await store.close()
    return f"{stats.turns} turns of {stats.conversations} conversations, {stats.bytes / 1e6:.1f} MB"


async def put(store: Store, first: int, turns: int, words: int = WORDS) -> None:
    """Put the turns from `first` up to `turns` into a store; the reasoning of each is so many words of ten letters."""
    key, rng = store.key, random.Random(turns)
    owner = Owner("deepseek", "deepseek-reasoner", "deepseek-reasoner")
    for number in range(first, turns):
        tenant, root = conversation(key, number // CONVERSATION)
        lineage = identity.digest(key, root, str(number % CONVERSATION))
        call = Call(f"call_00_filling{number:08}", "read_file", f'{{"path":"{number}.py"}}')
        said = " ".join(f"{rng.getrandbits(40):x}" for _ in range(words))
        turn = Turn((Piece(Kind.CALL, call=call),), {"reasoning_content": said}, said, ("reasoning_content",))
        store.put(
            Kept(
                id=f"filling-{number}",
                tenant=tenant,
                owner=owner,
                format="chat",
                root=root,
                lineage=lineage,
                after=identity.after(key, lineage, turn),
                context=lineage,
                near=lineage,
                thinking="on",
                made=time.time() - turns + number,
                turn=turn,
                call_ids=(call.id,),
            )
        )
        if number % 500 == 499:
            await store.flush()
    await store.flush()


def conversation(key: bytes, number: int) -> tuple[str, str]:
    """The tenant and the root of a conversation, by its number."""
    tenant = identity.tenant(key, {"authorization": "Bearer sk-bench-0123456789abcdef"}, {})
    return tenant, identity.digest(key, "root", f"filling {number}")


def keys(key: bytes, number: int) -> Keys:
    """What a request that tells a whole conversation asks a store for."""
    tenant, root = conversation(key, number)
    turns = range(CONVERSATION)
    lineages = tuple(identity.digest(key, root, str(turn)) for turn in turns)
    return Keys(tenant, lineages, tuple(f"call_00_filling{number * CONVERSATION + turn:08}" for turn in turns))
