"""What only asyncio's loop, Tasks and locks have."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest

from bench.micro.conftest import MANY, Measure, nothing, turn


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with closing(asyncio.new_event_loop()) as loop:
        yield loop


async def returns() -> None:
    """A coroutine that never waits."""


def test_await_coroutine(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Await a coroutine that does not wait."""

    async def drive() -> None:
        for _ in range(MANY):
            await returns()

    measure(lambda: loop.run_until_complete(drive()), MANY)


def test_await_task(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """The same coroutine, as a Task of its own."""

    async def drive() -> None:
        for _ in range(MANY):
            await loop.create_task(returns())

    measure(lambda: loop.run_until_complete(drive()), MANY)


def test_lock_uncontended(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Acquire a free lock, and release it."""
    lock = asyncio.Lock()

    async def drive() -> None:
        for _ in range(MANY):
            async with lock:
                pass

    measure(lambda: loop.run_until_complete(drive()), MANY)


def test_lock_contended(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Acquire a lock that another task holds, and pass it on: one task switch each time."""
    lock = asyncio.Lock()

    async def take() -> None:
        for _ in range(MANY // 2):
            async with lock:
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(take(), take())

    measure(lambda: loop.run_until_complete(both()), MANY)


def test_timer_set_and_cancel(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Set a timer and cancel it, like every timeout that does not expire."""

    def batch() -> None:
        for _ in range(MANY):
            loop.call_later(10.0, nothing).cancel()
        turn(loop, 1)  # here the loop drops them

    measure(batch, MANY)
