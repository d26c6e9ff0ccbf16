"""Threads that ask for the interpreter's lock more often: ``sys.setswitchinterval``.

Everything that waits, switches and costs is the same as in ``threads``. Changed
against it: a thread that waits for the interpreter's lock asks for it after half a
millisecond instead of 5 ms. A thread that computes keeps the lock until another asks
for it, so this is how long each of the others waits behind it. It helps where some pages
need work. Every request for the lock also ends a turn, and many threads ask.
"""

from __future__ import annotations

from crawlers import threads
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._switching import switch_interval

SWITCH_S = 0.0005
"""Seconds after which a thread asks for the lock; Python's own are 0.005."""


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, and a short switch interval."""
    with switch_interval(SWITCH_S):
        report = threads.crawl(job, recorder)
    report.backend = "threads_short_switch"
    report.mechanism["switch_interval_us"] = round(1e6 * SWITCH_S)
    return report
