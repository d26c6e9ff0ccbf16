"""async/await with a timeout for each exchange: ``asyncio.timeout``.

Everything that waits, switches and costs is the same as in ``async_await``. Changed
against it: each exchange sets its own timeout, as asyncio's documentation has it.
That is a timer in the loop for each page, which is cancelled when the page has come.
``async_await`` has a sweep over all slots four times a second instead. The sweep
remains, because it also ends a crawl that must stop.
"""

from __future__ import annotations

import asyncio
from time import monotonic

from crawlers import async_await
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import LoopFactory, Shared, run


async def fetch(shared: Shared, slot: async_await.Slot, item: Fetch) -> Exchange:
    """One exchange of the model, with a timeout of its own."""
    waits_s = max(item.due - monotonic(), 0.0) if item.due else 0.0
    try:
        async with asyncio.timeout(waits_s + shared.job.timeout_s):
            return await async_await.fetch(shared, slot, item)
    except TimeoutError:
        exchange = Exchange(item, shared.job.max_body)
        exchange.abort(slot.aborted or "timeout")
        return exchange


def crawl_on(
    name: str, job: Job, recorder: Recorder, loop_factory: LoopFactory | None
) -> CrawlReport:
    """Crawl with one task and, for each exchange, one timer, on any loop."""
    return run(name, job, recorder, fetch, Shared, async_await.Slot, loop_factory)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task and, for each exchange, one timer."""
    return crawl_on("async_await_timeouts", job, recorder, None)
