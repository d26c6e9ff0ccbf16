"""Protocol on uvloop: ``asyncio_protocol``, with loop and transports in C.

Changed against ``asyncio_protocol``: the loop. This is what uvloop was
built for: its transport calls the exchange with nothing in between.
"""

from __future__ import annotations

import uvloop

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants.asyncio_protocol import crawl_on


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over transports of uvloop."""
    return crawl_on("uvloop_protocol", job, recorder, uvloop.new_event_loop)
