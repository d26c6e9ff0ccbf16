"""Percentile curves on the axis of HdrHistogram plots: the shared part of two charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter

from bench.analysis import stats
from bench.schema import Latency, TrialRecord

MARKS = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


@dataclass(frozen=True, slots=True)
class Curve:
    """Times from the median upwards: all trials merged, and the range of the single trials.

    ``positions`` go with ``ms``, ``band`` with ``low`` and ``high``; the band is empty
    for a single trial.
    """

    positions: Sequence[float]
    ms: Sequence[float]
    band: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    count: int
    trials: int
    p50_ms: float
    p99_ms: float

    @property
    def highest(self) -> float:
        """The highest percentile with enough samples beyond it."""
        return 100 * (1 - stats.MIN_BEYOND / self.count)


def curve(
    trials: Sequence[TrialRecord], which: Callable[[TrialRecord], Latency | None]
) -> Curve | None:
    """The curve of one of the trials' latencies; None without samples."""
    encoded = [found.hdr for t in trials if (found := which(t))]
    if not encoded:
        return None
    merged = stats.merge_histograms(encoded)
    percentiles, values = merged.curve()
    upper = percentiles >= 50.0
    percentiles, values = percentiles[upper], values[upper]
    if percentiles.size < 2:
        return None
    singles = [stats.merge_histograms([text]) for text in encoded]
    reach = min(h.highest_percentile for h in singles)
    band = [float(p) for p in percentiles if p <= reach] if len(singles) > 1 else []
    each = [[h.at_ms(p) for h in singles] for p in band]
    return Curve(
        positions=[position(float(p)) for p in percentiles],
        ms=[float(v) for v in values],
        band=[position(p) for p in band],
        low=[min(values) for values in each],
        high=[max(values) for values in each],
        count=merged.count,
        trials=len(encoded),
        p50_ms=merged.at_ms(50),
        p99_ms=merged.at_ms(99),
    )


def position(percentile: float) -> float:
    """Place of a percentile on the axis: the number of nines, log10 of 1/(1 - p)."""
    return -math.log10(1.0 - percentile / 100.0)


def percentile_axis(axes: Axes, highest: float) -> None:
    """Ticks at 50, 90, 99, 99.9 … as far as there are samples."""
    shown = [m for m in MARKS if m <= highest + 1e-9]
    axes.xaxis.set_major_locator(FixedLocator([position(m) for m in shown]))
    names = {round(position(m), 6): f"p{m:g}" for m in shown}
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: names.get(round(v, 6), "")))
    axes.set_xlim(position(50.0), max(position(highest), position(90.0)))
