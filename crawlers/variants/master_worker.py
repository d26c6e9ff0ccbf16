"""Master and worker: a thread that feeds an asyncio loop in another thread.

What waits: the main thread, on a queue of finished exchanges; in the second
thread coroutines, as in ``async_await``. What switches: the kernel between the
two threads, twice for each page, and the loop between coroutines. What a
connection costs: the same as in ``async_await``, and two Futures for each
exchange. Changed against ``async_await``: frontier, link extraction and times
stay in the main thread, which passes each fetch to the loop with
``run_coroutine_threadsafe``.

How does an error in the loop's thread reach the caller? The main thread asks every
Future from ``run_coroutine_threadsafe`` for its result, which raises any error
from the other thread. If the loop itself ends, its thread says so on the same
queue. A Future that is never asked keeps its error to itself.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from math import inf
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TypeAlias

from crawlers import async_await
from crawlers.async_await import CANNOT_SEE, Slot, disconnect, fetch, finish
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job
from crawlers.recorder import Recorder
from crawlers.stop import Stop

__all__ = ["CANNOT_SEE", "crawl"]

Done: TypeAlias = tuple[Slot, Fetch, "Future[Exchange]"]


class Worker(Thread):
    """The loop's thread; at the end of the loop it puts None or the error into ``done``."""

    def __init__(self, done: SimpleQueue[Done | BaseException | None]) -> None:
        super().__init__(name="worker")
        self.done = done
        self.loop = asyncio.new_event_loop()

    def run(self) -> None:
        """Run the loop until it is stopped."""
        failure: BaseException | None = None
        try:
            self.loop.run_forever()
        except BaseException as error:
            failure = error
        finally:
            self.loop.close()
            self.done.put(failure)

    def stop(self) -> None:
        """End the loop, and wait until it has ended."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
        self.join()


async def prepare(job: Job, recorder: Recorder) -> async_await.Shared:
    """Make the shared state in the thread of the loop that it belongs to."""
    return async_await.Shared(job, recorder)


async def work(shared: async_await.Shared, slot: Slot, item: Fetch) -> Exchange:
    """One exchange, in the loop's thread; the connection is closed there too."""
    task = asyncio.current_task()
    assert task is not None
    slot.task = task
    exchange = await fetch(shared, slot, item)
    if not exchange.keep_alive:
        disconnect(slot)
    return exchange


async def clean(shared: async_await.Shared) -> None:
    """Cancel all tasks that are left, and close all connections."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for slot in shared.slots:
        disconnect(slot)


def take(shared: async_await.Shared, slot: Slot) -> Fetch | None:
    """The next fetch, or None when there is none now."""
    item = shared.frontier.take()
    if item is not None:
        slot.aborted = None
        slot.waited = True  # for the other thread, if for nothing else
        slot.deadline = max(monotonic(), item.due) + shared.job.timeout_s
    return item


def watch(shared: async_await.Shared, stop: Stop) -> None:
    """Cancel the exchanges that ran out of time."""
    now = monotonic()
    if reason := stop.reason(now):
        shared.frontier.stop(reason)
    stopped = shared.frontier.stopped is not None
    for slot in shared.slots:
        if slot.deadline != inf and (now > slot.deadline or stopped):
            slot.aborted = slot.aborted or ("cancelled" if stopped else "timeout")
            # In the loop's thread, because a Task is not thread-safe.
            shared.loop.call_soon_threadsafe(cancel, slot)


def cancel(slot: Slot) -> None:
    """Cancel the slot's exchange, unless it has ended; one that has not begun is next tick's."""
    if slot.aborted is not None and hasattr(slot, "task"):
        slot.task.cancel()


def feed(
    shared: async_await.Shared, done: SimpleQueue[Done | BaseException | None], stop: Stop
) -> None:
    """The main thread: hand out fetches and collect answers, until nothing is left."""
    free = list(reversed(shared.slots))
    look = 0.0
    while True:
        while free and (item := take(shared, free[-1])):
            slot = free.pop()
            future = asyncio.run_coroutine_threadsafe(work(shared, slot, item), shared.loop)
            future.add_done_callback(lambda f, s=slot, i=item: done.put((s, i, f)))  # type: ignore[misc]
        if shared.frontier.finished and not shared.frontier.active:
            return  # after an interrupt, each exchange in flight comes back as cancelled
        if (now := monotonic()) >= look:
            look = now + stop.tick_s
            watch(shared, stop)
        try:
            ended = done.get(timeout=stop.tick_s)
        except Empty:
            continue
        if not isinstance(ended, tuple):
            raise RuntimeError("the loop's thread has ended") from ended
        slot, item, future = ended
        finish(shared, slot, item, future.result())
        free.append(slot)


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with a loop in a second thread, fed by this one."""
    done: SimpleQueue[Done | BaseException | None] = SimpleQueue()
    worker = Worker(done)
    worker.start()
    try:
        shared = asyncio.run_coroutine_threadsafe(prepare(job, recorder), worker.loop).result()
        try:
            with Stop(job) as stop:
                shared.frontier.start(monotonic())
                feed(shared, done, stop)
        finally:
            if not worker.loop.is_closed():
                asyncio.run_coroutine_threadsafe(clean(shared), worker.loop).result()
    finally:
        worker.stop()
    loop = type(shared.loop)
    return shared.frontier.report(
        "master_worker", {"threads": 2, "loop": f"{loop.__module__}.{loop.__qualname__}"}
    )
