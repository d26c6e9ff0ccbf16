"""Select from a campaign's records: its trials, labels and points; and a figure over blocks."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from bench.plan.participants import twin_of
from bench.schema import Limiter, TrialRecord
from bench.store import MOST_DIGITS, Records
from bench.text import in_percent


def trials_of(
    records: Records, *workloads: str, status: str | None = "ok", twins: bool = True
) -> list[TrialRecord]:
    """Trials of the named workloads (all when none is named), in recorded order.

    By default you get the valid trials only, the ones that may be averaged;
    ``status=None`` gives all of them. ``twins=False`` leaves the A/A twin out.
    """
    return [
        trial
        for trial in records.trials
        if (not workloads or trial.workload in workloads)
        and (status is None or trial.status == status)
        and (twins or trial.label == trial.backend)
    ]


def served(records: Records, workload: str) -> list[TrialRecord]:
    """The valid trials of servers under load, and those of the floor ``bare`` in their blocks."""
    floor = [t for t in records.controls if t.workload == workload and t.status == "ok"]
    return [*trials_of(records, workload, twins=False), *floor]


def limited_by_load(trials: Sequence[TrialRecord]) -> frozenset[str]:
    """The servers that were faster than their load, so that they slept between requests."""
    labels = {trial.label for trial in trials}
    return frozenset(
        label
        for label in labels
        if limiter_of(trial for trial in trials if trial.label == label) == "client"
    )


def companions_of(records: Records, *workloads: str) -> list[TrialRecord]:
    """The valid companions: further trials that others are compared with, and nothing else."""
    return [
        trial
        for trial in records.companions
        if (not workloads or trial.workload in workloads) and trial.status == "ok"
    ]


def polled(trial: TrialRecord) -> bool:
    """Whether the fixture server polled during the trial; one under test never does."""
    return bool(trial.server_polls)


def processors(trial: TrialRecord, side: str) -> set[int]:
    """The processors of ``client`` or ``server``; none where nothing was pinned."""
    cores = trial.pinning.get(side)
    return set(cores) if isinstance(cores, list) else set()


def asleep(trials: Iterable[TrialRecord]) -> frozenset[str]:
    """The labels whose server slept, if that of others polled; none where all had the same."""
    states: dict[bool, set[str]] = defaultdict(set)
    for trial in trials:
        states[polled(trial)].add(trial.label)
    return frozenset(states[False]) if states[True] else frozenset()


def labels_of(records: Records, *, twins: bool = False) -> list[str]:
    """Labels in the campaign's order; labels it does not name follow, sorted."""
    seen = {t.label for t in trials_of(records, status=None, twins=twins)}
    order: list[str] = []
    for name in records.campaign.backends:
        order += [label for label in (name, twin_of(name)) if label in seen]
    return order + sorted(seen - set(order))


def points_of(records: Records, *workloads: str, status: str | None = "ok") -> list[str]:
    """Point ids that have trials, in the campaign's order."""
    seen = {t.point for t in trials_of(records, *workloads, status=status)}
    order = [point for point in records.campaign.points if point in seen]
    return order + sorted(seen - set(order), key=natural_key)


def widest_point(records: Records) -> str | None:
    """The point of a crawl at many slots with the most backends; None without any trial."""
    backends: dict[str, set[str]] = defaultdict(set)
    for trial in trials_of(records, "ladder", "throughput"):
        backends[trial.point].add(trial.backend)
    return max(backends, key=lambda point: len(backends[point]), default=None)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key under which ``throughput-10`` comes before ``throughput-100``."""
    return tuple(
        (0, int(part), "") if part.isdecimal() and len(part) < MOST_DIGITS else (1, 0, part)
        for part in text.replace("-", " ").split()
    )


def number_param(trial: TrialRecord, name: str) -> float | None:
    value = trial.params.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def limiter_of(trials: Iterable[TrialRecord]) -> Limiter | None:
    """The most frequent limiter; ``unclear`` on a tie, None where no trial has one."""
    counts = Counter(t.limiter for t in trials if t.limiter is not None).most_common(2)
    if not counts:
        return None
    if len(counts) == 2 and counts[0][1] == counts[1][1]:
        return "unclear"
    return counts[0][0]


#: Confidence level of every interval.
LEVEL: Final = 0.95
AT_LEVEL: Final = in_percent(LEVEL)
"""The same in a sentence."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over blocks: their average and their whole range, outliers included."""

    value: float
    low: float
    high: float
    count: int


Average = Literal["geometric mean", "median"]
"""What stands for all blocks; the name is that in a sentence.

The ratio of two backends is the geometric mean of those within blocks, so it is the quotient of two
geometric means: whoever divides the numbers of a picture finds the ratio in its title. Over
campaigns they also scatter less than medians (docs/notebook/method-studies.md).

The *median* is for response times: one stall makes a block's p99 ten times as high, and a mean of
percentiles follows it. It is also for parts of memory and for counts, which may be 0 in a block.
"""


def average(values: Sequence[float], how: Average = "geometric mean") -> float:
    """The average of at least one value; the arithmetic mean where one is not above 0.

    The mean of differences, some of which are below 0, is what their interval is about.
    """
    if how == "median":
        return float(np.median(values))
    ordered = np.sort(values)  # whatever the order of the blocks
    if ordered[0] == ordered[-1]:
        return float(ordered[0])  # to the last digit
    return float(np.exp(np.log(ordered).mean()) if ordered[0] > 0 else ordered.mean())


def spread(values: Iterable[float | None], how: Average = "geometric mean") -> Spread | None:
    """Average, minimum and maximum of the values that exist; None without any."""
    kept = [float(v) for v in values if v is not None and math.isfinite(v)]
    return Spread(average(kept, how), min(kept), max(kept), len(kept)) if kept else None


def middle(values: Iterable[float | None], how: Average = "geometric mean") -> float | None:
    """The average of the values that exist; None without any."""
    around = spread(values, how)
    return around.value if around else None


def pages_per_s(trial: TrialRecord) -> float | None:
    """Pages per second; in turns, of the time that the host left to this guest.

    One theft of 100 ms, in a block whose labels count 150 ms each, would make its victim look
    40 % slower than all the others.
    """
    rate, turns = trial.pages_per_s, trial.turns
    return rate * turns.robbed if rate and turns else rate


def share_of_ceiling(trials: Sequence[TrialRecord]) -> Spread | None:
    """Requests/s of the trials as a share of the server's ceiling, over blocks."""
    return spread(trial.shares.ceiling_share for trial in trials if trial.shares)
