"""asyncio streams on uvloop: ``asyncio_streams``, with loop and transports in C.

Changed against ``asyncio_streams``: the loop. Reader and writer are asyncio's
own, in Python; the transport below them is uvloop's.
"""

from __future__ import annotations

import uvloop

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants.asyncio_streams import crawl_on


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over streams on uvloop."""
    return crawl_on("uvloop_streams", job, recorder, uvloop.new_event_loop)
