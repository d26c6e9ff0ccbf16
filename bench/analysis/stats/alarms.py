"""False alarms: what this suite's rule says of one backend compared with itself.

A pair is one backend under two labels at one point. Its trials have several metrics, so one
pair gives several comparisons, and they are not independent: a slow trial is slow by all of
them. Rates and bounds are therefore counted over pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from scipy import stats as sps

from bench.analysis.stats.metrics import CPU_PER_1000, METRICS, PAGES_PER_S, Metric
from bench.analysis.stats.noise import WAYS, Way, aa_pairs, floor_from, ways_of
from bench.analysis.stats.ratios import (
    RESAMPLES,
    Comparison,
    corrected,
    ratio,
    server_limited,
)
from bench.analysis.stats.records import trials_of
from bench.analysis.stats.spread import LEVEL, Spread, spread
from bench.plan.labels import twin_of
from bench.store import Records
from bench.text import listing, plural


@dataclass(frozen=True, slots=True)
class Signs:
    """How often the second label of a pair was above the first, by one metric."""

    metric: Metric
    above: int
    below: int

    @property
    def p(self) -> float:
        """Of the two-sided sign test: small if one label is favoured."""
        both = self.above + self.below
        return float(sps.binomtest(self.above, both).pvalue) if both else 1.0


@dataclass(frozen=True, slots=True)
class AaResult:
    """This suite's verdicts on one backend compared with itself.

    Every difference shown is a false alarm by construction. The noise floor for
    a pair comes from the *other* pairs, because a pair would hardly exceed a
    floor that it set itself. ``interval_alarms`` counts intervals that exclude 1,
    without any noise floor; ``alarms`` counts full verdicts, corrected within each
    metric like real comparisons.
    """

    comparisons: tuple[Comparison, ...]
    tested: int
    alarms: int
    interval_alarms: int
    refused: int  # too few blocks
    ways: Mapping[str, Way] = field(default_factory=dict)  # point -> how it was measured

    @property
    def rate(self) -> float | None:
        """Share of false alarms, None without any test."""
        return self.alarms / self.tested if self.tested else None

    @property
    def pairs(self) -> int:
        """Independent pairs that were tested by at least one metric."""
        return len({(c.point, c.base) for c in _tested(self.comparisons)})

    @property
    def alarmed(self) -> int:
        """Pairs with a false alarm by at least one metric."""
        return len({(c.point, c.base) for c in self.comparisons if c.ratio.shown})

    @property
    def bound(self) -> float | None:
        """The highest share of pairs with a false alarm that fits these; None without a test."""
        return clopper_pearson(self.alarmed, self.pairs) if self.pairs else None

    def signs(self, metric: Metric) -> Signs:
        """Over the tested pairs by one metric; those that agree to the last digit are left out.

        They are among those that :attr:`pairs` counts: one with too few blocks is in neither.
        """
        tested = _tested(self.comparisons)
        values = [c.ratio.value for c in tested if c.metric.name == metric.name]
        return Signs(
            metric,
            sum(value is not None and value > 1 for value in values),
            sum(value is not None and value < 1 for value in values),
        )

    def of(self, *ways: Way, metrics: Sequence[Metric] = METRICS) -> tuple[int, int]:
        """False alarms and comparisons of these ways of measuring and these metrics."""
        names = {metric.name for metric in metrics}
        mine = [
            c
            for c in _tested(self.comparisons)
            if self.ways.get(c.point) in ways and c.metric.name in names
        ]
        return sum(c.ratio.shown for c in mine), len(mine)

    def smallest(self, metric: Metric, way: Way) -> Spread | None:
        """The differences that the pairs of one way could have seen by a metric, as shares."""
        return spread(
            c.ratio.smallest
            for c in _tested(self.comparisons)
            if c.metric.name == metric.name and self.ways.get(c.point) == way
        )

    def serial(self, metric: Metric, way: Way) -> tuple[float, float] | None:
        """How the ratios of successive blocks correlate, and the standard error of that.

        The true ratio is 1, so the logs are not centred. Intervals take blocks as
        independent; far from 0 they are too short.
        """
        products = squares = 0.0
        steps = 0
        for c in _tested(self.comparisons):
            if c.metric.name == metric.name and self.ways.get(c.point) == way:
                logs = [math.log(value) for value in c.ratio.per_block]
                products += sum(a * b for a, b in pairwise(logs))
                squares += sum(a * a for a in logs) * (len(logs) - 1) / len(logs)
                steps += len(logs) - 1
        return (products / squares, 1 / math.sqrt(steps)) if squares > 0 else None

    @property
    def words(self) -> str:
        """The result in one sentence."""
        if not self.tested:
            why = f" ({self.refused} had too few blocks)" if self.refused else ""
            return f"No A/A comparison could be tested{why}."
        return (
            f"{plural(self.alarms, 'false alarm')} in {plural(self.tested, 'A/A comparison')} "
            f"({100 * self.alarms / self.tested:.0f} %); {self.interval_alarms} by the interval "
            "alone."
        )

    @property
    def accounting(self) -> list[str]:
        """Independent pairs with their bound, the balance of signs, and the power; sentences."""
        if not self.tested:
            return []
        lines = [
            f"These comparisons are {plural(self.pairs, 'independent pair')} under several "
            f"metrics. {self.alarmed} of them raised an alarm, so at most "
            f"{100 * (self.bound or 0):.0f} % of such pairs do ({100 * LEVEL:.0f} % "
            "Clopper–Pearson bound)."
        ]
        signs = [self.signs(metric) for metric in (PAGES_PER_S, CPU_PER_1000)]
        counted = [
            f"{found.above} of {found.above + found.below} pairs by {found.metric.title} "
            f"(sign test p = {found.p:.2f})"
            for found in signs
            if found.above + found.below
        ]
        if counted:
            lines.append(f"The second label was above the first in {listing(counted)}.")
        if serial := self.serial(CPU_PER_1000, "turns"):
            lines.append(
                "The A/A ratios of successive blocks by CPU per page in turns correlate by "
                f"{serial[0]:+.2f} ± {serial[1]:.2f} (standard error); intervals take it as 0."
            )
        names = {
            "turns": "in turns",
            "whole": "in whole trials",
            "paced": "in whole trials behind a delay",
        }
        seen = [
            f"{names[way]} {100 * found.median:.1f} % (at worst {100 * found.high:.1f} %)"
            for way in WAYS
            if (found := self.smallest(CPU_PER_1000, way))
        ]
        if seen:
            lines.append(
                "The smallest difference in CPU per page that an A/A pair could have seen: "
                f"{listing(seen)}."
            )
        return lines


def clopper_pearson(found: int, of: int, level: float = LEVEL) -> float:
    """The one-sided upper bound on a share: the highest that gives so few this often.

    C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404. With none of n it is about
    3 / n.
    """
    return 1.0 if found >= of else float(sps.beta.ppf(level, found + 1, of - found))


def aa_check(
    records: Records, metrics: Sequence[Metric] = METRICS, *, resamples: int = RESAMPLES
) -> AaResult:
    """Test every A/A pair of the campaign by every metric, as if it were a real comparison."""
    limited = server_limited(records)
    workload_of = {t.point: t.workload for t in trials_of(records)}
    found: list[Comparison] = []
    tested = interval_alarms = refused = 0
    for metric in metrics:
        kinds = [aa_pairs(records, metric, way) for way in WAYS]
        family: list[Comparison] = []
        for (point, backend), logs, alike in (
            (key, logs, pairs) for pairs in kinds for key, logs in pairs.items()
        ):
            others = {k: v for k, v in alike.items() if k != (point, backend)}
            floor = floor_from(metric, others).log or 0.0
            result = ratio(
                dict.fromkeys(logs, 1.0),
                {b: math.exp(x) for b, x in logs.items()},
                floor=floor,
                metric=metric,
                resamples=resamples,
            )
            if result.low is None or result.high is None:
                refused += 1
            else:
                tested += 1
                interval_alarms += not result.low <= 1.0 <= result.high
            hollow = (point, backend) in limited
            family.append(
                Comparison(
                    workload_of[point], point, metric, backend, twin_of(backend), result, hollow
                )
            )
        found += corrected(family)
    alarms = sum(c.ratio.shown for c in found)
    return AaResult(tuple(found), tested, alarms, interval_alarms, refused, ways_of(records))


def _tested(comparisons: Sequence[Comparison]) -> list[Comparison]:
    return [c for c in comparisons if c.ratio.low is not None]
