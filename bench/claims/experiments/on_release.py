"""Runs on another interpreter, with its standard library only; prints JSON.

``eager_tasks``: a tree of tasks like that of pyperformance's ``async_tree``, without work in
its leaves, with ordinary tasks over eager ones. ``current_task``: the version in Python over
the one in C.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import tasks
from collections.abc import Callable
from time import perf_counter
from typing import Any

BRANCHES = 6
LEVELS = 4
ROUNDS = 5
CALLS = 20_000


async def tree(level: int) -> None:
    """A node gathers its branches; a leaf does nothing."""
    if level:
        await asyncio.gather(*(tree(level - 1) for _ in range(BRANCHES)))


async def grow(eager: bool) -> float:
    """Seconds for one tree."""
    if eager:
        factory: Any = getattr(asyncio, "eager_task_factory")  # noqa: B009 (3.12 and later)
        asyncio.get_running_loop().set_task_factory(factory)
    began = perf_counter()
    await tree(LEVELS)
    return perf_counter() - began


async def ask(current_task: Callable[[], object]) -> float:
    """Seconds for many calls."""
    began = perf_counter()
    for _ in range(CALLS):
        current_task()
    return perf_counter() - began


def measure() -> dict[str, float]:
    """The fastest of several alternating rounds each."""
    versions = [getattr(tasks, f"_{kind}_current_task") for kind in ("py", "c")]
    if asyncio.current_task is not versions[1]:
        raise RuntimeError("asyncio's current_task is not the one in C")
    trees: tuple[list[float], list[float]] = ([], [])
    calls: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for eager in (False, True):
            trees[eager].append(asyncio.run(grow(eager)))
        for place, version in enumerate(versions):
            calls[place].append(asyncio.run(ask(version)))
    return {
        "eager_tasks": min(trees[0]) / min(trees[1]),
        "current_task": min(calls[0]) / min(calls[1]),
    }


if __name__ == "__main__":
    print(json.dumps(measure()), flush=True)
