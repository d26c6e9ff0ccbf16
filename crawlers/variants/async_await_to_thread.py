"""async/await that hands long work to a thread: ``asyncio.to_thread``.

Everything that waits, switches and costs is the same as in ``async_await``, and so is a
job without work. Changed against it: the pages of a job that need work are worked on in a
thread of asyncio's pool, as its documentation has it. The loop goes on meanwhile, but it needs
the interpreter's lock for each step, and a thread that computes keeps the lock until it is asked
for it: 5 ms (:func:`sys.setswitchinterval`). ``async_await_pool`` hands the work to processes.
"""

from __future__ import annotations

import asyncio
from functools import partial

from crawlers import async_await, work
from crawlers.http import Exchange
from crawlers.job import Fetch
from crawlers.variants import _asyncio
from crawlers.variants._asyncio import end_cancelled, run


class Shared(_asyncio.Shared):
    """The state that the slots of one crawl share."""

    async def hand_over(self, body: bytes, rounds: int) -> work.Done:
        """Have a page worked on in a thread; the coroutine is suspended until that is done."""
        return await asyncio.to_thread(work.do, body, rounds)


async def fetch(shared: Shared, slot: async_await.Slot, item: Fetch) -> Exchange:
    """One exchange of the model, and then its work, which the loop does not wait for."""
    exchange = await async_await.fetch(shared, slot, item)
    job = shared.job.work
    if job is None or item.url not in job.urls or exchange.status != 200:
        return exchange
    try:
        work.elsewhere[item.url] = await shared.hand_over(exchange.body, job.rounds)
    except asyncio.CancelledError:
        exchange = Exchange(item, shared.job.max_body)
        end_cancelled(slot, exchange)
    return exchange


crawl = partial(
    run, "async_await_to_thread", fetch=fetch, make_shared=Shared, make_slot=async_await.Slot
)
"""Crawl with one task for each slot, and threads for the work."""
