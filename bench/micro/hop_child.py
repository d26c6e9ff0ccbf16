"""A call from a loop to a thread and back, in the process that is measured.

``python -m bench.micro.hop_child WAY CALLS AT_ONCE [PROCESSOR]`` prints a JSON object: seconds of
processor time, of all threads, and seconds on the wall for one call, and how many threads did the
work. AT_ONCE tasks call one after the other, each until its call is back. The work is one addition.
The process fails if a result is wrong or if the work ran in the thread of the caller.

A library is imported in its own function only, so that the process has no other.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from typing import Any, Final

Hop = Callable[[int], Awaitable[int]]
Many = Callable[[int], Awaitable[None]]
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


async def measure(many: Many, calls: int, at_once: int) -> dict[str, float]:
    await many(max(WARM // at_once, FEWEST))
    _threads.clear()
    wall, cpu = time.perf_counter(), time.process_time()
    await many(calls)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if not _threads or threading.get_ident() in _threads:
        raise RuntimeError("the work did not run in another thread")
    done = calls * at_once
    return {"cpu_s": cpu / done, "wall_s": wall / done, "threads": len(_threads)}


# --- asyncio ---------------------------------------------------------------------------------


@contextmanager
def by_hand() -> Iterator[Hop]:
    """One thread and one queue; the result comes back with ``call_soon_threadsafe``."""
    loop = asyncio.get_running_loop()
    asked: SimpleQueue[tuple[int, asyncio.Future[int]] | None] = SimpleQueue()

    def serve() -> None:
        while (item := asked.get()) is not None:
            number, future = item
            loop.call_soon_threadsafe(future.set_result, work(number))

    async def hop(number: int) -> int:
        future: asyncio.Future[int] = loop.create_future()
        asked.put((number, future))
        return await future

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield hop
    finally:
        asked.put(None)
        thread.join()


@contextmanager
def in_executor() -> Iterator[Hop]:
    loop = asyncio.get_running_loop()

    async def hop(number: int) -> int:
        return await loop.run_in_executor(None, work, number)

    yield hop


@contextmanager
def to_thread() -> Iterator[Hop]:
    async def hop(number: int) -> int:
        return await asyncio.to_thread(work, number)

    yield hop


ON_ASYNCIO: Final = {
    "call_soon_threadsafe": (by_hand, "asyncio:SelectorEventLoop"),
    "run_in_executor": (in_executor, "asyncio:SelectorEventLoop"),
    "to_thread": (to_thread, "asyncio:SelectorEventLoop"),
    "to_thread on uvloop": (to_thread, "uvloop:new_event_loop"),
}


def on_asyncio(name: str, calls: int, at_once: int) -> dict[str, float]:
    way, loop = ON_ASYNCIO[name]
    module, _, factory = loop.partition(":")

    async def main() -> dict[str, float]:
        with way() as hop:

            async def many(calls: int) -> None:
                await asyncio.gather(*(call(hop, calls) for _ in range(at_once)))

            return await measure(many, calls, at_once)

    with asyncio.Runner(loop_factory=getattr(import_module(module), factory)) as runner:
        return runner.run(main())


# --- others ----------------------------------------------------------------------------------


def in_group(name: str, calls: int, at_once: int) -> dict[str, float]:
    """``to_thread.run_sync`` of trio, or of anyio on asyncio."""
    library: Any = import_module(name)
    run_sync = import_module(f"{name}.to_thread").run_sync
    open_group = library.create_task_group if name == "anyio" else library.open_nursery

    async def hop(number: int) -> int:
        found: int = await run_sync(work, number)
        return found

    async def many(calls: int) -> None:
        async with open_group() as group:
            for _ in range(at_once):
                group.start_soon(call, hop, calls)

    found: dict[str, float] = library.run(measure, many, calls, at_once)
    return found


def submit(calls: int) -> dict[str, float]:
    """From thread to thread, without a loop: the caller blocks until the result is there."""

    async def hop(number: int) -> int:
        return pool.submit(work, number).result()

    with ThreadPoolExecutor() as pool:
        try:
            measure(partial(call, hop), calls, 1).send(None)
        except StopIteration as done:
            found: dict[str, float] = done.value
            return found
    raise RuntimeError("it waited, and there is no loop here")


def main(name: str, calls: int, at_once: int, core: int | None = None) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})
    if name == "submit":
        found = submit(calls)
    elif name in ON_ASYNCIO:
        found = on_asyncio(name, calls, at_once)
    else:
        found = in_group(name, calls, at_once)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
