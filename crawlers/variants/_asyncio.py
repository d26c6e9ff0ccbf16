"""What the variants on asyncio share: ``work`` and ``main`` of ``async_await``, given a ``fetch``.

Everything that does not touch the connection is imported from the model
itself; a variant brings its ``fetch``, and what its slots hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any, Protocol, TypeVar

from crawlers import async_await
from crawlers.async_await import disconnect, end, settle, take, watch
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.stop import Stop

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


class Closable(Protocol):
    """What stands for a connection: a transport, a stream, a socket."""

    def close(self) -> None:
        """Close it, without waiting."""


class Shared(async_await.Shared):
    """What the slots of one crawl share; ``mechanism`` goes into the report."""

    def __init__(self, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        loop = type(self.loop)
        self.mechanism: dict[str, str | int] = {"loop": f"{loop.__module__}.{loop.__qualname__}"}

    async def close(self) -> None:
        """Close what the slots shared, after they are done."""


class Slot(async_await.Slot):
    """A slot whose connection is anything that can be closed."""

    __slots__ = ()

    # The model closes it and does nothing else with it outside of fetch.
    sock: Closable  # type: ignore[assignment]


SharedT = TypeVar("SharedT", bound=Shared)
SlotT = TypeVar("SlotT", bound=async_await.Slot)
Fetcher = Callable[[SharedT, SlotT, Fetch], Coroutine[Any, Any, Exchange]]


async def work(shared: SharedT, slot: SlotT, fetch: Fetcher[SharedT, SlotT]) -> None:
    """A slot's life: take, fetch, settle, until nothing is left."""
    try:
        while item := await take(shared, slot):
            exchange = await fetch(shared, slot, item)
            settle(shared, slot, item, exchange)
    except BaseException:
        # A task must not fail alone: the others would wait for its outcome.
        end(shared, "failed")
        raise


async def main(
    name: str,
    shared: SharedT,
    slots: list[SlotT],
    fetch: Fetcher[SharedT, SlotT],
    stop: Stop,
) -> CrawlReport:
    """Run one task for each slot, until all are done."""
    shared.slots = list(slots)
    try:
        shared.frontier.start(monotonic())
        for slot in slots:
            slot.task = shared.loop.create_task(work(shared, slot, fetch))
        watch(shared, stop)
        await asyncio.gather(*(slot.task for slot in slots))
    finally:
        for slot in slots:
            disconnect(slot)
        await shared.close()
    return shared.frontier.report(name, shared.mechanism)


def run(
    name: str,
    job: Job,
    recorder: Recorder,
    fetch: Fetcher[SharedT, SlotT],
    make_shared: Callable[[Job, Recorder], SharedT],
    make_slot: Callable[[int], SlotT],
    loop_factory: LoopFactory | None = None,
) -> CrawlReport:
    """Crawl with one task for each slot, on the loop that ``loop_factory`` makes."""

    async def start(stop: Stop) -> CrawlReport:
        slots = [make_slot(number) for number in range(job.slots)]
        return await main(name, make_shared(job, recorder), slots, fetch, stop)

    with Stop(job) as stop, asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(start(stop))


def run_model(name: str, job: Job, recorder: Recorder, loop_factory: LoopFactory) -> CrawlReport:
    """Crawl with ``async_await``, unchanged, on another loop."""
    with Stop(job) as stop, asyncio.Runner(loop_factory=loop_factory) as runner:
        report = runner.run(async_await.main(job, recorder, stop))
    report.backend = name
    return report
