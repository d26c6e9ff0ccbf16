"""Whose URL is it: a crawl shared out by hash, one worker's part of it.

Every URL has one owner, found from the URL alone, so that nobody has to be
asked. A worker fetches what it owns and hands over what it finds, its own
finds included, in batches: one for each owner, once a round. The round ends
when all workers have sent theirs, and the crawl when nothing is handed over.

The rules are the frontier's: a URL is fetched once however many pages link to
it, a redirect costs one of the budget of the URL it came from, and a URL
reached along two chains has the larger budget. A larger budget that comes
later is passed on along the redirects that are known already. So the outcome
depends on the site alone, not on the number of workers or the order of rounds.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

from bench import stats
from bench.schema import Latency
from crawlers import registry
from crawlers.job import Job, PageResult
from crawlers.origins import origin_prefix
from crawlers.recorder import TimesRecorder

Find = tuple[str, int]
"""A URL, and how many more redirects may be followed from there."""


def owner(url: str, workers: int) -> int:
    """Which of so many workers fetches this URL; the same in every process and on every machine."""
    return crc32(url.encode()) % workers


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """All that one worker fetched."""

    rows: dict[str, PageResult]
    service_time: Latency | None
    user_s: float
    system_s: float
    busy_s: float
    mechanism: dict[str, str | int]


@dataclass(slots=True)
class Known:
    """What a worker remembers of a URL it owns."""

    budget: int
    redirect: str | None = None


@dataclass(slots=True)
class Part:
    """The URLs that one worker owns: which are known, and what their budgets are. Sans-IO."""

    number: int
    workers: int
    prefix: str
    max_redirects: int
    known: dict[str, Known] = field(default_factory=dict)
    handed: dict[str, int] = field(default_factory=dict)

    def take_in(self, finds: Iterable[Find]) -> tuple[list[str], list[Find]]:
        """What of these is to be fetched now, and budgets that have to be passed on."""
        fetch: list[str] = []
        onward: list[Find] = []
        for url, budget in finds:
            known = self.known.get(url)
            if known is None:
                self.known[url] = Known(budget)
                fetch.append(url)
            elif budget > known.budget:
                known.budget = budget
                onward += self._redirected(known)
        return fetch, onward

    def settle(self, rows: dict[str, PageResult]) -> list[Find]:
        """What the pages that were fetched lead to."""
        finds: list[Find] = []
        for url, row in rows.items():
            known = self.known[url]
            known.redirect = row.redirect
            finds += self._redirected(known)
            finds += [(link, self.max_redirects) for link in row.links or () if self._inside(link)]
        return finds

    def by_owner(self, finds: Iterable[Find]) -> list[list[Find]]:
        """Finds sorted by who owns them; what was handed over before with as much is left out."""
        batches: list[list[Find]] = [[] for _ in range(self.workers)]
        for url, budget in finds:
            if budget > self.handed.get(url, -1):
                self.handed[url] = budget
                batches[owner(url, self.workers)].append((url, budget))
        return batches

    def _redirected(self, known: Known) -> list[Find]:
        target = known.redirect
        if target is None or known.budget < 1 or not self._inside(target):
            return []
        return [(target, known.budget - 1)]

    def _inside(self, url: str) -> bool:
        return url.startswith(self.prefix)


class Crawler:
    """One worker of a shared crawl: a dask actor that runs a backend on its part."""

    def __init__(self, name: str) -> None:
        self.name = name

    def begin(
        self, backend: str, root: str, number: int, workers: int, slots: int, timeout_s: float
    ) -> None:
        """Load the backend, so that no round pays for it."""
        self.crawl = registry.load(backend).crawl
        self.slots, self.timeout_s = slots, timeout_s
        defaults = Job((root,))
        self.part = Part(number, workers, origin_prefix(root) + "/", defaults.max_redirects)
        self.rows: dict[str, PageResult] = {}
        self.times = TimesRecorder()
        self.mechanism: dict[str, str | int] = {}
        self.busy_s = 0.0
        self.cpu = resource.getrusage(resource.RUSAGE_SELF)

    def round(self, finds: list[Find]) -> list[list[Find]]:
        """Fetch what is new of ``finds``; what that leads to, by owner."""
        began = time.monotonic()
        urls, onward = self.part.take_in(finds)
        if urls:
            job = Job(
                tuple(urls),
                slots=min(self.slots, len(urls)),
                timeout_s=self.timeout_s,
                expand=False,
                any_host=True,  # the fleet has started the server itself
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

    def outcome(self) -> PartOutcome:
        """Everything this worker fetched; its processor time is that of the whole process."""
        cpu = resource.getrusage(resource.RUSAGE_SELF)
        return PartOutcome(
            rows=self.rows,
            service_time=stats.encode_latency(self.times.service),
            user_s=cpu.ru_utime - self.cpu.ru_utime,
            system_s=cpu.ru_stime - self.cpu.ru_stime,
            busy_s=self.busy_s,
            mechanism=self.mechanism,
        )
