"""Countdown: a coroutine says when to resume it. The loop keeps these times in a heap and sleeps
until the first. ``await`` needs no asyncio: only ``sleep`` and the loop have to agree.

Waits: a coroutine, in the heap. Switches: the loop, at the next time.
Costs: an entry in a heap. Became: crawlers/loop.py:call_at
"""

import time
import types
from collections.abc import Coroutine, Generator
from contextlib import suppress
from heapq import heappop, heappush


@types.coroutine
def sleep(ticks: int) -> Generator[float, None, None]:
    yield time.monotonic() + ticks / 20


async def launch(rocket: str, ticks: int, delay: int) -> None:
    await sleep(delay)
    for left in range(ticks, -1, -1):
        print(rocket, left or "lift-off")
        await sleep(1)


def run(*coroutines: Coroutine[float, None, None]) -> None:
    heap = [(0.0, number, coroutine) for number, coroutine in enumerate(coroutines)]
    while heap:
        when, number, coroutine = heappop(heap)
        time.sleep(max(0.0, when - time.monotonic()))
        with suppress(StopIteration):
            heappush(heap, (coroutine.send(None), number, coroutine))


def main() -> None:
    run(launch("A", 5, delay=0), launch("B", 3, delay=2), launch("C", 4, delay=1))
