"""CPU per 1000 pages, user and system: the cost that no faster server can hide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Spread
from bench.analysis.wording import says
from bench.palette import mix
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.show.words import (
    blocks_words,
    described,
    difference,
    of_models,
    point_words,
    ratio_note,
    sentence,
    silence,
    strongest,
)
from bench.text import duration, duration_tick

NAME = "cpu"
TITLE = "CPU time of the crawler per 1000 pages"


@dataclass(frozen=True, slots=True)
class Row:
    """One backend: milliseconds per 1000 pages."""

    label: str
    user: float
    system: float
    total: Spread


def design(analysis: Analysis) -> Design | Skip:
    """Stacked bars of user and system time at the reference point."""
    point = analysis.reference_point("throughput", "real", "waiting")
    rows = []
    trials = analysis.at_point(point) if point else {}
    for label, mine in trials.items():
        parts = [p for t in mine if (p := stats.cpu_ms_per_1000(t))]
        user = stats.spread(p[0] for p in parts)
        system = stats.spread(p[1] for p in parts)
        total = stats.spread(sum(p) for p in parts)
        if user and system and total:
            rows.append(Row(label, user.median, system.median, total))
    if not rows or point is None:
        return Skip(NAME, TITLE, "no valid trial with CPU times")
    sample = next(iter(trials.values()))[0]
    at = point_words(sample)
    finding, notes = None, []
    best = strongest(of_models(c for c in analysis.compare(stats.CPU_PER_1000) if c.point == point))
    if best:
        taken = difference(best, "processor time per page")
        finding = sentence(f"{says(best.label, 'take')} {taken}")
        notes = [ratio_note(best)]
    elif why := silence(analysis, stats.CPU_PER_1000, sample.workload, point):
        notes = [why]
    told = {
        row.label: f"{duration(row.user, 3)} user, {duration(row.system, 3)} system" for row in rows
    }
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=f"Workload {sample.workload}, {at}; {blocks_words(row.total for row in rows)}",
        alt=f"Bar chart: CPU time per 1000 pages at {at}. {described(analysis, told)}",
        draw=partial(_draw, rows),
        notes=tuple(notes),
    )


def _draw(rows: Sequence[Row], slide: Slide) -> None:
    palette = slide.palette
    faint = mix(palette.muted, palette.background, 0.55)
    slide.swatches([("user", palette.muted, ""), ("system (in the kernel)", faint, "")])
    axes = slide.panels()[0]
    size = slide.label_size(len(rows), 16.0)
    for place, row in enumerate(rows):
        colour = slide.look.of(row.label).colour
        axes.barh(place, row.user, height=0.62, color=colour, zorder=2)
        axes.barh(
            place,
            row.system,
            left=row.user,
            height=0.62,
            color=mix(colour, palette.background, 0.45),
            zorder=2,
        )
        if row.total.count > 1:
            bar_range(axes, row.total.low, row.total.high, place, palette.ink)
        end = max(row.total.high, row.user + row.system)
        bar_label(axes, duration(row.total.median, 3), end, place, size, bold=True)
    value_axis(axes, [max(row.total.high for row in rows) * 1.14], axis="x", words=duration_tick)
    bar_rows(slide, axes, [row.label for row in rows], size)
    axes.set_xlabel("processor time of the crawler per 1000 pages")
