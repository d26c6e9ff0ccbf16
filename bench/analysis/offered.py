"""Open loops: which rates a backend keeps up with, what it can do at most, and what all can."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from bench.analysis import stats
from bench.schema import Latency, TrialRecord

KEEPS_UP: Final = 0.99
"""Below this share of the offered rate a backend no longer keeps up.

Its queue then grows as long as the trial lasts, so a response time says how long that was.
"""

ENOUGH: Final = 100 * stats.MIN_BEYOND
"""Samples for a 99th percentile."""

HALF: Final = 0.5
"""A share of capacity at which a queue is short."""


def tail_ms(time: Latency | None) -> float | None:
    """The 99th percentile; None with too few samples for one."""
    return time.p99_ms if time and time.count >= ENOUGH else None


ByRate = Mapping[str, Mapping[float, Sequence[TrialRecord]]]
"""Label -> offered rate -> its trials."""


def keeps_up(trials: Sequence[TrialRecord], rate: float) -> bool:
    """Whether so many requests were fetched as were offered."""
    achieved = stats.spread(t.achieved_per_s for t in trials)
    offered = stats.spread(t.offered_per_s or rate for t in trials)
    return bool(achieved and offered and achieved.median >= KEEPS_UP * offered.median)


def capacity(rates: Mapping[float, Sequence[TrialRecord]]) -> float | None:
    """Requests/s where more were offered: the most it achieved. None where it kept up with all."""
    beyond = [trials for rate, trials in rates.items() if not keeps_up(trials, rate)]
    reached = [stats.middle(trial.achieved_per_s for trial in trials) for trials in beyond]
    return max((rate for rate in reached if rate), default=None)


def shared_rate(data: ByRate, labels: Collection[str]) -> float | None:
    """The rate at which all of these can be compared; None if there is none.

    All keep up with it, in blocks enough for an interval if any rate has them, and each trial has
    samples enough for a p99. Of such rates it is the highest that is at most half of what the
    slowest can do, or else the lowest; the highest of all where nobody was offered too much.
    """
    here = [data[label] for label in labels if label in data]
    common = sorted(set.intersection(*map(set, here))) if here else []
    fit = [
        rate
        for rate in common
        if all(keeps_up(rates[rate], rate) for rates in here)
        if all(tail_ms(trial.response_time) is not None for rates in here for trial in rates[rate])
    ]
    blocks = {rate: min(len(rates[rate]) for rates in here) for rate in fit}
    enough = min(stats.MIN_BLOCKS, max(blocks.values(), default=0))
    fit = [rate for rate in fit if blocks[rate] >= enough]
    slowest = min((most for rates in here if (most := capacity(rates))), default=math.inf)
    easy = [rate for rate in fit if rate <= HALF * slowest]
    return max(easy) if easy else min(fit, default=None)
