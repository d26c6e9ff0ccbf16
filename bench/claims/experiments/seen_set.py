"""The lost update: duplicate fetches if testing and updating the seen set are two steps.

Several workers get the same URLs in the same order, as if every page linked to the
front page. Each URL should be fetched once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Barrier, Lock, Thread
from time import monotonic

from bench.claims.experiments.result import ExperimentResult

WORKERS = 8
URLS = 100_000
THREADS_S = 1.5
"""The interpreter switches threads every 5 ms, so hitting the gap takes a while."""
URLS_OF_COROUTINES = 5_000
PER = 1_000_000
"""Results are duplicates per million URLs."""

Worker = Callable[[list[str]], int]


class Seen:
    """A frontier in two steps."""

    def __init__(self) -> None:
        self.urls: set[str] = set()

    def has(self, url: str) -> bool:
        """Whether a worker has taken the URL."""
        return url in self.urls

    def add(self, url: str) -> None:
        """Take the URL."""
        self.urls.add(url)


def calls() -> Worker:
    """Test and update are two calls of Python functions."""
    seen = Seen()

    def work(urls: list[str]) -> int:
        taken = 0
        for url in urls:
            if not seen.has(url):
                seen.add(url)
                taken += 1
        return taken

    return work


def statements() -> Worker:
    """Test and update are two statements next to each other, on a set."""
    seen: set[str] = set()

    def work(urls: list[str]) -> int:
        taken = 0
        for url in urls:
            if url not in seen:
                seen.add(url)
                taken += 1
        return taken

    return work


def locked() -> Worker:
    """As :func:`calls`, with a lock around both."""
    seen, lock = Seen(), Lock()

    def work(urls: list[str]) -> int:
        taken = 0
        for url in urls:
            with lock:
                if not seen.has(url):
                    seen.add(url)
                    taken += 1
        return taken

    return work


def in_threads(make: Callable[[], Worker]) -> float:
    """Duplicates per million URLs with threads, in as many rounds as there is time for."""
    urls = [f"http://site.test/{number}" for number in range(URLS)]
    began, rounds, surplus = monotonic(), 0, 0
    while monotonic() - began < THREADS_S:
        surplus += one_round(make(), urls) - URLS
        rounds += 1
    return PER * surplus / (rounds * URLS)


def one_round(work: Worker, urls: list[str]) -> int:
    """How many URLs the threads took in total; each gets all of them."""
    taken: list[int] = []
    start = Barrier(WORKERS)

    def run() -> None:
        start.wait()
        taken.append(work(urls))

    threads = [Thread(target=run) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(taken)


async def in_coroutines(*, await_between: bool) -> float:
    """Duplicates per million URLs with tasks, which await after each URL in any case."""
    seen = Seen()
    taken = 0

    async def work() -> None:
        nonlocal taken
        for number in range(URLS_OF_COROUTINES):
            if not seen.has(url := f"http://site.test/{number}"):
                if await_between:
                    await asyncio.sleep(0)
                seen.add(url)
                taken += 1
            await asyncio.sleep(0)

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return PER * (taken - URLS_OF_COROUTINES) / URLS_OF_COROUTINES


def measure() -> ExperimentResult:
    """Measure every variant once."""
    return ExperimentResult(
        {
            "threads_calls": in_threads(calls),
            "threads_statements": in_threads(statements),
            "threads_locked": in_threads(locked),
            "coroutines_no_await": asyncio.run(in_coroutines(await_between=False)),
            "coroutines_await": asyncio.run(in_coroutines(await_between=True)),
        }
    )
