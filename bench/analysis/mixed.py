"""Mixed load: what work on one page in ten does to the response times of the other nine.

The trials of a backend at a point are merged: each has a schedule of its own. For a loop the
same schedules give what queueing theory predicts (:mod:`bench.analysis.queue`), and what a loop
makes of them with its timers and steps (:mod:`bench.analysis.loops`). So the measurement can be
checked against something that was not measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bench import arrivals
from bench.analysis import queue, stats
from bench.analysis.loops import Load, Timers, responses, timers_of
from bench.analysis.stats import Spread
from bench.histograms import MIN_BEYOND, merge_histograms
from bench.plan.cast import SPREADING
from bench.schema import TrialRecord, Work
from bench.store import Records
from crawlers.catalogue import HANDED_OVER

WORKLOAD: Final = "mixed"
ONE_THREAD: Final = ("callbacks", "generators", "async")
"""The families whose backends work on pages where they loop, unless they hand the work over."""

FREE: Final = 1.25
"""Work that a loop did in more than so many times its processor time was interrupted by others."""

TAILS: Final = (99.0, 90.0)
"""The percentile of the chart is the first of these with enough samples beyond it."""


PHASES: Final = 4
"""Where in a step of its clock a schedule began is not recorded, so several are followed."""


@dataclass(frozen=True, slots=True)
class Times:
    """Response times of pages without work, calculated, in milliseconds."""

    mean_ms: float
    p50_ms: float
    tail_ms: float


@dataclass(frozen=True, slots=True)
class Predicted:
    """What theory makes of the same schedules, with what pages and work took of the processor."""

    queue: Times  # one server that is never late, each page in one piece
    loop: Times | None  # as a loop with such timers; None: it is not known how it waits for a time
    long_run_ms: float | None  # Pollaczek and Khinchine, and the exchange; None: it grows

    @property
    def best(self) -> Times:
        """The one that knows more."""
        return self.loop or self.queue


@dataclass(frozen=True, slots=True)
class Mixed:
    """One backend at one point, all its trials together; times are response times in ms."""

    label: str
    point: str
    work_ms: float  # of a page in ``every``, alone
    every: int
    rate: float  # requests per second, on the schedule
    blocks: int
    count: int  # pages without work
    mean_ms: float  # of those
    means: Spread  # of the single trials
    p50_ms: float
    tail: float  # the percentile of tail_ms: see TAILS
    tail_ms: float
    p99_ms: float | None  # None below 1,000 pages
    worked_p50_ms: float | None  # until a page with work was worked on
    cpu_ms: float  # what that work took of a processor
    wall_ms: float  # and by the clock
    predicted: Predicted | None  # of a loop

    @property
    def undisturbed(self) -> bool:
        """Whether a loop had the processor whenever it worked; True where that cannot be seen."""
        return self.predicted is None or self.wall_ms <= FREE * self.cpu_ms


def mixed(records: Records) -> list[Mixed]:
    """One row per point and backend, in the campaign's order, the least work first."""
    trials = [t for t in stats.trials_of(records, WORKLOAD, twins=False) if t.work]
    points = dict.fromkeys(t.point for t in trials)
    rows = [
        row
        for point in points
        for label in stats.labels_of(records)
        if (row := _row([t for t in trials if (t.point, t.label) == (point, label)]))
    ]
    return sorted(rows, key=lambda row: row.work_ms)


def _row(trials: Sequence[TrialRecord]) -> Mixed | None:
    found = [(t, t.work) for t in trials if t.work and t.work.others]
    if not found:
        return None
    others = merge_histograms(work.others.hdr for _, work in found if work.others)
    worked = merge_histograms(work.worked.hdr for _, work in found if work.worked)
    means = stats.spread(work.others.mean_ms for _, work in found if work.others)
    tail = next((p for p in TAILS if others.highest_percentile >= p), None)
    if means is None or tail is None:
        return None
    first, work = found[0]
    return Mixed(
        label=first.label,
        point=first.point,
        work_ms=work.work_ms,
        every=work.every,
        rate=_rate(first),
        blocks=len(found),
        count=others.count,
        mean_ms=_mean((w.others.mean_ms, w.others.count) for _, w in found if w.others),
        means=means,
        p50_ms=others.at_ms(50),
        tail=tail,
        tail_ms=others.at_ms(tail),
        p99_ms=others.at_ms(99) if others.count >= 100 * MIN_BEYOND else None,
        worked_p50_ms=worked.at_ms(50) if worked.count else None,
        cpu_ms=_mean((w.cpu_ms, w.pages) for _, w in found),
        wall_ms=_mean((w.wall_ms, w.pages) for _, w in found),
        predicted=_predicted(found, tail) if loops(first) else None,
    )


def loops(trial: TrialRecord) -> bool:
    """Whether every page of the trial was worked on in the thread of one loop."""
    hands_over = trial.backend in (*HANDED_OVER, *SPREADING)
    return trial.family in ONE_THREAD and not hands_over


def page_s(trial: TrialRecord, work: Work) -> float:
    """Processor seconds of a page without its work: all of the client's, less all work."""
    if trial.cpu is None or not trial.pages:
        return 0.0
    used = trial.cpu.client_user_s + trial.cpu.client_system_s - work.pages * work.cpu_ms / 1000
    return max(used, 0.0) / trial.pages


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the requests of a trial were due, and which pages needed work."""

    due: Sequence[float]
    worked: Collection[int]

    def others(self, times: Sequence[float]) -> list[float]:
        """Of times in the order of the requests, those of pages without work."""
        return [time for place, time in enumerate(times) if place not in self.worked]


def schedule(trial: TrialRecord, work: Work) -> Schedule:
    """The schedule of a trial, drawn again from its seed."""
    count = int(stats.number_param(trial, "urls") or work.expected * work.every)
    return Schedule(
        arrivals.poisson(_rate(trial), work.seed, count),
        arrivals.chosen(count, work.every, work.seed),
    )


def followed(plan: Schedule, load: Load, timers: Timers) -> list[float]:
    """Response times of pages without work, as a loop with these timers would have them."""
    phases = PHASES if timers.counted else 1
    begins = [(number + 0.5) / phases * timers.step_s for number in range(phases)]
    return [
        time
        for begin in begins
        for time in plan.others(responses(plan.due, plan.worked, load, timers, begin))
    ]


def _predicted(found: Sequence[tuple[TrialRecord, Work]], tail: float) -> Predicted:
    """The same schedules in a queue with one server, and on a loop.

    Work takes what it took by the clock: a loop waits for it whoever has the processor. What an
    exchange takes without a wait is the fastest one of the trial.
    """
    queued: list[float] = []
    looped: list[float] | None = []
    long_run: list[tuple[float | None, int]] = []
    for trial, work in found:
        own_s, work_s, rate = page_s(trial, work), work.wall_ms / 1000, _rate(trial)
        plan, timers = schedule(trial, work), timers_of(trial)
        alone_s = work.others.min_ms / 1000 if work.others else own_s
        waits = queue.waits(plan.due, plan.worked, own_s, work_s)
        queued += [wait + alone_s for wait in plan.others(waits)]
        share = 1 / work.every
        mean_s = queue.mean_wait_s(rate, [(share, own_s + work_s), (1 - share, own_s)])
        long_run.append((None if mean_s is None else mean_s + alone_s, len(plan.due)))
        if timers is None or trial.service_time is None or looped is None:
            looped = None
            continue
        slots = int(stats.number_param(trial, "slots") or len(plan.due))
        load = Load(own_s, work_s, trial.service_time.min_ms / 1000, slots)
        looped += followed(plan, load, timers)
    known = [(seconds, count) for seconds, count in long_run if seconds is not None]
    return Predicted(
        queue=_times(queued, tail),
        loop=_times(looped, tail) if looped else None,
        long_run_ms=1000 * _mean(known) if len(known) == len(long_run) else None,
    )


def _times(seconds: Sequence[float], tail: float) -> Times:
    ordered = sorted(seconds)
    return Times(
        mean_ms=1000 * sum(ordered) / len(ordered),
        p50_ms=1000 * _at(ordered, 50),
        tail_ms=1000 * _at(ordered, tail),
    )


def _rate(trial: TrialRecord) -> float:
    return stats.number_param(trial, "rate") or 0.0


def _at(ordered: Sequence[float], percentile: float) -> float:
    """The value of that rank, as :meth:`bench.histograms.Histogram.at_ms` has it."""
    rank = max(1, int(percentile * len(ordered) / 100 + 0.5))
    return ordered[min(rank, len(ordered)) - 1]


def _mean(weighted: Iterable[tuple[float, int]]) -> float:
    values = list(weighted)
    total = sum(count for _, count in values)
    return sum(value * count for value, count in values) / total if total else 0.0
