"""uvloop with a timeout for each exchange: ``asyncio.timeout``, with not a line changed.

Everything that waits, switches and costs is the same as in ``uvloop``. Changed
against it: each exchange sets its own timeout, as in ``async_await_timeouts``, whose
source this is. uvloop has no timeout of its own: asyncio's, in Python, asks the loop
for a timer for each page, and here that timer is one of libuv.
"""

from __future__ import annotations

import uvloop

from crawlers import async_await
from crawlers.async_await import CANNOT_SEE
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import Shared, run
from crawlers.variants.async_await_timeouts import fetch

__all__ = ["CANNOT_SEE", "crawl"]


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task and, for each exchange, one timer, on uvloop."""
    slot = async_await.Slot
    return run("uvloop_timeouts", job, recorder, fetch, Shared, slot, uvloop.new_event_loop)
