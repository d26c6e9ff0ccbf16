"""httpx2: the continuation of httpx, with a new connection pool.

Everything that waits, switches and costs is the same as in ``httpx``, and so is the
source. Changed against it: the library, httpx2 with httpcore2.
"""

from __future__ import annotations

import httpx2

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants import httpx
from crawlers.variants._asyncio import Slot, run


class Shared(httpx.Shared):
    """The state that the slots of one crawl share, and the client."""

    httpx = httpx2


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, all on one client."""
    return run("httpx2", job, recorder, httpx.fetch, Shared, Slot)
