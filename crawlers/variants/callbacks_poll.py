"""Callbacks on poll: ``callbacks`` with a fixed system call.

Everything that waits, switches and costs is the same as in ``callbacks``.
Changed against it: the system call, ``poll``. Like ``select`` it passes all descriptors
to the kernel at every turn; unlike ``select`` it takes any number of them.
"""

from __future__ import annotations

import selectors
from typing import Any

from crawlers import callbacks
from crawlers.backend import BackendError
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

SELECTOR: Any = getattr(selectors, "PollSelector", None)
if SELECTOR is None:
    raise BackendError("backend callbacks_poll needs poll, which this platform does not have")


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one fetcher object for each slot, waiting in poll."""
    report = callbacks.crawl(job, recorder, selector_class=SELECTOR)
    report.backend = "callbacks_poll"
    return report
