"""Callbacks on epoll: ``callbacks``, told which system call to wait in.

What waits, what switches and what a connection costs are those of
``callbacks``. Changed against it: the system call, ``epoll``, whatever this
platform's default is (on Linux nothing changes: a control). The kernel keeps
the set of descriptors, and tells only those that are ready.
"""

from __future__ import annotations

import selectors
from typing import Any

from crawlers import callbacks
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.registry import BackendError

SELECTOR: Any = getattr(selectors, "EpollSelector", None)
if SELECTOR is None:
    raise BackendError("backend callbacks_epoll needs epoll, which this platform does not have")


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one fetcher object for each slot, waiting in epoll."""
    report = callbacks.crawl(job, recorder, selector_class=SELECTOR)
    report.backend = "callbacks_epoll"
    return report
