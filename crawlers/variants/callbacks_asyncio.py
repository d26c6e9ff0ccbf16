"""Callbacks on asyncio's loop: ``add_reader``, ``add_writer`` and ``call_soon``.

What waits and what a connection costs is the same as in ``callbacks``. What switches:
asyncio's loop, which makes a Handle for each function and runs it in a context.
Changed against ``callbacks``: the loop; the slots are the same, line by line.
Together with ``generators_asyncio`` and ``async_await`` it tells what the loop, the
coroutines and the streams of asyncio cost.
"""

from __future__ import annotations

from functools import partial
from time import monotonic

from crawlers.callbacks import Shared, watch
from crawlers.job import CrawlReport, Job
from crawlers.loop import loop_name
from crawlers.recorder import Recorder
from crawlers.stop import Stop
from crawlers.variants._asyncio_loop import AsyncioLoop


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one fetcher object for each slot, on asyncio's loop."""
    loop = AsyncioLoop()
    shared = Shared(job, recorder, loop)
    try:
        with Stop(job) as stop:
            shared.frontier.start(monotonic())
            for slot in shared.slots:
                loop.call_soon(slot.take)
            loop.call_soon(partial(watch, shared, stop))
            loop.run()
    finally:
        for slot in shared.slots:
            slot.disconnect()
        loop.close()
    return shared.frontier.report("callbacks_asyncio", {"loop": loop_name(loop.asyncio)})
