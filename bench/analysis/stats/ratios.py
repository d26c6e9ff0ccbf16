"""Ratios of two backends, paired within blocks, with their intervals and verdicts.

The interval is Student's for the mean log ratio. Bootstraps are too short for the number of blocks
that a campaign has, or no better: docs/notebook/method-studies.md has how often each covered the
truth. With fewer than :data:`MIN_BLOCKS` (five) blocks their whole range would miss the truth one
time in eight, so no interval is given.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import special

from bench.analysis.stats.metrics import PAGES_PER_S, Metric
from bench.analysis.stats.records import LEVEL, Spread, average, limiter_of, trials_of
from bench.plan.participants import Label
from bench.schema import TrialRecord
from bench.store import Records
from bench.text import in_percent

#: Fewest blocks from which an interval is given; see the module docstring.
MIN_BLOCKS: Final = 5
#: Accepted share of false alarms among the differences shown in one campaign.
FALSE_DISCOVERY_RATE: Final = 0.05

#: Margins within which two backends are called equivalent, the narrowest that fits is named.
MARGINS: Final = (0.02, 0.05)

FAR_ABOVE: Final = 20.0
"""Of what a process gave back, so that it is a twentieth of a value at most."""

EQUIVALENT: Final = "equivalent"
UNDECIDED: Final = "undecided"
TOO_FEW: Final = "too few blocks"
OTHER_WORK: Final = "other work"
ABOVE: Final = "and the difference exceeds the noise floor"
NO_FLOOR: Final = "and no A/A pair says how large the noise floor is"


@dataclass(frozen=True, slots=True)
class Ratio:
    """A paired ratio, other over base, with its interval and its verdict in words."""

    value: float | None  # geometric mean of the per-block ratios; None of differences
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


def student(values: Sequence[float]) -> tuple[float, float, float]:
    """Student's interval of the mean, and how often chance alone puts it so far from 0.

    Needs at least two values; equal values give a point.
    """
    if len(values) < 2:
        raise ValueError("an interval needs at least two values")
    mean = float(np.mean(np.sort(values)))  # sorted: whatever the order of the blocks
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    if error <= 1e-12:  # all blocks agree to the last digit
        mean = mean if abs(mean) > 1e-12 else 0.0
        return mean, mean, 0.0 if mean else 1.0
    freedom = len(values) - 1
    reach = float(special.stdtrit(freedom, 0.5 + LEVEL / 2)) * error
    return mean - reach, mean + reach, 2.0 * float(special.stdtr(freedom, -abs(mean) / error))


def ratio(
    base_blocks: Mapping[int, float],
    other_blocks: Mapping[int, float],
    *,
    floor: float | None = None,
    metric: Metric = PAGES_PER_S,
) -> Ratio:
    """Compare ``other`` with ``base``, paired within blocks: the one place that gives a verdict.

    Both map block number to the trial's value; blocks that only one side has are left out.
    ``floor`` is the noise floor (:meth:`NoiseFloor.at`), None where there is no A/A pair.

    The verdicts, in this order. *Different*: the interval excludes 1 and the difference exceeds
    the floor. *Equivalent*: the whole interval lies within ±2 % or ±5 %, and so does the floor:
    two one-sided tests (D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657) at 2.5 %
    each. *Undecided* otherwise. A value that is not above 0, as a difference near 0 may be, has no
    ratio. Then the interval is that of the differences, and must exclude 0.
    """
    both = sorted(base_blocks.keys() & other_blocks.keys())
    if not both:
        return Ratio(None, None, None, 0, None, (), TOO_FEW, "no block has both")
    pairs = [(base_blocks[b], other_blocks[b]) for b in both]
    positive = all(min(pair) > 0 for pair in pairs)
    per_block = tuple(other / base for base, other in pairs) if positive else ()
    values = np.log(per_block) if positive else np.array([other - base for base, other in pairs])
    value = average(per_block) if positive else None
    if len(both) < MIN_BLOCKS:
        reason = f"{len(both)} of at least {MIN_BLOCKS} blocks"
        return Ratio(value, None, None, len(both), None, per_block, TOO_FEW, reason)
    low, high, p = student([float(x) for x in values])
    mean = float(values.mean())
    more = metric.more if mean > 0 else metric.less
    if value is None:
        verdict = more if low > 0 or high < 0 else UNDECIDED
        reason = f"the interval of the difference {'in' if verdict == UNDECIDED else 'ex'}cludes 0"
        return Ratio(None, None, None, len(both), p, (), verdict, reason)
    known = floor or 0.0
    margin = next((m for m in MARGINS if max(-low, high, known) <= math.log1p(m)), None)
    verdict, reason = UNDECIDED, "the interval includes 1"
    if (low > 0 or high < 0) and abs(mean) > known:
        margin = None
        verdict, reason = more, f"the interval excludes 1, {ABOVE if floor else NO_FLOOR}"
    elif margin is not None:
        verdict = EQUIVALENT
        reason = f"the whole interval lies within ±{in_percent(margin)}"
    elif low > 0 or high < 0:
        reason = f"within the noise floor of {floor_words(known)}"
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
        math.expm1(min(max((high - low) / 2, known), 700.0)),
    )


def of_slopes(base: Spread, other: Spread, metric: Metric) -> Ratio:
    """``other`` over ``base`` of two fitted slopes, by the far ends of their intervals."""
    value, low, high = other.value / base.value, other.low / base.high, other.high / base.low
    apart = low > 1 or high < 1
    verdict = (metric.more if value > 1 else metric.less) if apart else UNDECIDED
    reason = f"the interval {'ex' if apart else 'in'}cludes 1"
    smallest = math.sqrt(high / max(low, 1e-9)) - 1
    return Ratio(value, low, high, other.count, None, (), verdict, reason, smallest=smallest)


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
    #: What was compared, block by block: of the base, and of the label.
    sides: tuple[Mapping[int, float], Mapping[int, float]] = ({}, {})
    family: int = 1  # comparisons that it was corrected with, itself included

    @property
    def inverse(self) -> Comparison:
        """The same comparison with its sides swapped."""
        ratio, sides = self.ratio.inverse(self.metric), (self.sides[1], self.sides[0])
        return replace(self, base=self.label, label=self.base, ratio=ratio, sides=sides)

    @property
    def paired(self) -> tuple[list[float], list[float]]:
        """The values of the label and of the base in the blocks that have both, else in all."""
        base, label = self.sides
        both = base.keys() & label.keys()
        label_values, base_values = (
            [value for block, value in side.items() if block in both or not both]
            for side in (label, base)
        )
        return label_values, base_values

    @property
    def averages(self) -> tuple[float, float]:
        """Of the label and of the base, in the blocks in which they were compared."""
        label, base = (average(values, self.metric.average) for values in self.paired)
        return label, base


def block_values(
    trials: Iterable[TrialRecord], metric: Metric
) -> dict[tuple[str, str], dict[int, float]]:
    """(point, label) -> block -> value.

    A value below 0 is memory that a process gave back while connections were opened, as
    free-threaded interpreters do. Then no label of this interpreter has values that are not
    :data:`FAR_ABOVE` times as large: each may have given back as much.
    """
    values: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    given_back: dict[tuple[str, str], float] = defaultdict(float)
    for trial in trials:
        value, ran = metric.value(trial), (trial.point, Label.parse(trial.label).interpreter)
        if value is not None and math.isfinite(value):
            given_back[ran] = max(given_back[ran], -value)
            values[trial.point, trial.label][trial.block] = value
    return {
        (point, label): blocks
        for (point, label), blocks in values.items()
        if min(blocks.values()) > FAR_ABOVE * given_back[point, Label.parse(label).interpreter]
    }


def server_limited(records: Records) -> set[tuple[str, str]]:
    groups: dict[tuple[str, str], list[TrialRecord]] = defaultdict(list)
    for trial in trials_of(records):
        groups[trial.point, trial.label].append(trial)
    return {key for key, trials in groups.items() if limiter_of(trials) == "server"}


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Withdraw the verdicts of one family that the Benjamini–Hochberg step does not keep."""
    tested = [i for i, c in enumerate(comparisons) if c.ratio.p is not None]
    # Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995) 289. Preferred to Holm's step
    # because readers quote single differences: what matters is the share of false ones among
    # those shown. Valid under the positive dependence that a shared base brings.
    ranked = np.sort([comparisons[i].ratio.p or 0.0 for i in tested])
    ranks = np.arange(1, len(tested) + 1)
    kept = ranked[ranked * len(tested) / ranks <= FALSE_DISCOVERY_RATE].max(initial=-1.0)
    result = [replace(c, family=len(tested)) for c in comparisons]
    for i in tested:
        ratio = comparisons[i].ratio
        if (ratio.p or 0.0) > kept and ratio.shown:
            result[i] = replace(result[i], ratio=withdrawn(ratio, len(tested)))
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
        + ("" if margin is None else f", and within ±{in_percent(margin)}"),
        margin=margin,
    )
