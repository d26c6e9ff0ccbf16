"""A fixed pool of threads: ``threads``, with fewer threads than slots.

What waits, what switches and what a connection costs are those of
``threads``. Changed against it: there are never more than 32 threads,
however many slots the job has: the bound of ``ThreadPoolExecutor``'s default,
and what most programs with a pool do.

What differs at the server: at most 32 requests are in flight. With a delay
the pool, and not the machine, is then the limit; that is what it shows.
"""

from __future__ import annotations

from dataclasses import replace

from crawlers import threads
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

POOL = 32
"""Most threads: the upper bound of ThreadPoolExecutor's default."""


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, up to :data:`POOL`."""
    size = min(job.slots, POOL)
    report = threads.crawl(replace(job, slots=size), recorder)
    report.backend = "threads_pool"
    report.concurrency = job.slots
    report.mechanism["pool"] = size
    return report
