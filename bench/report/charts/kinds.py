"""How each kind of figure is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Final

from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis

from bench.analysis.stats import Spread
from bench.controls import CONTROLS
from bench.report.charts.axes import (
    bar_label,
    bar_range,
    bar_rows,
    edge,
    log_axis,
    markers,
    nines_axis,
    ratio_ticks,
    round_numbers,
    time_axis,
    value_axis,
)
from bench.report.charts.look import Identity
from bench.report.charts.slide import APART, EndLabel, Slide, measure
from bench.show.figures import (
    Axis,
    Bars,
    Colour,
    FigureData,
    Line,
    Lines,
    Panel,
    Plot,
    Stack,
)
from bench.show.pictures import spreads
from bench.show.table import MISSING
from bench.show.words import named
from bench.text import count

# --- bars: one or two for each label, plain, of parts, or as marks; in one panel or several ---

ALONE: Final = ((0.0, 0.62),)
PAIRED: Final = ((-0.22, 0.4), (0.22, 0.4))
"""Place within a row and height: of a single bar, and of one above another."""

HATCH: Final = "//"
"""Marks a part that is calculated, not read."""

COLOURS: Final = {
    "blue": ("#3d4a5c", "#b9c6d6"),
    "sky": ("#8fa3b8", "#6f8296"),
    "red": ("#a98b5d", "#c2a36f"),
    "yellow": ("#dcc48e", "#7d6a3f"),
    "pink": ("#b9a5cc", "#9a84b0"),
    "grey": ("#d3d7dd", "#4a515b"),
}
"""One colour per part, light and dark, and none that a backend has: bars compare the parts."""

LOG: Final = ", log scale"

PALE: Final = 0.6
"""How much background is in the bar of a single trial."""


def draw_bars(bars: Bars, slide: Slide) -> None:
    """Panels side by side; those with the rows of the first have no names of their own."""
    if bars.faint:
        keys = {bars.faint: _faint(slide), bars.strong: slide.palette.ink}
        if all(spread.count == 1 for spread in spreads(bars)):
            # In grey, a dark swatch would stand for bars that are paler than the faint one.
            keys = {x: slide.look.mix(c, slide.palette.background, PALE) for x, c in keys.items()}
        slide.swatches([(name, colour, "") for name, colour in keys.items()])
    if entries := _key(bars, slide):
        slide.swatches(entries)
    first = bars.panels[0]
    # Bars below each other, those of a row included.
    most = max(sum(map(len, panel.rows.values())) for panel in bars.panels)
    size = slide.label_size(most, 15.0)
    owns = [panel is first or [*panel.rows] != [*first.rows] for panel in bars.panels]
    every_axes = slide.panels(len(bars.panels))
    rooms = [
        slide.label_room(map(named, panel.rows), size) * own
        for panel, own in zip(bars.panels, owns, strict=True)
    ]
    width = (slide.room - sum(rooms)) / len(bars.panels)
    for axes, panel, own in zip(every_axes, bars.panels, owns, strict=True):
        _panel(slide, axes, panel, bars, size, width)
        bar_rows(slide, axes, list(panel.rows), size)
        label, points = _scaled(panel.axis, axes.xaxis), 15.0 if len(every_axes) < 3 else 13.0
        if measure(label, points) + APART > width:
            label = label.replace(LOG, LOG.replace(" ", "\n", 1))
        axes.set_xlabel(label, fontsize=points)
        axes.tick_params(axis="y", labelleft=own)
        if len(bars.panels) > 1 and axes.get_xscale() == "linear" and panel.around is None:
            # In a part of a slide six ticks touch.
            axes.locator_params(axis="x", nbins=max(2, 6 - len(bars.panels)))


def _faint(slide: Slide) -> str:
    return slide.look.mix(slide.palette.muted, slide.palette.background, 0.45)


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
        return slide.look.mix(palette.muted, palette.background, 0.55)
    return slide.look.pair(*COLOURS[colour])


def _panel(slide: Slide, axes: Axes, panel: Panel, bars: Bars, size: float, width: float) -> None:
    """The bars of a panel, their ranges and figures, and the scale that has room for these."""
    ends: dict[str, float] = {}
    figures: list[tuple[str, float, float, bool]] = []
    blanks: list[float] = []
    for place, (label, row) in enumerate(panel.rows.items()):
        places = ALONE if len(row) == 1 else PAIRED
        samples = panel.samples.get(label) or [()] * len(row)
        for bar, (shift, height), blocks in zip(row, places, samples, strict=True):
            at, name, strong = place + shift, "", bar is row[-1]
            if not bar:
                blanks.append(at)
                continue
            if isinstance(bar, Stack):
                end, strong = _stack(slide, axes, bars, bar, label, at, height), True
                name = f"{bar.name} " * bool(bar.name)
            elif panel.dots:
                end = _dot(slide, axes, bar, label, at, hollow=label in panel.hollow)
            else:
                end = _bar(slide, axes, panel, bar, label, at, height, strong=strong)
            if len(blocks) > 1:  # a single trial is its mark
                # Few rows are high: no tick reaches the words below its mark.
                half, ink = 0.05 * min(7, len(panel.rows)) * height, slide.palette.ink
                axes.vlines(blocks, at - half, at + half, ink, linewidth=1.0, alpha=0.5, zorder=3)
                end = max(end, *blocks)
            text = panel.said.get(label) or name + panel.unit.words(bar.value)
            figures.append((text, end, at, strong))
            ends[label] = max(end, ends.get(label, 0.0))
    room = max((measure(text, size, "bold") for text, *_ in figures), default=0.0) + 22.0
    below = panel.around is not None and len(panel.rows) <= FEW_ROWS
    band = slide.look.mix(slide.palette.muted, slide.palette.background, 0.65)
    _scale(axes, panel, ends, 0.0 if below else min(0.62, room / width), band, width)
    left, _ = axes.get_xlim()
    figures += [(MISSING, left, at, False) for at in blanks]
    clear = panel.around is not None  # the line at 1 and the noise floor are dark
    for text, end, at, strong in figures:
        bar_label(axes, text, end, at, size, bold=strong, below=below, clear=clear)


FEW_ROWS: Final = 4
"""So few ratios have their words below them: the axis goes on to the right."""


def _scale(
    axes: Axes, panel: Panel, ends: Mapping[str, float], share: float, band: str, width: float
) -> None:
    """An axis on which the figures take this share of the panel, right of the longest bar.

    ``width``: pixels of the panel.
    """
    most = max(ends.values(), default=1.0)
    lows = [bar.low for row in panel.rows.values() for bar in row if isinstance(bar, Spread)]
    lows += [n for x in panel.rows for blocks in panel.samples.get(x, ()) for n in blocks]
    if panel.around is not None:
        low, high = min([*lows, 0.9]) / 1.1, max(most, 1.1) * 1.1
        ticks = ratio_ticks(low, high, 3)
        high = low * (high / low) ** (1 / (1 - share))
        axes.axvline(1.0, color=axes.xaxis.label.get_color(), linewidth=1.4, zorder=1)
        floor = math.exp(panel.around)
        axes.axvspan(1 / floor, floor, color=band, zorder=0)
        log_axis(axes, (low, high), ticks, "{:g}×".format, "x")
    elif panel.dots and lows and most > LOG_FROM * min(lows) > 0:
        low = min(lows) / 1.35
        high = low * (most / low) ** (1 / (1 - share))
        words = panel.unit.ticks
        ticks = [tick for tick in round_numbers(low, most, (1, 3)) if low <= tick <= most]
        apart = width * math.log(3) / math.log(high / low)
        if any(measure(words(tick), TICK_SIZE) + APART > apart for tick in ticks):
            ticks = [tick for tick in round_numbers(low, most, (1,)) if tick <= most]
        log_axis(axes, (low, high), ticks, words, "x")
    else:
        value_axis(axes, [most / (1 - share)], axis="x", words=panel.unit.ticks)
        if min(lows, default=0.0) < 0:  # a difference may be: its range is not cut off
            axes.set_xlim(left=1.08 * min(lows))


TICK_SIZE: Final = 14.0
"""Points of the words at a tick, as charts.mplstyle has them."""

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
    inside = slide.look.mix(fill, palette.background, PALE) if bar.count == 1 else fill
    axes.barh(
        at,
        bar.value,
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
    markers(axes, look, [bar.value], [at], edges, slide.palette.background, 12.0)
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
        return stack.value
    bar_range(axes, *stack.interval, at, slide.palette.ink)
    return max(stack.value, stack.interval[1])


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
        small = columns > 1 or (rows > 1 and plot.x.scale == "names")
        ends = _lines(slide, axes, plot, names, figure, small=small)
        _x_axis(axes, plot.x, figure.plots[column::columns], small=small)
        beside = figure.plots[row * columns :][:columns]
        _y_axis(slide, axes, plot, [other for other in beside if other.y == plot.y])
        if rows > 1 and slide.look.shape == "stage" and axes.get_yscale() == "linear":
            axes.locator_params(axis="y", nbins=4)  # six ticks touch
        if plot.shade:
            low, until = plot.shade
            axes.axvspan(low or axes.get_xlim()[0], until, color=slide.palette.band, zorder=0)
        if plot.beyond:
            _beyond(slide, axes, *plot.beyond)
        if row == rows - 1 and column == columns // 2:
            axes.set_xlabel(_scaled(plot.x.label, axes.xaxis))
        title, label = plot.title, _scaled(plot.y.label, axes.yaxis)
        if not label or not small:  # then the title is all that names the axis
            title = _scaled(", ".join(filter(None, [title, plot.y.label])), axes.yaxis)
        if small:
            axes.set_title(title, fontweight="bold", fontsize=14.0)
            first = column == 0 or plot.y != beside[0].y
            axes.tick_params(labelsize=11.0, labelleft=first)
            axes.set_ylabel(label if first else "", fontsize=12.0)
            if plot.x.scale == "names":
                axes.tick_params(labelbottom=row == rows - 1)
        else:
            axes.set_title(title, color=slide.palette.muted)
        if alone:
            slide.label_ends(axes, ends, size)


def _scaled(words: str, axis: XAxis | YAxis) -> str:
    """The words of an axis; a logarithmic one says so, if it has more than one place."""
    log = axis.get_scale() == "log" and len(axis.get_ticklocs()) > 1
    return f"{words}{LOG}" if words and log else words


def _told(figure: Lines, names: Sequence[str]) -> list[str]:
    """What stands at the ends of lines, roughly: as wide as that."""
    if not figure.told:
        return list(map(named, names))
    (plot,) = figure.plots
    values = [max(p.y.value for p in line) for line in plot.lines.values() if line]
    longest = max(map(plot.y.words, values), key=len, default="")
    return [f"{named(name)} {longest}" for name in names]


def _lines(
    slide: Slide, axes: Axes, plot: Plot, names: Sequence[str], figure: Lines, *, small: bool
) -> list[EndLabel]:
    # On an axis of counts all lines have points at the same places: moved a little apart,
    # their ranges do not hide each other.
    nudge, aside = 0.0, 0.6 / max(len(names), 1) * (plot.x.scale == "names")
    if plot.x.scale == "counts":
        nudge = 0.0 if plot.dashed else 0.05 if small else min(0.014, 0.1 / len(names))
    ends = []
    for label, points in plot.lines.items():
        look = slide.look.of(label)
        place = names.index(label) - (len(names) - 1) / 2
        xs = [point.x * 10 ** (place * nudge) + place * aside for point in points]
        ys = [point.y.value for point in points]
        if cloud := plot.clouds.get(label):
            across, up = zip(*cloud, strict=True)
            axes.scatter(across, up, s=14, color=look.colour, alpha=0.3, zorder=2)
        for hair in plot.hairs.get(label, ()):
            _thin(axes, hair, look.colour, 0.8, alpha=0.4)
        if figure.ranges == "shades":
            low, high = [p.y.low for p in points], [p.y.high for p in points]
            axes.fill_between(xs, low, high, color=look.colour, alpha=0.18, linewidth=0)
        elif not plot.hairs:
            _ranges(axes, look, xs, points)
        # A single trial is a mark, and no line leads to it; but it has all its percentiles.
        whole = plot.x.scale == "nines"
        for start, end in pairwise(range(len(points))):
            thin = edge(limited=False, count=min(points[start].y.count, points[end].y.count))
            if (whole or not thin) and not aside:
                axes.plot(
                    xs[start : end + 1],
                    ys[start : end + 1],
                    color=look.colour,
                    linewidth=thin or look.width,
                    linestyle=look.line,
                    zorder=look.order,
                )
        background = slide.palette.background
        if not plot.marks:
            edges = [edge(limited=point.hollow, count=point.y.count) for point in points]
            markers(axes, look, xs, ys, edges, background, 7.0 if small else 10.0)
        elif mark := plot.marks.get(label):
            edges = [edge(limited=False, count=mark.y.count)]
            markers(axes, look, [mark.x], [mark.y.value], edges, background, 11.0)
        if fitted := plot.dashed.get(label):
            for part in pairwise(fitted):
                how = "-" if part[1].x <= points[-1].x else (0, (4, 3))
                _thin(axes, part, look.colour, 1.4, how)
            xs, ys = [fitted[-1].x], [fitted[-1].y.value]
        said = plot.marks[label].y.value if label in plot.marks else ys[-1]
        text = f"{named(label)} {plot.y.words(said)}" if figure.told else named(label)
        ends.append(EndLabel(text, xs[-1], ys[-1], look.colour, look.width > 2))
    for points in plot.dotted.values():
        # Above the lines: many lie exactly on it.
        _thin(axes, points, slide.palette.ink, 1.4, (0, (2, 2)), order=9)
    return ends


def _thin(
    axes: Axes,
    points: Line,
    colour: str,
    width: float,
    dashes: tuple[float, tuple[float, float]] | str = "-",
    alpha: float | None = None,
    order: int = 2,
) -> None:
    """A line without marks and ranges, below all that have them if it has no other ``order``."""
    places = [point.x for point in points], [point.y.value for point in points]
    axes.plot(*places, color=colour, linewidth=width, linestyle=dashes, alpha=alpha, zorder=order)


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


def _x_axis(axes: Axes, axis: Axis, column: Sequence[Plot], *, small: bool) -> None:
    lines = [line for plot in column for line in plot.lines.values()]
    dashed = [line for plot in column for line in plot.dashed.values()]
    clouds = [x for plot in column for cloud in plot.clouds.values() for x, _ in cloud]
    places = sorted({*clouds, *(point.x for line in [*lines, *dashed] for point in line)})
    low, high = places[0], places[-1]
    match axis.scale:
        case "nines":
            nines_axis(axes, high)
        case "values":
            value_axis(axes, places, axis="x", words=axis.words)
        case "shares":
            value_axis(axes, [high], axis="x", words=lambda s: f"{100 * s:.0f}\N{NO-BREAK SPACE}%")
            axes.set_xlim(0, high * 1.02)
        case "names":
            axes.set_xticks(places, [axis.words(place) for place in places], rotation=45.0)
            axes.set_xlim(low - 0.6, high + 0.6)
        case "counts":
            beside = 1.8 if high > low else 4.0
            left, right = (beside, beside) if small else (1.25, 1.15 if high > low else 1.6)
            log_axis(axes, (low / left, high * right), places, count, "x")
            if small:
                axes.tick_params(axis="x", labelrotation=45.0)
        case _:
            value_axis(axes, [high], axis="x", words=axis.words)
            axes.set_xlim(0, high * 1.02)
            axes.tick_params(pad=12.0)  # two zeros meet in the corner, and a mark at 0 is on a tick


def _y_axis(slide: Slide, axes: Axes, plot: Plot, row: Sequence[Plot]) -> None:
    drawn = [spread for other in row for spread in other.spreads]
    values = [value for spread in drawn for value in (spread.low, spread.high)]
    for cloud in (cloud for other in row for cloud in other.clouds.values()):
        # The highest hundredth is another program's work, and the axis would be for that alone.
        values.append(sorted(y for _, y in cloud)[int(0.99 * (len(cloud) - 1))])
    lines = [
        line
        for other in row
        for line in (*other.dotted.values(), *other.dashed.values(), *chain(*other.hairs.values()))
    ]
    values += [point.y.value for line in lines for point in line]
    match plot.y.scale:
        case "times":
            time_axis(axes, values)
        case "ratios":
            ends = min([*values, 0.9]) / 1.1, max([*values, 1.1]) * 1.1
            log_axis(axes, ends, ratio_ticks(*ends, 6), "{:g}×".format)
            axes.axhline(1.0, color=slide.palette.muted, linewidth=1.2, zorder=1)
        case "values":
            value_axis(axes, values, words=plot.y.words)
        case _:
            value_axis(axes, [max(values)], words=plot.y.words)


def _beyond(slide: Slide, axes: Axes, start: float, why: str) -> None:
    """From where on there is no value, only an arrow."""
    axes.set_xlim(0, start * 1.22)
    axes.axvspan(start, start * 1.22, color=slide.palette.band, zorder=0)
    where, ink = axes.get_xaxis_transform(), slide.palette.ink
    arrow = {"arrowstyle": "-|>", "color": ink, "linewidth": 2.0}
    ends = (start * 1.2, 0.95), (start * 1.02, 0.95)
    axes.annotate("", *ends, xycoords=where, textcoords=where, arrowprops=arrow)
    axes.annotate(why, (start * 1.02, 0.92), xycoords=where, va="top", fontsize=12, color=ink)


def draw(data: FigureData, slide: Slide) -> None:
    """Draw a figure's data on a slide."""
    if isinstance(data, Bars):
        draw_bars(data, slide)
    else:
        draw_lines(data, slide)
