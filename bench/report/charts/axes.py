"""Axes: their scales, limits and ticks; and the markers, rows and ranges in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bench.report.charts.look import Identity
from bench.report.charts.slide import Slide
from bench.show.words import is_stack, named
from bench.text import duration_tick, number

Which = Literal["x", "y"]


def log_axis(
    axes: Axes,
    ends: tuple[float, float],
    ticks: Sequence[float],
    words: Callable[[float], str],
    axis: Which = "y",
) -> None:
    """A logarithmic axis between these ends, with the ticks that lie on it."""
    axes.set(**{f"{axis}scale": "log", f"{axis}lim": ends})
    # At the foot of the y axis it would lie on a label of the other axis.
    foot = ends[0] * (ends[1] / ends[0]) ** (0.05 * (axis == "y"))
    shown = [tick for tick in ticks if foot <= tick <= ends[1]]
    target = axes.xaxis if axis == "x" else axes.yaxis
    target.set_ticks(shown, labels=list(map(words, shown)))
    target.set_ticks([], minor=True)


def round_numbers(low: float, high: float, steps: Sequence[float]) -> list[float]:
    """These steps of every power of ten from ``low`` to ``high``."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in powers for step in steps]


def value_axis(
    axes: Axes,
    values: Sequence[float],
    *,
    axis: Which = "y",
    words: Callable[[float], str] = number,
) -> None:
    """Linear from zero when the values are within a factor of 20, else logarithmic."""
    positive = [v for v in values if v > 0 and math.isfinite(v)]
    if positive and max(positive) / min(positive) > 20:
        low, high = min(positive) / 1.25, max(positive) * 1.25
        steps = (1,) if math.log10(high / low) > 2.6 else (1, 3)
        log_axis(axes, (low, high), round_numbers(low, high, steps), words, axis)
        return
    target = axes.xaxis if axis == "x" else axes.yaxis
    if positive:
        axes.set(**{f"{axis}lim": (0, max(positive) * 1.08)})
        target.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    target.set_major_formatter(FuncFormatter(lambda v, _: words(v)))


def time_axis(axes: Axes, values: Sequence[float]) -> None:
    """Logarithmic y axis of times with ticks at 1, 2 and 5 where they fit."""
    positive = [v for v in values if v > 0]
    free = max(max(positive) / min(positive), 1.5) ** 0.04
    low, high = min(positive) / free, max(positive) * free
    decades = math.log10(high / low)
    steps: tuple[float, ...] = (1,)
    for most, more in ((2.6, (1, 3)), (1.6, (1, 2, 5)), (0.7, (1, 1.5, 2, 3, 5, 7))):
        steps = more if decades < most else steps
    log_axis(axes, (low, high), round_numbers(low, high, steps), duration_tick)


PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def nines_axis(axes: Axes, highest: float) -> None:
    """Ticks at percentiles, as far as there are samples."""
    named = {-math.log10(1 - p / 100): f"p{p:g}" for p in PERCENTILES}
    shown = {place: name for place, name in named.items() if place <= highest + 1e-9}
    axes.set_xticks(list(shown), list(shown.values()))
    axes.set_xlim(min(named), max(highest, 1.0))


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


SMALL = 8.0
"""Points of a mark that cannot be smaller and have a shape."""

LIMITED, ALONE = 2.4, 1.2
"""Edges of hollow marks, in points: what the server limited, and a single trial."""


def edge(*, limited: bool, count: int) -> float:
    """The edge of a mark; 0 where it is filled."""
    return LIMITED if limited else ALONE if count == 1 else 0.0


def markers(
    axes: Axes,
    identity: Identity,
    x: Sequence[float],
    y: Sequence[float],
    edges: Sequence[float],
    background: str,
    size: float,
) -> None:
    """Markers of a line, hollow where they have an edge."""
    for a, b, width in zip(x, y, edges, strict=True):
        axes.plot(
            [a],
            [b],
            linestyle="none",
            marker=identity.marker,
            # Variants may be many: theirs are smaller, but where all are small.
            markersize=size if identity.width > 2 or size < SMALL else 0.7 * size,
            markerfacecolor=background if width else identity.colour,
            markeredgecolor=identity.colour,
            markeredgewidth=width,
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
    axes: Axes,
    text: str,
    x: float,
    place: float,
    size: float,
    *,
    bold: bool,
    below: bool,
    clear: bool,
) -> None:
    """The figure of a bar, right of its end, or in the middle below a mark.

    ``clear``: what lies behind it must not cross the letters.
    """
    label = axes.annotate(
        text,
        (0.5, place) if below else (x, place),
        xycoords=("axes fraction", "data") if below else "data",
        xytext=(0, -1.7 * size) if below else (10, 0),
        textcoords="offset points",
        va="center",
        ha="center" if below else "left",
        fontsize=size,
        fontweight="bold" if bold else "normal",
        zorder=6,
    )
    if clear:
        label.set_bbox({"facecolor": axes.get_facecolor(), "pad": 1.5, "linewidth": 0})


def bar_range(axes: Axes, low: float, high: float, place: float, colour: str) -> None:
    """The range of a bar's trials, or its interval, with a short stroke at each end."""
    axes.plot([low, high], [place] * 2, color=colour, linewidth=1.8, zorder=5)
    for end in (low, high):
        axes.plot([end] * 2, [place - 0.1, place + 0.1], color=colour, linewidth=1.8, zorder=5)
