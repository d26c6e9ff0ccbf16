"""The fleet's own charts."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from bench.fleet.schema import told
from bench.plan.labels import Label
from bench.report.charts.marks import markers
from bench.report.charts.slide import EndLabel, Slide


def line(
    slide: Slide,
    axes: Axes,
    label: str,
    xs: Sequence[float],
    ys: Sequence[float],
    hollow: Sequence[bool] | None = None,
) -> EndLabel:
    """Draw the line of one backend, dashed over TLS; returns the label for its end.

    ``hollow`` says which points to draw hollow; None draws no points.
    """
    look = slide.look.of(label)
    style = "--" if Label.parse(label).mode else "-"
    axes.plot(xs, ys, style, color=look.colour, linewidth=look.width, zorder=look.order)
    if hollow is not None:
        markers(axes, look, xs, ys, hollow, slide.palette.background)
    return EndLabel(told(label), xs[-1], ys[-1], look.colour)
