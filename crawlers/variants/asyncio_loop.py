"""The models that bring their own loop, on asyncio's: it gets the interface of ours.

What waits and what a connection costs is the same as in ``callbacks`` and ``generators``. What
switches: asyncio's loop, which makes a Handle for each function and runs it in a context. Changed
against them: the loop; slots, coroutines, Future and Task are the same, line by line. So what the
loop costs can be told apart from what the coroutines, Tasks and streams of ``async_await`` cost.

asyncio asks the kernel again before it steps a Task that a callback has woken. The socket still
has its bytes then, so each answer wakes a slot of ``generators_asyncio`` once too often, and a
receive finds nothing. asyncio's own ``sock_recv`` and its transports receive in the callback, and
avoid that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from selectors import EVENT_READ, EVENT_WRITE
from socket import socket
from time import monotonic
from typing import Any

from crawlers.backend import CrawlFunction
from crawlers.job import CrawlReport, Job
from crawlers.loop import Callback, Loop, loop_name
from crawlers.recorder import Recorder
from crawlers.variants.settings import replaced


class Registry:
    """What the models use of a selector: a function for each socket that is ready."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.events: dict[int, int] = {}  # by descriptor: TLS has another object for the same
        self.add: dict[int, Callable[..., Any]] = {
            EVENT_READ: loop.add_reader,
            EVENT_WRITE: loop.add_writer,
        }
        self.remove: dict[int, Callable[..., Any]] = {
            EVENT_READ: loop.remove_reader,
            EVENT_WRITE: loop.remove_writer,
        }

    def register(self, sock: socket, events: int, data: Callback) -> None:
        """Call the function whenever the socket is ready."""
        self.events[sock.fileno()] = events
        self.add[events](sock, data)

    def modify(self, sock: socket, events: int, data: Callback) -> None:
        """Call another function, for another event."""
        before = self.events[sock.fileno()]
        if before != events:
            self.remove[before](sock)
        self.register(sock, events, data)

    def unregister(self, sock: socket) -> None:
        """Call nothing any more."""
        self.remove[self.events.pop(sock.fileno())](sock)


class AsyncioLoop(Loop):
    """asyncio's loop as our own; an error in a callback ends it and is raised, as there."""

    def __init__(self) -> None:
        self.asyncio = asyncio.SelectorEventLoop()
        self.asyncio.set_exception_handler(self.failed)
        self.selector: Any = Registry(self.asyncio)
        self.call_soon: Any = self.asyncio.call_soon
        self.stop = self.asyncio.stop  # type: ignore[method-assign]
        self.error: BaseException | None = None

    def call_at(self, when: float, callback: Callback) -> None:
        """Call the function at ``when``, seconds on the monotonic clock."""
        self.asyncio.call_at(when, self.at, when, callback)

    def at(self, when: float, callback: Callback) -> None:
        """Call the function, but not early: asyncio's timers may be, by the clock's resolution."""
        if monotonic() < when:
            self.call_at(when, callback)
        else:
            callback()

    def failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Stop; :meth:`run` raises the error."""
        self.error = context.get("exception") or RuntimeError(context["message"])
        loop.stop()

    def run(self) -> None:
        """Run until stopped."""
        self.asyncio.run_forever()
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Release the selector."""
        self.asyncio.close()


def crawl_on(model: str, name: str, job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl as this model does, on asyncio's loop."""
    module = import_module(f"crawlers.{model}")  # here, so that a process has only its own model
    loop = AsyncioLoop()
    with replaced(module, "Loop", lambda _: loop):
        report: CrawlReport = module.crawl(job, recorder)
    report.backend = name
    report.mechanism = {"loop": loop_name(loop.asyncio)}
    return report


def crawl_as(name: str) -> CrawlFunction:
    """The crawl of this name."""
    return partial(crawl_on, name.removesuffix("_asyncio"), name)
