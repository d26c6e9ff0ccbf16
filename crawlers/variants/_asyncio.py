"""Shared by the variants on asyncio: ``run`` of ``async_await`` with another ``fetch``.

Everything that does not touch the connection comes from the model itself. A
variant brings its ``fetch`` and its slots.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from crawlers import async_await
from crawlers.async_await import Fetcher, SlotT
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Job
from crawlers.loop import loop_name
from crawlers.recorder import Recorder
from crawlers.stop import Stop

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


class Closable(Protocol):
    """A connection in any form: a transport, a stream, a socket."""

    def close(self) -> None:
        """Close it, without waiting."""


class Shared(async_await.Shared):
    """The state that the slots of one crawl share; ``mechanism`` goes into the report."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.mechanism: dict[str, str | int] = {"loop": loop_name(self.loop)}

    async def close(self) -> None:
        """Close everything that the slots shared, after they are done."""


class Slot(async_await.Slot):
    """A slot whose connection is anything that can be closed."""

    __slots__ = ()

    # The model closes it and does nothing else with it outside of fetch.
    sock: Closable  # type: ignore[assignment]


SharedT = TypeVar("SharedT", bound=Shared)


def end_cancelled(slot: async_await.Slot, exchange: Exchange) -> None:
    """End an exchange whose task was cancelled by the sweep; raises the error if it was not."""
    if slot.aborted is None:
        raise
    slot.task.uncancel()
    exchange.abort(slot.aborted)


def close_rest(loop: asyncio.AbstractEventLoop) -> None:
    """Close what a library has lost: over TLS its pool may forget a connection before it is closed.

    httpcore loses one whose handshake is cancelled; aiohttp does not wait for the server's
    close_notify.
    """
    for transport in list(getattr(loop, "_transports", {}).values()):
        transport.abort()


def run(
    name: str,
    job: Job,
    recorder: Recorder,
    loop_factory: LoopFactory | None = None,
    *,
    fetch: Fetcher[SharedT, SlotT],
    make_shared: Callable[[Job, Recorder], SharedT],
    make_slot: Callable[[int], SlotT],
) -> CrawlReport:
    """Crawl with one task for each slot, on the loop that ``loop_factory`` makes.

    A variant is this with its own ``fetch`` and slots.
    """

    async def start(stop: Stop) -> CrawlReport:
        slots = [make_slot(number) for number in range(job.slots)]
        shared = make_shared(job, recorder)
        shared.slots = list(slots)
        try:
            await async_await.run(shared, slots, fetch, stop)
        finally:
            await shared.close()
        return shared.frontier.report(name, shared.mechanism)

    with Stop(job) as stop, asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(start(stop))


crawl_on = partial(run, fetch=async_await.fetch, make_shared=Shared, make_slot=async_await.Slot)
"""Crawl with ``async_await``, unchanged, on another loop."""
