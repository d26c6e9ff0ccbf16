"""Threads that ask for the interpreter's lock less often: ``sys.setswitchinterval``.

Everything that waits, switches and costs is the same as in ``threads``. Changed
against it: a thread that waits for the interpreter's lock asks for it after one
second instead of 5 ms. Threads that wait for sockets pass the lock on by themselves,
so with a thousand of them the asking is work without a result. This is a setting
for a whole process: another thread that computes without a pause would keep the lock
for that second.
"""

from __future__ import annotations

from crawlers import threads
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._switching import switch_interval

SWITCH_S = 1.0
"""Seconds after which a thread asks for the lock; Python's own are 0.005."""


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, and a long switch interval."""
    with switch_interval(SWITCH_S):
        report = threads.crawl(job, recorder)
    report.backend = "threads_long_switch"
    report.mechanism["switch_interval_ms"] = round(1000 * SWITCH_S)
    return report
