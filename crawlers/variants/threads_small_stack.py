"""Threads with small stacks: ``threads``, each with 256 KiB for its C stack.

It waits and switches like ``threads``. What a connection costs: less address space,
because a stack is nothing more until it is touched. Changed against ``threads``:
``threading.stack_size``. This answers the claim that threads cost 8 MB each: the
reserved size is not the used size.
"""

from __future__ import annotations

import threading

from crawlers import threads
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder

STACK = 256 * 1024
"""Bytes of stack of each thread.

CPython takes less, but 3.14 keeps a reserve at the end of each stack. A thread that lives in it
puts off the deallocation of every container, for good:
https://github.com/python/cpython/issues/141044
"""


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one thread for each slot, each on a small stack."""
    before = threading.stack_size(STACK)
    try:
        report = threads.crawl(job, recorder)
    finally:
        threading.stack_size(before)
    report.backend = "threads_small_stack"
    report.mechanism["stack_bytes"] = STACK
    return report
