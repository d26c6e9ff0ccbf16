"""An earlier campaign held against a later one: which of its sentences were wrong.

Ratios are taken within blocks, so those of two campaigns can be compared even where
their absolute figures cannot. A sentence counts as wrong if it showed a difference that
is not there now, or the other way round, or of another size: the two 95 % intervals do
not overlap. "No difference shown" is not wrong, it is blind, and is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from bench.analysis import past as pasts
from bench.analysis.analysis import Analysis
from bench.analysis.stats import EQUIVALENT, TOO_FEW, UNDECIDED, Metric, Ratio
from bench.schema.past import PastCampaign, PastRatio

Kind = Literal["confirmed", "size", "reversed", "gone", "unequal", "seen", "same", "open"]
"""What a later campaign did to a verdict.

``size``: a difference in the same direction, but the intervals do not overlap. ``gone``: a
difference that is not there. ``unequal``: called equivalent, and there is a difference.
``seen`` and ``same``: undecided, and now different or equivalent. ``open``: one of them, or
neither, decides.
"""

WRONG: Final[tuple[Kind, ...]] = ("reversed", "gone", "unequal", "size")
DECIDED: Final[tuple[Kind, ...]] = ("seen", "same")

MORE_FAULTS: Final = 0.5
"""Page faults per page that a backend must differ by to count as doing something else."""


@dataclass(frozen=True, slots=True)
class Change:
    """One ratio, then and now."""

    metric: Metric
    then: PastRatio
    now: Ratio
    kind: Kind
    faults: float | None  # per page, now

    @property
    def present(self) -> tuple[float, float, float]:
        """The ratio now with its interval, which :func:`changes` asks for."""
        return self.now.value or 1.0, self.now.low or 1.0, self.now.high or 1.0

    @property
    def apart(self) -> bool:
        """Whether the two intervals do not overlap."""
        return disjoint(self.then, self.now)


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that both campaigns compared, in the order of the earlier one."""

    past: PastCampaign
    now: PastCampaign
    every: tuple[Change, ...]

    def of(self, *kinds: Kind) -> list[Change]:
        """The changes of these kinds."""
        return [change for change in self.every if change.kind in kinds]


def changes(past: PastCampaign, analysis: Analysis) -> Changes:
    """Compare what both campaigns compared, with an interval in each."""
    faults = pasts.page_faults(analysis)
    found = []
    for metric in pasts.METRICS:
        family = analysis.family(metric)
        for then in past.ratios:
            if then.metric != metric.name:
                continue
            now = family.get((then.point, then.base, then.label))
            if now is None or now.ratio.low is None:
                continue
            each = faults.get((then.point, then.label))
            found.append(Change(metric, then, now.ratio, judge(then, now.ratio), each))
    return Changes(past, pasts.condense(analysis), tuple(found))


def disjoint(then: PastRatio, now: Ratio) -> bool:
    """Whether the intervals of two ratios have nothing in common."""
    if now.low is None or now.high is None:
        return False
    return then.low > now.high or then.high < now.low


def judge(then: PastRatio, now: Ratio) -> Kind:
    """What the later ratio does to the earlier verdict."""
    if then.verdict in (UNDECIDED, TOO_FEW):
        return "seen" if now.shown else "same" if now.verdict == EQUIVALENT else "open"
    if then.verdict == EQUIVALENT:
        return "unequal" if now.shown else "confirmed" if now.verdict == EQUIVALENT else "open"
    apart = disjoint(then, now)
    if not now.shown:
        return "gone" if apart or now.verdict == EQUIVALENT else "open"
    if (then.value > 1) != ((now.value or 1.0) > 1):
        return "reversed"
    return "size" if apart else "confirmed"


def other_work(found: Iterable[Change]) -> dict[str, tuple[float, float]]:
    """Backends that do something else now, by their page faults per page: then and now.

    Medians over the points. An instrument cannot change these much, so where they
    changed, the program or its interpreter did.
    """
    faults: dict[str, list[tuple[float, float]]] = {}
    for change in found:
        then, now = change.then.faults, change.faults
        if then is not None and now is not None:
            faults.setdefault(change.then.label, []).append((then, now))
    medians = {
        label: (median(then for then, _ in each), median(now for _, now in each))
        for label, each in faults.items()
    }
    return {
        label: (then, now)
        for label, (then, now) in medians.items()
        if abs(now - then) >= MORE_FAULTS
    }


def published(found: Sequence[Change]) -> list[Change]:
    """Those whose figure a document quoted."""
    return [change for change in found if change.then.published]
