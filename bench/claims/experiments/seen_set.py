"""The lost update: URLs that are taken twice when "seen?" and "seen!" are not one step.

Several workers are offered the same URLs in the same order, as when every page
links to the front page. Each URL must be taken once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Barrier, Lock, Thread
from time import monotonic

from bench.claims.experiments.outcome import Outcome

WORKERS = 8
URLS = 100_000
THREADS_S = 1.5
"""The interpreter takes a thread's turn away every 5 ms, so it needs a while to hit the gap."""
URLS_OF_COROUTINES = 5_000
PER = 1_000_000
"""What is counted: how often a URL is taken again, per million URLs."""

Worker = Callable[[list[str]], int]


class Seen:
    """A frontier in two steps."""

    def __init__(self) -> None:
        self.urls: set[str] = set()

    def has(self, url: str) -> bool:
        """Whether the URL was taken."""
        return url in self.urls

    def add(self, url: str) -> None:
        """The URL is taken."""
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
    """URLs taken again, per million, by threads; as many rounds as there is time for."""
    urls = [f"http://site.test/{number}" for number in range(URLS)]
    began, rounds, surplus = monotonic(), 0, 0
    while monotonic() - began < THREADS_S:
        surplus += one_round(make(), urls) - URLS
        rounds += 1
    return PER * surplus / (rounds * URLS)


def one_round(work: Worker, urls: list[str]) -> int:
    """How many URLs the threads took, each being offered all of them."""
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
    """URLs taken again, per million, by tasks, which all await after each URL anyway."""
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


def measure() -> Outcome:
    """Every way of doing it, once."""
    return Outcome(
        {
            "threads_calls": in_threads(calls),
            "threads_statements": in_threads(statements),
            "threads_locked": in_threads(locked),
            "coroutines_no_await": asyncio.run(in_coroutines(await_between=False)),
            "coroutines_await": asyncio.run(in_coroutines(await_between=True)),
        }
    )
