"""What waits: the kinds of tasks, and the process that is measured.

``python -m bench.micro.child KIND hold COUNT`` says ``ready`` when its library is imported and has
spawned and ended some tasks, and ``held`` when COUNT tasks wait. After each it waits for a line,
while its memory is read from outside. At last it prints a JSON object: seconds of processor time,
of all its threads, for one task to spawn and to cancel. ``KIND switch TASKS TURNS`` prints those of
one switch.

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
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

COUNTS: Final = (1_000, 10_000, 30_000, 100_000)
"""Numbers of tasks over which memory is fitted."""

THREAD_COUNTS: Final = (100, 1_000, 3_000, 10_000)
"""Numbers of threads."""

SMALL_STACK: Final = 64 * 1024
"""Bytes of a thread's stack in ``thread_small``, as in the backend ``threads_small_stack``."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to wait."""

    name: str
    title: str
    waits_on: str  # what its library means by waiting forever
    yields: str  # what a switch is
    library: str = ""  # that must be installed
    backend: str = ""  # whose connections it carries
    threaded: bool = False  # each needs a thread, which a machine limits
    unfit: Callable[[], str | None] = lambda: None

    @property
    def reference(self) -> int:
        """The number of tasks at which the times of spawning and cancelling are read."""
        return self.counts[1]

    @property
    def counts(self) -> tuple[int, ...]:
        return THREAD_COUNTS if self.threaded else COUNTS

    @property
    def missing(self) -> str | None:
        """Why it cannot be measured on this interpreter; None if it can."""
        if self.library and find_spec(self.library) is None:
            return f"{self.library} is not installed"
        return self.unfit()


def no_eager_tasks() -> str | None:
    if sys.version_info >= (3, 12):
        return None
    return (
        f"eager tasks need Python 3.12; this is {sys.version_info.major}.{sys.version_info.minor}"
    )


_ASYNCIO = ("a Future of the loop", "asyncio.sleep(0)")

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("generator", "generator", "yield", "next()"),
        Kind("coroutine", "coroutine", "an awaitable that yields", "send()"),
        Kind(
            "generator_task",
            "Task of generators",
            "a Future of the hand-built loop",
            "a Future that the loop resolves soon",
            backend="generators",
        ),
        Kind("asyncio", "asyncio.Task", *_ASYNCIO, backend="async_await"),
        Kind("asyncio_pure", "asyncio.Task in Python", *_ASYNCIO, backend="asyncio_pure"),
        Kind("asyncio_eager", "asyncio.Task, eager", *_ASYNCIO, unfit=no_eager_tasks,
             backend="asyncio_eager"),
        Kind("uvloop", "asyncio.Task on uvloop", *_ASYNCIO, "uvloop", "uvloop"),
        Kind("anyio", "anyio task", "anyio.sleep_forever()", "anyio.lowlevel.checkpoint()",
             "anyio", "anyio"),
        Kind("trio", "trio task", "trio.sleep_forever()", "trio.lowlevel.checkpoint()",
             "trio", "trio"),
        Kind("gevent", "gevent greenlet", "an Event", "gevent.sleep(0)", "gevent", "gevent"),
        Kind("thread", "thread", "an Event", "a lock handed over", backend="threads",
             threaded=True),
        Kind("thread_small", "thread, stack of 64 KiB", "an Event", "a lock handed over",
             backend="threads_small_stack", threaded=True),
    )
}  # fmt: skip
"""By name, in the order of tables and charts."""


# --- how each is spawned, cancelled and switched ---------------------------------------------
#
# Every kind has the same four functions. ``spawn`` returns when all tasks wait. ``cancel`` returns
# when all have ended. ``switch`` lets ``tasks`` tasks yield ``turns`` times each. They are
# coroutine functions, so that a library's loop can run them; those without a loop never wait.

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
    try:
        work.send(None)
    except StopIteration:
        return
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
        for each in made:
            each.close()

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
        for each in made:
            next(each)

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
        for each in made:
            each.send(None)

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


def on_asyncio(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> Ways:
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


async def whole(work: Coroutine[Any, Any, None]) -> None:
    """Await it: trio and anyio run a function and not a coroutine."""
    await work


def in_group(library: Any, open_group: Callable[[], Any]) -> Ways:  # noqa: ANN401
    """A task of trio or anyio: in a nursery or a task group, which is cancelled as a whole."""
    checkpoint = library.lowlevel.checkpoint
    started: list[None] = []

    async def wait() -> None:
        started.append(None)
        await library.sleep_forever()

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

    return Ways(spawn, cancel, switch, lambda work: library.run(whole, work))


# --- the process -----------------------------------------------------------------------------

WARM, WARM_TURNS = 100, 10
"""Tasks that are spawned and ended beforehand, and turns that are taken."""


LOOPS: Final = {
    "asyncio": "asyncio:SelectorEventLoop",
    "asyncio_pure": "crawlers.variants.asyncio_pure:PureLoop",
    "asyncio_eager": "crawlers.variants.asyncio_eager:make_loop",
    "uvloop": "uvloop:new_event_loop",
}
GROUPS: Final = {"anyio": "create_task_group", "trio": "open_nursery"}


def ways(name: str) -> Ways:
    """The functions of a kind; imports its library and no other."""
    if name in LOOPS:
        return on_asyncio(resolve_name(LOOPS[name]))
    if name in GROUPS:
        import_module(f"{name}.lowlevel")
        library = import_module(name)
        return in_group(library, getattr(library, GROUPS[name]))
    made: Ways = globals()[name]()
    return made


def pause(word: str) -> None:
    print(word, flush=True)
    sys.stdin.readline()


def hold(kind: Ways, count: int, at: Callable[[str], None]) -> dict[str, float]:
    """Spawn, hold and cancel so many tasks; seconds of processor time for one of them."""
    found = {}

    async def work() -> None:
        await kind.cancel(await kind.spawn(WARM))
        gc.collect()
        at("ready")
        began = time.process_time()
        made = await kind.spawn(count)
        found["spawn_s"] = (time.process_time() - began) / count
        at("held")
        began = time.process_time()
        await kind.cancel(made)
        found["cancel_s"] = (time.process_time() - began) / count

    kind.run(work())
    return found


def switch(kind: Ways, tasks: int, turns: int) -> dict[str, float]:
    """Let so many tasks yield in turn; seconds of processor time for one switch."""
    found = {}

    async def work() -> None:
        await kind.switch(tasks, WARM_TURNS)
        began = time.process_time()
        await kind.switch(tasks, turns)
        found["switch_s"] = (time.process_time() - began) / (tasks * turns)

    kind.run(work())
    return found


def main(arguments: list[str]) -> int:
    name, what, *numbers = arguments
    kind = ways(name)
    if what == "hold":
        found = hold(kind, int(numbers[0]), pause)
    else:
        found = switch(kind, int(numbers[0]), int(numbers[1]))
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
