"""Service-time percentiles per backend (closed loop: from actual start to last byte)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import TIMES_FROM, prose
from bench.report.charts.axes import time_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.percentiles import MARKS, Curve, curve, percentile_axis, position
from bench.report.charts.slide import EndLabel, Slide
from bench.show.words import (
    described,
    of_blocks,
    of_models,
    point_words,
    ratio_note,
    silence,
    strongest,
)
from bench.text import duration, times

NAME = "service-time"
TITLE = "Service time by percentile"


def design(analysis: Analysis) -> Design | Skip:
    """One curve per backend, all trials merged, with the range of the single trials."""
    point = analysis.reference_point("throughput", "real", "waiting")
    trials = analysis.at_point(point) if point else {}
    curves = {
        label: found
        for label, mine in trials.items()
        if (found := curve(mine, lambda t: t.service_time))
    }
    if not curves or point is None:
        return Skip(NAME, TITLE, "no valid trial with a service-time histogram")
    sample = next(iter(trials.values()))[0]
    at = point_words(sample)
    finding, notes = None, []
    best = strongest(of_models(c for c in analysis.compare(stats.SERVICE_P99) if c.point == point))
    if best and best.ratio.value:
        changed = best.ratio.value
        mine, base = prose(best.label), prose(best.base)
        if changed >= TIMES_FROM:
            how = f"{times(changed)} times as long with {mine} as with {base}"
        else:
            longer = "longer" if changed > 1 else "shorter"
            how = f"{abs(100 * changed - 100):.0f} % {longer} with {mine} than with {base}"
        finding = f"At {at} the 99th percentile of service time is {how}"
        notes = [ratio_note(best)]
    elif why := silence(analysis, stats.SERVICE_P99, sample.workload, point):
        notes = [why]
    told = {
        label: f"median {duration(found.p50_ms)}, p99 {duration(found.p99_ms)}"
        for label, found in curves.items()
    }
    counts = [found.trials for found in curves.values()]
    shade = "; " + ("shaded: range of " if max(counts) > 1 else "") + of_blocks(counts)
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=f"Closed loop, workload {sample.workload}, {at}{shade}",
        alt=f"Percentile curves of service time at {at}. {described(analysis, told)}",
        draw=partial(_draw, curves),
        notes=(*notes, f"Curves end where fewer than {stats.MIN_BEYOND} samples lie beyond."),
    )


def _draw(curves: Mapping[str, Curve], slide: Slide) -> None:
    size = slide.label_size(len(curves))
    axes = slide.panels(right=slide.label_room(curves, size))[0]
    everything: list[float] = []
    ends: list[EndLabel] = []
    for label, found in curves.items():
        look = slide.look.of(label)
        axes.fill_between(
            found.band,
            found.low,
            found.high,
            color=look.colour,
            alpha=0.18,
            linewidth=0,
            zorder=2,
        )
        axes.plot(
            found.positions,
            found.ms,
            color=look.colour,
            linewidth=look.width,
            linestyle=look.line,
            zorder=look.order,
        )
        for mark in MARKS[:4]:
            if position(mark) > found.positions[-1]:
                continue
            near = min(range(len(found.ms)), key=lambda i: abs(found.positions[i] - position(mark)))
            axes.plot(
                [found.positions[near]],
                [found.ms[near]],
                look.marker,
                color=look.colour,
                markersize=9,
                zorder=6,
            )
        everything += [*found.ms, *found.low, *found.high]
        ends.append(EndLabel(label, found.positions[-1], found.ms[-1], look.colour, look.width > 2))
    percentile_axis(axes, max(found.highest for found in curves.values()))
    time_axis(axes, everything)
    axes.set_xlabel("percentile of pages")
    axes.set_title("service time (start of request to last byte)", color=slide.palette.muted)
    slide.label_ends(axes, ends, size)
