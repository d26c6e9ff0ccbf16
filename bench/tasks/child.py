"""Tasks that wait, in the process that is measured.

``python -m bench.tasks.child KIND hold COUNT`` prints ``"ready"`` when its library is imported
and has spawned and ended some tasks, and ``"held"`` when COUNT tasks wait. After each it waits for
a line, while its memory is read from outside. At last it prints a JSON object: seconds of processor
time, of all its threads, for one task to spawn and to cancel. ``KIND switch TASKS TURNS`` prints
those of one switch.

A library is imported in its own function only, so that the process has no other.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

LOOPS: Final = {
    "asyncio": "asyncio:SelectorEventLoop",
    "asyncio_pure": "crawlers.variants.loops:PureLoop",
    "asyncio_eager": f"{__name__}:eager_loop",
    "uvloop": "uvloop:new_event_loop",
}
"""Kinds with asyncio's interface, and what makes the loop."""
GROUPS: Final = {"anyio": "anyio:create_task_group", "trio": "trio:open_nursery"}
"""Kinds whose tasks are in a group, and what opens one."""

SMALL_STACK: Final = 64 * 1024
"""Bytes of a thread's stack in ``thread_small``, as in the backend ``threads_small_stack``."""

POLL_S: Final = 0.001
"""How often it is asked whether all threads have started."""


@dataclass(frozen=True, slots=True)
class Ways:
    """How one kind is spawned, cancelled and switched, and what runs these functions.

    ``spawn`` returns when all tasks wait. ``cancel`` returns when all have ended. ``switch`` lets
    so many tasks yield so often each. They are coroutine functions, so that a library's loop can
    run them; those without a loop never wait.
    """

    spawn: Callable[[int], Awaitable[Any]]
    cancel: Callable[[Any], Awaitable[None]]
    switch: Callable[[int, int], Awaitable[None]]
    run: Callable[[Coroutine[Any, Any, Any]], Any]


def straight(work: Coroutine[Any, Any, T]) -> T:
    """Run what never waits, without a loop."""
    try:
        work.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    raise RuntimeError("it waited, and there is no loop here")


# --- suspended functions, without any task ----------------------------------------------------

Suspended = TypeVar("Suspended", Generator[None, None, None], Coroutine[None, None, None])


def suspended(make: Callable[[], Suspended], turn: Callable[[list[Suspended]], None]) -> Ways:
    """Functions that wait; ``turn`` resumes each of them once."""

    async def spawn(count: int) -> list[Suspended]:
        made = [make() for _ in range(count)]
        turn(made)
        return made

    async def cancel(made: list[Suspended]) -> None:
        for task in made:
            task.close()

    async def switch(tasks: int, turns: int) -> None:
        made = await spawn(tasks)
        for _ in range(turns):
            turn(made)
        await cancel(made)

    return Ways(spawn, cancel, switch, straight)


def generator() -> Ways:
    """A suspended generator; a switch is ``next``."""

    def wait() -> Generator[None, None, None]:
        while True:
            yield

    def turn(made: list[Generator[None, None, None]]) -> None:
        for task in made:
            next(task)

    return suspended(wait, turn)


@types.coroutine
def suspend() -> Generator[None, None, None]:
    yield


def coroutine() -> Ways:
    """A suspended native coroutine; a switch is ``send``."""

    async def wait() -> None:
        while True:
            await suspend()

    def turn(made: list[Coroutine[None, None, None]]) -> None:
        for task in made:
            task.send(None)

    return suspended(wait, turn)


# --- the hand-built loop ----------------------------------------------------------------------


def generator_task() -> Ways:
    """A Task of ``crawlers.generators`` that waits on a Future."""
    from crawlers.generators import Cancelled, Future, Task
    from crawlers.loop import Loop

    class Bounded(Loop):
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
        for task in made:
            task.cancel("stopped")
        while not all(task.done for task in made):
            loop.turn()

    def yields(turns: int) -> Generator[Future[Any], None, None]:
        for _ in range(turns):
            future = Future[None](loop)
            loop.call_soon(partial(future.resolve, None))
            yield from future

    async def switch(tasks: int, turns: int) -> None:
        made = [Task(loop, yields(turns)) for _ in range(tasks)]
        while not all(task.done for task in made):
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
        for task, _ in made:
            task.start()
        while len(started) < count:
            time.sleep(POLL_S)
        return made

    async def cancel(made: list[tuple[threading.Thread, threading.Event]]) -> None:
        for _, event in made:
            event.set()
        for task, _ in made:
            task.join()

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
        for task in made:
            task.start()
        locks[0].release()
        for task in made:
            task.join()

    return Ways(spawn, cancel, switch, straight)


def thread_small() -> Ways:
    threading.stack_size(SMALL_STACK)
    return thread()


# --- greenlets --------------------------------------------------------------------------------


def gevent() -> Ways:
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


# --- libraries ---------------------------------------------------------------------------------
#
# Each task has one frame of its own, as a program's would, and below it what its library needs to
# wait.


def eager_loop() -> asyncio.AbstractEventLoop:
    """asyncio's loop where a new task runs to its first wait at once (Python 3.12 and later)."""
    import asyncio

    loop = asyncio.SelectorEventLoop()
    loop.set_task_factory(resolve_name("asyncio:eager_task_factory"))
    return loop


def on_asyncio(name: str) -> Ways:
    import asyncio

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
        for task in made:
            task.cancel()
        for task in made:
            with suppress(asyncio.CancelledError):
                await task

    async def yields(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    async def switch(tasks: int, turns: int) -> None:
        await asyncio.gather(*(yields(turns) for _ in range(tasks)))

    def run(work: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(loop_factory=resolve_name(LOOPS[name])) as runner:
            return runner.run(work)

    return Ways(spawn, cancel, switch, run)


def in_group(name: str) -> Ways:
    """A task of trio or anyio: in a nursery or a task group, which is cancelled as a whole."""
    library: Any = import_module(name)
    open_group = resolve_name(GROUPS[name])
    sleep_forever = resolve_name(f"{name}:sleep_forever")
    checkpoint = import_module(f"{name}.lowlevel").checkpoint
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

    async def whole(work: Coroutine[Any, Any, T]) -> T:
        return await work  # the library runs a function, and no coroutine

    return Ways(spawn, cancel, switch, partial(library.run, whole))


# --- the process -----------------------------------------------------------------------------

WARM, WARM_TURNS = 100, 10
"""Tasks that are spawned and ended beforehand, and turns that are taken."""


def ways(name: str) -> Ways:
    """The functions of a kind; imports its library and no other."""
    if name in LOOPS:
        return on_asyncio(name)
    if name in GROUPS:
        return in_group(name)
    made: Ways = globals()[name]()
    return made


def pause(word: str) -> None:
    print(json.dumps(word), flush=True)
    sys.stdin.readline()


async def hold(kind: Ways, count: int, at: Callable[[str], None]) -> dict[str, float]:
    """Spawn, hold and cancel so many tasks; seconds of processor time for one of them."""
    await kind.cancel(await kind.spawn(WARM))
    gc.collect()
    at("ready")
    began = time.process_time()
    made = await kind.spawn(count)
    spawned = time.process_time() - began
    at("held")
    began = time.process_time()
    await kind.cancel(made)
    cancelled = time.process_time() - began
    return {"spawn_s": spawned / count, "cancel_s": cancelled / count}


async def switch(kind: Ways, tasks: int, turns: int) -> dict[str, float]:
    """Let so many tasks yield in turn; seconds of processor time for one switch."""
    await kind.switch(tasks, WARM_TURNS)
    began = time.process_time()
    await kind.switch(tasks, turns)
    return {"switch_s": (time.process_time() - began) / (tasks * turns)}


def main(name: str, what: str, *numbers: int) -> None:
    kind = ways(name)
    work = hold(kind, numbers[0], pause) if what == "hold" else switch(kind, *numbers)
    print(json.dumps(kind.run(work)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
