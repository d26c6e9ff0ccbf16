"""Shared by the variants whose malloc maps every large block, as that of a small program does."""

from __future__ import annotations

from crawlers import heap
from crawlers.backend import BackendError, CrawlFunction
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
AT_START = 128 * 1024
"""Both thresholds of a process that has freed nothing yet."""
MOST_PLACES = 1024
"""Free places of a receive's size that are filled before the variant gives up."""


def fix(threshold: int, trim: int) -> None:
    """Set both for good; nothing happens where malloc is not glibc's."""
    try:
        from ctypes import CDLL

        libc = CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, threshold)
        libc.mallopt(M_TRIM_THRESHOLD, trim)
        libc.malloc_trim(0)  # a large block would fit into what is free at the heap's end
    except (ImportError, OSError, AttributeError, TypeError):
        pass


def keep() -> None:
    """Leave malloc in the state that :func:`crawlers.heap.settle` makes."""
    fix(heap.FREED, 2 * heap.FREED)


def begin(name: str) -> list[bytes]:
    """Let malloc map every large block, while what this returns is kept.

    Raises :class:`BackendError` where it does not.
    """
    fix(AT_START, AT_START)
    # malloc looks for a free place first, and imports may have left some that are large enough.
    taken: list[bytes] = []
    while heap.state() != heap.MAPS:
        if len(taken) == MOST_PLACES:
            raise BackendError(
                f"backend {name} needs glibc's malloc for Python's objects, "
                "and this interpreter uses another"
            )
        taken.append(bytes(heap.RECEIVE))
    return taken


def ensure_mapped(name: str) -> None:
    """Refuse where the variant would change nothing; raises :class:`BackendError`."""
    try:
        begin(name)
    finally:
        keep()


def crawl_mapped(name: str, crawl: CrawlFunction, job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl while malloc maps every large block."""
    try:
        taken = begin(name)
        report = crawl(job, recorder)
        del taken
    finally:
        keep()
    report.backend = name
    report.mechanism["malloc"] = heap.ON_PURPOSE
    return report
