"""A fixed pool of threads: ``threads``, with fewer threads than slots.

Everything that waits, switches and costs is the same as in ``threads``. Changed
against it: there are never more than 32 threads, however many slots the job has.
That is the upper bound of ``ThreadPoolExecutor``'s default, and most programs with
a pool do the same.

The server sees at most 32 requests in flight. If answers are delayed, the pool is
the limit and not the machine; that is what this variant shows.
"""

from __future__ import annotations

from dataclasses import replace

from crawlers import threads
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

POOL = 32
"""Largest number of threads: the upper bound of ThreadPoolExecutor's default."""


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, up to :data:`POOL`."""
    size = min(job.slots, POOL)
    report = threads.crawl(replace(job, slots=size), recorder)
    report.backend = "threads_pool"
    report.concurrency = job.slots
    report.mechanism["pool"] = size
    return report
