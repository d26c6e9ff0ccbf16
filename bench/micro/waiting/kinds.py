"""The kinds of waiting tasks: their names, what each waits on and how it yields.

This is a table, not code: a library is imported in the process that is measured, and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

COUNTS: Final = (1_000, 10_000, 30_000, 100_000)
"""Numbers of tasks over which memory is fitted."""

THREAD_COUNTS: Final = (100, 1_000, 3_000, 10_000)
"""Numbers of threads."""

SMALL_STACK: Final = 64 * 1024
"""Bytes of a thread's stack in ``thread_small``, as in the backend ``threads_small_stack``."""


QUADRATIC: Final = (
    "spawned and cancelled 100 at a time, because curio’s kernel searches all ready tasks for each "
    "that becomes ready (an assert in reschedule_task): with all at once, a task took three times "
    "as long to spawn among 20,000 as among 5,000"
)
"""What is said of curio."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to wait.

    ``waits_on`` says what its library means by waiting forever, ``yields`` what a switch is.
    ``library`` must be installed. ``backend`` is the one whose connections it carries, if there
    is one. ``threaded`` kinds take a thread each, which a machine limits. ``note`` says what else
    a reader must know.
    """

    name: str
    title: str
    waits_on: str
    yields: str
    library: str = ""
    backend: str = ""
    threaded: bool = False
    note: str = ""
    unfit: Callable[[], str | None] = lambda: None

    @property
    def reference(self) -> int:
        """The number of tasks at which the times of spawning and cancelling are read."""
        return self.counts[1]

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of tasks."""
        return THREAD_COUNTS if self.threaded else COUNTS

    @property
    def missing(self) -> str | None:
        """Why it cannot be measured on this interpreter; None if it can."""
        if self.library and find_spec(self.library) is None:
            return f"{self.library} is not installed"
        return self.unfit()


def no_eager_tasks() -> str | None:
    """Why there are no eager tasks here."""
    if sys.version_info >= (3, 12):
        return None
    return (
        f"eager tasks need Python 3.12; this is {sys.version_info.major}.{sys.version_info.minor}"
    )


def no_curio() -> str | None:
    """Why curio cannot be imported here."""
    return None if sys.version_info < (3, 12) else "curio 1.6 does not import on Python 3.12"


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
        Kind("curio", "curio task", "an Event", "curio.sleep(0)", "curio", "curio",
             note=QUADRATIC, unfit=no_curio),
        Kind("gevent", "gevent greenlet", "an Event", "gevent.sleep(0)", "gevent", "gevent"),
        Kind("thread", "thread", "an Event", "a lock handed over", backend="threads",
             threaded=True),
        Kind("thread_small", "thread, stack of 64 KiB", "an Event", "a lock handed over",
             backend="threads_small_stack", threaded=True),
    )
}  # fmt: skip
"""By name, in the order of tables and charts."""
