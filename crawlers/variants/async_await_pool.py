"""async/await that hands long work to other processes: ``run_in_executor``.

Everything that waits, switches and costs is the same as in ``async_await``, and so is a
job without work. Changed against it: the pages of a job that need work are worked on in a
``ProcessPoolExecutor``, as asyncio's documentation has it for work that computes. There is a
process for each processor that this one may use. Body and result cross a pipe, pickled.
The processes have locks of their own, so the loop only shares the processor with them, and
the kernel lets it run as soon as it wants to.

The clock starts when all processes are ready. The processor time they have used by then is
in the report (``start_user_us``, ``start_system_us``).
"""

from __future__ import annotations

import os
import resource
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import connection, get_context, parent_process
from typing import Any, NamedTuple

from crawlers import async_await, work
from crawlers.job import CrawlReport, Job
from crawlers.recorder import Recorder
from crawlers.variants._asyncio import run
from crawlers.variants.async_await_to_thread import Shared as NoPool
from crawlers.variants.async_await_to_thread import fetch
from crawlers.variants.processes import processors

START_S = 60.0
"""Seconds that the processes may take to start."""


class Started(NamedTuple):
    """A process that is ready, and the processor time its start took."""

    process: int
    user_s: float
    system_s: float


class Shared(NoPool):
    """The state that the slots of one crawl share; ``pool`` has the processes."""

    def __init__(self, pool: ProcessPoolExecutor, job: Job, recorder: Recorder) -> None:
        super().__init__(job, recorder)
        self.pool = pool

    async def hand_over(self, body: bytes, rounds: int) -> work.Done:
        """Have a page worked on in another process."""
        return await self.loop.run_in_executor(self.pool, work.do, body, rounds)


_arrived: Any = None
_gate: Any = None
"""Semaphores of a process of the pool: it says that it is here, and may go on."""


def begin(arrived: Any, gate: Any) -> None:  # noqa: ANN401
    """The first thing that a process of the pool does."""
    global _arrived, _gate
    _arrived, _gate = arrived, gate
    # Ctrl-C at a terminal reaches the processes too; the parent decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """End when the parent is gone, however it ended."""
    connection.wait([sentinel])
    os._exit(1)


def started() -> Started:
    """Wait until every process of the pool is here, so that each reports once."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    _arrived.release()
    _gate.acquire(timeout=START_S)
    return Started(os.getpid(), spent.ru_utime, spent.ru_stime)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with one task for each slot, and processes for the work."""
    name = "async_await_pool"
    crawl_with = partial(run, name, job, recorder, fetch=fetch, make_slot=async_await.Slot)
    if job.work is None:
        return crawl_with(make_shared=NoPool)
    count = processors()
    context = get_context("spawn")
    arrived, gate = context.Semaphore(0), context.Semaphore(0)
    pool = ProcessPoolExecutor(count, context, begin, (arrived, gate))
    try:
        starts = [pool.submit(started) for _ in range(count)]
        for _ in starts:
            arrived.acquire(timeout=START_S)
        for _ in starts:
            gate.release()
        ready = [start.result() for start in starts]
        report = crawl_with(make_shared=partial(Shared, pool))
    finally:
        pool.shutdown(cancel_futures=True)
    report.mechanism["processes"] = count
    report.mechanism["start_user_us"] = round(1e6 * sum(process.user_s for process in ready))
    report.mechanism["start_system_us"] = round(1e6 * sum(process.system_s for process in ready))
    return report
