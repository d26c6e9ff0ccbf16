"""What a suspended coroutine costs, without a socket, and how many can be started."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Generator
from time import perf_counter
from typing import Any

import psutil

from bench.claims.experiments.result import ExperimentResult
from bench.machine.probes.memory.processes import user_memory

COUNT = 20_000
MANY = 200_000
"""The least that "hundreds of thousands" can mean."""
KEEP_FREE_BYTES = 2 << 30
KIB = 1024


class Future:
    """The chapter's: a result to come, and callbacks."""

    def __init__(self) -> None:
        self.result: object = None
        self.callbacks: list[Callable[[Future], None]] = []

    def set_result(self, result: object) -> None:
        """Resolve it, and call whoever waits."""
        self.result = result
        for callback in self.callbacks:
            callback(self)


class Task:
    """The chapter's: drives a generator from one future to the next."""

    def __init__(self, generator: Generator[Future, object, None]) -> None:
        self.generator = generator
        self.step(Future())

    def step(self, future: Future) -> None:
        """Resume the generator; called by the future."""
        try:
            following = self.generator.send(future.result)
        except StopIteration:
            return
        following.callbacks.append(self.step)


def fetch(selector: dict[int, Callable[[], None]], number: int) -> Generator[Future, object, None]:
    """Waits for its connection as the chapter's ``fetch`` does, without the socket."""
    future = Future()

    def on_connected() -> None:
        future.set_result(None)

    selector[number] = on_connected
    yield future
    del selector[number]


def chapter() -> dict[int, Callable[[], None]]:
    """Suspended generators, each with its Task and the Future that it waits for."""
    selector: dict[int, Callable[[], None]] = {}
    for number in range(COUNT):
        Task(fetch(selector, number))
    return selector


async def wait_for(future: asyncio.Future[None], started: list[int]) -> None:
    """An asyncio coroutine that waits."""
    started[0] += 1
    await future


def user_kib(make: Callable[[], Any]) -> float | None:
    """KiB of user memory for each of the things made; None off Linux."""
    gc.collect()
    before, _ = user_memory(os.getpid())
    made = make()
    after, _ = user_memory(os.getpid())
    count = len(made)
    return None if before is None or after is None else (after - before) / count / KIB


async def asyncio_tasks(count: int) -> tuple[float | None, int, float]:
    """KiB per suspended task, how many were suspended at once, and seconds until all ended."""
    started, future = [0], asyncio.get_running_loop().create_future()
    gc.collect()
    before, _ = user_memory(os.getpid())
    began = perf_counter()
    tasks = []
    for number in range(count):
        if number % COUNT == 0 and psutil.virtual_memory().available < KEEP_FREE_BYTES:
            break
        tasks.append(asyncio.create_task(wait_for(future, started)))
    await asyncio.sleep(0)
    after, _ = user_memory(os.getpid())
    suspended = started[0]
    future.set_result(None)
    await asyncio.gather(*tasks)
    seconds = perf_counter() - began
    kib = None if before is None or after is None else (after - before) / len(tasks) / KIB
    return kib, suspended, seconds


def measure() -> ExperimentResult:
    """Memory of a suspended coroutine of the chapter and of asyncio, and how many start."""
    result = ExperimentResult()
    chapters = user_kib(chapter)
    tasks, _, _ = asyncio.run(asyncio_tasks(COUNT))
    for name, kib in (("chapter_kib", chapters), ("task_kib", tasks)):
        if kib is None:
            result.lacks(name, "user memory cannot be read on this system")
        else:
            result.values[name] = kib
    _, suspended, seconds = asyncio.run(asyncio_tasks(MANY))
    result.values["suspended_at_once"] = float(suspended)
    result.values["seconds"] = seconds
    return result
