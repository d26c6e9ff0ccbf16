"""What is to be counted: one task for each backend, instrument and hash seed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from bench import controls
from bench.costs.record import Key
from bench.costs.sites import OPENED
from bench.machine.instruments import Instrument
from bench.plan.cast import MAIN_VARIANTS
from bench.plan.sizes import LISTED, OTHER
from crawlers.backend import Backend
from crawlers.registry import MODELS

STACK_SHARE = 0.4
"""Of the pages, for an HTTP stack under an instrument that is sparing."""

FLOOR = "bare"
"""The control that is counted, on lists only: see :mod:`bench.controls`."""

OPENING = (*MODELS, *MAIN_VARIANTS)
"""Who is counted with a connection for each page."""

START_S = {"instructions": 5.0, "allocations": 10.0, "system calls": 0.6, "kernel": 0.8}
PAGE_S = {"instructions": 0.8e-3, "allocations": 1.8e-3, "system calls": 0.4e-3, "kernel": 1e-4}
"""Roughly what a start and a page of ``callbacks`` take; only the time that is left uses it."""


@dataclass(frozen=True, slots=True)
class Task:
    """One backend with one hash seed under one instrument, on some workloads."""

    backend: str
    instrument: Instrument
    seed: int
    pages: int  # N
    workloads: tuple[str, ...]

    @property
    def repeats(self) -> int:
        """How often each page is fetched: a control goes through its job several times."""
        return controls.REPEATS if self.backend in controls.CONTROLS else 1

    def key(self, workload: str) -> Key:
        """What makes its sample of a workload what it is."""
        return self.backend, workload, self.instrument.name, self.seed

    @property
    def weight_s(self) -> float:
        """Roughly how long it takes; wrong for most, but equally wrong."""
        page_s = PAGE_S[self.instrument.name] * LISTED.get(self.backend, OTHER)
        return START_S[self.instrument.name] + 3 * self.pages * page_s * len(self.workloads)


def plan(
    known: Iterable[Backend],
    names: Sequence[str],
    usable: Sequence[Instrument],
    seeds: Sequence[int],
    workloads: Sequence[str],
    pages: int,
) -> list[Task]:
    """Every task: all of the first hash seed, then of the next, so that a part is of use.

    What must be counted alone is the end of each.
    """
    stacks = {backend.name for backend in known if backend.family == "stack"}
    return [
        Task(
            name,
            instrument,
            seed,
            max(1, round(pages * STACK_SHARE)) if instrument.sparing and name in stacks else pages,
            crawled,
        )
        for place, seed in enumerate(seeds)
        for alone in (False, True)
        for name in names
        if (crawled := tuple(w for w in workloads if takes_part(name, w)))
        for instrument in usable
        if instrument.alone is alone and not (instrument.sparing and place)
    ]


def takes_part(name: str, workload: str) -> bool:
    """Whether a backend, or the control, is counted on a workload."""
    if workload == OPENED:
        return name in OPENING
    return workload == "fetch" or name != FLOOR


def without(tasks: Iterable[Task], done: Collection[Key]) -> list[Task]:
    """The tasks without what is done."""
    left = [
        replace(task, workloads=tuple(w for w in task.workloads if task.key(w) not in done))
        for task in tasks
    ]
    return [task for task in left if task.workloads]


def in_order(tasks: Iterable[Task], workloads: Sequence[str], names: Sequence[str]) -> list[Key]:
    """The samples as a record has them: by workload, then by backend."""
    keys = [task.key(workload) for task in tasks for workload in task.workloads]
    return sorted(keys, key=lambda key: (workloads.index(key[1]), names.index(key[0])))
