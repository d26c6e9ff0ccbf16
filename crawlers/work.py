"""Work that some pages of a job need: a real piece of pure Python, the same for every backend.

:func:`do` counts the words of a page as often as the job says, so that it takes a
millisecond or a hundred. It never waits and it never gives the interpreter's lock up by
itself. That is the work for which people warn you about event loops.

A job that carries :class:`Work` is crawled between :func:`begin` and the end of the process:
``begin`` puts another function in the place of :func:`crawlers.page.read_page`, in every
module that has it. A crawl without work does not run one instruction more than without this
module. A backend that hands work to somebody else calls :func:`do` there, and leaves what it
returned in :data:`elsewhere`. Work that nobody did by then is done at once, where the page is
read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from threading import get_ident
from time import monotonic, thread_time
from typing import Final, NamedTuple

from crawlers import page
from crawlers.http import Exchange
from crawlers.job import Fetch, Job, PageResult, Work

LIMIT: Final = 2**32


class Done(NamedTuple):
    """What the work on one page came to, what it took, when it ended and which thread did it."""

    check: int
    cpu_s: float
    wall_s: float
    ended: float
    process: int
    thread: int


class WorkedPage(PageResult):
    """A page whose work is done; ``intended`` is that of its fetch."""

    __slots__ = ("done", "intended")

    done: Done
    intended: float


elsewhere: dict[str, Done] = {}
"""Work that a backend did in a place of its own choice, by URL, until its page is read."""


def words(body: bytes) -> int:
    """How often each word is on the page, in one number: one round of work."""
    counts: dict[str, int] = {}
    for word in body.decode("latin-1").split():
        name = word.strip(".,;:!?<>/=\"'").lower()
        if name:
            counts[name] = counts.get(name, 0) + 1
    total = 0
    for place, name in enumerate(sorted(counts), 1):
        total += place * counts[name] * len(name)
    return total


def fold(value: int, rounds: int) -> int:
    """The check of so many rounds that each came to ``value``."""
    check = 0
    for number in range(rounds):
        check = (31 * check + value + number) % LIMIT
    return check


def do(body: bytes, rounds: int) -> Done:
    """Work on one page; every round counts its words again."""
    began, cpu = monotonic(), thread_time()
    check = 0
    for number in range(rounds):
        check = (31 * check + words(body) + number) % LIMIT
    cpu_s, ended = thread_time() - cpu, monotonic()
    return Done(check, cpu_s, ended - began, ended, os.getpid(), get_ident())


def begin(job: Job) -> None:
    """From now on, pages of this process are read as the job wants it; without work as ever.

    Call it when the backend is loaded, and before it crawls.
    """
    elsewhere.clear()
    reader = page.read_page if job.work is None else Reader(job.work)
    for module in list(sys.modules.values()):
        usual = getattr(module, "__dict__", {}).get("read_page")
        if module is not page and (usual is page.read_page or isinstance(usual, Reader)):
            vars(module)["read_page"] = reader


class Reader:
    """Reads pages as :func:`crawlers.page.read_page` does, and does the work that they need."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __call__(self, fetch: Fetch, exchange: Exchange, follow: bool) -> PageResult:
        """The page, worked on if it is one of those that need it."""
        result = page.read_page(fetch, exchange, follow)
        if fetch.url not in self.work.urls or result.status != 200:
            return result
        done = elsewhere.pop(fetch.url, None)
        worked = WorkedPage(result.status, result.size, result.checksum)
        for name in PageResult.__slots__:
            setattr(worked, name, getattr(result, name))
        worked.done = do(exchange.body, self.work.rounds) if done is None else done
        worked.intended = fetch.intended
        return worked


def worked(rows: Mapping[str, PageResult]) -> list[WorkedPage]:
    """The pages of a report that were worked on."""
    return [row for row in rows.values() if isinstance(row, WorkedPage)]
