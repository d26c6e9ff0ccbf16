"""Parity at the server: drawn only when the backends did not do the same."""

from __future__ import annotations

import textwrap

from bench.charts.facts import Facts
from bench.charts.style import Plan, Skip, Slide, number, value_axis

NAME = "parity"
TITLE = "What the server saw of each backend"


def plan(facts: Facts) -> Plan | Skip:
    """Connections opened, peak in flight and requests per connection where they differ."""
    parity = facts.parity
    if parity.equal:
        return Skip(NAME, TITLE, parity.words)
    points = list(parity.differing)[:2]
    fields = (
        ("connections opened", "connections_opened"),
        ("peak in flight", "peak_in_flight"),
        ("most requests on one connection", "requests_per_connection_max"),
    )

    def draw(slide: Slide) -> None:
        panels = slide.panels(len(fields), len(points), sharey=True)
        shown = sum(row.point in points for row in parity.rows)
        size = slide.label_size(2 * shown, 15.0)
        for i, point in enumerate(points):
            rows = [r for r in parity.rows if r.point == point]
            for j, (name, attribute) in enumerate(fields):
                axes = panels[i * len(fields) + j]
                values = [float(getattr(r, attribute)) for r in rows]
                for place, (row, value) in enumerate(zip(rows, values, strict=True)):
                    look = slide.look.of(row.label)
                    axes.barh(place, value, height=0.6, color=look.colour, zorder=2)
                    axes.annotate(
                        f"{value:,.0f}",
                        (value, place),
                        xytext=(6, 0),
                        textcoords="offset points",
                        va="center",
                        fontsize=size,
                    )
                value_axis(axes, [max([*values, 1.0]) * 1.3], axis="x", words=number)
                axes.set_yticks(range(len(rows)), [r.label for r in rows])
                axes.tick_params(axis="y", labelsize=size, labelcolor=slide.palette.ink)
                axes.set_ylim(len(rows) - 0.45, -0.55)
                axes.grid(axis="x")
                axes.grid(visible=False, axis="y")
                axes.spines["bottom"].set_visible(False)
                axes.locator_params(axis="x", nbins=4)
                title = f"{point}: {name}" if j == 0 else name
                axes.set_title(title if slide.look.wide else textwrap.fill(title, 18), fontsize=13)

    return Plan(
        name=NAME,
        title=TITLE,
        finding=None,
        subtitle="From the server’s own ledger, median over blocks; these trials do not compare",
        alt=parity.words,
        draw=draw,
        notes=(parity.words,),
    )
