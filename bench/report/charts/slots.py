"""Pages per second against slots: without delay, and with a slow server."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import says
from bench.report.charts.axes import count_axis, value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import Lines, Point, draw_lines, extent, spreads_of
from bench.report.charts.slide import Slide
from bench.show.words import (
    blocks_words,
    described,
    difference,
    leading,
    point_words,
    ratio_note,
    sentence,
    silence,
)


def throughput(analysis: Analysis) -> Design | Skip:
    """With no delay at the server: what a model costs when it is busy."""
    return _design(
        analysis,
        "throughput",
        "Throughput against slots",
        "Pages per second with no delay at the server",
    )


def waiting(analysis: Analysis) -> Design | Skip:
    """With a delay before every answer: what a model is for."""
    return _design(
        analysis,
        "waiting",
        "Throughput against slots when the server is slow",
        "Pages per second with a delay before every answer",
    )


def _design(analysis: Analysis, workload: str, title: str, what: str) -> Design | Skip:
    lines: dict[str, list[Point]] = {}
    for label, sizes in analysis.by_size(workload, "slots").items():
        for slots, trials in sizes.items():
            if spread := stats.spread(t.pages_per_s for t in trials):
                limited = stats.limiter_of(trials) == "server"
                lines.setdefault(label, []).append(Point(slots, spread, limited))
    if not lines:
        return Skip(workload, title, f"no valid trial of the {workload} workload")
    finding, notes = None, []
    if best := leading(analysis, stats.PAGES_PER_S, workload):
        at = point_words(next(iter(analysis.at_point(best.point).values()))[0])
        fetched = difference(best, "pages per second", "fewer")
        finding = sentence(f"{says(best.label, 'fetch')} {fetched} at {at}")
        notes = [ratio_note(best)]
    elif why := silence(analysis, stats.PAGES_PER_S, workload):
        notes = [why]
    told = {
        label: ", ".join(f"{p.spread.median:,.0f} at {p.x:,.0f}" for p in points)
        for label, points in lines.items()
    }
    return Design(
        name=workload,
        title=title,
        finding=finding,
        subtitle=f"{what}; {blocks_words(spreads_of(lines))}",
        alt=f"Line chart: {what[0].lower()}{what[1:]}, against slots. Medians: "
        + described(analysis, told),
        draw=partial(_draw, lines),
        notes=tuple(notes),
        hollow=any(point.hollow for points in lines.values() for point in points),
    )


def _draw(lines: Lines, slide: Slide) -> None:
    names: Sequence[str] = list(lines)
    size = slide.label_size(len(names))
    axes = slide.panels(right=slide.label_room(names, size))[0]
    sizes = sorted({point.x for points in lines.values() for point in points})
    count_axis(axes, sizes)
    ends = draw_lines(slide, axes, lines, nudge=min(0.014, 0.1 / len(names)))
    value_axis(axes, extent(lines))
    low, high = sizes[0], sizes[-1]
    axes.set_xlim(low / 1.25, high * 1.12 if high > low else high * 1.6)
    axes.set_xlabel("slots (one connection and one request at a time each)")
    axes.set_title("pages per second", color=slide.palette.muted)
    slide.label_ends(axes, ends, size)
