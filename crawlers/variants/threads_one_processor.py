"""Threads on one processor: ``threads``, pinned to the processor where the crawl begins.

Everything that waits is the same as in ``threads``. Changed against it: all threads of the process
have the same processor, by ``os.sched_setaffinity``. On several, a thread that gives up the
interpreter's lock wakes one on another processor, which then finds it taken again, and has to wait
for it. On one, the next thread runs when this one sleeps, and then the lock is free.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crawlers import threads
from crawlers.backend import BackendError
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

if not hasattr(os, "sched_setaffinity"):
    raise BackendError(
        "backend threads_one_processor needs os.sched_setaffinity, which this system does not have"
    )


def here() -> int:
    """The processor that runs this thread at the moment: field 39 of proc_pid_stat(5)."""
    _, _, fields = Path("/proc/thread-self/stat").read_text().rpartition(")")
    return int(fields.split()[36])


@contextmanager
def pinned(processor: int) -> Iterator[None]:
    """Keep this thread on one processor, and every thread that it starts meanwhile."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, all on the same processor."""
    processor = here()
    with pinned(processor):
        report = threads.crawl(job, recorder)
    report.backend = "threads_one_processor"
    report.mechanism["processor"] = processor
    return report
