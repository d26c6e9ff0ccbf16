"""A loop in each thread: ``async_await`` in one thread for each processor, with one frontier.

What waits and switches within a thread is the same as in ``async_await``. Changed against it:
the slots are divided between threads, each with an asyncio loop of its own, as many
as there are processors that this process may use. A connection stays in the loop that opened it.
The threads share the frontier and the recorder, behind a lock. A slot that finds more
work than its own loop has slots for wakes idle slots of another loop, through that loop's
``call_soon_threadsafe``.

On an interpreter without a lock of its own (3.13t, 3.14t) the threads run at the same time. With
the lock they take turns, and this backend shows what that costs: a thread that comes back from
``select`` waits for the lock before it can do anything. On one processor there is one thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import inf
from threading import Lock, Thread
from time import monotonic

from crawlers import async_await
from crawlers.async_await import Slot, disconnect, fetch
from crawlers.frontier import Frontier
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job, JobError
from crawlers.loop import loop_name
from crawlers.page import read_page
from crawlers.recorder import Recorder
from crawlers.stop import Stop
from crawlers.variants.processes import processors


class Shared:
    """What the threads share; ``lock`` guards all of it, and the idle slots of every loop."""

    def __init__(self, job: Job, recorder: Recorder, tick_s: float) -> None:
        self.job = job
        self.recorder = recorder
        self.frontier = Frontier(job)
        self.lock = Lock()
        self.tick_s = tick_s
        self.parts: list[Part] = []
        self.failure: BaseException | None = None
        self.loop = ""


class Part(async_await.Shared):
    """One thread's slots; ``loop`` is set by the thread, before a slot of it can be idle."""

    def __init__(self, shared: Shared, slots: Sequence[Slot]) -> None:
        # Not that of async_await, which would make a frontier for each thread.
        self.shared = shared
        self.job = shared.job
        self.recorder = shared.recorder
        self.frontier = shared.frontier
        self.slots = list(slots)
        self.idle: list[asyncio.Future[None]] = []


async def take(part: Part, slot: Slot) -> Fetch | None:
    """The next fetch, suspended until there is one; None when the crawl is over."""
    shared = part.shared
    slot.waited = False
    while True:
        with shared.lock:
            item = shared.frontier.take()
            if item is not None:
                break
            if shared.frontier.finished:
                wake_all(shared, part)
                disconnect(slot)
                return None
            # Under the lock: a slot of another thread must not look for it too early.
            idle = part.loop.create_future()
            part.idle.append(idle)
        slot.waited = True
        await idle
    slot.aborted = None
    slot.deadline = max(monotonic(), item.due) + shared.job.timeout_s
    return item


def finish(part: Part, slot: Slot, item: Fetch, exchange: Exchange) -> None:
    """Give the outcome to the frontier; wake as many other slots as there is work for."""
    shared = part.shared
    ended = monotonic()
    page = read_page(item, exchange, shared.job.follow)
    slot.deadline = inf
    if not exchange.keep_alive:
        disconnect(slot)
    with shared.lock:
        if exchange.error is None:
            shared.recorder.record(slot.number, item.intended, slot.started, ended)
        shared.frontier.settle(item, page, ended)
        wake(shared, part, shared.frontier.ready - 1)


def wake(shared: Shared, here: Part | None, count: int) -> None:
    """Let up to ``count`` idle slots look for work again, those of this thread first.

    The lock must be held.
    """
    if here is not None and here.idle:
        for idle in taken(here, count):
            resume([idle])
            count -= 1
    for part in shared.parts:
        if count <= 0:
            return
        if part.idle and part is not here:
            others = taken(part, count)
            count -= len(others)
            part.loop.call_soon_threadsafe(resume, others)


def wake_all(shared: Shared, here: Part | None) -> None:
    """Let every idle slot see that the crawl is over. The lock must be held."""
    wake(shared, here, sum(len(part.idle) for part in shared.parts))


def taken(part: Part, count: int) -> list[asyncio.Future[None]]:
    """Up to ``count`` idle slots of a thread, which are idle no more."""
    kept = max(0, len(part.idle) - max(0, count))
    idle = part.idle[kept:]
    del part.idle[kept:]
    return idle


def resume(idle: Sequence[asyncio.Future[None]]) -> None:
    """Resume slots that wait for work, in the thread of their loop."""
    for future in idle:
        if not future.done():
            future.set_result(None)


async def work(part: Part, slot: Slot) -> None:
    """The life of a slot: take, fetch, finish, until nothing is left."""
    try:
        while item := await take(part, slot):
            exchange = await fetch(part, slot, item)
            finish(part, slot, item, exchange)
    except BaseException:
        # If a task failed silently, the others would wait for its outcome.
        end(part.shared, "failed", part)
        raise


def end(shared: Shared, reason: str, here: Part | None) -> None:
    """Take no more fetches; every loop cancels its exchanges in flight at its next tick."""
    with shared.lock:
        shared.frontier.stop(reason)
        wake_all(shared, here)


def watch(part: Part) -> None:
    """Cancel this thread's exchanges that ran out of time; called at every tick."""
    now = monotonic()
    stopped = part.frontier.stopped
    for slot in part.slots:
        if slot.deadline != inf and (now > slot.deadline or stopped):
            slot.aborted = slot.aborted or ("cancelled" if stopped else "timeout")
            slot.task.cancel()
    part.loop.call_later(part.shared.tick_s, watch, part)


async def run(part: Part) -> None:
    """Run one task for each slot of this thread, until all are done."""
    try:
        for slot in part.slots:
            slot.task = part.loop.create_task(work(part, slot))
        watch(part)
        await asyncio.gather(*(slot.task for slot in part.slots))
    finally:
        for slot in part.slots:
            disconnect(slot)


async def begin(part: Part) -> None:
    """What a thread runs on its loop."""
    part.loop = asyncio.get_running_loop()
    part.shared.loop = loop_name(part.loop)
    await run(part)


def live(part: Part) -> None:
    """The life of a thread."""
    try:
        asyncio.run(begin(part))
    except BaseException as error:
        end(part.shared, "failed", None)
        part.shared.failure = part.shared.failure or error


def crawl(job: Job, recorder: Recorder) -> CrawlReport:
    """Crawl with a loop in each of as many threads as there are processors."""
    with Stop(job) as stop:
        shared = Shared(job, recorder, stop.tick_s)
        slots = [Slot(number) for number in range(job.slots)]
        count = min(job.slots, processors())
        shared.parts = [Part(shared, slots[number::count]) for number in range(count)]
        threads: list[Thread] = []
        shared.frontier.start(monotonic())
        for part in shared.parts:
            thread = Thread(target=live, args=(part,))
            try:
                thread.start()
            except RuntimeError as error:
                shared.failure = JobError(f"this system starts no {count} threads: {error}")
                end(shared, "failed", None)
                break
            threads.append(thread)
        for thread in threads:
            while thread.is_alive():
                thread.join(stop.tick_s)
                if reason := stop.reason(monotonic()):
                    end(shared, reason, None)
    if shared.failure is not None:
        raise shared.failure
    return shared.frontier.report(
        "loop_per_thread", {"threads": 1 + count, "loops": count, "loop": shared.loop}
    )
