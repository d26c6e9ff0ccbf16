"""Percentile curves on the axis of HdrHistogram plots: the shared part of three charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from bench import stats
from bench.charts.style import duration_tick
from bench.schema import Latency, TrialRecord

MARKS = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def position(percentile: float) -> float:
    """Place of a percentile on the axis: the number of nines, log10 of 1/(1 - p)."""
    return -math.log10(1.0 - percentile / 100.0)


def percentile_axis(axes: Axes, highest: float) -> None:
    """Ticks at 50, 90, 99, 99.9 … as far as the samples carry."""
    shown = [m for m in MARKS if m <= highest + 1e-9]
    axes.xaxis.set_major_locator(FixedLocator([position(m) for m in shown]))
    names = {round(position(m), 6): f"p{m:g}" for m in shown}
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: names.get(round(v, 6), "")))
    axes.set_xlim(position(50.0), max(position(highest), position(90.0)))


def time_axis(axes: Axes, values: Sequence[float], room: float = 0.04) -> None:
    """Logarithmic axis of times with ticks at 1, 2 and 5 where they fit.

    ``room`` is the share of the axis left free above and below the values.
    """
    positive = [v for v in values if v > 0]
    free = max(max(positive) / min(positive), 1.5) ** room
    low, high = min(positive) / free, max(positive) * free
    decades = math.log10(high / low)
    steps = (
        (1, 1.5, 2, 3, 5, 7)
        if decades < 0.7
        else (1, 2, 5)
        if decades < 1.6
        else (1, 3)
        if decades < 2.6
        else (1,)
    )
    ticks = [
        m * 10.0**e
        for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for m in steps
    ]
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: duration_tick(v)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())


def curve(
    trials: Sequence[TrialRecord], which: Callable[[TrialRecord], Latency | None]
) -> tuple[list[float], list[float], list[float], list[float], list[float], int] | None:
    """Merged curve from the median upwards, and the range of the single trials' curves.

    Returns positions and ms of the merged histogram; positions, lowest and
    highest ms of the band; and the number of samples. None without samples.
    """
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
    low: list[float] = []
    high: list[float] = []
    band = [float(p) for p in percentiles if p <= reach] if len(singles) > 1 else []
    for p in band:
        each = [h.at_ms(p) for h in singles]
        low.append(min(each))
        high.append(max(each))
    return (
        [position(float(p)) for p in percentiles],
        [float(v) for v in np.asarray(values)],
        [position(p) for p in band],
        low,
        high,
        merged.count,
    )
