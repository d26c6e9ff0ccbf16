"""The hand-built loop, and what ``generators`` adds: Future, Task, ``yield from``."""

from __future__ import annotations

from collections.abc import Generator
from selectors import EVENT_READ

import pytest

from bench.micro.conftest import MANY, SLOTS, TURNS, Measure, Pair, nothing, turn
from crawlers.generators import Coroutine, Future, Task, run_until_complete
from crawlers.loop import Loop


def test_callback_dispatch(measure: Measure) -> None:
    """Schedule a callback with ``call_soon``, and run it."""

    def batch(loop: Loop) -> None:
        for _ in range(MANY):
            loop.call_soon(nothing)
        loop.call_soon(loop.stop)
        loop.run()

    measure(batch, MANY, setup=Loop, teardown=Loop.close)


def test_ready_socket(measure: Measure, pairs: list[Pair]) -> None:
    """Notice that a socket is ready, and run its callback."""

    def all_ready() -> Loop:
        loop = Loop()
        for near, far in pairs:
            loop.selector.register(near, EVENT_READ, nothing)
            far.send(b"!")
        return loop

    measure(lambda loop: turn(loop, TURNS), SLOTS * TURNS, setup=all_ready, teardown=Loop.close)


def test_future_resolve(measure: Measure) -> None:
    """Create a Future, add a callback, resolve it, run the callback."""

    def batch(loop: Loop) -> None:
        for _ in range(MANY):
            future = Future[None](loop)
            future.add_done_callback(nothing)
            future.resolve(None)
        loop.call_soon(loop.stop)
        loop.run()

    measure(batch, MANY, setup=Loop, teardown=Loop.close)


def test_task_switch(measure: Measure) -> None:
    """Resolve the Future that a Task waits for; the Task runs until it waits for another."""
    waiting: list[Future[None]] = []

    def wait(loop: Loop) -> Coroutine[None]:
        while True:
            future = Future[None](loop)
            waiting.append(future)
            yield from future

    def all_wait() -> Loop:
        waiting.clear()
        loop = Loop()
        for _ in range(SLOTS):
            Task(loop, wait(loop))
        return loop

    def resolve() -> None:
        ready = waiting[:]
        waiting.clear()
        for future in ready:
            future.resolve(None)

    # In the first iteration the tasks start, and none waits yet.
    measure(
        lambda loop: turn(loop, TURNS + 1, resolve),
        SLOTS * TURNS, setup=all_wait, teardown=Loop.close,
    )  # fmt: skip


def returns() -> Coroutine[None]:
    """A coroutine that never waits."""
    yield from ()


def test_await_coroutine(measure: Measure) -> None:
    """Await a coroutine that does not wait."""

    def drive() -> Coroutine[None]:
        for _ in range(MANY):
            yield from returns()

    measure(lambda: list(drive()), MANY)


def test_await_task(measure: Measure) -> None:
    """The same coroutine, as a Task of its own."""

    def drive(loop: Loop) -> Coroutine[None]:
        for _ in range(MANY):
            yield from Task(loop, returns())

    measure(
        lambda loop: run_until_complete(loop, drive(loop)), MANY, setup=Loop, teardown=Loop.close
    )


def chain(depth: int) -> Generator[None, None, None]:
    """Generators that delegate to one another, ``depth`` levels deep."""
    if depth > 1:
        yield from chain(depth - 1)
    while True:
        yield


@pytest.mark.parametrize("depth", [1, 10, 100])
def test_resume_at_depth(measure: Measure, depth: int) -> None:
    """Resume a coroutine that is suspended ``depth`` levels of ``yield from`` deep."""
    generator = chain(depth)

    def batch() -> None:
        for _ in range(MANY):
            next(generator)

    measure(batch, MANY)
