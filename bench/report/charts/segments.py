"""What a page's processor time is made of: sockets, shared parts, the model, or a stack."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes

from bench.analysis.analysis import Analysis
from bench.analysis.segments import Segments
from bench.analysis.wording import prose, says
from bench.palette import mix
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_rows
from bench.report.charts.slide import Slide
from bench.show.words import described, of_blocks, sentence
from bench.text import duration, duration_tick, times
from crawlers.registry import MODELS

NAME = "segments"
TITLE = "What a page’s processor time is made of"
POINTS = ("fetch-100", "throughput-100")
HEADS = {
    "fetch": "a fetched page: a list, no links",
    "throughput": "a crawled page: links too",
}


def design(analysis: Analysis) -> Design | Skip:
    """Stacked bars, one panel for fetching and one for crawling."""
    rows = [row for row in analysis.segments if row.point in POINTS]
    panels = [found for point in POINTS if (found := [r for r in rows if r.point == point])]
    if not panels:
        return Skip(NAME, TITLE, "no point has both controls, bare and shared")
    first = panels[0]
    models = [row for row in first if row.label in MODELS]
    finding = None
    if len(models) > 1:
        least = min(models, key=lambda row: row.over_sockets)
        most = max(models, key=lambda row: row.over_sockets)
        what = "fetched" if first[0].workload == "fetch" else "crawled"
        finding = sentence(
            f"{says(least.label, 'take')} {times(least.over_sockets)} times the processor time of "
            f"bare sockets for a {what} page, {prose(most.label)} {times(most.over_sockets)} times"
        )
    blocks = [row.total.count for row in rows]
    told = {
        row.label: f"{row.total.median:.1f} µs: sockets {row.sockets:.1f}, "
        + (f"shared {row.shared:.1f}, model " if row.shared is not None else "stack ")
        + f"{row.rest.median:.1f}"
        for row in first
    }
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle="Processor time of the client per page at 100 slots, in turns; median of "
        + of_blocks(blocks),
        alt=f"Stacked bar charts, processor time per page. {described(analysis, told)}",
        draw=partial(_draw, panels),
        notes=(
            "Sockets: a control that only sends, receives and counts bytes. Shared: frontier, "
            "exchange and links from memory. Model: what is left, colder caches included.",
        ),
    )


def _draw(panels: Sequence[Sequence[Segments]], slide: Slide) -> None:
    palette = slide.palette
    grey, faint = palette.muted, mix(palette.muted, palette.background, 0.55)
    slide.swatches(
        [
            ("sockets", grey, ""),
            ("shared parts", faint, ""),
            ("model, or a whole stack (in colour)", palette.ink, ""),
        ]
    )
    beside = len(panels) if slide.look.wide else 1
    below = len(panels) // beside
    all_axes = slide.panels(beside, below)
    size = slide.label_size(max(map(len, panels)) * below, 15.0)
    for axes, rows in zip(all_axes, panels, strict=True):
        _panel(slide, axes, rows, size, grey, faint)


def _panel(
    slide: Slide, axes: Axes, rows: Sequence[Segments], size: float, grey: str, faint: str
) -> None:
    for place, row in enumerate(rows):
        colour = slide.look.of(row.label).colour
        shared = row.shared or 0.0
        rest = max(0.0, row.total.median - row.sockets - shared)
        known = row.sockets + shared
        axes.barh(place, row.sockets / 1000, height=0.62, color=grey, zorder=2)
        axes.barh(place, shared / 1000, left=row.sockets / 1000, height=0.62, color=faint, zorder=2)
        axes.barh(place, rest / 1000, left=known / 1000, height=0.62, color=colour, zorder=2)
        end = max(row.total.median, known) / 1000
        bar_label(axes, duration(row.total.median / 1000, 3), end, place, size, bold=True)
    most = max(max(r.total.median, r.sockets + (r.shared or 0.0)) for r in rows) / 1000
    value_axis(axes, [most * 1.16], axis="x", words=duration_tick)
    bar_rows(slide, axes, [row.label for row in rows], size)
    axes.set_xlabel(HEADS.get(rows[0].workload, rows[0].workload))
