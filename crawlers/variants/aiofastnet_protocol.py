"""Protocol on aiofastnet: ``asyncio_protocol``, over transports in Cython.

Changed against ``asyncio_protocol``: the transports and TLS. Over TLS the object that would
say how the stream ended is aiofastnet's own, and has no ``read``.
"""

from __future__ import annotations

import aiofastnet

from crawlers.async_await import CANNOT_SEE
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants.asyncio_protocol import crawl_on

__all__ = ["CANNOT_SEE", "crawl"]


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over transports of aiofastnet."""
    return crawl_on("aiofastnet_protocol", job, recorder, aiofastnet.loop_factory())
