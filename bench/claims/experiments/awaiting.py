"""Whether ``await coroutine`` and ``await task`` give the loop a turn, and what each costs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter

from bench.claims.experiments.outcome import Outcome

AWAITS = 20_000


async def nothing() -> None:
    """A coroutine that has nothing to wait for."""


def a_coroutine() -> Awaitable[None]:
    """To be awaited as it is."""
    return nothing()


def a_task() -> Awaitable[None]:
    """To be awaited as a task."""
    return asyncio.create_task(nothing())


async def turns(make: Callable[[], Awaitable[None]]) -> float:
    """The loop's turns in each await."""
    loop = asyncio.get_running_loop()
    taken = 0
    over = False

    def turn() -> None:
        nonlocal taken
        if not over:
            taken += 1
            loop.call_soon(turn)

    loop.call_soon(turn)
    for _ in range(AWAITS):
        await make()
    over = True
    return taken / AWAITS


async def nanoseconds(make: Callable[[], Awaitable[None]]) -> float:
    """Time for each await, with nothing else on the loop."""
    began = perf_counter()
    for _ in range(AWAITS):
        await make()
    return 1e9 * (perf_counter() - began) / AWAITS


def measure() -> Outcome:
    """Turns and nanoseconds for each await, and the ratio of the times."""
    outcome = Outcome()
    for name, make in (("coroutine", a_coroutine), ("task", a_task)):
        outcome.values[f"{name}_turns"] = asyncio.run(turns(make))
        outcome.values[f"{name}_ns"] = asyncio.run(nanoseconds(make))
    task, coroutine = outcome.values["task_ns"], outcome.values["coroutine_ns"]
    assert task is not None
    assert coroutine is not None
    outcome.values["task_over_coroutine"] = task / coroutine
    return outcome
