"""Kinds without a library's loop: generators, coroutines, the hand-built loop, threads, greenlets.

Every kind has the same four functions. ``spawn`` returns when all tasks wait. ``cancel`` returns
when all have ended. ``switch`` lets ``tasks`` tasks yield ``turns`` times each. They are coroutine
functions, so that a library's loop can run them; those here never wait.
"""

from __future__ import annotations

import threading
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.micro.waiting.kinds import SMALL_STACK

POLL_S = 0.001
"""How often it is asked whether all threads have started."""


@dataclass(frozen=True, slots=True)
class Ways:
    """How one kind is spawned, cancelled and switched, and what runs these functions."""

    spawn: Callable[[int], Awaitable[Any]]
    cancel: Callable[[Any], Awaitable[None]]
    switch: Callable[[int, int], Awaitable[None]]
    run: Callable[[Coroutine[Any, Any, None]], object]


def straight(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise RuntimeError("it waited, and there is no loop here")


# --- suspended functions, without any task ----------------------------------------------------


def generator() -> Ways:
    """A suspended generator; a switch is ``next``."""

    def wait() -> Generator[None, None, None]:
        while True:
            yield

    async def spawn(count: int) -> list[Generator[None, None, None]]:
        made = [wait() for _ in range(count)]
        for each in made:
            next(each)
        return made

    async def cancel(made: list[Generator[None, None, None]]) -> None:
        for each in made:
            each.close()

    async def switch(tasks: int, turns: int) -> None:
        made = await spawn(tasks)
        for _ in range(turns):
            for each in made:
                next(each)

    return Ways(spawn, cancel, switch, straight)


@types.coroutine
def suspend() -> Generator[None, None, None]:
    """Wait until the coroutine is resumed."""
    yield


def coroutine() -> Ways:
    """A suspended native coroutine; a switch is ``send``."""

    async def wait() -> None:
        while True:
            await suspend()

    async def spawn(count: int) -> list[Coroutine[None, None, None]]:
        made = [wait() for _ in range(count)]
        for each in made:
            each.send(None)
        return made

    async def cancel(made: list[Coroutine[None, None, None]]) -> None:
        for each in made:
            each.close()

    async def switch(tasks: int, turns: int) -> None:
        made = await spawn(tasks)
        for _ in range(turns):
            for each in made:
                each.send(None)
        await cancel(made)

    return Ways(spawn, cancel, switch, straight)


# --- the hand-built loop ----------------------------------------------------------------------


def generator_task() -> Ways:
    """A Task of ``crawlers.generators`` that waits on a Future."""
    from crawlers.generators import Cancelled, Future, Task
    from crawlers.loop import Loop

    class Bounded(Loop):
        """The loop, which can run again after it was stopped."""

        def turn(self) -> None:
            self._stopped = False
            self.call_soon(self.stop)
            self.run()

    loop = Bounded()

    def wait() -> Generator[Future[Any], None, None]:
        try:
            yield from Future[None](loop)
        except Cancelled:
            return

    async def spawn(count: int) -> list[Task[None]]:
        made = [Task(loop, wait()) for _ in range(count)]
        loop.turn()
        return made

    async def cancel(made: list[Task[None]]) -> None:
        for each in made:
            each.cancel("stopped")
        while not all(each.done for each in made):
            loop.turn()

    def yields(turns: int) -> Generator[Future[Any], None, None]:
        for _ in range(turns):
            future = Future[None](loop)
            loop.call_soon(partial(future.resolve, None))
            yield from future

    async def switch(tasks: int, turns: int) -> None:
        made = [Task(loop, yields(turns)) for _ in range(tasks)]
        while not all(each.done for each in made):
            loop.turn()

    return Ways(spawn, cancel, switch, straight)


# --- threads ----------------------------------------------------------------------------------


def thread() -> Ways:
    """A thread that waits on an Event. It cannot be cancelled, so it is woken and joined."""
    started: list[None] = []

    def wait(event: threading.Event) -> None:
        started.append(None)
        event.wait()

    async def spawn(count: int) -> list[tuple[threading.Thread, threading.Event]]:
        started.clear()
        made = []
        for _ in range(count):
            event = threading.Event()
            made.append((threading.Thread(target=wait, args=(event,), daemon=True), event))
        for each, _ in made:
            each.start()
        while len(started) < count:
            time.sleep(POLL_S)
        return made

    async def cancel(made: list[tuple[threading.Thread, threading.Event]]) -> None:
        for _, event in made:
            event.set()
        for each, _ in made:
            each.join()

    async def switch(tasks: int, turns: int) -> None:
        """A ring: each thread waits for its lock, and releases the next one's."""
        locks = [threading.Lock() for _ in range(tasks)]
        for lock in locks:
            lock.acquire()

        def pass_on(place: int) -> None:
            mine, following = locks[place], locks[(place + 1) % tasks]
            for _ in range(turns):
                mine.acquire()
                following.release()

        made = [threading.Thread(target=pass_on, args=(place,)) for place in range(tasks)]
        for each in made:
            each.start()
        locks[0].release()
        for each in made:
            each.join()

    return Ways(spawn, cancel, switch, straight)


def thread_small() -> Ways:
    """The same with small stacks."""
    threading.stack_size(SMALL_STACK)
    return thread()


# --- greenlets --------------------------------------------------------------------------------


def gevent() -> Ways:
    """A greenlet that waits on an Event."""
    import gevent as library
    from gevent.event import Event

    started: list[None] = []

    def wait() -> None:
        started.append(None)
        Event().wait()

    async def spawn(count: int) -> list[Any]:
        started.clear()
        made = [library.spawn(wait) for _ in range(count)]
        while len(started) < count:
            library.sleep(0)
        return made

    async def cancel(made: list[Any]) -> None:
        library.killall(made)

    def yields(turns: int) -> None:
        for _ in range(turns):
            library.sleep(0)

    async def switch(tasks: int, turns: int) -> None:
        library.joinall([library.spawn(yields, turns) for _ in range(tasks)])

    return Ways(spawn, cancel, switch, straight)
