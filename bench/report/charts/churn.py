"""Processor time per page on kept connections, and with a new connection for each page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.analysis.analysis import Analysis
from bench.analysis.churn import KEPT, OPENED, Churn, dearest
from bench.analysis.wording import prose, says
from bench.palette import mix
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.report.charts.tls_pages import paired_bars
from bench.report.charts.words import described, of_blocks, sentence
from bench.text import count, duration, times
from crawlers.registry import MODELS

NAME = "churn"
TITLE = "Processor time per page, kept and new connections"


def design(analysis: Analysis) -> Design | Skip:
    """Two bars for each backend, and beside them what the difference is in its own pages."""
    rows = [row for row in analysis.churn if row.pages is not None]
    if not rows:
        return Skip(NAME, TITLE, "no valid trial of churn in turns")
    told = {
        row.label: f"{duration(row.costs[KEPT].median / 1000, 3)} kept, "
        f"{duration(row.costs[OPENED].median / 1000, 3)} new, the connection "
        f"{times(row.pages.median)} pages"
        for row in rows
        if row.pages
    }
    blocks = [spread.count for row in rows for spread in row.costs.values()]
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(rows),
        subtitle="Processor time of the client per page of a list on plain HTTP at "
        f"{count(rows[0].slots)} slots, in turns; median of {of_blocks(blocks)}",
        alt=f"Paired bar chart, processor time per page. {described(analysis, told)}",
        draw=partial(_draw, rows),
        notes=(
            "Each request asks the server to close, and it nearly always closes first. Ranges: "
            "lowest to highest block.",
        ),
    )


def finding(rows: Sequence[Churn]) -> str | None:
    """The models whose new connection costs most and least of their own pages."""
    found = [row for row in dearest(rows) if row.label in MODELS]
    if len(found) < 2:
        return None
    most, least = found[0], found[-1]
    assert most.pages is not None
    assert least.pages is not None
    return sentence(
        f"{says(most.label, 'take')} the processor time of {times(most.pages.median)} pages to "
        f"open and close a connection, {prose(least.label)} that of {times(least.pages.median)}"
    )


def _draw(rows: Sequence[Churn], slide: Slide) -> None:
    palette = slide.palette
    faint = mix(palette.muted, palette.background, 0.45)
    slide.swatches(
        [("a kept connection", faint, ""), ("a new one for each page (in colour)", palette.ink, "")]
    )
    wide = slide.look.wide
    left, right = slide.panels(2 if wide else 1, 1 if wide else 2)
    size = slide.label_size(2 * len(rows) * (1 if wide else 2), 15.0)
    paired_bars(slide, left, rows, (KEPT, OPENED), size)
    left.set_xlabel("processor time per page")
    most = 0.0
    for place, row in enumerate(rows):
        assert row.pages is not None
        pages = row.pages
        colour = slide.look.of(row.label).colour
        right.barh(place, pages.median, height=0.62, color=colour, zorder=2)
        if pages.count > 1:
            bar_range(right, pages.low, pages.high, place, palette.ink)
        bar_label(right, times(pages.median), pages.high, place, size, bold=True)
        most = max(most, pages.high)
    value_axis(right, [most * 1.2], axis="x", words=lambda value: f"{value:g}")
    bar_rows(slide, right, [row.label for row in rows], size)
    right.set_xlabel("the connection, in kept pages")
