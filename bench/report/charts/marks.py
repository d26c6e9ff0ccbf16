"""What several charts draw alike: lines, bars, markers, ranges and keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes

from bench.analysis.stats import Spread
from bench.report.charts.look import Identity, is_stack, named
from bench.report.charts.slide import EndLabel, Slide


def range_bar(axes: Axes, identity: Identity, x: float, spread: Spread) -> None:
    """A bar from the lowest to the highest trial, below the line it belongs to."""
    axes.plot(
        [x, x],
        [spread.low, spread.high],
        color=identity.colour,
        linewidth=identity.width + 1.5,
        alpha=0.45,
        solid_capstyle="butt",
        zorder=identity.order,
    )


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


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a line: its place, its trials, and whether the server was the limit."""

    x: float
    spread: Spread
    hollow: bool = False


Lines = Mapping[str, Sequence[Point]]
"""Label -> its points, from left to right."""


def draw_lines(
    slide: Slide, axes: Axes, lines: Lines, *, shaded: bool = False, nudge: float = 0.0
) -> list[EndLabel]:
    """One line per label through the medians, with the range of the trials; returns its labels.

    Ranges are bars, or a shade. ``nudge`` moves each line by so many decades of a
    logarithmic axis, so that bars at the same place do not hide each other.
    """
    ends: list[EndLabel] = []
    for place, (label, points) in enumerate(lines.items()):
        look = slide.look.of(label)
        shift = 10 ** ((place - (len(lines) - 1) / 2) * nudge)
        xs = [point.x * shift for point in points]
        ys = [point.spread.median for point in points]
        if shaded:
            low, high = [p.spread.low for p in points], [p.spread.high for p in points]
            axes.fill_between(xs, low, high, color=look.colour, alpha=0.18, linewidth=0)
        else:
            for x, point in zip(xs, points, strict=True):
                if point.spread.count > 1:
                    range_bar(axes, look, x, point.spread)
        axes.plot(
            xs,
            ys,
            color=look.colour,
            linewidth=look.width,
            linestyle=look.line,
            zorder=look.order,
        )
        hollow = [point.hollow for point in points]
        markers(axes, look, xs, ys, hollow, slide.palette.background)
        ends.append(EndLabel(label, xs[-1], ys[-1], look.colour, look.width > 2))
    return ends


def extent(lines: Lines) -> list[float]:
    """All values that the lines and their ranges reach."""
    spreads = [point.spread for points in lines.values() for point in points]
    return [value for spread in spreads for value in (spread.low, spread.high)]


def spreads_of(lines: Lines) -> list[Spread]:
    """The spreads of all points."""
    return [point.spread for points in lines.values() for point in points]


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
