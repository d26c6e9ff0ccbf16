"""aiofastnet: ``async_await``, with not a line changed, over transports in Cython.

Everything that waits, switches and costs is the same as in ``async_await``, on asyncio's
own loop. Changed against ``async_await``: the transports and TLS below the streams, which
``aiofastnet.loop_factory`` puts into the loop; it calls OpenSSL without the module ``ssl``.
Reader and writer are asyncio's own, in Python.
"""

from __future__ import annotations

import aiofastnet

from crawlers.async_await import CANNOT_SEE
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import run_model

__all__ = ["CANNOT_SEE", "crawl"]


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, over transports of aiofastnet."""
    return run_model("aiofastnet", job, recorder, aiofastnet.loop_factory())
