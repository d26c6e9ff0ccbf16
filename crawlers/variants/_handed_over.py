"""Shared by the variants of ``async_await`` that hand the work on a page to somebody else."""

from __future__ import annotations

import asyncio

from crawlers import async_await, work
from crawlers.http import Exchange
from crawlers.job import Fetch
from crawlers.variants._asyncio import Shared as Base


class Shared(Base):
    """The state that the slots of one crawl share."""

    async def hand_over(self, body: bytes, rounds: int) -> work.Done:
        """Have a page worked on; the coroutine is suspended until that is done."""
        raise NotImplementedError


async def fetch(shared: Shared, slot: async_await.Slot, item: Fetch) -> Exchange:
    """One exchange of the model, and then its work, which the loop does not wait for."""
    exchange = await async_await.fetch(shared, slot, item)
    job = shared.job.work
    if job is None or not work.needs(shared.job, item.url, exchange):
        return exchange
    try:
        work.elsewhere[item.url] = await shared.hand_over(exchange.body, job.rounds)
    except asyncio.CancelledError:
        if slot.aborted is None:
            raise
        slot.task.uncancel()
        exchange = Exchange(item, shared.job.max_body)
        exchange.abort(slot.aborted)
    return exchange
