"""Callbacks on a fixed system call: ``select`` or ``poll``.

Everything that waits, switches and costs is the same as in ``callbacks``. Changed against it: the
system call. At every turn both pass all descriptors to the kernel and look through all of them
afterwards. ``poll`` takes any number of them; ``select`` cannot express a descriptor of 1024 or
more, so ``callbacks_select`` refuses a job with more slots.
"""

from __future__ import annotations

import os
import selectors
from pathlib import Path
from typing import Any

from crawlers import callbacks
from crawlers.backend import BackendError, CrawlFunction
from crawlers.job import CrawlReport, Job, JobError
from crawlers.limits import SPARE
from crawlers.recorder import Recorder

FD_SETSIZE = 1024
"""Number of descriptors that select can express, a constant of the C library on Linux."""


def crawl_as(name: str) -> CrawlFunction:
    """The crawl of this name; raises :class:`BackendError` where there is no ``poll``."""
    call = name.removeprefix("callbacks_")
    selector: Any = getattr(selectors, f"{call.capitalize()}Selector", None)
    if selector is None:
        raise BackendError(f"backend {name} needs {call}, which this platform does not have")

    def crawl(job: Job, recorder: Recorder) -> CrawlReport:
        if call == "select":
            check_slots(job)
        report = callbacks.crawl(job, recorder, selector_class=selector)
        report.backend = name
        return report

    return crawl


def check_slots(job: Job) -> None:
    """Raise :class:`JobError` for more slots than select can wait for."""
    most = FD_SETSIZE - max(open_descriptors(), SPARE)
    if job.slots > most:
        raise JobError(
            f"select cannot wait for descriptors of {FD_SETSIZE} and above, and {job.slots} "
            f"slots need some: use at most {max(most, 1)}, or callbacks_poll or callbacks"
        )


def open_descriptors() -> int:
    """How many descriptors this process has open; 0 if that is unknown."""
    listing = Path("/proc/self/fd")
    return len(os.listdir(listing)) if listing.exists() else 0
