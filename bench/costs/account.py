"""Costs per page, from the totals of two crawls; their ranges over hash seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.costs.record import Costs, Sample, merged
from bench.machine.instruments import SYSCALL


@dataclass(frozen=True, slots=True)
class Cost:
    """What a page takes of one thing: the median over samples, and the range."""

    middle: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """The width of the range over its middle; 0 where the middle is 0."""
        return (self.high - self.low) / self.middle if self.middle else 0.0


@dataclass(frozen=True, slots=True)
class Account:
    """The costs of one backend on one workload, per page."""

    backend: str
    workload: str
    costs: Mapping[str, Cost]
    bad: tuple[str, ...]  # why samples do not count

    def calls(self) -> dict[str, Cost]:
        """The system calls by name, without those that pages do not make."""
        return {
            name.removeprefix(SYSCALL): cost
            for name, cost in self.costs.items()
            if name.startswith(SYSCALL) and abs(cost.middle) >= 0.0005
        }


def per_page(sample: Sample, pages: int) -> dict[str, float]:
    """What start, warm-up and end take is in both totals, so it cancels.

    ``pages`` is the record's number, for a sample that has none of its own.
    """
    pages = sample.pages or pages
    return {cost: (large - small) / pages for cost, (small, large) in sample.counts.items()}


def cost(values: Sequence[float]) -> Cost:
    """Median and range of one cost."""
    return Cost(median(values), min(values), max(values))


def account(samples: Iterable[Sample], pages: int, workload: str, backend: str) -> Account:
    """The costs of one backend on one workload, from its samples."""
    values: dict[str, list[float]] = {}
    taken: dict[str, int] = {}
    bad = []
    of_sample: dict[str, str] = {}
    for sample in samples:
        if sample.status != "ok":
            bad.append(f"{sample.instrument}, seed {sample.seed}: {sample.status}: {sample.reason}")
            continue
        taken[sample.instrument] = taken.get(sample.instrument, 0) + 1
        for name, value in per_page(sample, pages).items():
            values.setdefault(name, []).append(value)
            of_sample[name] = sample.instrument
    for name, found in values.items():
        # A system call that some samples did not make at all.
        found += [0.0] * (taken[of_sample[name]] - len(found))
    return Account(
        backend, workload, {name: cost(found) for name, found in values.items()}, tuple(bad)
    )


def accounts(costs: Costs) -> list[Account]:
    """The accounts of a record, in its order."""
    return [
        account(samples, costs.header.pages, workload, backend)
        for (workload, backend), samples in merged(costs.samples).items()
    ]
