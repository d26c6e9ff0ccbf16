"""Callbacks on epoll: ``callbacks`` with a fixed system call.

Everything that waits, switches and costs is the same as in ``callbacks``.
Changed against it: the system call, always ``epoll``. On Linux that is the default
anyway, so this is a control. The kernel keeps the set of descriptors and returns
only those that are ready.
"""

from __future__ import annotations

import selectors
from typing import Any

from crawlers import callbacks
from crawlers.backend import BackendError
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

SELECTOR: Any = getattr(selectors, "EpollSelector", None)
if SELECTOR is None:
    raise BackendError("backend callbacks_epoll needs epoll, which this platform does not have")


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one fetcher object for each slot, waiting in epoll."""
    report = callbacks.crawl(job, recorder, selector_class=SELECTOR)
    report.backend = "callbacks_epoll"
    return report
