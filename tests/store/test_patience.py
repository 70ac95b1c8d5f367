"""Waiting with a bound: what the event loop itself took does not count."""

from __future__ import annotations

import asyncio
import time

import pytest

from thoughtkeep_store.patience import STEP, Patience


def test_what_takes_longer_than_the_bound_is_ended() -> None:
    async def main() -> float:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with Patience(0.2):
                await asyncio.sleep(60)
        return time.monotonic() - began

    assert 0.15 < asyncio.run(main()) < 5


def test_what_comes_in_time_is_not_touched_and_the_rest_of_the_time_is_told() -> None:
    async def main() -> float:
        async with Patience(10.0) as patience:
            await asyncio.sleep(3 * STEP)
        await asyncio.sleep(2 * STEP)  # nothing goes on behind it
        return patience.left

    assert 8.0 < asyncio.run(main()) < 10.0


def test_no_time_at_all_is_enough_for_what_need_not_wait() -> None:
    async def main() -> None:
        async with Patience(-1.0) as patience:
            assert patience.left == 0
        with pytest.raises(TimeoutError):
            async with Patience(0.0):
                await asyncio.sleep(60)

    asyncio.run(main())


def test_a_loop_that_was_busy_finds_the_answer_that_came_meanwhile() -> None:
    """Three rounds of the loop, each longer than the bound: what a lookup needs that is answered at once."""

    async def busy() -> None:
        for _ in range(3):
            time.sleep(0.3)  # noqa: ASYNC251 - that is the point
            await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(busy())
        async with Patience(0.25):
            for _ in range(3):
                await asyncio.sleep(0)
        await task

    asyncio.run(main())


def test_it_can_be_given_up() -> None:
    async def main() -> None:
        patience = Patience(60.0)
        asyncio.get_running_loop().call_later(0.01, patience.give_up)
        with pytest.raises(TimeoutError):
            async with patience:
                await asyncio.sleep(60)

    asyncio.run(main())
