"""uvloop: ``async_await``, not a line changed, on a loop written in C.

What waits, what switches and what a connection costs are those of
``async_await``; the loop below is libuv, driven by Cython. Changed against
``async_await``: the loop, and the transports that come with it. Reader and
writer are asyncio's own, in Python.
"""

from __future__ import annotations

import uvloop

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import run_model


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, on uvloop."""
    return run_model("uvloop", job, recorder, uvloop.new_event_loop)
