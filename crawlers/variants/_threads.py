"""What the stacks on threads share: ``work`` and ``crawl`` of ``threads``, given a ``fetch``."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from time import monotonic
from typing import TypeVar

from crawlers import threads
from crawlers.http import Exchange
from crawlers.job import CrawlReport, Fetch, Job, JobError
from crawlers.stop import Stop
from crawlers.threads import Slot, end, settle, take, watch

SharedT = TypeVar("SharedT", bound=threads.Shared)
Fetcher = Callable[[SharedT, Slot, Fetch], Exchange]


def work(shared: SharedT, slot: Slot, fetch: Fetcher[SharedT]) -> None:
    """A slot's life: take, fetch, settle, until nothing is left."""
    try:
        while item := take(shared, slot):
            exchange = fetch(shared, slot, item)
            settle(shared, slot, item, exchange)
    except BaseException as error:
        # A thread must not die alone: the others would wait for its outcome.
        with shared.changed:
            shared.failure = error
            end(shared, "failed")


def run(name: str, job: Job, shared: SharedT, fetch: Fetcher[SharedT]) -> CrawlReport:
    """Crawl with one thread for each slot; the main thread keeps the time."""
    started: list[Thread] = []
    with Stop(job) as stop:
        shared.frontier.start(monotonic())
        try:
            for slot in shared.slots:
                thread = Thread(target=work, args=(shared, slot, fetch))
                thread.start()
                started.append(thread)
        except RuntimeError:
            shared.failure = JobError(
                f"the system starts no more than {len(started)} threads: lower the number of slots"
            )
            with shared.changed:
                end(shared, "failed")
        for thread in started:
            while thread.is_alive():
                thread.join(stop.tick_s)
                watch(shared, stop)
    if shared.failure is not None:
        raise shared.failure
    return shared.frontier.report(name, {"threads": 1 + len(started)})
