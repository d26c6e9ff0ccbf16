"""Whether ``await coroutine`` and ``await task`` yield to the loop, and the cost of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter

from bench.claims.experiments.result import ExperimentResult

AWAITS = 20_000


async def nothing() -> None:
    """A coroutine that does not wait."""


def a_coroutine() -> Awaitable[None]:
    """A coroutine to await directly."""
    return nothing()


def a_task() -> Awaitable[None]:
    """A coroutine to await as a task."""
    return asyncio.create_task(nothing())


async def turns(make: Callable[[], Awaitable[None]]) -> float:
    """The loop's iterations per await."""
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
    """The time per await, with nothing else on the loop."""
    began = perf_counter()
    for _ in range(AWAITS):
        await make()
    return 1e9 * (perf_counter() - began) / AWAITS


def measure() -> ExperimentResult:
    """Loop iterations and nanoseconds per await, and the ratio of the times."""
    result = ExperimentResult()
    for name, make in (("coroutine", a_coroutine), ("task", a_task)):
        result.values[f"{name}_turns"] = asyncio.run(turns(make))
        result.values[f"{name}_ns"] = asyncio.run(nanoseconds(make))
    task, coroutine = result.values["task_ns"], result.values["coroutine_ns"]
    assert task is not None
    assert coroutine is not None
    result.values["task_over_coroutine"] = task / coroutine
    return result
