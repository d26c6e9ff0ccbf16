"""asyncio's loop, Tasks and Futures (in C)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Iterator
from types import coroutine
from typing import Any

import pytest

from bench.micro.conftest import MANY, SLOTS, TURNS, Measure, Pair, nothing, turn


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """asyncio's own loop, as ``asyncio.run`` makes it."""
    with asyncio.Runner() as runner:
        yield runner.get_loop()


def test_loop_turn(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """One loop iteration: calls one callback, and polls the kernel once."""
    measure(lambda: turn(loop, MANY), MANY)


def test_callback_dispatch(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Schedule a callback with ``call_soon``, and run it."""

    def batch() -> None:
        for _ in range(MANY):
            loop.call_soon(nothing)
        loop.call_soon(loop.stop)
        loop.run_forever()

    measure(batch, MANY)


def test_ready_socket(measure: Measure, loop: asyncio.AbstractEventLoop, pairs: list[Pair]) -> None:
    """Notice that a socket is ready, and run its callback."""
    for near, far in pairs:
        loop.add_reader(near, nothing)
        far.send(b"!")
    measure(lambda: turn(loop, TURNS), SLOTS * TURNS)
    for near, _ in pairs:
        loop.remove_reader(near)


def test_future_resolve(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Create a Future, add a callback, resolve it, run the callback."""

    def called(future: asyncio.Future[None]) -> None:
        pass

    def batch() -> None:
        for _ in range(MANY):
            future: asyncio.Future[None] = loop.create_future()
            future.add_done_callback(called)
            future.set_result(None)
        loop.call_soon(loop.stop)
        loop.run_forever()

    measure(batch, MANY)


def test_task_switch(measure: Measure, loop: asyncio.AbstractEventLoop) -> None:
    """Resolve the Future that a Task waits for; the Task runs until it waits for another."""
    waiting: list[asyncio.Future[None]] = []

    async def wait() -> None:
        while True:
            future: asyncio.Future[None] = loop.create_future()
            waiting.append(future)
            await future

    def resolve() -> None:
        ready = waiting[:]
        waiting.clear()
        for future in ready:
            future.set_result(None)

    tasks = [loop.create_task(wait()) for _ in range(SLOTS)]
    turn(loop, 2)
    measure(lambda: turn(loop, TURNS, resolve), SLOTS * TURNS)
    for task in tasks:
        task.cancel()


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


@coroutine
def pause() -> Generator[None, None, None]:
    while True:
        yield


async def chain(depth: int) -> None:
    """Coroutines that await one another, ``depth`` levels deep."""
    if depth > 1:
        await chain(depth - 1)
    await pause()


@pytest.mark.parametrize("depth", [1, 10, 100])
def test_resume_at_depth(measure: Measure, depth: int) -> None:
    """Resume a coroutine that is suspended ``depth`` levels of ``await`` deep."""
    waiting: Coroutine[Any, Any, None] = chain(depth)
    waiting.send(None)

    def batch() -> None:
        for _ in range(MANY):
            waiting.send(None)

    measure(batch, MANY)
    waiting.close()


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
