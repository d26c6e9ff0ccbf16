"""Ratios of two backends, paired within blocks, with their intervals and verdicts.

The interval is the *expanded percentile bootstrap* of the mean log ratio: a
percentile interval (B. Efron and R. Tibshirani, *An Introduction to the
Bootstrap*, 1993, chapter 13) whose quantiles are moved outwards for the small
number of blocks (T. Hesterberg, *The American Statistician* 69 (2015) 371,
section 3.3), widened on either side to Student's t where that reaches further.
The plain percentile and BCa intervals are too short for the number of blocks a
campaign has. Nominal 95 % intervals covered the truth this often in simulation
(4,000 data sets each):

====== ========== ========== ==== =========== =========== =====
blocks noise      percentile BCa  Student's t bootstrap-t used
====== ========== ========== ==== =========== =========== =====
5      normal     0.84       0.84 0.95        0.98        0.95
5      t, 3 d.f.  0.82       0.81 0.97        0.98        0.97
5      bursts     0.82       0.79 0.97        0.98        0.97
5      one-sided  0.78       0.80 0.89        0.94        0.89
8      normal     0.89       0.89 0.95        0.97        0.95
8      t, 3 d.f.  0.88       0.86 0.96        0.97        0.96
8      bursts     0.88       0.84 0.97        0.98        0.97
8      one-sided  0.84       0.86 0.90        0.93        0.92
15     normal     0.92       0.92 0.95        0.96        0.95
15     one-sided  0.88       0.89 0.91        0.93        0.92
====== ========== ========== ==== =========== =========== =====

"Bursts": one trial in ten is hit by an interruption. "One-sided": the log ratios
are exponentially distributed, as if only one of two backends were ever
interrupted. There the interval is too short, which is one reason why a
difference must exceed the noise floor too. The (symmetric) bootstrap-t covers at
least as well, but one time in twenty it is 4.7 times as long as Student's at five
blocks and 2.5 times at six; the interval used is at most 1.1 times as long. With
fewer than :data:`MIN_BLOCKS` (five) blocks their whole range would miss the truth
one time in eight, so no interval is given.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats as sps

from bench.analysis.stats.metrics import PAGES_PER_S, Metric, per_exchange
from bench.analysis.stats.records import LEVEL, Spread, labels_of, limiter_of, trials_of
from bench.schema import TrialRecord
from bench.store import Records

IntArray = npt.NDArray[np.int64]

#: Fewest blocks from which an interval is given; see the module docstring.
MIN_BLOCKS: Final = 5
#: Bootstrap resamples for one interval.
RESAMPLES: Final = 10_000
#: Seed of the resampling; fixed, so a report can be rebuilt to the byte.
SEED: Final = 20_261
#: Accepted share of false alarms among the differences shown in one campaign.
FALSE_DISCOVERY_RATE: Final = 0.05

#: Margins within which two backends are called equivalent, the narrowest that fits is named.
MARGINS: Final = (0.02, 0.05)

EQUIVALENT: Final = "equivalent"
UNDECIDED: Final = "undecided"
TOO_FEW: Final = "too few blocks"
OTHER_WORK: Final = "other work"


@dataclass(frozen=True, slots=True)
class Ratio:
    """A paired ratio, other over base, with its interval and its verdict in words."""

    value: float | None  # geometric mean of the per-block ratios
    low: float | None  # None when refused
    high: float | None
    blocks: int
    p: float | None  # two-sided, Student's t on the log ratios
    per_block: tuple[float, ...]
    verdict: str  # "faster", "slower", "equivalent", "undecided", "too few blocks", "other work"
    reason: str  # why the verdict is what it is, in one clause
    margin: float | None = None  # equivalent: the whole interval is within ± this share
    smallest: float | None = None  # the smallest difference this could have shown, as a share

    @property
    def shown(self) -> bool:
        return self.verdict not in (EQUIVALENT, UNDECIDED, TOO_FEW, OTHER_WORK)

    @property
    def median(self) -> float | None:
        return float(np.median(self.per_block)) if self.per_block else None

    @property
    def skewed(self) -> bool:
        """Whether a few blocks decide the mean, so that the median block must stand beside it.

        It does if the two are farther apart than half the distance from the mean to the nearer
        end of the interval.
        """
        if self.value is None or self.low is None or self.high is None or self.median is None:
            return False
        nearer = min(math.log(self.high / self.value), math.log(self.value / self.low))
        return abs(math.log(self.median / self.value)) > nearer / 2

    @property
    def spread(self) -> Spread | None:
        """The estimate with its interval, or without one; None where nothing was measured."""
        if self.value is None:
            return None
        return Spread(self.value, self.low or self.value, self.high or self.value, self.blocks)

    def without_verdict(self, reason: str) -> Ratio:
        """The estimate alone: the two sides did not do the same work."""
        return Ratio(self.value, None, None, self.blocks, None, self.per_block, OTHER_WORK, reason)

    def inverse(self, metric: Metric) -> Ratio:
        """The same comparison with its sides swapped, and the same verdict from there."""
        swapped = {metric.more: metric.less, metric.less: metric.more}
        return replace(
            self,
            value=None if self.value is None else 1 / self.value,
            low=None if self.high is None else 1 / self.high,
            high=None if self.low is None else 1 / self.low,
            per_block=tuple(1 / value for value in self.per_block),
            verdict=swapped.get(self.verdict, self.verdict),
        )


@lru_cache(maxsize=64)
def _resample_indices(blocks: int) -> IntArray:
    rng = np.random.default_rng((SEED, blocks))
    return rng.integers(0, blocks, (RESAMPLES, blocks), dtype=np.int64)


def log_interval(logs: Sequence[float]) -> tuple[float, float]:
    """Expanded percentile bootstrap interval of the mean of ``logs``.

    The percentile interval of n values is too short by about the factor
    sqrt((n - 1) / n) z / t; Hesterberg's expansion takes the quantiles at which
    a normal sample would give Student's interval. It is then widened, on either
    side, to Student's where that lies further out. Sorting the values first
    makes the result independent of the order of the blocks. Needs at least two
    values; equal values give a point.
    """
    if len(logs) < 2:
        raise ValueError("an interval needs at least two values")
    values = np.sort(np.asarray(logs, dtype=np.float64))
    blocks = values.size
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(blocks)
    if error <= 1e-12:  # all blocks agree to the last digit
        mean = mean if abs(mean) > 1e-12 else 0.0
        return mean, mean
    t = float(sps.t.ppf(0.5 + LEVEL / 2, blocks - 1))
    tail = float(sps.norm.cdf(-math.sqrt(blocks / (blocks - 1)) * t))
    means = values[_resample_indices(blocks)].mean(axis=1)
    low, high = np.quantile(means, (tail, 1.0 - tail))
    return min(float(low), mean - t * error), max(float(high), mean + t * error)


def ratio(
    base_blocks: Mapping[int, float],
    other_blocks: Mapping[int, float],
    *,
    floor: float = 0.0,
    metric: Metric = PAGES_PER_S,
) -> Ratio:
    """Compare ``other`` with ``base``, paired within blocks.

    Both map block number to the trial's value; blocks that only one side has
    are left out. The estimate is the
    geometric mean of the per-block ratios. ``floor`` is the noise floor as an
    absolute log ratio (:attr:`NoiseFloor.log`). Below :data:`MIN_BLOCKS` pairs
    there is an estimate but no interval, and the verdict is "too few blocks".

    The verdicts, in this order. *Different*: the interval excludes 1 and the
    difference exceeds the floor. *Equivalent*: the whole interval lies within ±2 %
    or ±5 %, and so does the floor. That is two one-sided tests (D. J. Schuirmann, J.
    Pharmacokinet. Biopharm. 15 (1987) 657) at 2.5 % each. *Undecided* otherwise.
    """
    both = sorted(
        b
        for b in base_blocks.keys() & other_blocks.keys()
        if base_blocks[b] > 0 and other_blocks[b] > 0
    )
    per_block = tuple(other_blocks[b] / base_blocks[b] for b in both)
    if not both:
        return Ratio(None, None, None, 0, None, (), TOO_FEW, "no block has both")
    logs = np.log(per_block)
    value = float(np.exp(np.sort(logs).mean()))
    if len(both) < MIN_BLOCKS:
        reason = f"{len(both)} of at least {MIN_BLOCKS} blocks"
        return Ratio(value, None, None, len(both), None, per_block, TOO_FEW, reason)
    low, high = log_interval([float(x) for x in logs])
    error = float(logs.std(ddof=1)) / math.sqrt(len(both))
    mean = float(logs.mean())
    if error <= 1e-12:
        p = 1.0 if abs(mean) <= 1e-12 else 0.0
    else:
        p = 2.0 * float(sps.t.sf(abs(mean) / error, len(both) - 1))
    margin = next((m for m in MARGINS if max(-low, high, floor) <= math.log1p(m)), None)
    verdict, reason = UNDECIDED, "the interval includes 1"
    if (low > 0 or high < 0) and abs(math.log(value)) > floor:
        margin = None
        verdict = metric.more if value > 1 else metric.less
        reason = "the interval excludes 1 and the difference exceeds the noise floor"
    elif margin is not None:
        verdict = EQUIVALENT
        reason = f"the whole interval lies within ±{100 * margin:.0f} %"
    elif low > 0 or high < 0:
        reason = f"within the noise floor of {floor_words(floor)}"
    return Ratio(
        value,
        math.exp(min(low, 700.0)),
        math.exp(min(high, 700.0)),
        len(both),
        p,
        per_block,
        verdict,
        reason,
        margin,
        math.expm1(min(max((high - low) / 2, floor), 700.0)),
    )


def floor_words(floor: float) -> str:
    """A log ratio as a percentage: ``±3.1 %``."""
    return f"±{100 * math.expm1(floor):.1f} %"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One backend against the base at one workload point, by one metric."""

    workload: str
    point: str
    metric: Metric
    base: str
    label: str
    ratio: Ratio
    server_limited: bool  # the server capped either side, so this is not the backend's speed

    @property
    def inverse(self) -> Comparison:
        """The same comparison with its sides swapped."""
        ratio = self.ratio.inverse(self.metric)
        return replace(self, base=self.label, label=self.base, ratio=ratio)


def block_values(
    trials: Iterable[TrialRecord], metric: Metric
) -> dict[tuple[str, str], dict[int, float]]:
    """(point, label) -> block -> value; trials of one block that repeat are averaged in logs."""
    found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        value = metric.value(trial)
        if value is not None and value > 0 and math.isfinite(value):
            found[trial.point, trial.label][trial.block].append(value)
    return {
        key: {block: float(np.exp(np.mean(np.log(v)))) for block, v in blocks.items()}
        for key, blocks in found.items()
    }


def costs_in_modes(records: Records, *workloads: str) -> dict[str, dict[str, dict[int, float]]]:
    """Label -> mode -> block -> microseconds per page, in the campaign's order.

    In a point with modes a backend takes turns with itself.
    """
    costs: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for trial in trials_of(records, *workloads, twins=False):
        value = per_exchange(trial)
        if value is not None:
            costs[trial.label][str(trial.params.get("mode"))][trial.block] = value
    return {label: costs[label] for label in labels_of(records) if label in costs}


def server_limited(records: Records) -> set[tuple[str, str]]:
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records):
        groups[trial.point, trial.label].append(trial)
    return {key for key, trials in groups.items() if limiter_of(trials) == "server"}


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Withdraw the verdicts of one family that the Benjamini–Hochberg step does not keep."""
    tested = [i for i, c in enumerate(found) if c.ratio.p is not None]
    # Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995) 289. Preferred to Holm's step
    # because readers quote single differences: what matters is the share of false ones among
    # those shown. Valid under the positive dependence that a shared base brings.
    adjusted = sps.false_discovery_control([found[i].ratio.p or 0.0 for i in tested])
    kept = [bool(p <= FALSE_DISCOVERY_RATE) for p in adjusted]
    result = list(found)
    for i, keep in zip(tested, kept, strict=True):
        ratio = found[i].ratio
        if not keep and ratio.shown:
            result[i] = replace(found[i], ratio=withdrawn(ratio, len(tested)))
    return result


def withdrawn(ratio: Ratio, family: int) -> Ratio:
    """A difference that did not pass in its family: equivalent if it is small, else undecided.

    It was shown, so it exceeds the noise floor, and the floor is within the margin too.
    """
    reach = max(ratio.high or math.inf, 1 / (ratio.low or 1e-300))
    margin = next((m for m in MARGINS if reach <= 1 + m), None)
    return replace(
        ratio,
        verdict=UNDECIDED if margin is None else EQUIVALENT,
        reason=f"not significant after correcting for {family} comparisons"
        + ("" if margin is None else f", and within ±{100 * margin:.0f} %"),
        margin=margin,
    )
