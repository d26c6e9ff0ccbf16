"""Many pages over few connections, in the process that is measured.

``python -m bench.micro.pool_child BACKEND LIMITER LIMIT`` reads a JSON list of URLs. Then it waits
for three lines. Each starts a round, and a JSON object ends it:

1. as many pages as there may be connections, which opens them
2. all pages: processor time, and number and CRC-32 of each page in the order in which they came
3. all pages, cancelled when half have come: when that was, when all had ended, and what was left

It fails if a page fails. The exchanges are those of the crawler's backends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Lock
from time import monotonic, process_time
from typing import Any, Final
from zlib import crc32

from bench.sides import leftovers
from crawlers.async_await import disconnect
from crawlers.http import Exchange
from crawlers.job import Job
from crawlers.recorder import NullRecorder

TIMEOUT_S: Final = 600.0
"""Longer than the server holds an answer back, and than a task waits for a connection."""


class Pages:
    """What a backend needs to fetch them, and which came in this round, in order."""

    def __init__(self, backend: str, limiter: str, limit: int, urls: list[str]) -> None:
        self.backend: Any = import_module(f"crawlers.{backend}")
        job = Job(tuple(urls), slots=limit, timeout_s=TIMEOUT_S, follow=False)
        # trio's also has the fetch that its own crawl calls.
        more = [None] if backend == "variants.trio" else []
        self.shared = self.backend.Shared(job, NullRecorder(), *more)
        self.items = [self.shared.frontier.take() for _ in urls]
        # A client with a limit of its own keeps no connection in a slot: one slot does for all.
        own = limiter == "own limit"
        self.idle = self.shared.slots[:1] * len(urls) if own else list(self.shared.slots)
        self.limiter, self.limit = limiter, limit
        self.came: list[tuple[int, int]] = []
        self.half, self.half_s = 0, 0.0
        self.stop: Callable[[], object]  # cancels the round

    def rounds(self) -> Iterator[range]:
        """The pages of each. What came of the last is told when everything is closed."""
        for count in (self.limit, len(self.items)):
            sys.stdin.readline()
            self.came, used = [], process_time()
            yield range(count)
            print(json.dumps({"cpu_s": process_time() - used, "came": self.came}), flush=True)
        sys.stdin.readline()
        self.came, self.half = [], len(self.items) // 2
        yield range(len(self.items))
        for slot in self.shared.slots:
            disconnect(slot)

    async def get(self, number: int) -> None:
        slot = self.idle.pop()
        self.settle(number, slot, await self.backend.fetch(self.shared, slot, self.items[number]))

    def settle(self, number: int, slot: object, exchange: Exchange) -> None:
        if exchange.error is not None:
            raise RuntimeError(f"page {number} failed: {exchange.error}")
        self.came.append((number, crc32(exchange.body)))
        self.idle.append(slot)
        if len(self.came) == self.half:
            self.half_s = monotonic()
            self.stop()

    async def get_within(self, free: Any, number: int) -> None:  # noqa: ANN401
        async with free:
            await self.get(number)


def started(pages: Pages, numbers: range) -> list[asyncio.Task[None]]:
    """The tasks: one for each page, or workers, who take the pages from a queue."""
    queue: asyncio.Queue[int | None] = asyncio.Queue()

    async def worker() -> None:
        while (number := await queue.get()) is not None:
            await pages.get(number)

    if pages.limiter == "workers":
        for item in (*numbers, *[None] * pages.limit):
            queue.put_nowait(item)
        return [asyncio.create_task(worker()) for _ in range(pages.limit)]
    get = pages.get
    if pages.limiter == "semaphore":
        get = partial(pages.get_within, asyncio.Semaphore(pages.limit))
    return [asyncio.create_task(get(number)) for number in numbers]


async def on_asyncio(make: Callable[[], Pages]) -> Pages:
    pages = make()
    for numbers in pages.rounds():
        tasks = started(pages, numbers)
        everything = asyncio.gather(*tasks)
        pages.stop = everything.cancel
        with suppress(asyncio.CancelledError):
            await everything
        await asyncio.wait(tasks)
        if hasattr(pages.shared, "client"):
            # httpx gives one idle connection to all tasks that start, and all but one try again.
            await pages.shared.close()
            pages.shared.client = pages.shared.new_client()
    if hasattr(pages.shared, "close"):  # the pool of a client
        await pages.shared.close()
    await asyncio.sleep(0)  # the loop closes the sockets now
    return pages


async def on_trio(make: Callable[[], Pages]) -> Pages:
    trio: Any = import_module("trio")
    pages = make()
    free = trio.CapacityLimiter(pages.limit)

    async def worker(asked: Any) -> None:  # noqa: ANN401
        async for number in asked:
            await pages.get(number)

    for numbers in pages.rounds():
        async with trio.open_nursery() as nursery:
            pages.stop = nursery.cancel_scope.cancel
            if pages.limiter == "workers":
                sender, asked = trio.open_memory_channel(0)
                for _ in range(pages.limit):
                    nursery.start_soon(worker, asked)
                async with sender:
                    for number in numbers:
                        await sender.send(number)
            else:
                for number in numbers:
                    nursery.start_soon(pages.get_within, free, number)
    return pages


def on_threads(make: Callable[[], Pages]) -> Pages:
    pages, lock = make(), Lock()

    def get(number: int) -> None:
        slot = pages.idle.pop()
        exchange = pages.backend.fetch(pages.shared, slot, pages.items[number])
        with lock:
            pages.settle(number, slot, exchange)

    with ThreadPoolExecutor(pages.limit) as pool:
        pages.stop = partial(pool.shutdown, wait=False, cancel_futures=True)
        for numbers in pages.rounds():
            for future in [pool.submit(get, number) for number in numbers]:
                with suppress(CancelledError):
                    future.result()
    return pages


def main(backend: str, limiter: str, limit: int) -> None:
    before = leftovers.count()
    make = partial(Pages, backend, limiter, limit, json.loads(sys.stdin.readline()))
    if backend == "threads":
        pages = on_threads(make)
    elif backend == "variants.trio":
        pages = import_module("trio").run(on_trio, make)
    else:
        pages = asyncio.run(on_asyncio(make))
    found = {"half_s": pages.half_s, "ended_s": monotonic(), "came": pages.came}
    del pages  # it holds the tasks
    left = leftovers.more_than(before, leftovers.PATIENCE_S)
    print(json.dumps(found | {"left": left}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
