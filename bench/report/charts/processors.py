"""Many processors: pages per second of what can use them, over callbacks on one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from matplotlib.axes import Axes

from bench.analysis.analysis import Analysis
from bench.analysis.processors import PLACES, Row
from bench.analysis.wording import change, says
from bench.report.charts.axes import count_axis, ratio_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import markers
from bench.report.charts.slide import Slide
from bench.show.words import described, of_blocks, sentence
from bench.text import plural

NAME: Final = "processors"
TITLE: Final = "Many processors, against callbacks on one"


def design(analysis: Analysis) -> Design | Skip:
    """A panel for each place of the server: ratios by the processors of the client."""
    found = analysis.processors
    rows = [row for row in (found.rows if found else ()) if row.spreads and row.client]
    rows = [row for row in rows if row.ratio is not None and row.ratio.value]
    if found is None or not rows:
        return Skip(NAME, TITLE, "no valid trial of the processors workload on pinned processors")
    labels = list(dict.fromkeys(row.label for row in rows))
    told = {
        label: ", ".join(
            f"{row.ratio.value:.2f} on {len(row.client)} ({row.how})"
            for row in rows
            if row.label == label and row.ratio and row.ratio.value
        )
        for label in labels
    }
    blocks = [row.ratio.blocks for row in rows if row.ratio]
    untried = "; ".join(f"{what.replace('`', '')}: {why}" for what, why in found.not_tried)
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(rows),
        subtitle=f"Pages per second over those of callbacks on one processor, by the client’s "
        f"processors; this machine has {found.usable}. 95 % intervals over {of_blocks(blocks)}",
        alt=f"Ratios by number of processors, {found.usable} in all. {described(analysis, told)}",
        draw=partial(_draw, rows, labels),
        notes=(
            "Dotted: as many times the pages as processors. What can use many gets all that the "
            "server leaves it, or shares all with it; callbacks has one.",
            *((f"Not tried: {untried}.",) * bool(untried)),
        ),
    )


def _finding(rows: Sequence[Row]) -> str | None:
    """The most that several processors gain, if they are shown to gain anything."""
    gained = [
        (row.ratio.value, row)
        for row in rows
        if row.ratio and row.ratio.shown and row.ratio.value and row.ratio.value > 1
    ]
    if not gained:
        return None
    value, best = max(gained, key=lambda pair: pair[0])
    much = change(value, "fewer")
    return sentence(
        f"{says(best.label, 'crawl')} {much} pages per second on "
        f"{plural(len(best.client), 'processor')} {'as' if 'times' in much else 'than'} "
        "callbacks on one"
    )


def _draw(rows: Sequence[Row], labels: Sequence[str], slide: Slide) -> None:
    slide.key(labels)
    places = [how for how in PLACES if any(row.how == how for row in rows)]
    panels = slide.panels(len(places)) if slide.look.wide else slide.panels(1, len(places))
    most = max(len(row.client) for row in rows)
    ends = [end for row in rows if row.ratio for end in (row.ratio.low, row.ratio.high) if end]
    ends += [row.ratio.value for row in rows if row.ratio and row.ratio.value]
    limits = [min(*ends, 0.9) / 1.1, max(*ends, most) * 1.1]
    for axes, how in zip(panels, places, strict=True):
        _panel(slide, axes, [row for row in rows if row.how == how], labels)
        ticks = sorted({1, most, *(len(row.client) for row in rows)})
        count_axis(axes, ticks)
        axes.set_xlim(1 / 1.3, most * 1.3)
        ratio_axis(axes, limits, 7)
        axes.plot([1, most], [1, most], color=slide.palette.muted, linestyle=":", linewidth=1.4)
        axes.set_title(PLACES[how], fontweight="bold", fontsize=14.0)
        axes.set_xlabel("processors of the client")
    panels[0].set_ylabel("pages/s ÷ callbacks on one")


def _panel(slide: Slide, axes: Axes, rows: Sequence[Row], labels: Sequence[str]) -> None:
    axes.axhline(1.0, color=slide.palette.muted, linewidth=1.2, zorder=1)
    for place, label in enumerate(labels):
        look = slide.look.of(label)
        shift = 1.02 ** (place - (len(labels) - 1) / 2)
        drawn = [
            (len(row.client) * shift, row.ratio.value, row.ratio)
            for row in sorted(rows, key=lambda row: len(row.client))
            if row.label == label and row.ratio and row.ratio.value
        ]
        xs, ys = [x for x, _, _ in drawn], [y for _, y, _ in drawn]
        axes.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
        for x, _, ratio in drawn:
            if ratio.low and ratio.high:
                axes.plot([x, x], [ratio.low, ratio.high], color=look.colour, linewidth=2.2)
        markers(axes, look, xs, ys, [False] * len(xs), slide.palette.background)
