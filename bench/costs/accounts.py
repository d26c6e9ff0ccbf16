"""Counted crawls, and costs per page from them: ``costs.jsonl``.

A sample is one backend under one instrument with the hash seed of its round: on each workload a
crawl of N and one of 2 N pages. What start, warm-up and end take is in both, so it cancels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from pydantic import Field

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
class Cost:
    """What a page takes of one thing: the median over hash seeds, and the range."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Account:
    """The costs of one backend on one workload, per page."""

    backend: str
    workload: str
    costs: Mapping[str, Cost]
    untold: str | None = None  # why system calls were counted and are not told
    python: str = ""  # the interpreter that was counted

    def calls(self) -> dict[str, Cost]:
        """The system calls by name, without those that pages do not make."""
        return {
            name.removeprefix(SYSCALL): cost
            for name, cost in self.costs.items()
            if name.startswith(SYSCALL) and abs(cost.middle) >= 0.0005
        }


def crawled(run: Run[Counted]) -> Iterator[tuple[str, str, str, Crawled]]:
    """Backend, instrument, workload and crawls: of a sample that failed, those that did not."""
    for sample in run.samples:
        backend, _, instrument = sample.program.partition("/")
        for workload, crawls in sample.part.crawls.items() if sample.part else ():
            yield backend, instrument.rpartition("/")[2], workload, crawls


def accounts(run: Run[Counted]) -> list[Account]:
    """Each backend on each workload, in the order of the record."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    taken: dict[tuple[str, str, str], int] = {}
    of: dict[str, str] = {}
    for backend, instrument, workload, crawls in crawled(run):
        place = (workload, backend, instrument)
        taken[place] = taken.get(place, 0) + 1
        for name, value in crawls.per_page().items():
            values.setdefault((workload, backend), {}).setdefault(name, []).append(value)
            of[name] = instrument
    made = []
    for (workload, backend), found in values.items():
        costs = {}
        for name, numbers in found.items():
            # A system call that some samples did not make at all.
            numbers += [0.0] * (taken[workload, backend, of[name]] - len(numbers))
            costs[name] = Cost(median(numbers), min(numbers), max(numbers))
        tool = str(run.head.settings.get("system calls", ""))
        untold = shadow({name: cost.middle for name, cost in costs.items()}, tool)
        if untold:
            costs = {k: v for k, v in costs.items() if k != SYSCALLS and not k.startswith(SYSCALL)}
        made.append(Account(backend, workload, costs, untold, run.head.environment.python))
    return made


def shadow(per_page: Mapping[str, float], tool: str = STOPS) -> str | None:
    """Why system calls are the tracer's more than the backend's; None where they are its own.

    This is the one rule: every table, card and slide shows what an :class:`Account` has.
    """
    return SHADOW if tool.startswith(STOPS) and per_page.get(LOCK, 0.0) >= MEETS else None


def seed_words(run: Run[Counted]) -> str:
    """Over how many hash seeds the ranges are: "3 hash seeds", "1 to 3 hash seeds"."""
    seeds: dict[tuple[str, str, str], int] = {}
    for backend, instrument, workload, _ in crawled(run):
        place = (backend, instrument, workload)
        seeds[place] = seeds.get(place, 0) + 1
    least, most = min(seeds.values(), default=0), max(seeds.values(), default=0)
    return plural(most, "hash seed") if least == most else f"{least} to {most} hash seeds"
