"""Mixed load: what work on one page in ten does to the response times of the other nine.

The trials of a backend at a point are merged: each has a schedule of its own. For a loop the
same schedules give what queueing theory predicts (:mod:`bench.analysis.queue`), so the
measurement can be checked against something that was not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bench import arrivals
from bench.analysis import queue, stats
from bench.analysis.stats import Spread
from bench.histograms import MIN_BEYOND, Histogram
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


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a queue with one server would have made of the same schedules, in milliseconds."""

    mean_ms: float
    p50_ms: float
    tail_ms: float
    long_run_ms: float | None  # Pollaczek and Khinchine, and the exchange; None: it grows


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
    others = Histogram([work.others.hdr for _, work in found if work.others])
    worked = Histogram([work.worked.hdr for _, work in found if work.worked])
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


def _predicted(found: Sequence[tuple[TrialRecord, Work]], tail: float) -> Predicted:
    """The same schedules in a queue with one server, each page with the time that it took.

    Work takes what it took by the clock: a loop waits for it whoever has the processor. What an
    exchange takes without a wait is the fastest response of the trial.
    """
    times: list[float] = []
    long_run: list[tuple[float | None, int]] = []
    for trial, work in found:
        own_s, work_s = page_s(trial, work), work.wall_ms / 1000
        count, rate = work.expected * work.every, _rate(trial)
        count = int(stats.number_param(trial, "urls") or count)
        chosen = arrivals.chosen(count, work.every, work.seed)
        due = arrivals.poisson(rate, work.seed, count)
        every = queue.waits(due, chosen, own_s, work_s)
        alone_s = work.others.min_ms / 1000 if work.others else own_s
        times += [wait + alone_s for place, wait in enumerate(every) if place not in chosen]
        share = 1 / work.every
        mean_s = queue.mean_wait_s(rate, [(share, own_s + work_s), (1 - share, own_s)])
        long_run.append((None if mean_s is None else mean_s + alone_s, count))
    times.sort()
    known = [(seconds, count) for seconds, count in long_run if seconds is not None]
    return Predicted(
        mean_ms=1000 * sum(times) / len(times),
        p50_ms=1000 * _at(times, 50),
        tail_ms=1000 * _at(times, tail),
        long_run_ms=1000 * _mean(known) if len(known) == len(long_run) else None,
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
