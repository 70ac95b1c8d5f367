"""Filling a store beforehand, to see whether the cost of a request depends on what the store holds."""

import asyncio
import random
import time

from thoughtkeep import identity
from thoughtkeep.turns import Call, Kept, Kind, Owner, Piece, Turn
from thoughtkeep_store import open_store

_CONVERSATION = 20  # turns


def fill(url: str, turns: int) -> str:
    """Put turns of other conversations of the same tenant into a store. Returns what the store says of itself."""
    return asyncio.run(_fill(url, turns))


async def _fill(url: str, turns: int) -> str:
    store = open_store(url, ttl=7 * 86_400.0, max_bytes=512_000_000, on_fault=print)
    key, rng = store.key, random.Random(turns)
    tenant = identity.tenant(key, {"authorization": "Bearer sk-bench-0123456789abcdef"}, {})
    owner = Owner("deepseek", "deepseek-reasoner", "deepseek-reasoner")
    for number in range(turns):
        root = identity.digest(key, "root", f"filling {number // _CONVERSATION}")
        lineage = identity.digest(key, root, str(number % _CONVERSATION))
        call = Call(f"call_00_filling{number:08}", "read_file", f'{{"path":"{number}.py"}}')
        words = " ".join(f"{rng.getrandbits(40):x}" for _ in range(50))
        turn = Turn((Piece(Kind.CALL, call=call),), {"reasoning_content": words}, words, ("reasoning_content",))
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
    stats = await store.stats()
    await store.close()
    return f"{stats.turns} turns of {stats.conversations} conversations, {stats.bytes / 1e6:.1f} MB"
