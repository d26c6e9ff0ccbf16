"""What a naive harness would have claimed about the same A/A pairs.

The A/A pair is one backend under two labels, so every difference claimed
between them is false. This module replays a common way to benchmark on the
campaign's own whole trials, without blocks and intervals, and counts false claims. (A
campaign that ran everything in turns has no others, so there it takes those.)

* **Fixed order**: all runs of one label, then all runs of the other. The first
  label's runs come from the earliest blocks and the second's from the latest,
  as if the rounds had run one after the other. Each label goes first once.
* **Mean of three**, unpaired.
* **Two common rules** for "there is a difference": the means differ by more
  than 5 %, or all three runs of one are above all three of the other (error
  bars from lowest to highest do not overlap). Two sets of three runs from the
  same distribution separate like that in 2 of 20 cases by chance alone, before
  any drift.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.analysis import stats
from bench.analysis.stats import Metric
from bench.plan.labels import twin_of
from bench.store import Records

#: Runs per label of the naive harness.
RUNS: Final = 3
#: Relative difference of the means that the naive harness believes.
THRESHOLD: Final = 0.05


@dataclass(frozen=True, slots=True)
class NaiveClaim:
    """One naive comparison of a backend with itself."""

    point: str
    metric: str
    first: str  # the label whose runs came first
    ratio: float  # mean of the second label over mean of the first
    by_threshold: bool
    by_ranges: bool


@dataclass(frozen=True, slots=True)
class NaiveResult:
    """False claims of the naive harness and of this suite, on the same pairs."""

    claims: tuple[NaiveClaim, ...]
    by_threshold: int
    by_ranges: int
    ours: stats.AaResult

    @property
    def tested(self) -> int:
        """Number of naive comparisons."""
        return len(self.claims)

    def of(self, points: Collection[str], metrics: Sequence[Metric]) -> NaiveResult:
        """The claims at these points by these metrics."""
        names = {metric.name for metric in metrics}
        return _counted(
            [c for c in self.claims if c.point in points and c.metric in names], self.ours
        )

    @property
    def words(self) -> str:
        """The comparison in one sentence."""
        if not self.claims:
            return "The naive harness needs an A/A pair in at least three blocks."
        return (
            f"In {self.tested} comparisons of a backend with itself, a naive harness (fixed order, "
            f"mean of three) would have claimed {self.by_threshold} differences by “means differ "
            f"by more than {100 * THRESHOLD:.0f} %” and {self.by_ranges} by “ranges do not "
            f"overlap”; this suite claims {self.ours.alarms} in {self.ours.tested}."
        )


def naive_claims(
    records: Records,
    metrics: Sequence[Metric] = stats.METRICS,
    *,
    ours: stats.AaResult | None = None,
) -> NaiveResult:
    """Replay the naive harness on the campaign's A/A pairs, for every metric.

    Needs at least three blocks per point; with fewer than six the first label's
    and the second label's runs share blocks (never trials).
    """
    found: list[NaiveClaim] = []
    ways = stats.ways_of(records)
    for metric in metrics:
        trials = stats.trials_of(records, *metric.workloads)
        values = stats.block_values(trials, metric)
        every = stats.aa_pairs(records, metric)
        alone = [pair for pair in every if ways[pair[0]] != "turns"]
        for point, backend in alone or every:
            for first, second in ((backend, twin_of(backend)), (twin_of(backend), backend)):
                early, late = values.get((point, first), {}), values.get((point, second), {})
                if len(early) < RUNS or len(late) < RUNS:
                    continue
                a = [early[b] for b in sorted(early)[:RUNS]]
                b = [late[b] for b in sorted(late)[-RUNS:]]
                ratio = float(np.mean(b) / np.mean(a))
                found.append(
                    NaiveClaim(
                        point,
                        metric.name,
                        first,
                        ratio,
                        abs(ratio - 1.0) > THRESHOLD,
                        min(a) > max(b) or min(b) > max(a),
                    )
                )
    return _counted(found, ours or stats.aa_check(records, metrics))


def _counted(claims: Sequence[NaiveClaim], ours: stats.AaResult) -> NaiveResult:
    return NaiveResult(
        tuple(claims),
        sum(c.by_threshold for c in claims),
        sum(c.by_ranges for c in claims),
        ours,
    )
