"""async/await with a timeout for each exchange: ``asyncio.timeout``.

Everything that waits, switches and costs is the same as in ``async_await``. Changed
against it: each exchange sets its own timeout, as asyncio's documentation has it.
That is a timer in the loop for each page, which is cancelled when the page has come.
``async_await`` has a sweep over all slots four times a second instead. The sweep
remains, because it also ends a crawl that must stop.
"""

from __future__ import annotations

import asyncio
from functools import partial
from time import monotonic

from crawlers import async_await
from crawlers.http import Exchange
from crawlers.job import Fetch
from crawlers.variants._asyncio import Shared, run


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


crawl_on = partial(run, fetch=fetch, make_shared=Shared, make_slot=async_await.Slot)
"""Crawl with one task for each slot and one timer for each exchange, on any loop."""

crawl = partial(crawl_on, "async_await_timeouts")
