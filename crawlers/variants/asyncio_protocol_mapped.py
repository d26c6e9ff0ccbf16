"""asyncio's Protocol in a process whose malloc maps every receive: what one line cures.

Everything that waits and switches is the same as in ``asyncio_protocol``. Changed against
it: the state of malloc, as in ``async_await_mapped``, which says why.
"""

from __future__ import annotations

from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants import asyncio_protocol
from crawlers.variants._mapped import crawl_mapped, ensure_mapped

NAME = "asyncio_protocol_mapped"
ensure_mapped(NAME)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with ``asyncio_protocol``, unchanged, while malloc maps every receive."""
    return crawl_mapped(NAME, asyncio_protocol.crawl, job, recorder)
