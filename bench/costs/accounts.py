"""Counted crawls, and costs per page from them: ``costs.jsonl``.

A sample is one backend under one instrument with the hash seed of its round: on each workload a
crawl of N and one of 2 N pages. What start, warm-up and end take is in both, so it cancels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from pydantic import Field

from bench.analysis.stats import Spread, spread
from bench.machine.instruments import SYSCALL, SYSCALLS
from bench.schema import Record
from bench.study.record import Run, Study
from bench.text import plural


class Crawled(Record):
    """Two crawls, or two loads: the totals of each cost, and the pages that lie between them."""

    pages: int
    counts: dict[str, tuple[int, int]]

    def per_page(self) -> dict[str, float]:
        return {cost: (more - less) / self.pages for cost, (less, more) in self.counts.items()}


class Counted(Record):
    """What one process counted, by workload; those that failed are missing."""

    crawls: dict[str, Crawled] = Field(default_factory=dict)


STUDY: Final[Study[Counted]] = Study("costs", "counts", Counted)

STOPS: Final = "strace"
"""The tool that stops a thread at each of its calls."""
LOCK: Final = f"{SYSCALL}futex"
MEETS: Final = 0.5
"""Backends whose threads wait for one another this often a page have several that work."""
SHADOW: Final = (
    "strace stops a thread at each of its calls, so several threads meet at the interpreter's lock "
    "far more often than at full speed"
)


@dataclass(frozen=True, slots=True)
class Account:
    """The costs of one backend on one workload, per page, over hash seeds."""

    backend: str
    workload: str
    costs: Mapping[str, Spread]
    untold: str | None = None  # why system calls were counted and are not told
    python: str = ""  # the interpreter that was counted

    def calls(self) -> dict[str, Spread]:
        """The system calls by name, without those that pages do not make."""
        return {
            name.removeprefix(SYSCALL): cost
            for name, cost in self.costs.items()
            if name.startswith(SYSCALL) and abs(cost.median) >= 0.0005
        }


def crawled(run: Run[Counted]) -> Iterator[tuple[str, str, str, Crawled]]:
    """Backend, instrument, workload and crawls: of a sample that failed, those that did not."""
    for sample in run.samples:
        backend, _, instrument = sample.program.partition("/")
        for workload, crawls in sample.part.crawls.items() if sample.part else ():
            yield backend, instrument.rpartition("/")[2], workload, crawls


def accounts(run: Run[Counted]) -> list[Account]:
    """Each backend on each workload, in the order of the record."""
    pages: dict[tuple[str, str], dict[str, list[Mapping[str, float]]]] = {}
    for backend, instrument, workload, crawls in crawled(run):
        tools = pages.setdefault((workload, backend), {})
        tools.setdefault(instrument, []).append(crawls.per_page())
    tool = str(run.head.settings.get("system calls", ""))
    accounts = []
    for (workload, backend), tools in pages.items():
        costs = {
            name: cost
            for samples in tools.values()
            for name in dict.fromkeys(chain.from_iterable(samples))
            # Some samples may not have made a system call at all.
            if (cost := spread(page.get(name, 0.0) for page in samples))
        }
        # The one rule: every table, card and slide shows what an account has.
        waits = costs[LOCK].median if LOCK in costs else 0.0
        untold = SHADOW if tool.startswith(STOPS) and waits >= MEETS else None
        if untold:
            costs = {k: v for k, v in costs.items() if k != SYSCALLS and not k.startswith(SYSCALL)}
        accounts.append(Account(backend, workload, costs, untold, run.head.environment.python))
    return accounts


def seed_words(accounts: Sequence[Account]) -> str:
    """Over how many hash seeds the ranges are: "3 hash seeds", "1 to 3 hash seeds"."""
    seeds = [cost.count for account in accounts for cost in account.costs.values()]
    least, most = min(seeds, default=0), max(seeds, default=0)
    return plural(most, "hash seed") if least == most else f"{least} to {most} hash seeds"
