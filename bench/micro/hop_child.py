"""A call from a loop to a thread and back, in the process that is measured.

``python -m bench.micro.hop_child WAY CALLS AT_ONCE`` waits for a line; by then it is pinned. It
prints a JSON object: seconds of processor time, of all threads, and seconds on the wall for one
call, and how many threads did the work. AT_ONCE tasks call one after the other, each until its call
is back. The work is one addition. The process fails if a result is wrong or if the work ran in the
thread of the caller.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from typing import Any, Final

from bench.micro import libraries

Hop = Callable[[int], Awaitable[int]]
WARM, FEWEST = 200, 5
"""Calls beforehand, of all tasks and of each. They start the threads that a library wants."""

_threads: set[int] = set()


def work(number: int) -> int:
    _threads.add(threading.get_ident())
    return number + 1


async def call(hop: Hop, calls: int) -> None:
    for number in range(calls):
        if await hop(number) != number + 1:
            raise RuntimeError("a call returned the result of another")


async def measure(
    many: Callable[[int], Awaitable[None]], calls: int, at_once: int
) -> dict[str, float]:
    await many(max(WARM // at_once, FEWEST))
    _threads.clear()
    wall, cpu = time.perf_counter(), time.process_time()
    await many(calls)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if not _threads or threading.get_ident() in _threads:
        raise RuntimeError("the work did not run in another thread")
    done = calls * at_once
    return {"cpu_s": cpu / done, "wall_s": wall / done, "threads": len(_threads)}


# --- the ways --------------------------------------------------------------------------------


def submit() -> Hop:
    """From thread to thread, without a loop: the caller blocks until the result is there."""
    pool = ThreadPoolExecutor()

    async def hop(number: int) -> int:
        return pool.submit(work, number).result()

    return hop


def by_hand() -> Hop:
    """One thread and one queue; the result comes back with ``call_soon_threadsafe``."""
    loop = asyncio.get_running_loop()
    asked: SimpleQueue[tuple[int, asyncio.Future[int]]] = SimpleQueue()

    def serve() -> None:
        while True:
            number, future = asked.get()
            loop.call_soon_threadsafe(future.set_result, work(number))

    async def hop(number: int) -> int:
        future: asyncio.Future[int] = loop.create_future()
        asked.put((number, future))
        return await future

    threading.Thread(target=serve, daemon=True).start()
    return hop


def in_executor() -> Hop:
    loop = asyncio.get_running_loop()

    async def hop(number: int) -> int:
        return await loop.run_in_executor(None, work, number)

    return hop


async def to_thread(number: int) -> int:
    return await asyncio.to_thread(work, number)


def in_library(name: str) -> Hop:
    """``to_thread.run_sync`` of trio, or of anyio on asyncio."""
    run_sync: Any = import_module(f"{name}.to_thread").run_sync

    async def hop(number: int) -> int:
        found: int = await run_sync(work, number)
        return found

    return hop


WAYS: Final[dict[str, tuple[str, Callable[[], Hop]]]] = {
    "call_soon_threadsafe": ("asyncio", by_hand),
    "run_in_executor": ("asyncio", in_executor),
    "to_thread": ("asyncio", lambda: to_thread),
    "to_thread on uvloop": ("uvloop", lambda: to_thread),
    "trio": ("trio", partial(in_library, "trio")),
    "anyio": ("anyio", partial(in_library, "anyio")),
}
"""The library of the loop, and what makes the call in it."""


def measured(way: str, calls: int, at_once: int) -> dict[str, float]:
    if way == "submit":
        return libraries.straight(measure(partial(call, submit()), calls, 1))
    name, make = WAYS[way]
    library = libraries.chosen(name)

    async def whole() -> dict[str, float]:
        many = partial(library.together, call, at_once, make())
        return await measure(many, calls, at_once)

    found: dict[str, float] = library.run(whole())
    return found


if __name__ == "__main__":
    sys.stdin.readline()
    print(json.dumps(measured(sys.argv[1], *map(int, sys.argv[2:]))), flush=True)
