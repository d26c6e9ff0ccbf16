"""Generators on asyncio's loop: the hand-built Future and Task, ``yield from``.

What waits and what a connection costs is the same as in ``generators``. What
switches: asyncio's loop, which steps the Tasks of ``generators``. Changed against
``generators``: the loop; the coroutines, their Future and their Task are the same,
line by line. Against ``async_await`` it has no stream, and Future and Task are in
Python.

asyncio asks the kernel again before it steps a Task that a callback has woken. The
socket still has its bytes then, so each answer wakes its slot once too often, and a
receive finds nothing. asyncio's own ``sock_recv`` and its transports receive in the
callback, and avoid that.
"""

from __future__ import annotations

from crawlers.generators import Shared, Task, run, work
from crawlers.job import CrawlReport, Job
from crawlers.loop import loop_name
from crawlers.recorder import Recorder
from crawlers.variants._asyncio_loop import AsyncioLoop


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one hand-built task for each slot, on asyncio's loop."""
    loop = AsyncioLoop()
    shared = Shared(job, recorder, loop)
    report = run("generators_asyncio", shared, lambda slot: Task(loop, work(shared, slot)))
    report.mechanism = {"loop": loop_name(loop.asyncio)}
    return report
