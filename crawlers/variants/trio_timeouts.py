"""trio with a timeout for each exchange: ``trio.move_on_after``.

Everything that waits, switches and costs is the same as in ``trio``. Changed against
it: each exchange sets its own timeout, as trio's documentation has it, and trio's
run loop keeps the deadline. ``trio`` has one scope for each slot, and a sweep over all
slots four times a second. The sweep remains, because it also ends a
crawl that must stop.
"""

from __future__ import annotations

from time import monotonic

import trio

from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants.trio import Shared, Slot, crawl_on, exchange_on, lost


async def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange, in a scope with a deadline."""
    exchange = slot.exchange = Exchange(item, shared.job.max_body)
    waits_s = max(item.due - monotonic(), 0.0) if item.due else 0.0
    try:
        with trio.move_on_after(waits_s + shared.job.timeout_s):
            await exchange_on(slot, item, exchange)
    except Exception as error:
        lost(exchange, error)
    if not exchange.done:
        exchange.abort(slot.aborted or "timeout")
    return exchange


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over trio's streams, with trio's timeouts."""
    return crawl_on("trio_timeouts", job, recorder, fetch)
