"""Counts everything: each backend, workload, instrument and hash seed, at N and at 2 N pages."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from bench import controls
from bench.costs import lanes, record, tasks
from bench.costs.record import Costs, CostsError, Header, Key, Part, Sample
from bench.costs.sites import WORKLOADS
from bench.costs.tasks import FLOOR, Task
from bench.launch import ROOT
from bench.machine import instruments
from bench.machine.probes import environment
from bench.plan import backends
from bench.run.runner import own_command
from bench.text import now


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class CostsOptions:
    """How much to count, and how many tasks at a time."""

    backends: Sequence[str] | None = None
    workloads: Sequence[str] = tuple(WORKLOADS)
    instruments: Sequence[str] = instruments.NAMES
    pages: int = 500
    slots: int = 100
    seeds: Sequence[int] = (1, 2, 3)
    source: str = "auto"
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: a sample, and the seconds that are left; None before anything is done."""

    sample: Sample
    done: int
    planned: int
    left_s: float | None


def run(
    options: CostsOptions,
    report: Callable[[Progress], None],
    *,
    folder: Path | None = None,
    resume: bool = False,
) -> Costs:
    """Count, and report each sample as it comes.

    With a ``folder`` each sample is appended there and synced, so nothing that was counted is
    lost; ``resume`` goes on with what is there. An interrupted run returns what it has, and
    the unfinished record stays.
    Raises :class:`bench.errors.BenchError` for a backend that cannot be used, when nothing can
    be counted here, or without the fixture server.
    """
    wanted = None if options.backends is None else list(options.backends)
    floor = [FLOOR] if wanted is None or FLOOR in wanted else []
    if wanted is not None:
        wanted = [name for name in wanted if name not in controls.CONTROLS]
    known = backends.look_up(wanted) if wanted != [] else []
    names = [*floor, *(backends.choose(known, wanted) if known else [])]
    found = instruments.find(options.instruments, options.source)
    usable = [each for each in found if each.missing is None]
    if not usable:
        raise CostsError("; ".join(each.missing or "" for each in found))
    header = Header(
        created=now(),
        command=own_command(sys.argv),
        environment=environment.collect(ROOT),
        pages=options.pages,
        slots=options.slots,
        seeds=list(options.seeds),
        tools={each.name: each.tool for each in usable},
        missing={each.name: each.missing for each in found if each.missing},
        absent={each.name: each.missing for each in known if each.missing},
    )
    planned = tasks.plan(known, names, usable, options.seeds, options.workloads, options.pages)
    order = tasks.in_order(planned, options.workloads, names)
    with ExitStack() as stack:
        part = stack.enter_context(Part.of(folder, header, resume=resume)) if folder else None
        kept: dict[Key, Sample] = {}
        if part is not None:
            header = part.header.model_copy(update={"seeds": header.seeds})
            kept = {s.key: s for s in part.samples if s.status == "ok" and s.key in set(order)}
        count(options, tasks.without(planned, kept), len(kept), kept, part, report)
        costs = Costs(header, tuple(kept[key] for key in order if key in kept))
        if part is not None and len(kept) == len(order):
            record.save(costs, part.folder)
            part.remove()
    return costs


def count(
    options: CostsOptions,
    todo: Sequence[Task],
    before: int,
    kept: dict[Key, Sample],
    part: Part | None,
    report: Callable[[Progress], None],
) -> None:
    """Run the tasks, and keep their samples as they come; Ctrl-C ends it.

    What must be counted alone is counted one task at a time.
    """
    began = time.monotonic()
    total_s, done_s = sum(task.weight_s for task in todo), 0.0
    planned = before + sum(len(task.workloads) for task in todo)
    number = before
    try:
        for alone, group in groupby(todo, key=lambda task: task.instrument.alone):
            jobs = 1 if alone else options.jobs
            with closing(lanes.run(list(group), options.slots, jobs)) as found:
                for each in found:
                    if isinstance(each, Task):
                        done_s += each.weight_s
                        continue
                    kept[each.key] = each
                    if part is not None:
                        part.append(each)
                    number += 1
                    spent_s = time.monotonic() - began
                    left_s = spent_s * (total_s - done_s) / done_s if done_s else None
                    report(Progress(each, number, planned, left_s))
    except KeyboardInterrupt:
        return
