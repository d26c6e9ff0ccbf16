"""Axes: their scales, limits and ticks; and the markers, rows and ranges in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from bench.report.charts.look import Identity
from bench.report.charts.slide import Slide
from bench.show.words import is_stack, named
from bench.text import MIB, count, duration_tick, number, size_words


def count_axis(axes: Axes, values: Sequence[float], *, axis: str = "x") -> None:
    """Logarithmic axis with a tick at each of the given counts."""
    target = axes.xaxis if axis == "x" else axes.yaxis
    (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
    target.set_major_locator(FixedLocator(sorted(set(values))))
    target.set_major_formatter(FuncFormatter(lambda v, _: count(v)))
    target.set_minor_formatter(NullFormatter())
    target.set_minor_locator(NullLocator())


def value_axis(
    axes: Axes,
    values: Sequence[float],
    *,
    axis: str = "y",
    words: Callable[[float], str] = number,
    log_beyond: float = 20.0,
) -> None:
    """Linear from zero when the values are within a factor of 20, else logarithmic."""
    target = axes.xaxis if axis == "x" else axes.yaxis
    positive = [v for v in values if v > 0 and math.isfinite(v)]
    formatter = FuncFormatter(lambda v, _: words(v))
    set_scale = axes.set_xscale if axis == "x" else axes.set_yscale
    set_limits = axes.set_xlim if axis == "x" else axes.set_ylim
    if positive and max(positive) / min(positive) > log_beyond:
        set_scale("log")
        low, high = min(positive) / 1.25, max(positive) * 1.25
        set_limits(low, high)
        decades = math.log10(high / low)
        subs = (1.0,) if decades > 2.6 else (1.0, 3.0)
        target.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
        target.set_minor_locator(NullLocator())
    elif positive:
        set_limits(0, max(positive) * 1.08)
        target.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    target.set_major_formatter(formatter)


def memory_axis(axes: Axes, values: Sequence[float]) -> None:
    """Logarithmic y axis with round numbers of MiB where two of them fit, else as other values."""
    low, high = min(values) / 1.2, max(values) * 1.2
    steps = [m * 10**e * MIB for e in range(-1, 6) for m in (1, 2, 5)]
    ticks = [v for v in steps if low <= v <= high]
    if len(ticks) < 2:
        value_axis(axes, values, words=size_words)
        return
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.set_yticks(ticks, [f"{v / MIB:,g} MiB" for v in ticks])
    axes.set_yticks([], minor=True)


def time_axis(axes: Axes, values: Sequence[float], room: float = 0.04, *, axis: str = "y") -> None:
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
    target = axes.xaxis if axis == "x" else axes.yaxis
    (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
    (axes.set_xlim if axis == "x" else axes.set_ylim)(low, high)
    target.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high]))
    target.set_major_formatter(FuncFormatter(lambda v, _: duration_tick(v)))
    target.set_minor_locator(NullLocator())
    target.set_minor_formatter(NullFormatter())


PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def nines_axis(axes: Axes, highest: float, percentiles: Sequence[float] = PERCENTILES) -> None:
    """Ticks at these percentiles, as far as there are samples."""
    named = {-math.log10(1 - p / 100): f"p{p:g}" for p in percentiles}
    shown = {place: name for place, name in named.items() if place <= highest + 1e-9}
    axes.set_xticks(list(shown), list(shown.values()))
    axes.set_xlim(min(named), max(highest, 1.0))


def ratio_axis(axes: Axes, ends: Sequence[float], most: int, *, axis: str = "y") -> None:
    """A logarithmic axis from the lowest to the highest ratio, at most ``most`` ticks.

    Half and double are equally far from 1, which is always a tick.
    """
    low, high = min(ends), max(ends)
    target = axes.xaxis if axis == "x" else axes.yaxis
    (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
    (axes.set_xlim if axis == "x" else axes.set_ylim)(low, high)
    target.set_major_locator(FixedLocator(ratio_ticks(low, high, most)))
    target.set_minor_locator(NullLocator())
    target.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}×"))


def ratio_ticks(low: float, high: float, most: int) -> list[float]:
    """Round ratios within the limits, 1 always among them, not more than ``most``.

    Adjacent ticks lie at least 1/(most + 1) of the axis apart, so labels do not touch.
    """
    span = math.log(high / low)
    candidates = [1.0, 2.0, 0.5, 4.0, 0.25, 8.0, 0.1, 10.0, 1.5, 0.75, 3.0, 1.25, 0.8, 1.2, 0.9]
    candidates += [1.1, 0.6, 0.7, 0.95, 1.05, 0.85, 1.15, 0.97, 1.03, 0.98, 1.02, 0.99, 1.01]
    chosen: list[float] = []
    for value in candidates:
        if low <= value <= high and all(
            abs(math.log(value / other)) >= span / (most + 1) for other in chosen
        ):
            chosen.append(value)
    return sorted(chosen)


# --- what several kinds of figures draw alike ---


def markers(
    axes: Axes,
    identity: Identity,
    x: Sequence[float],
    y: Sequence[float],
    hollow: Sequence[bool],
    background: str,
    size: float = 10.0,
) -> None:
    """Markers of a line, hollow where the server was the limit."""
    for a, b, empty in zip(x, y, hollow, strict=True):
        axes.plot(
            [a],
            [b],
            linestyle="none",
            marker=identity.marker,
            # Variants may be many: theirs are smaller.
            markersize=size if identity.width > 2 else 0.7 * size,
            markerfacecolor=background if empty else identity.colour,
            markeredgecolor=identity.colour,
            markeredgewidth=2.4 if empty else 0.0,
            zorder=identity.order + 1,
            clip_on=False,
        )


def bar_rows(slide: Slide, axes: Axes, names: Sequence[str], size: float) -> None:
    """An axis of one row per name, from the top, for horizontal bars.

    A line divides models and variants from whole HTTP stacks.
    """
    axes.set_yticks(range(len(names)), list(map(named, names)))
    for place, (above, below) in enumerate(pairwise(names)):
        if is_stack(above) != is_stack(below):
            axes.axhline(place + 0.5, color=slide.palette.muted, linewidth=1.0, zorder=1)
    axes.tick_params(axis="y", labelsize=size, labelcolor=slide.palette.ink)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.spines["bottom"].set_visible(False)


def bar_label(
    axes: Axes, text: str, x: float, place: float, size: float, *, bold: bool = False
) -> None:
    """The figure of a bar, right of its end."""
    axes.annotate(
        text,
        (x, place),
        xytext=(10, 0),
        textcoords="offset points",
        va="center",
        fontsize=size,
        fontweight="bold" if bold else "normal",
    )


def bar_range(axes: Axes, low: float, high: float, place: float, colour: str) -> None:
    """The range of a bar's trials, or its interval, with a short stroke at each end."""
    axes.plot([low, high], [place] * 2, color=colour, linewidth=1.8, zorder=5)
    for end in (low, high):
        axes.plot([end] * 2, [place - 0.1, place + 0.1], color=colour, linewidth=1.8, zorder=5)
