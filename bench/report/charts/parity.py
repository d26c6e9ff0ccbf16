"""Parity at the server: drawn only when the backends did not do the same."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial

from bench.analysis.analysis import Analysis
from bench.analysis.stats.parity import ParityRow
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_rows
from bench.report.charts.slide import Slide
from bench.text import count, number

NAME = "parity"
TITLE = "What the server saw of each backend"
MOST = 2
"""Points on one slide."""
FIELDS = (
    ("connections opened", "connections_opened"),
    ("peak in flight", "peak_in_flight"),
    ("most requests on one connection", "requests_per_connection_max"),
)


def design(analysis: Analysis) -> Design | Skip:
    """Connections opened, peak in flight and requests per connection where they differ."""
    parity = analysis.parity
    if parity.equal:
        return Skip(NAME, TITLE, parity.words)
    points = {
        point: [row for row in parity.rows if row.point == point]
        for point in list(parity.differing)[:MOST]
    }
    return Design(
        name=NAME,
        title=TITLE,
        finding=None,
        subtitle="From the server’s own ledger, medians; these trials cannot be compared",
        alt=parity.words,
        draw=partial(_draw, points),
        notes=(parity.words,),
    )


def _draw(points: Mapping[str, Sequence[ParityRow]], slide: Slide) -> None:
    panels = iter(slide.panels(len(FIELDS), len(points), sharey=True))
    size = slide.label_size(2 * sum(len(rows) for rows in points.values()), 15.0)
    for point, rows in points.items():
        for name, attribute in FIELDS:
            axes = next(panels)
            values = [float(getattr(row, attribute)) for row in rows]
            for place, (row, value) in enumerate(zip(rows, values, strict=True)):
                colour = slide.look.of(row.label).colour
                axes.barh(place, value, height=0.6, color=colour, zorder=2)
                bar_label(axes, count(value), value, place, size)
            value_axis(axes, [max([*values, 1.0]) * 1.3], axis="x", words=number)
            bar_rows(slide, axes, [row.label for row in rows], size)
            axes.locator_params(axis="x", nbins=4)
            title = f"{point}: {name}" if name == FIELDS[0][0] else name
            axes.set_title(title if slide.look.wide else textwrap.fill(title, 18), fontsize=13)
