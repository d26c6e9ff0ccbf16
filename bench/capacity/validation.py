"""The model against measurements that it was not made from.

It is made from turns: a crawled page at 10, 100 and 1,000 slots without delay, and from memory
at up to 2,500 connections. It predicts whole trials, which run alone, at other delays, memory at
the most connections, and the queue of mixed load. What the fixture server adds is in
:mod:`bench.capacity.fixture`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal, TypeGuard

import numpy as np

from bench.analysis import mixed, stats
from bench.analysis.analysis import Analysis
from bench.analysis.loops import Load, timers_of
from bench.analysis.stats import MEMORY_PARTS, Spread, memory_growth
from bench.analysis.stats.records import number_param
from bench.capacity.costs import USER, Backend, Costs, delay_of, middle, page_blocks
from bench.capacity.fixture import fixture, pages_of
from bench.capacity.model import closed_loop, factor_at, page_us
from bench.schema import TrialRecord

MEDIAN: Final = 0.10
"""The most that the median error of a kind may be."""

WORST: Final = 0.25
"""What is further off than this is left out of the advice."""

BUSY: Final = 0.5
"""From this load up, the processor decides on the rate more than the delay does."""

MOST_SLOTS: Final = 100_000
"""No point has more; the records of another program may say anything."""

FITTED: Final = 2500
"""Connections up to which memory is fitted when the rest is predicted."""

Kind = Literal["processor", "delay", "schedule", "queue", "memory"]
KINDS: Final[Mapping[Kind, str]] = {
    "processor": "pages/s where the processor decides",
    "delay": "pages/s where the delay decides",
    "schedule": "pages/s on a schedule",
    "queue": "response time beside work",
    "memory": "memory of a process at its most connections",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One prediction beside what was measured (a median over blocks; a mean for the queue)."""

    kind: Kind
    point: str
    label: str
    predicted: float
    measured: float
    slots: int = 0  # connections, where memory is predicted
    load: float = 0.0  # of the processor, as predicted
    tls: bool = False

    @property
    def error(self) -> float:
        """By how much the prediction is too high, as a share of what was measured."""
        return self.predicted / self.measured - 1

    @property
    def far(self) -> str:
        """The error in words: ``12 % too high``."""
        return f"{100 * abs(self.error):.0f} % too {'high' if self.error > 0 else 'low'}"

    @property
    def holds(self) -> bool:
        """Whether advice may rest on it."""
        return abs(self.error) <= WORST


@dataclass(frozen=True, slots=True)
class Validation:
    """All predictions of a campaign."""

    checks: Sequence[Check]

    def kept(self, kind: Kind | None = None) -> list[Check]:
        """Those that hold."""
        return [c for c in self.checks if c.holds and kind in (None, c.kind)]

    def left_out(self, kind: Kind | None = None) -> list[Check]:
        """Those that do not: what is near them is left out of the advice."""
        return [c for c in self.checks if not c.holds and kind in (None, c.kind)]

    def median_error(self, kind: Kind) -> float | None:
        """The median of the absolute errors of a kind, of the predictions that hold."""
        kept = self.kept(kind)
        return median(abs(c.error) for c in kept) if kept else None

    def good(self, kind: Kind) -> bool:
        """Whether a kind of prediction is good enough to advise on."""
        error = self.median_error(kind)
        return error is not None and error <= MEDIAN

    def nearest(self, label: str, in_flight: float, load: float) -> Check | None:
        """The prediction of this backend's rate that is most like a load.

        Ten times the exchanges in flight are as far as a whole processor more.
        """
        mine = [c for c in self.checks if c.label == label and c.kind in ("processor", "delay")]
        return min(
            mine,
            key=lambda c: abs(math.log10(max(in_flight, 1.0) / c.slots)) + abs(load - c.load),
            default=None,
        )

    def queue_of(self, label: str) -> Check | None:
        """The prediction of this backend's response time beside work that is furthest off."""
        mine = [c for c in self.checks if (c.kind, c.label) == ("queue", label)]
        return max(mine, key=lambda c: abs(c.error), default=None)

    def memory_of(self, label: str, *, tls: bool) -> Check | None:
        """The prediction of this backend's memory."""
        return next(
            (c for c in self.checks if (c.kind, c.label, c.tls) == ("memory", label, tls)), None
        )


def validation(analysis: Analysis, costs: Costs) -> Validation:
    """Every prediction that the records of a campaign allow."""
    return Validation([check for make in CHECKS for check in make(analysis, costs)])


# --- rates -------------------------------------------------------------------------------


CRAWLS: Final = ("whole", "processors", "waiting", "regime")


def crawls(analysis: Analysis, costs: Costs) -> list[Check]:
    """Pages per second of whole trials of a crawl, each alone on the machine.

    A tree of pages feeds its slots only once it is known: two delays for each tenfold of pages
    pass at its begin and its end, as :mod:`bench.plan.workloads` has it.
    """
    server, found = fixture(analysis), []
    trials = {t.point: t for t in stats.trials_of(analysis.records, *CRAWLS, twins=False)}
    for point, sample in trials.items():
        pages, slots = pages_of(sample), int(number_param(sample, "slots") or 0)
        delay = delay_of(sample)
        if pages is None or delay is None or not 1 <= slots <= MOST_SLOTS:
            continue
        polls = not delay and not sample.params.get("processors")
        delay_s = delay + server.late_s if delay else 0.0
        for label, mine in analysis.at_point(point).items():
            backend = costs.of(label)
            measured = stats.spread(t.pages_per_s for t in mine)
            cores = {len(c) for t in mine if isinstance(c := t.pinning.get("client"), list)}
            if backend.page is None or not covers(backend, slots) or not above_zero(measured):
                continue
            if (point, label) in server.fitted:
                continue
            if cores - {1}:
                continue  # more than one processor: not what the model is of
            total = page_us(costs, backend, slots) + (0.0 if polls else server.waking(slots))
            steady = closed_loop(slots, delay_s, total)
            filling = 2 * math.log10(pages) * delay_s if slots > 1 else 0.0
            filling += slots * (backend.extra.opening or 0.0) / 1e6
            load = min(steady * total / 1e6, 1.0)
            found.append(
                Check(
                    "processor" if load >= BUSY else "delay",
                    point,
                    label,
                    pages / (pages / steady + filling),
                    measured.median,
                    slots,
                    load,
                )
            )
    return found


def above_zero(measured: Spread | None) -> TypeGuard[Spread]:
    """Whether there is a figure that an error can be a share of."""
    return measured is not None and measured.median > 0


def covers(backend: Backend, slots: int) -> bool:
    """Whether a page of it was measured at so many slots, or at more."""
    return slots <= max(number for number, _ in backend.factors)


STEADY: Final = "crossover"


def steady(analysis: Analysis, costs: Costs) -> list[Check]:
    """Pages per second of slots that fetch a list, after a paced start: no filling to add.

    At numbers of slots at which a fetched page was measured in turns.
    """
    server, found = fixture(analysis), []
    fetched = fetched_pages(analysis)
    trials = {t.point: t for t in stats.trials_of(analysis.records, STEADY, twins=False)}
    for point, sample in trials.items():
        slots = int(number_param(sample, "slots") or 0)
        delay = delay_of(sample)
        if delay is None or not 1 <= slots <= MOST_SLOTS:
            continue
        for label, mine in analysis.at_point(point).items():
            pages, measured = fetched.get(label, []), stats.spread(t.pages_per_s for t in mine)
            if not pages or not above_zero(measured) or not pages[0][0] <= slots <= pages[-1][0]:
                continue
            total = factor_at(pages, slots) * costs.alone + (server.waking(slots) if delay else 0.0)
            rate = closed_loop(slots, delay + server.late_s if delay else 0.0, total)
            load = min(rate * total / 1e6, 1.0)
            kind: Kind = "processor" if load >= BUSY else "delay"
            found.append(Check(kind, point, label, rate, measured.median, slots, load))
    return found


def fetched_pages(analysis: Analysis) -> dict[str, list[tuple[int, float]]]:
    """Label -> (slots, microseconds of a fetched page), by rising slots."""
    pages, found = page_blocks(analysis.records), defaultdict[str, dict[int, float]](dict)
    for trial in stats.trials_of(analysis.records, "fetch", twins=False):
        if blocks := pages.get((trial.point, trial.label)):
            found[trial.label][int(number_param(trial, "slots") or 0)] = middle(blocks)
    return {label: sorted(by_slots.items()) for label, by_slots in found.items()}


def schedules(analysis: Analysis, costs: Costs) -> list[Check]:
    """Achieved rates of the open loop: the schedule's, unless a processor can do less."""
    pages = page_blocks(analysis.records)
    waking, found = fixture(analysis), []
    fetch = analysis.reference_point("fetch") or ""
    for label, rates in analysis.by_size("openloop", "rate").items():
        blocks = pages.get((fetch, label))
        for rate, trials in rates.items():
            achieved = stats.spread(t.achieved_per_s for t in trials)
            if not blocks or not above_zero(achieved):
                continue
            slots = int(number_param(trials[0], "slots") or 0)
            total = middle(blocks) + waking.waking(max(slots, 1))
            load = min(rate * total / 1e6, 1.0)
            predicted = min(rate, 1e6 / total)
            found.append(
                Check("schedule", trials[0].point, label, predicted, achieved.median, slots, load)
            )
    return found


def queues(analysis: Analysis, costs: Costs) -> list[Check]:
    """Mean response times of pages without work in mixed load, in seconds, for loops.

    The queue of the advice is that of :func:`bench.capacity.model.waiting_s`, in the long run. A
    trial is short, so the same queue is followed along its schedule, with the loop's timers, a
    server that must be woken and the connections that the trial opens. Work is what it took of the
    processor: the reader gives that as well.
    """
    server, found = fixture(analysis), []
    for row in analysis.mixed:
        backend = costs.of(row.label)
        if row.predicted is None or row.predicted.loop is None or backend.page is None:
            continue
        page = page_us(costs, backend, 1) + server.waking(1)
        times: list[float] = []
        used = 0.0
        for trial in analysis.at_point(row.point)[row.label]:
            timers, work = timers_of(trial), trial.work
            if timers is None or work is None:
                continue
            plan = mixed.schedule(trial, work)
            slots = min(int(number_param(trial, "slots") or 1), MOST_SLOTS, len(plan.due))
            opening = (backend.extra.opening or 0.0) * slots / len(plan.due)
            load = Load((page + opening) / 1e6, work.cpu_ms / 1000, 0.0, slots)
            times += mixed.followed(plan, load, timers)
            used = row.rate * (load.page_s + load.work_s / row.every)
        if times:
            mean_s = math.fsum(times) / len(times)
            found.append(
                Check("queue", row.point, row.label, mean_s, row.mean_ms / 1000, load=min(used, 1))
            )
    return found


# --- memory ------------------------------------------------------------------------------


def memory(analysis: Analysis, costs: Costs) -> list[Check]:
    """What the most connections add to a process, by a line through fewer of them."""
    found = []
    for tls in (False, True):
        for label, trials in stats.held_trials(analysis.records, over_tls=tls).items():
            grown = [
                (t.memory.connections, value)
                for t in trials
                if t.memory and (value := growth(t)) is not None
            ]
            top = max((n for n, _ in grown), default=0)
            low = [(n, value) for n, value in grown if n <= FITTED]
            if top <= FITTED or len({n for n, _ in low}) < 2:
                continue
            slope, fixed, _, _ = stats.theil_sen(*zip(*low, strict=True))
            measured = median(value for n, value in grown if n == top)
            if measured <= 0:
                continue
            point = next(t.point for t in trials if t.memory and t.memory.connections == top)
            predicted = fixed + slope * top
            found.append(Check("memory", point, label, predicted, measured, top, tls=tls))
    return found


def growth(trial: TrialRecord) -> float | None:
    """Bytes that the connections added on the client's side, over the parts that were read."""
    grown = memory_growth(trial)
    if grown is None or grown[USER] is None:
        return None
    return float(np.sum([value for name in MEMORY_PARTS if (value := grown[name]) is not None]))


CHECKS: Final[tuple[Callable[[Analysis, Costs], list[Check]], ...]] = (
    crawls,
    steady,
    schedules,
    queues,
    memory,
)
"""Each predicts one kind of point. A further regime is a further function here."""
