"""How the tasks of a library run, in the processes that are measured.

A library is imported when it is chosen, so that the process has no other.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
Function = Callable[..., Coroutine[Any, Any, None]]

LOOPS: Final = {
    "asyncio": "asyncio:SelectorEventLoop",
    "asyncio_pure": "crawlers.variants.loops:PureLoop",
    "asyncio_eager": f"{__name__}:eager_loop",
    "uvloop": "uvloop:new_event_loop",
}
"""Those with asyncio's interface, and what makes the loop."""
GROUPS: Final = {"anyio": "anyio:create_task_group", "trio": "trio:open_nursery"}
"""Those whose tasks are in a group, and what opens one."""


@dataclass(frozen=True, slots=True)
class Library:
    """What runs a coroutine to its end, and what awaits so many tasks of a function."""

    run: Callable[[Coroutine[Any, Any, Any]], Any]
    together: Callable[..., Coroutine[Any, Any, None]]  # function, number of tasks, arguments


def chosen(name: str) -> Library:
    return _on_asyncio(LOOPS[name]) if name in LOOPS else _in_groups(name)


def eager_loop() -> asyncio.AbstractEventLoop:
    """asyncio's loop where a new task runs to its first wait at once (Python 3.12 and later)."""
    import asyncio

    loop = asyncio.SelectorEventLoop()
    loop.set_task_factory(resolve_name("asyncio:eager_task_factory"))
    return loop


def _on_asyncio(loop: str) -> Library:
    import asyncio

    def run(work: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(loop_factory=resolve_name(loop)) as runner:
            return runner.run(work)

    async def together(function: Function, tasks: int, *arguments: object) -> None:
        await asyncio.gather(*(function(*arguments) for _ in range(tasks)))

    return Library(run, together)


def _in_groups(name: str) -> Library:
    library: Any = import_module(name)
    open_group = resolve_name(GROUPS[name])

    async def whole(work: Coroutine[Any, Any, T]) -> T:
        return await work  # the library runs a function, and no coroutine

    async def together(function: Function, tasks: int, *arguments: object) -> None:
        async with open_group() as group:
            for _ in range(tasks):
                group.start_soon(function, *arguments)

    return Library(lambda work: library.run(whole, work), together)


def straight(work: Coroutine[Any, Any, T]) -> T:
    """Run what never waits, without a loop."""
    try:
        work.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    raise RuntimeError("it waited, and there is no loop here")
