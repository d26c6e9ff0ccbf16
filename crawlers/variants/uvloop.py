"""uvloop: ``async_await``, with not a line changed, on a loop written in C.

Everything that waits, switches and costs is the same as in ``async_await``, but the
loop below is libuv, driven by Cython. Changed against ``async_await``: the loop and
the transports that come with it. Reader and writer are asyncio's own, in Python.
"""

from __future__ import annotations

import uvloop

from crawlers.async_await import CANNOT_SEE
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import run_model

__all__ = ["CANNOT_SEE", "crawl"]


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, on uvloop."""
    return run_model("uvloop", job, recorder, uvloop.new_event_loop)
