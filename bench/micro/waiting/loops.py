"""Kinds on a library's loop: asyncio, uvloop, trio, curio, anyio.

See :mod:`bench.micro.waiting.plain` for what the functions do. Each task has one frame of its own,
as a program's would, and below it what its library needs to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from bench.micro.waiting.plain import Ways


def on_asyncio(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> Ways:
    """A task on this loop that waits on a Future of it."""
    started: list[None] = []

    async def wait() -> None:
        started.append(None)
        await asyncio.get_running_loop().create_future()

    async def spawn(count: int) -> list[asyncio.Task[None]]:
        started.clear()
        loop = asyncio.get_running_loop()
        made = [loop.create_task(wait()) for _ in range(count)]
        while len(started) < count:
            await asyncio.sleep(0)
        return made

    async def cancel(made: list[asyncio.Task[None]]) -> None:
        for each in made:
            each.cancel()
        for each in made:
            with suppress(asyncio.CancelledError):
                await each

    async def yields(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    async def switch(tasks: int, turns: int) -> None:
        loop = asyncio.get_running_loop()
        for each in [loop.create_task(yields(turns)) for _ in range(tasks)]:
            await each

    def run(work: Coroutine[Any, Any, None]) -> None:
        loop = make_loop()
        try:
            loop.run_until_complete(work)
        finally:
            loop.close()

    return Ways(spawn, cancel, switch, run)


def default() -> Ways:
    """asyncio as it ships: Task and Future in C."""
    return on_asyncio(asyncio.SelectorEventLoop)


def pure() -> Ways:
    """Task and Future in Python."""
    from crawlers.variants.asyncio_pure import PureLoop

    return on_asyncio(PureLoop)


def eager() -> Ways:
    """A task that runs to its first wait at once, from Python 3.12 on."""
    from crawlers.variants.asyncio_eager import make_loop

    return on_asyncio(make_loop)


def uvloop() -> Ways:
    """asyncio's tasks on uvloop."""
    import uvloop as library

    return on_asyncio(library.new_event_loop)


def in_group(
    open_group: Callable[[], Any],
    sleep_forever: Callable[[], Awaitable[None]],
    checkpoint: Callable[[], Awaitable[None]],
    run: Callable[[Coroutine[Any, Any, None]], object],
) -> Ways:
    """A task of trio or anyio: in a nursery or a task group, which is cancelled as a whole."""
    started: list[None] = []

    async def wait() -> None:
        started.append(None)
        await sleep_forever()

    async def spawn(count: int) -> tuple[Any, Any]:
        started.clear()
        manager = open_group()
        group = await manager.__aenter__()
        for _ in range(count):
            group.start_soon(wait)
        while len(started) < count:
            await checkpoint()
        return manager, group

    async def cancel(made: tuple[Any, Any]) -> None:
        manager, group = made
        group.cancel_scope.cancel()
        await manager.__aexit__(None, None, None)

    async def yields(turns: int) -> None:
        for _ in range(turns):
            await checkpoint()

    async def switch(tasks: int, turns: int) -> None:
        async with open_group() as group:
            for _ in range(tasks):
                group.start_soon(yields, turns)

    return Ways(spawn, cancel, switch, run)


def trio() -> Ways:
    """A task in a nursery of trio."""
    import trio as library

    async def whole(work: Coroutine[Any, Any, None]) -> None:
        await work

    return in_group(
        library.open_nursery,
        library.sleep_forever,
        library.lowlevel.checkpoint,
        lambda work: library.run(whole, work),
    )


def anyio() -> Ways:
    """A task in a task group of anyio, on asyncio."""
    import anyio as library
    import anyio.lowlevel

    async def whole(work: Coroutine[Any, Any, None]) -> None:
        await work

    return in_group(
        library.create_task_group,
        library.sleep_forever,
        library.lowlevel.checkpoint,
        lambda work: library.run(whole, work),
    )


FEW = 100
"""Tasks of curio that are made ready at once: see :data:`bench.micro.waiting.kinds.QUADRATIC`."""


def curio() -> Ways:
    """A task of curio that waits on an Event. Few are ready at once."""
    import curio as library  # type: ignore[import-untyped, import-not-found, unused-ignore]

    started: list[None] = []

    async def wait() -> None:
        started.append(None)
        await library.Event().wait()

    async def spawn(count: int) -> list[Any]:
        started.clear()
        made: list[Any] = []
        while len(made) < count:
            made += [await library.spawn(wait) for _ in range(min(FEW, count - len(made)))]
            while len(started) < len(made):
                await library.sleep(0)
        return made

    async def cancel(made: list[Any]) -> None:
        for first in range(0, len(made), FEW):
            few = made[first : first + FEW]
            for each in few:
                await each.cancel(blocking=False)
            for each in few:
                await each.wait()

    async def yields(turns: int) -> None:
        for _ in range(turns):
            await library.sleep(0)

    async def switch(tasks: int, turns: int) -> None:
        for each in [await library.spawn(yields, turns) for _ in range(tasks)]:
            await each.join()

    async def whole(work: Coroutine[Any, Any, None]) -> None:
        await work

    return Ways(spawn, cancel, switch, lambda work: library.run(whole, work))
