"""aiohttp on uvloop: ``aiohttp``, with the loop written in C.

Changed against ``aiohttp``: the loop. The server sees the same as with ``aiohttp``.
"""

from __future__ import annotations

import uvloop

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants.aiohttp import crawl_on

CANNOT_SEE = frozenset({"truncated"})


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with aiohttp on uvloop."""
    return crawl_on("aiohttp_uvloop", job, recorder, uvloop.new_event_loop)
