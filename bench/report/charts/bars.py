"""Bars: one or two for each label, with their ranges, in one panel or several."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes

from bench.controls import CONTROLS
from bench.palette import mix
from bench.report.charts.axes import value_axis
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.show.figures import Bars, Panel

ALONE: Final = ((0.0, 0.62),)
PAIRED: Final = ((-0.2, 0.36), (0.2, 0.36))
"""Place within a row and height: of a single bar, and of a faint one above another."""


def draw(bars: Bars, slide: Slide) -> None:
    """Panels side by side, or below each other where the slide is square."""
    palette = slide.palette
    if bars.faint:
        faint = mix(palette.muted, palette.background, 0.45)
        slide.swatches([(bars.faint, faint, ""), (bars.strong, palette.ink, "")])
    wide, count = slide.look.wide, len(bars.panels)
    axes = slide.panels(count if wide else 1, 1 if wide else count)
    most = max(len(panel.rows) for panel in bars.panels)
    size = slide.label_size(2 * most * (1 if wide else count), 15.0)
    for one, panel in zip(axes, bars.panels, strict=True):
        _panel(slide, one, panel, size)


def _panel(slide: Slide, axes: Axes, panel: Panel, size: float) -> None:
    palette, most = slide.palette, 0.0
    for place, (label, spreads) in enumerate(panel.rows.items()):
        colour = palette.ink if label in CONTROLS else slide.look.of(label).colour
        places = ALONE if len(spreads) == 1 else PAIRED
        for number, (spread, (shift, height)) in enumerate(zip(spreads, places, strict=True)):
            if spread is None:
                continue
            last = number == len(spreads) - 1
            fill = colour if last else mix(palette.muted, palette.background, 0.45)
            axes.barh(place + shift, spread.median, height=height, color=fill, zorder=2)
            if spread.count > 1:
                bar_range(axes, spread.low, spread.high, place + shift, palette.ink)
            text = panel.unit.words(spread.median)
            bar_label(axes, text, spread.high, place + shift, size, bold=last)
            most = max(most, spread.high)
    value_axis(axes, [most * 1.2], axis="x", words=panel.unit.ticks)
    bar_rows(slide, axes, list(panel.rows), size)
    axes.set_xlabel(panel.axis)
