"""How each kind of figure is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from bench.analysis.stats import Spread
from bench.controls import CONTROLS
from bench.palette import mix
from bench.report.charts.axes import (
    PERCENTILES,
    bar_label,
    bar_range,
    bar_rows,
    edge,
    log_axis,
    markers,
    nines_axis,
    ratio_axis,
    ratio_ticks,
    round_numbers,
    time_axis,
    value_axis,
)
from bench.report.charts.look import Identity
from bench.report.charts.slide import EndLabel, Slide, measure
from bench.show import cells
from bench.show.figures import (
    Axis,
    Bars,
    Cloud,
    Colour,
    Data,
    DotGroup,
    DotPanel,
    Dots,
    Estimate,
    Forest,
    Line,
    LinePoint,
    Lines,
    Panel,
    Plot,
    Stack,
    Unit,
)
from bench.show.words import named
from bench.text import count
from crawlers.registry import MODELS

# --- bars: one or two for each label, plain, of parts, or as marks; in one panel or several ---

ALONE: Final = ((0.0, 0.62),)
PAIRED: Final = ((-0.2, 0.36), (0.2, 0.36))
"""Place within a row and height: of a single bar, and of one above another."""

HATCH: Final = "//"
"""Marks a part that is calculated, not read."""

COLOURS: Final = {
    "light": {
        **{"blue": "#3d4a5c", "sky": "#8fa3b8", "red": "#a98b5d"},
        **{"yellow": "#dcc48e", "pink": "#b9a5cc", "grey": "#d3d7dd"},
    },
    "dark": {
        **{"blue": "#b9c6d6", "sky": "#6f8296", "red": "#c2a36f"},
        **{"yellow": "#7d6a3f", "pink": "#9a84b0", "grey": "#4a515b"},
    },
}
"""One colour per part, and none that a backend has: these charts compare the parts."""

PALE: Final = 0.6
"""How much background is in the bar of a single trial."""


def draw_bars(bars: Bars, slide: Slide) -> None:
    """Panels side by side; those with the rows of the first have no names of their own."""
    if bars.faint:
        slide.swatches([(bars.faint, _faint(slide), ""), (bars.strong, slide.palette.ink, "")])
    if bars.parts:
        slide.swatches(_key(bars, slide))
    first, most = bars.panels[0], max(_height(panel) for panel in bars.panels)
    size = slide.label_size(most, 15.0)
    named = [panel is first or [*panel.rows] != [*first.rows] for panel in bars.panels]
    axes = slide.panels(len(bars.panels))
    rooms = [
        slide.label_room(panel.rows, size) * name
        for panel, name in zip(bars.panels, named, strict=True)
    ]
    width = (slide.room - sum(rooms)) / len(bars.panels)
    for one, panel, name in zip(axes, bars.panels, named, strict=True):
        _panel(slide, one, panel, bars, size, width)
        bar_rows(slide, one, list(panel.rows), size)
        one.set_xlabel(panel.axis, fontsize=15 if len(axes) < 3 else 13)
        one.tick_params(axis="y", labelleft=name)
        if len(bars.panels) > 1 and one.get_xscale() == "linear" and panel.around is None:
            # In a part of a slide six ticks touch.
            one.locator_params(axis="x", nbins=max(2, 6 - len(bars.panels)))


def _height(panel: Panel) -> int:
    """Bars below each other, those of a row included."""
    return len(panel.rows) * max(map(len, panel.rows.values()), default=0)


def _faint(slide: Slide) -> str:
    return mix(slide.palette.muted, slide.palette.background, 0.45)


def _key(bars: Bars, slide: Slide) -> list[tuple[str, str, str]]:
    rows = [row for panel in bars.panels for row in panel.rows.values()]
    stacks = [bar for row in rows for bar in row if isinstance(bar, Stack)]
    hatched = {part for stack in stacks for part in stack.hatched}
    return [
        (
            f"{part} (calculated)" if part in hatched else part,
            _colour(slide, colour),
            HATCH * (part in hatched),
        )
        for part, colour in bars.parts.items()
        if any(stack.parts.get(part, 0.0) > 0 for stack in stacks)
    ]


def _colour(slide: Slide, colour: Colour, label: str = "") -> str:
    palette = slide.palette
    if colour == "own":
        return slide.look.of(label).colour if label else palette.ink
    if colour == "faint":
        return mix(palette.muted, palette.background, 0.55)
    return COLOURS[slide.look.theme][colour]


def _panel(slide: Slide, axes: Axes, panel: Panel, bars: Bars, size: float, width: float) -> None:
    """The bars of a panel, their ranges and figures, and the scale that has room for these."""
    ends: dict[str, float] = {}
    figures: list[tuple[str, float, float, bool]] = []
    for place, (label, row) in enumerate(panel.rows.items()):
        for number, (bar, (shift, height)) in enumerate(
            zip(row, ALONE if len(row) == 1 else PAIRED, strict=True)
        ):
            if bar is None or (isinstance(bar, Stack) and not bar.parts):
                continue
            strong, at = number == len(row) - 1 or isinstance(bar, Stack), place + shift
            if isinstance(bar, Stack):
                end = _stack(slide, axes, bars, bar, label, at, height)
            elif panel.dots:
                end = _dot(slide, axes, bar, label, at, hollow=label in panel.hollow)
            else:
                end = _bar(slide, axes, panel, bar, label, at, height, strong=strong)
            value = bar.total if isinstance(bar, Stack) else bar.median
            name = f"{bar.name} " if isinstance(bar, Stack) and bar.name else ""
            figures.append(
                (panel.said.get(label) or name + panel.unit.words(value), end, at, strong)
            )
            ends[label] = max(end, ends.get(label, 0.0))
    room = max((measure(text, size, "bold") for text, *_ in figures), default=0.0) + 22.0
    _scale(axes, panel, ends, min(0.62, room / width), slide.palette.band)
    for text, end, at, strong in figures:
        if panel.around is None:
            bar_label(axes, text, end, at, size, bold=strong)
        else:  # words below a ratio: the axis goes on to the right
            bar_label(axes, text, 1.0, at, size, below=True)


def _scale(axes: Axes, panel: Panel, ends: Mapping[str, float], share: float, band: str) -> None:
    """An axis on which the figures take this share of the panel, right of the longest bar."""
    most = max(ends.values(), default=1.0)
    lows = [bar.low for row in panel.rows.values() for bar in row if isinstance(bar, Spread)]
    if panel.around is not None:
        low, high = min([*lows, 0.9]) / 1.1, max(most, 1.1) * 1.1
        axes.axvline(1.0, color=axes.xaxis.label.get_color(), linewidth=1.4, zorder=1)
        floor = math.exp(panel.around)
        axes.axvspan(1 / floor, floor, color=band, zorder=0)
        log_axis(axes, (low, high), ratio_ticks(low, high, 3), "{:g}×".format, "x")
    elif panel.dots and lows and most > LOG_FROM * min(lows) > 0:
        low = min(lows) / 1.35
        high = low * (most / low) ** (1 / (1 - share))
        ticks = [tick for tick in round_numbers(low, most, (1, 3)) if tick <= most]
        log_axis(axes, (low, high), ticks, panel.unit.ticks, "x")
    else:
        value_axis(axes, [most / (1 - share)], axis="x", words=panel.unit.ticks)


LOG_FROM: Final = 8.0
"""Marks that differ by more than this factor lie on a logarithmic axis."""


def _bar(
    slide: Slide,
    axes: Axes,
    panel: Panel,
    bar: Spread,
    label: str,
    at: float,
    height: float,
    *,
    strong: bool,
) -> float:
    palette = slide.palette
    own = palette.ink if label in CONTROLS else slide.look.of(label).colour
    fill, hollow = own if strong else _faint(slide), label in panel.hollow
    inside = mix(fill, palette.background, PALE) if bar.count == 1 else fill
    axes.barh(
        at,
        bar.median,
        height=height,
        color=palette.background if hollow else inside,
        edgecolor=fill,
        linewidth=2.0 * hollow or 1.0 * (bar.count == 1),
        zorder=2,
    )
    if bar.count > 1:
        bar_range(axes, bar.low, bar.high, at, palette.ink)
    return bar.high


def _dot(slide: Slide, axes: Axes, bar: Spread, label: str, at: float, *, hollow: bool) -> float:
    look = slide.look.of(label)
    if bar.count > 1:
        axes.plot([bar.low, bar.high], [at, at], color=look.colour, linewidth=3.0, alpha=0.6)
    edges = [edge(limited=hollow, count=bar.count)]
    markers(axes, look, [bar.median], [at], edges, slide.palette.background, 12.0)
    return bar.high


def _stack(
    slide: Slide, axes: Axes, bars: Bars, stack: Stack, label: str, at: float, height: float
) -> float:
    left = 0.0
    for part, colour in bars.parts.items():
        value = stack.parts.get(part, 0.0)
        axes.barh(
            at,
            value,
            left=left,
            height=height,
            color=_colour(slide, colour, label),
            hatch=HATCH if part in stack.hatched else None,
            edgecolor=slide.palette.background,
            linewidth=0,
            zorder=2,
        )
        left += value
    if stack.interval is None:
        return stack.total
    bar_range(axes, *stack.interval, at, slide.palette.ink)
    return max(stack.total, stack.interval[1])


# --- dots with their intervals, in groups side by side, in one panel or in several ---


def draw_dots(dots: Dots, slide: Slide) -> None:
    """Panels row by row; the groups of a column lie below each other."""
    if dots.key:
        slide.key(dots.key)
    rows = len(dots.panels) // dots.columns
    for axes, panel in zip(
        slide.panels(dots.columns, rows, sharex=rows > 1), dots.panels, strict=True
    ):
        _dots_panel(slide, axes, panel, dots)


def _dots_panel(slide: Slide, axes: Axes, panel: DotPanel, dots: Dots) -> None:
    start, ticks = 0.0, []
    # Room for the name of a group with few dots.
    least = 0.13 * sum(len(group.dots) for group in panel.groups)
    for number, group in enumerate(panel.groups):
        room = max(0.0, least - len(group.dots))
        end = start + len(group.dots) - 1 + room
        _dots(slide, axes, group, start + room / 2)
        ticks.append((start + end) / 2)
        if number in dots.breaks:
            axes.axvline(end + 1, color=slide.palette.muted, linewidth=1.2, linestyle=(0, (4, 3)))
        start = end + 2
    found = [dot for group in panel.groups for dot in group.dots]
    if panel.ratios:
        ends = [v for dot in found for v in (dot.value, dot.low, dot.high) if v]
        axes.axhline(1.0, color=slide.palette.muted, linewidth=1.3, zorder=1)
        ratio_axis(axes, min([*ends, 0.9]) / 1.04, max([*ends, 1.1]) * 1.04, 4)
    else:
        tops = [v for dot in found if (v := dot.high or dot.value) is not None]
        value_axis(axes, tops, words=panel.ticks)
    axes.set_xlim(-1, start - 1)
    axes.set_xticks(ticks, [group.name for group in panel.groups])
    names = sum(measure(group.name, 13) + 10 for group in panel.groups)
    size = max(9.6, 13 * min(1.0, 0.86 * slide.room / dots.columns / names))
    axes.tick_params(axis="x", labelcolor=slide.palette.ink, labelsize=size)
    axes.set_title(panel.title, fontweight="bold")


def _dots(slide: Slide, axes: Axes, group: DotGroup, start: float) -> None:
    for place, dot in enumerate(group.dots):
        if dot.value is None:
            continue
        look, x = slide.look.of(dot.label), start + place
        if dot.low is not None and dot.high is not None:
            axes.plot(
                [x, x], [dot.low, dot.high], color=look.colour, linewidth=2.4, alpha=0.6, zorder=3
            )
        markers(axes, look, [x], [dot.value], [0.0], slide.palette.background, 8.5)


# --- lines: in one panel with the names at their ends, or in several with a key ---


def draw_lines(figure: Lines, slide: Slide) -> None:
    """Panels row by row; names at the ends of lines need a panel that is alone."""
    names = list(dict.fromkeys(label for plot in figure.plots for label in plot.lines))
    columns, alone = figure.columns, len(figure.plots) == 1
    size = slide.label_size(len(names))
    room = slide.label_room(_told(figure, names), size) if alone else 0.0
    if not alone:
        slide.key(names)
    rows = len(figure.plots) // columns
    panels = slide.panels(columns, rows, right=room, sharex=columns == 1)
    for place, (axes, plot) in enumerate(zip(panels, figure.plots, strict=True)):
        row, column = divmod(place, columns)
        small = columns > 1
        ends = _lines(slide, axes, plot, names, figure, small=small)
        _x_axis(axes, plot.x, figure.plots[column::columns], small=small)
        _y_axis(slide, axes, plot, figure.plots[row * columns :][:columns])
        _shade(slide, axes, plot)
        _beyond(slide, axes, plot)
        if row == rows - 1 and column == columns // 2:
            axes.set_xlabel(plot.x.label)
        if small:
            axes.set_title(plot.title, fontweight="bold", fontsize=14.0)
            axes.tick_params(labelsize=11.0, labelleft=column == 0)
            axes.set_ylabel(plot.y.label if column == 0 else "", fontsize=14.0)
        else:
            axes.set_title(plot.title, color=slide.palette.muted)
        if alone:
            slide.label_ends(axes, ends, size)


def _told(figure: Lines, names: Sequence[str]) -> list[str]:
    """What stands at the ends of lines, roughly: as wide as that."""
    if not figure.told:
        return list(names)
    (plot,) = figure.plots
    values = [max(p.y.median for p in line) for line in plot.lines.values() if line]
    longest = max(map(plot.y.words, values), key=len, default="")
    return [f"{name} {longest}" for name in names]


def _lines(
    slide: Slide, axes: Axes, plot: Plot, names: Sequence[str], figure: Lines, *, small: bool
) -> list[EndLabel]:
    # On an axis of counts all lines have points at the same places: moved a little apart,
    # their ranges do not hide each other.
    nudge = 0.0
    if plot.x.scale == "counts":
        nudge = 0.0 if plot.dashed else 0.05 if small else min(0.014, 0.1 / len(names))
    ends = []
    for label, points in plot.lines.items():
        look = slide.look.of(label)
        shift = 10 ** ((names.index(label) - (len(names) - 1) / 2) * nudge)
        xs, ys = [point.x * shift for point in points], [point.y.median for point in points]
        for hair in plot.hairs.get(label, ()):
            places = [p.x for p in hair], [p.y.median for p in hair]
            axes.plot(*places, color=look.colour, linewidth=0.8, alpha=0.4, zorder=2)
        if figure.ranges == "shades":
            low, high = [p.y.low for p in points], [p.y.high for p in points]
            axes.fill_between(xs, low, high, color=look.colour, alpha=0.18, linewidth=0)
        elif not plot.hairs:
            _ranges(axes, look, xs, points)
        # A single trial is a mark, and no line leads to it.
        for start, end in pairwise(range(len(points))):
            if points[start].y.count > 1 and points[end].y.count > 1:
                segment = xs[start : end + 1], ys[start : end + 1]
                axes.plot(
                    *segment,
                    color=look.colour,
                    linewidth=look.width,
                    linestyle=look.line,
                    zorder=look.order,
                )
        background = slide.palette.background
        if not plot.marks:
            edges = [edge(limited=point.hollow, count=point.y.count) for point in points]
            markers(axes, look, xs, ys, edges, background, 7.0 if small else 10.0)
        elif label in plot.marks:
            _mark(axes, look, plot.marks[label], background)
        if fitted := plot.dashed.get(label):
            for one, other in pairwise(fitted):
                how = "-" if other.x <= points[-1].x else (0, (4, 3))
                ends_of = [one.x, other.x], [one.y.median, other.y.median]
                axes.plot(*ends_of, color=look.colour, linewidth=1.4, linestyle=how, zorder=2)
            xs, ys = [fitted[-1].x], [fitted[-1].y.median]
        text = f"{named(label)} {plot.y.words(ys[-1])}" if figure.told else named(label)
        ends.append(EndLabel(text, xs[-1], ys[-1], look.colour, look.width > 2))
    for label, points in plot.dotted.items():
        axes.plot(
            [point.x for point in points],
            [point.y.median for point in points],
            color=slide.look.of(label).colour,
            linewidth=1.4,
            linestyle=(0, (2, 2)),
            zorder=2,
        )
    return ends


def _ranges(axes: Axes, look: Identity, xs: Sequence[float], points: Line) -> None:
    """A bar from the lowest to the highest trial, below the line it belongs to."""
    for x, point in zip(xs, points, strict=True):
        if point.y.count > 1:
            axes.plot(
                [x, x],
                [point.y.low, point.y.high],
                color=look.colour,
                linewidth=look.width + 1.5,
                alpha=0.45,
                solid_capstyle="butt",
                zorder=look.order,
            )


def _mark(axes: Axes, look: Identity, point: LinePoint, background: str) -> None:
    axes.plot(
        [point.x],
        [point.y.median],
        marker=look.marker,
        markersize=11,
        color=look.colour,
        markeredgecolor=background,
        markeredgewidth=1.5,
        zorder=look.order + 1,
        clip_on=False,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _x_axis(axes: Axes, axis: Axis, column: Sequence[Plot], *, small: bool) -> None:
    lines = [line for plot in column for line in plot.lines.values()]
    dashed = [line for plot in column for line in plot.dashed.values()]
    places = sorted({point.x for line in [*lines, *dashed] for point in line})
    low, high = places[0], places[-1]
    match axis.scale:
        case "nines":
            nines_axis(axes, high, (50.0, 99.0, 99.99) if small else PERCENTILES)
        case "values":
            value_axis(axes, places, axis="x", words=axis.words)
        case "shares":
            value_axis(axes, [high], axis="x", words=_percent)
            axes.set_xlim(0, high * 1.02)
        case "counts":
            beside = 1.8 if high > low else 4.0
            left, right = (beside, beside) if small else (1.25, 1.15 if high > low else 1.6)
            log_axis(axes, (low / left, high * right), places, count, "x")
            if small:
                axes.tick_params(axis="x", labelrotation=45.0)
        case _:
            value_axis(axes, [high], axis="x", words=axis.words)
            axes.set_xlim(0, high * 1.02)


def _y_axis(slide: Slide, axes: Axes, plot: Plot, row: Sequence[Plot]) -> None:
    spreads = [spread for each in row for spread in each.spreads]
    values = [value for spread in spreads for value in (spread.low, spread.high)]
    values += [p.y.median for each in row for line in each.dotted.values() for p in line]
    values += [p.y.median for each in row for line in each.dashed.values() for p in line]
    values += [p.y.median for each in row for own in each.hairs.values() for h in own for p in h]
    match plot.y.scale:
        case "times":
            time_axis(axes, values)
        case "ratios":
            ratio_axis(axes, min(*values, 0.9) / 1.1, max(*values, 1.1) * 1.1, 6)
            axes.axhline(1.0, color=slide.palette.muted, linewidth=1.2, zorder=1)
        case "values":
            value_axis(axes, values, words=plot.y.words)
        case _:
            value_axis(axes, [max(values)], words=plot.y.words)


def _beyond(slide: Slide, axes: Axes, plot: Plot) -> None:
    """From where on there is no value, only an arrow."""
    if plot.beyond is None:
        return
    start, why = plot.beyond
    axes.set_xlim(0, start * 1.22)
    axes.axvspan(start, start * 1.22, color=slide.palette.band, zorder=0)
    where, ink = axes.get_xaxis_transform(), slide.palette.ink
    arrow = {"arrowstyle": "-|>", "color": ink, "linewidth": 2.0}
    ends = (start * 1.2, 0.95), (start * 1.02, 0.95)
    axes.annotate("", *ends, xycoords=where, textcoords=where, arrowprops=arrow)
    axes.annotate(why, (start * 1.02, 0.92), xycoords=where, va="top", fontsize=12, color=ink)


def _shade(slide: Slide, axes: Axes, plot: Plot) -> None:
    if plot.shade:
        low, high = plot.shade
        axes.axvspan(low or axes.get_xlim()[0], high, color=slide.palette.band, zorder=0)


# --- a forest: each label and the one thing it changes, with figures and ratios beside it ---

BAR_SHARE: Final = 0.45
"""How much of its panel the longest bar takes; figures and ratios stand right of it."""

SMALL: Final = 0.95
"""Of a name is the size of what its backend changes."""


def draw_forest(forest: Forest, slide: Slide) -> None:
    """Names and changes on the left, then a panel for each quantity."""
    number = len(forest.rows)
    left = 1.55 if forest.changes else 1.3
    text, *panels = slide.panels(
        1 + len(forest.columns), widths=[left, *[1.0] * len(forest.columns)]
    )
    size = slide.label_size(number * 2, 12.0) if forest.changes else slide.label_size(number, 10.5)
    for axes in (text, *panels):
        axes.set_ylim(number - 0.5, -0.5)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines["bottom"].set_visible(False)
    for axes, title in zip(panels, forest.columns, strict=True):
        axes.set_title(title.replace(", ", "\n"), fontsize=13)
        if forest.at is not None:
            axes.axvline(forest.at, color=slide.palette.grid, linewidth=1.4, zorder=1)
    text.set_axis_off()
    slide.settle()
    room = text.get_window_extent().width
    for place, (label, estimates) in enumerate(forest.rows.items()):
        change = fitted(forest.changes.get(label, ""), size * SMALL, room)
        _names(slide, text, place, label, change, size)
        for axes, estimate, unit in zip(panels, estimates, forest.columns.values(), strict=True):
            _estimate(slide, axes, place, label, estimate, unit, size)
    for column, axes in enumerate(panels):
        spreads = [row[column].spread for row in forest.rows.values()]
        most = max((spread.high for spread in spreads if spread), default=1.0)
        axes.set_xlim(0, most / BAR_SHARE)


def _names(slide: Slide, axes: Axes, place: int, label: str, change: str, size: float) -> None:
    where, larger = ("bottom", 1.15) if change else ("center", 1.0)
    for words, shift, side, scale, colour, weight in (
        (label, 0.0, where, larger, slide.palette.ink, "bold" if label in MODELS else "normal"),
        (change, 0.03, "top", SMALL, slide.palette.muted, "normal"),
    ):
        axes.annotate(
            words,
            (0, place + shift),
            xycoords=("axes fraction", "data"),
            va=side,
            fontsize=size * scale,
            fontweight=weight,
            color=colour,
        )


def fitted(text: str, size: float, room: float) -> str:
    """The text, cut at a word where it is wider than ``room`` pixels."""
    words = text.split(" ")
    while len(words) > 1 and measure(text, size) > room:
        words.pop()
        text = " ".join(words).rstrip(",;:") + " …"
    return text


def _estimate(
    slide: Slide, axes: Axes, place: int, label: str, estimate: Estimate, unit: Unit, size: float
) -> None:
    """A bar with its range, its figure, and the ratio below it."""
    ink, muted, spread = slide.palette.ink, slide.palette.muted, estimate.spread
    if spread is None:
        axes.annotate("not measured", (0, place), va="center", fontsize=size, color=muted)
        return
    colour = slide.look.of(label).colour
    axes.barh(place, spread.median, height=0.62, color=colour, zorder=2)
    if spread.count > 1:
        axes.plot([spread.low, spread.high], [place, place], color=ink, linewidth=1.6, zorder=5)
    change, ratio = cells.change(estimate.ratio), estimate.ratio
    for text, shift, tone, weight in (
        (estimate.words or unit.words(spread.median), 0.55 if change else 0.0, ink, "bold"),
        (change, -0.55, ink if ratio and ratio.shown else muted, "normal"),
    ):
        axes.annotate(
            text,
            (max(spread.high, spread.median), place),
            xytext=(8, shift * size * 1.15),
            textcoords="offset points",
            va="center",
            fontsize=size,
            fontweight=weight,
            color=tone,
        )


def draw_cloud(cloud: Cloud, slide: Slide) -> None:
    """Dots of every label, each named at the middle of its own, and the line below them."""
    (axes,) = slide.panels(1)
    places = [place for dots in cloud.dots.values() for place in dots]
    right = max(x for x, _ in places) * 1.05
    # The highest hundredth is somebody else's work; the axis would be for that alone.
    top = sorted(y for _, y in places)[int(0.99 * (len(places) - 1))] * 1.15
    fixed, slope = cloud.line
    axes.plot([0, right], [fixed, fixed + slope * right], color=slide.palette.ink, linewidth=1.6)
    for label, dots in cloud.dots.items():
        look = slide.look.of(label.partition(",")[0])
        filled = "," not in label
        xs, ys = zip(*dots, strict=True)
        axes.scatter(
            xs,
            ys,
            s=14,
            marker=look.marker,
            facecolors=look.colour if filled else "none",
            edgecolors=look.colour,
            linewidths=0.8,
            alpha=0.55,
            zorder=3,
        )
        # Beside the highest of its dots, where few others are.
        highest = sorted(ys)[int(0.97 * (len(ys) - 1))]
        name = axes.annotate(
            label,
            (median(xs), min(highest, top)),
            xytext=(10, 4),
            textcoords="offset points",
            color=look.colour,
            fontweight="bold",
            zorder=6,
        )
        name.set_path_effects([withStroke(linewidth=4, foreground=slide.palette.background)])
    axes.set(xlim=(0, right), ylim=(0, top), xlabel=cloud.x.label, ylabel=cloud.y.label)
    value_axis(axes, [top], words=cloud.y.words)


DRAW: Final[dict[type, Callable[..., None]]] = {
    Bars: draw_bars,
    Cloud: draw_cloud,
    Dots: draw_dots,
    Forest: draw_forest,
    Lines: draw_lines,
}


def draw(data: Data, slide: Slide) -> None:
    """Draw a figure's data on a slide."""
    DRAW[type(data)](data, slide)
