"""Turns against whole trials: does a page cost the same by both methods?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.validity import METRICS, Row, Validity
from bench.palette import mix
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.show.words import described, of_blocks
from bench.text import number

NAME = "validity"
TITLE = "Turns against whole trials of the same crawl"
HEADS = {
    stats.CPU_PER_1000.name: "CPU per page, µs",
    stats.PAGES_PER_S.name: "pages per second",
}
APART = 0.17
"""How far the marks of the two methods stand from the middle of their row."""


def design(analysis: Analysis) -> Design | Skip:
    """A row per label: its figure in turns and in whole trials, with intervals."""
    found = analysis.validity
    if found is None:
        return Skip(NAME, TITLE, "no crawl was measured both in turns and in whole trials")
    blocks = [r.blocks for row in found.rows for r in (row.turns, row.whole)]
    told = {
        row.label: f"{row.turns.value:.0f} µs of CPU per page in turns, {row.whole.value:.0f} in "
        "whole trials"
        for row in found.by(stats.CPU_PER_1000)
    }
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(found),
        subtitle="Dark: in turns. Light: whole trials. "
        f"Bars: 95 % intervals over {of_blocks(blocks)}. Figures: turns ÷ whole",
        alt=f"Two panels, CPU per page and pages per second. {described(analysis, told)} "
        + " ".join(found.sentences),
        draw=partial(_draw, found),
        notes=(*found.sentences, "A twin (#2) is the control: the same backend again."),
    )


def _finding(found: Validity) -> str | None:
    rows = [row for row in found.by(stats.CPU_PER_1000) if row.agreement and not row.control]
    agree = [r.label for r in rows if r.agreement and r.agreement.verdict == stats.EQUIVALENT]
    differ = [r.label for r in rows if r.agreement and r.agreement.shown]
    if not agree and not differ:
        return None
    rest = len(rows) - len(agree) - len(differ)
    text = f"Turns and whole trials agree on {len(agree)} of {len(rows)} ratios of CPU per page"
    if differ:
        text += f", and differ on {len(differ)}"
    return text + (f"; {rest} undecided" if rest else "")


def _draw(found: Validity, slide: Slide) -> None:
    count = len(METRICS)
    panels = slide.panels(count) if slide.look.wide else slide.panels(1, count)
    size = slide.label_size(len(found.by(METRICS[0])) * (1 if slide.look.wide else count), 15.0)
    for axes, metric in zip(panels, METRICS, strict=True):
        _panel(slide, axes, found.by(metric), size)
        axes.set_xlabel(HEADS[metric.name])


def _panel(slide: Slide, axes: Axes, rows: Sequence[Row], size: float) -> None:
    ends = []
    for place, row in enumerate(rows):
        look = slide.look.of(row.label.partition("#")[0])
        light = mix(look.colour, slide.palette.background, 0.5)
        for shift, reading, colour in (
            (-APART, row.turns, look.colour),
            (APART, row.whole, light),
        ):
            if reading.low is not None and reading.high is not None:
                bar_range(axes, reading.low, reading.high, place + shift, colour)
                ends.append(reading.high)
            axes.plot(
                [reading.value],
                [place + shift],
                linestyle="none",
                marker=look.marker,
                markersize=9,
                color=colour,
                zorder=6,
            )
            ends.append(reading.value)
        right = max(row.turns.high or row.turns.value, row.whole.high or row.whole.value)
        if row.over.value is not None:
            bar_label(axes, f"{row.over.value:.2f}", right, place, size)
    if ends:
        value_axis(axes, [max(ends) * 1.12, min(ends)], axis="x", words=number)
    bar_rows(slide, axes, [row.label for row in rows], size)
