"""gevent with a timeout for each exchange: ``gevent.Timeout``.

Everything that waits, switches and costs is the same as in ``gevent``. Changed
against it: each exchange sets its own timeout, as gevent's documentation has it.
That is a timer of the loop for each page. ``gevent`` has a sweep over all slots four
times a second instead. The sweep remains, because it also ends a crawl that must
stop.
"""

from __future__ import annotations

import gevent

from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.variants._slots import Slot
from crawlers.variants.gevent import Shared, crawl_on, exchange_on, is_over, lost


def fetch(shared: Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange, with a timer."""
    exchange = Exchange(item, shared.job.max_body)
    if is_over(shared, item):
        exchange.abort("cancelled")
        return exchange
    try:
        with gevent.Timeout(shared.job.timeout_s, False):
            exchange_on(shared, slot, item, exchange)
    except (OSError, AttributeError, ValueError) as error:
        lost(slot, exchange, error)
    if not exchange.done:
        exchange.abort("timeout")
    return exchange


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one greenlet for each slot, and gevent's timeouts."""
    return crawl_on("gevent_timeouts", job, recorder, fetch)
