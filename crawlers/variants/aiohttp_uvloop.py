"""aiohttp on uvloop: ``aiohttp``, with the loop written in C.

Changed against ``aiohttp``: the loop. Over TLS aiohttp asks a connection that it drops
for an orderly end, and forgets it. ``aiohttp`` closes what is left of them through the
loop, and uvloop has no list of its transports. So this backend refuses ``https``. The
server sees the same as with ``aiohttp``.
"""

from __future__ import annotations

import uvloop

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants.aiohttp import crawl_on

NO_HTTPS = "uvloop does not show the connections that aiohttp drops without waiting for their end"


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with aiohttp on uvloop."""
    return crawl_on("aiohttp_uvloop", job, recorder, uvloop.new_event_loop)
