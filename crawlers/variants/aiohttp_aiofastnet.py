"""aiohttp on aiofastnet: ``aiohttp``, over transports in Cython.

Changed against ``aiohttp``: the transports below it. Over TLS aiohttp forgets a connection
that it drops, and aiofastnet has no list of its transports, as in ``aiohttp_uvloop``. So this
backend refuses ``https``. The server sees the same as with ``aiohttp``.
"""

from __future__ import annotations

import aiofastnet

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants.aiohttp import crawl_on

NO_HTTPS = "aiofastnet does not show the connections that aiohttp drops without closing them"


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with aiohttp on asyncio's loop, over transports of aiofastnet."""
    return crawl_on("aiohttp_aiofastnet", job, recorder, aiofastnet.loop_factory())
