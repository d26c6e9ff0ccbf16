"""Callbacks on poll: ``callbacks``, told which system call to wait in.

What waits, what switches and what a connection costs are those of
``callbacks``. Changed against it: the system call, ``poll``. Like ``select``
it hands the kernel all descriptors at every turn; unlike it, any number.
"""

from __future__ import annotations

import selectors
from typing import Any

from crawlers import callbacks
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.registry import BackendError

SELECTOR: Any = getattr(selectors, "PollSelector", None)
if SELECTOR is None:
    raise BackendError("backend callbacks_poll needs poll, which this platform does not have")


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one fetcher object for each slot, waiting in poll."""
    report = callbacks.crawl(job, recorder, selector_class=SELECTOR)
    report.backend = "callbacks_poll"
    return report
