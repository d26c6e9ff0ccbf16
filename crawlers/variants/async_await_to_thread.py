"""async/await that hands long work to a thread: ``asyncio.to_thread``.

Everything that waits, switches and costs is the same as in ``async_await``, and so is a
job without work. Changed against it: the pages of a job that need work are worked on in a
thread of asyncio's pool, as its documentation has it. The loop goes on meanwhile, but it needs
the interpreter's lock for each step, and a thread that computes keeps the lock until it is asked
for it: 5 ms (:func:`sys.setswitchinterval`).
"""

from __future__ import annotations

import asyncio

from crawlers import async_await, work
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants import _handed_over
from crawlers.variants._asyncio import run


class Shared(_handed_over.Shared):
    """The state that the slots of one crawl share."""

    async def hand_over(self, body: bytes, rounds: int) -> work.Done:
        """Have a page worked on in a thread."""
        return await asyncio.to_thread(work.do, body, rounds)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, and threads for the work."""
    return run("async_await_to_thread", job, recorder, _handed_over.fetch, Shared, async_await.Slot)
