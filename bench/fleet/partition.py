"""A crawl divided by the hash of each URL, and one worker's part of it.

The hash of a URL alone decides which worker owns it, so workers need not ask each
other. A worker fetches the URLs it owns and hands over all the URLs it finds, its
own included, in one batch per owner and round. A round ends when every worker has
sent its batches, and the crawl ends when the batches are empty.

The rules are those of the frontier: a URL is fetched once however many pages link
to it, a redirect takes one from the budget of the URL it came from, and a URL
reached along two chains has the larger budget. If a larger budget arrives later, it
is passed on along the redirects already known. The result therefore depends on the
site alone, not on the number of workers or the order of rounds.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

from bench.histograms import encode_latency
from bench.schema import Latency
from crawlers import registry
from crawlers.job import Job, PageResult
from crawlers.origins import origin_prefix
from crawlers.recorder import TimesRecorder

Find = tuple[str, int]
"""A URL, and how many more redirects may be followed from it."""


def owner(url: str, workers: int) -> int:
    """The number of the worker that fetches this URL; the same in every process and machine."""
    return crc32(url.encode()) % workers


@dataclass(frozen=True, slots=True)
class PartResult:
    """Everything that one worker fetched."""

    rows: dict[str, PageResult]
    service_time: Latency | None
    user_s: float
    system_s: float
    busy_s: float
    mechanism: dict[str, str | int]


@dataclass(slots=True)
class OwnedUrl:
    """What a worker remembers of a URL that it owns."""

    budget: int
    redirect: str | None = None


@dataclass(slots=True)
class Partition:
    """The URLs that one worker owns, with their budgets. Sans-IO."""

    number: int
    workers: int
    prefix: str
    max_redirects: int
    known: dict[str, OwnedUrl] = field(default_factory=dict)
    handed: dict[str, int] = field(default_factory=dict)

    def take_in(self, finds: Iterable[Find]) -> tuple[list[str], list[Find]]:
        """Returns the URLs to fetch now, and the larger budgets to pass on."""
        fetch: list[str] = []
        onward: list[Find] = []
        for url, budget in finds:
            known = self.known.get(url)
            if known is None:
                self.known[url] = OwnedUrl(budget)
                fetch.append(url)
            elif budget > known.budget:
                known.budget = budget
                onward += self._redirected(known)
        return fetch, onward

    def settle(self, rows: dict[str, PageResult]) -> list[Find]:
        """The finds on pages that were just fetched."""
        finds: list[Find] = []
        for url, row in rows.items():
            known = self.known[url]
            known.redirect = row.redirect
            finds += self._redirected(known)
            finds += [(link, self.max_redirects) for link in row.links or () if self._inside(link)]
        return finds

    def by_owner(self, finds: Iterable[Find]) -> list[list[Find]]:
        """Finds by owner, without those already handed over with at least this budget."""
        batches: list[list[Find]] = [[] for _ in range(self.workers)]
        for url, budget in finds:
            if budget > self.handed.get(url, -1):
                self.handed[url] = budget
                batches[owner(url, self.workers)].append((url, budget))
        return batches

    def _redirected(self, known: OwnedUrl) -> list[Find]:
        target = known.redirect
        if target is None or known.budget < 1 or not self._inside(target):
            return []
        return [(target, known.budget - 1)]

    def _inside(self, url: str) -> bool:
        return url.startswith(self.prefix)


class Crawler:
    """One worker of a shared crawl: a dask actor that runs a backend on its URLs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def begin(
        self, backend: str, root: str, number: int, workers: int, slots: int, timeout_s: float
    ) -> None:
        """Load the backend before the first round."""
        self.crawl = registry.load(backend).crawl
        self.slots, self.timeout_s = slots, timeout_s
        defaults = Job((root,))
        self.part = Partition(number, workers, origin_prefix(root) + "/", defaults.max_redirects)
        self.rows: dict[str, PageResult] = {}
        self.times = TimesRecorder()
        self.mechanism: dict[str, str | int] = {}
        self.busy_s = 0.0
        self.cpu = resource.getrusage(resource.RUSAGE_SELF)

    def round(self, finds: list[Find]) -> list[list[Find]]:
        """Fetch what is new among ``finds``; returns what that leads to, by owner."""
        began = time.monotonic()
        urls, onward = self.part.take_in(finds)
        if urls:
            job = Job(
                tuple(urls),
                slots=min(self.slots, len(urls)),
                timeout_s=self.timeout_s,
                expand=False,
                any_host=True,  # the fleet started the server itself
                polite=False,
            )
            report = self.crawl(job, self.times)
            self.mechanism = report.mechanism
            onward += self.part.settle(report.rows)
            for row in report.rows.values():
                row.links = None
            self.rows |= report.rows
        batches = self.part.by_owner(onward)
        self.busy_s += time.monotonic() - began
        return batches

    def result(self) -> PartResult:
        """Everything this worker fetched; the processor time is that of the whole process."""
        cpu = resource.getrusage(resource.RUSAGE_SELF)
        return PartResult(
            rows=self.rows,
            service_time=encode_latency(self.times.service),
            user_s=cpu.ru_utime - self.cpu.ru_utime,
            system_s=cpu.ru_stime - self.cpu.ru_stime,
            busy_s=self.busy_s,
            mechanism=self.mechanism,
        )
