"""Callbacks on select: ``callbacks`` with a fixed system call.

Everything that waits, switches and costs is the same as in ``callbacks``.
Changed against it: the system call, ``select``. At every turn it passes all descriptors
to the kernel and looks through all of them afterwards. It cannot express a
descriptor of 1024 or more, so this backend refuses a job with more slots.
"""

from __future__ import annotations

import os
from pathlib import Path
from selectors import SelectSelector

from crawlers import callbacks
from crawlers.job import CrawlReport, Job, JobError
from crawlers.limits import SPARE
from crawlers.recorder import Recorder

FD_SETSIZE = 1024
"""Number of descriptors that select can express, a constant of the C library on Linux."""


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one fetcher object for each slot, waiting in select.

    Raises :class:`JobError` for more slots than select can wait for.
    """
    most = FD_SETSIZE - max(open_descriptors(), SPARE)
    if job.slots > most:
        raise JobError(
            f"select cannot wait for descriptors of {FD_SETSIZE} and above, and {job.slots} "
            f"slots need some: use at most {max(most, 1)}, or callbacks_poll or callbacks"
        )
    report = callbacks.crawl(job, recorder, selector_class=SelectSelector)
    report.backend = "callbacks_select"
    return report


def open_descriptors() -> int:
    """How many descriptors this process has open; 0 if that is unknown."""
    listing = Path("/proc/self/fd")
    return len(os.listdir(listing)) if listing.exists() else 0
