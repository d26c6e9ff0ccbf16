"""The two loops, and what runs on them: the hand-built one of generators, and asyncio's (in C)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from selectors import EVENT_READ
from types import coroutine
from typing import Any, Final

import pytest

from bench.micro.conftest import MANY, SLOTS, TURNS, Measure, Pair, Repeated, nothing, turn
from crawlers import generators


@dataclass(frozen=True, slots=True)
class Model:
    """A loop, and how a program of one model uses it."""

    loop: Any
    watch: Callable[[Any], object]  # call nothing() when a socket is ready
    future: Callable[[], Any]
    resolve: Callable[[Any, None], None]
    task: Callable[[Any], Any]
    waits: Callable[[Callable[[], Any]], Any]  # waits for one future after the other
    chain: Callable[[int], Any]  # functions that wait for one another, so many levels deep


def yields(future: Callable[[], Any]) -> Generator[Any, None, None]:
    while True:
        yield from future()


def yields_at(depth: int) -> Generator[None, None, None]:
    if depth > 1:
        yield from yields_at(depth - 1)
    while True:
        yield


def hand_built(loop: Repeated) -> Model:
    return Model(
        loop,
        watch=lambda sock: loop.selector.register(sock, EVENT_READ, nothing),
        future=partial(generators.Future, loop),
        resolve=generators.Future.resolve,
        task=partial(generators.Task, loop),
        waits=yields,
        chain=yields_at,
    )


async def awaits(future: Callable[[], Any]) -> None:
    while True:
        await future()


@coroutine
def pause() -> Generator[None, None, None]:
    while True:
        yield


async def awaits_at(depth: int) -> None:
    if depth > 1:
        await awaits_at(depth - 1)
    await pause()


def on_asyncio(loop: asyncio.AbstractEventLoop) -> Model:
    return Model(
        loop,
        watch=lambda sock: loop.add_reader(sock, nothing),
        future=loop.create_future,
        resolve=asyncio.Future.set_result,
        task=loop.create_task,
        waits=awaits,
        chain=awaits_at,
    )


MODELS: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], Model]]]] = {
    "hand_built": (Repeated, hand_built),
    "asyncio": (asyncio.new_event_loop, on_asyncio),
}


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    make, of = MODELS[request.param]
    with closing(make()) as loop:
        yield of(loop)


# --- operations ------------------------------------------------------------------------------


def test_callback_dispatch(measure: Measure, model: Model) -> None:
    """Schedule a callback with ``call_soon``, and run it."""
    loop = model.loop

    def batch() -> None:
        for _ in range(MANY):
            loop.call_soon(nothing)
        turn(loop, 1)

    measure(batch, MANY)


def test_ready_socket(measure: Measure, model: Model, pairs: list[Pair]) -> None:
    """Notice that a socket is ready, and run its callback."""
    for near, far in pairs:
        model.watch(near)
        far.send(b"!")
    measure(lambda: turn(model.loop, TURNS), SLOTS * TURNS)


def test_future_resolve(measure: Measure, model: Model) -> None:
    """Create a Future, add a callback, resolve it, run the callback."""
    make, resolve = model.future, model.resolve

    def called(*_: object) -> None:
        pass

    def batch() -> None:
        for _ in range(MANY):
            future = make()
            future.add_done_callback(called)
            resolve(future, None)
        turn(model.loop, 1)

    measure(batch, MANY)


def test_task_switch(measure: Measure, model: Model) -> None:
    """Resolve the Future that a task waits for; the task runs until it waits for another."""
    waiting: list[Any] = []

    def future() -> Any:  # noqa: ANN401
        waiting.append(made := model.future())
        return made

    def resolve() -> None:
        ready = waiting[:]
        waiting.clear()
        for each in ready:
            model.resolve(each, None)

    tasks = [model.task(model.waits(future)) for _ in range(SLOTS)]
    turn(model.loop, 2)
    measure(lambda: turn(model.loop, TURNS, resolve), SLOTS * TURNS)
    for task in tasks:
        task.cancel("over")
    turn(model.loop, 2)


@pytest.mark.parametrize("depth", [1, 10, 100])
def test_resume_at_depth(measure: Measure, model: Model, depth: int) -> None:
    """Resume a function that is suspended so many levels deep."""
    waiting = model.chain(depth)
    waiting.send(None)

    def batch() -> None:
        for _ in range(MANY):
            waiting.send(None)

    measure(batch, MANY)
    waiting.close()
