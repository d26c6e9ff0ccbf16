"""Mixed load: response times of the pages without work, by backend and by the others' work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from matplotlib.axes import Axes

from bench.analysis.analysis import Analysis
from bench.analysis.mixed import Mixed
from bench.analysis.mixed_words import rows_of
from bench.analysis.wording import prose
from bench.plan.mixed import CAST
from bench.report.charts.axes import time_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_rows
from bench.report.charts.slide import Slide
from bench.show.words import described, of_blocks, sentence
from bench.text import count, duration, listing
from crawlers.registry import MODELS

NAME = "mixed"
TITLE = "Response time beside pages that need work"

ROOM = 0.07
"""Of a time axis: space for the marks at its ends."""


def design(analysis: Analysis) -> Design | Skip:
    """A panel for each amount of work; in it a line from the median to the tail for each."""
    rows = analysis.mixed
    if not rows:
        return Skip(NAME, TITLE, "no valid trial of mixed load with enough pages")
    usual = rows_of(rows)
    told = {
        row.label: f"median {duration(row.p50_ms)}, p{row.tail:g} {duration(row.tail_ms)}"
        for row in usual
    }
    rates = {row.work_ms: row.rate for row in rows}
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(usual),
        subtitle=(
            f"Open loop; one page in {rows[0].every} needs work of the client’s processor. "
            f"Response times of all the others; {of_blocks(row.blocks for row in rows)}, merged"
        ),
        alt=(
            f"Range chart of response times of pages without work, where one page in "
            f"{rows[0].every} needs {duration(usual[0].work_ms)}. {described(analysis, told)}"
        ),
        draw=partial(_draw, rows),
        notes=(
            "From the median (dot) to the percentile above (stroke). Diamonds: the same, "
            "calculated for a loop on the same schedules, whose pages queue for one processor and "
            "whose timers wait whole milliseconds. Dotted: the work. "
            "Processes had every processor, the others one. "
            f"{listing([f'{count(r)} requests/s at {w:g} ms' for w, r in rates.items()])}.",
        ),
    )


def _finding(rows: Sequence[Mixed]) -> str | None:
    """The best and the worst tail, if a factor of two lies between them."""
    ordered = sorted(rows, key=lambda row: row.tail_ms)
    if len(ordered) < 2 or ordered[-1].tail_ms < 2 * ordered[0].tail_ms:
        return None
    least, most = ordered[0], ordered[-1]
    return sentence(
        f"Beside pages that need {duration(least.work_ms)} of work, one page in "
        f"{100 / (100 - least.tail):.0f} takes longer than {duration(most.tail_ms)} with "
        f"{_named(most.label)}, {duration(least.tail_ms)} with {_named(least.label)}"
    )


def _named(label: str) -> str:
    """Models as in other sentences, variants by the name that a reader can look up."""
    return prose(label) if label in MODELS else label


def _draw(rows: Sequence[Mixed], slide: Slide) -> None:
    panels = [list(mine) for _, mine in groupby(rows, key=lambda row: row.work_ms)]
    labels = sorted(dict.fromkeys(row.label for row in rows), key=_place)
    wide = slide.look.wide
    count_ = len(panels)
    drawn = slide.panels(count_ if wide else 1, 1 if wide else count_)
    size = slide.label_size(len(labels) * (1 if wide else count_), 15.0)
    for place, (axes, mine) in enumerate(zip(drawn, panels, strict=True)):
        _panel(slide, axes, mine, labels)
        bar_rows(slide, axes, labels, size)
        if wide and place:
            axes.tick_params(axis="y", labelleft=False)
        axes.set_title(
            f"{mine[0].work_ms:g} ms of work, to p{mine[0].tail:g}",
            fontweight="bold",
            fontsize=14.0,
        )
        axes.tick_params(axis="x", labelsize=11.0)
    drawn[len(drawn) // 2 if wide else -1].set_xlabel("response time of pages without work")


def _place(label: str) -> int:
    """Loops first, then what hands their work over, then threads; others last."""
    return CAST.index(label) if label in CAST else len(CAST)


def _panel(slide: Slide, axes: Axes, rows: Sequence[Mixed], labels: Sequence[str]) -> None:
    values: list[float] = []
    for row in rows:
        look = slide.look.of(row.label)
        place = labels.index(row.label)
        ends = [row.p50_ms, row.tail_ms]
        axes.plot(ends, [place] * 2, color=look.colour, linewidth=5.0, alpha=0.55, zorder=3)
        axes.plot([ends[0]], [place], "o", color=look.colour, markersize=11, zorder=5)
        axes.plot([ends[1]], [place], "|", color=look.colour, markersize=16, mew=3.5, zorder=5)
        values += ends
        if row.predicted:
            guess = [row.predicted.best.p50_ms, row.predicted.best.tail_ms]
            axes.plot(
                guess,
                [place + 0.3] * 2,
                "D",
                markerfacecolor=slide.palette.background,
                markeredgecolor=slide.palette.ink,
                markersize=6,
                zorder=6,
            )
            values += guess
    axes.axvline(rows[0].work_ms, color=slide.palette.muted, linestyle=":", zorder=1)
    time_axis(axes, [*values, rows[0].work_ms], ROOM, axis="x")
