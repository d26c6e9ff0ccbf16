"""The same crawls on another loop or other transports, with not a line of them changed.

Everything that waits, switches and costs is the same as in the backend that each is compared
with. Changed against it is what is below:

- ``uvloop``: the loop and the transports that come with it, libuv, driven by Cython. Reader and
  writer are asyncio's own, in Python. Its transport calls the exchange of ``uvloop_protocol`` with
  nothing in between, which is what it was built for; the sockets of ``uvloop_sockets`` are not.
  The timers of ``uvloop_timeouts`` are libuv's, and ``asyncio.timeout`` is in Python.
- ``aiofastnet``: the transports and TLS, in Cython, in asyncio's own loop. It calls OpenSSL without
  the module ``ssl``, and its object that would say how a stream ended has no ``read``.
- ``asyncio_pure``: Task and Future are the Python versions that asyncio has for interpreters
  without its C module. So the difference to ``native_coroutines`` is asyncio's own loop, and the
  difference to ``async_await`` is the gain from C.

Over TLS aiohttp asks a connection that it drops for an orderly end, and forgets it. ``aiohttp``
closes what is left of them through the loop; uvloop and aiofastnet have no list of their
transports. So on these aiohttp refuses ``https``.
"""

from __future__ import annotations

import asyncio
from asyncio import futures, tasks
from dataclasses import replace
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any

from crawlers.backend import Backend, BackendError, CrawlFunction
from crawlers.catalogue import OURS
from crawlers.variants import _asyncio

CRAWLS = {
    "uvloop": ("_asyncio", "uvloop"),
    "uvloop_protocol": ("asyncio_protocol", "uvloop"),
    "uvloop_sockets": ("asyncio_sockets", "uvloop"),
    "uvloop_timeouts": ("async_await_timeouts", "uvloop"),
    "aiohttp_uvloop": ("aiohttp", "uvloop"),
    "aiofastnet": ("_asyncio", "aiofastnet"),
    "aiofastnet_protocol": ("asyncio_protocol", "aiofastnet"),
    "aiohttp_aiofastnet": ("aiohttp", "aiofastnet"),
    "asyncio_pure": ("_asyncio", "pure"),
}
"""Backend -> the module whose ``crawl_on`` it is, and the loop."""


class PureLoop(asyncio.SelectorEventLoop):
    """asyncio's loop with the Task and Future that are written in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.set_task_factory(make_task)

    def create_future(self) -> asyncio.Future[Any]:
        """Make a Future in Python."""
        future: asyncio.Future[Any] = futures._PyFuture(loop=self)  # type: ignore[attr-defined]
        return future


def make_task(
    loop: asyncio.AbstractEventLoop, coroutine: object, **settings: object
) -> asyncio.Task[Any]:
    """Make a Task in Python."""
    task: asyncio.Task[Any] = tasks._PyTask(  # type: ignore[attr-defined]
        coroutine, loop=loop, **settings
    )
    return task


def loop_of(name: str) -> Any:  # noqa: ANN401
    """What makes the loop."""
    if name == "pure":
        return PureLoop
    library = import_module(name)
    return library.loop_factory() if name == "aiofastnet" else library.new_event_loop


def crawl_as(name: str) -> CrawlFunction:
    """The crawl of this name, on its loop."""
    module, below = CRAWLS[name]
    loop = loop_of(below)
    crawl_on = import_module(f"crawlers.variants.{module}").crawl_on
    return partial(crawl_on, name, loop_factory=loop)


def on_loop(name: str) -> Backend:
    """``async_await`` on the loop of ``package:factory``, which is called without arguments.

    Raises :class:`BackendError` where that makes no event loop.
    """
    package, _, factory = name.partition(":")
    try:
        make = attrgetter(factory)(import_module(package))
        loop = make()
        if not isinstance(loop, asyncio.AbstractEventLoop):
            raise TypeError(f"it makes no event loop of asyncio, but a {type(loop).__name__}")
        loop.close()
    except (Exception, SystemExit) as error:  # not our module: it may raise anything
        where = " (is its folder on PYTHONPATH?)" if isinstance(error, ImportError) else ""
        raise BackendError(f"loop {name}: {type(error).__name__}: {error}{where}") from error
    return replace(
        OURS["async_await"],
        name=name,
        rung=OURS["uvloop"].rung,
        summary=f"async_await on {name}",
        changes="against async_await: the loop; the same source",
        crawl=partial(_asyncio.crawl_on, name, loop_factory=make),
        module="",
    )
