"""asyncio's socket calls on uvloop: ``asyncio_sockets``, with the loop in C.

Changed against ``asyncio_sockets``: the loop. The sockets are still our
own, which is not what uvloop was built for.
"""

from __future__ import annotations

import uvloop

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants.asyncio_sockets import NO_HTTPS, crawl_on

__all__ = ["NO_HTTPS", "crawl"]


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over sockets on uvloop."""
    return crawl_on("uvloop_sockets", job, recorder, uvloop.new_event_loop)
