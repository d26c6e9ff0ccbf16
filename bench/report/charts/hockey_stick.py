"""Open loop: response-time percentiles against the offered rate (the hockey stick)."""

from __future__ import annotations

from functools import partial

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import prose
from bench.report.charts.axes import time_axis, value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import Lines, Point, draw_lines, extent, spreads_of
from bench.report.charts.open_loop import by_rate
from bench.report.charts.slide import Slide
from bench.show.words import apart, blocks_words, described, listed
from bench.text import duration, number
from crawlers.registry import MODELS

NAME = "hockey-stick"
TITLE = "Open loop: response time against offered rate"
KNEE = 10.0
"""A p99 this many times that of the lowest rate lies beyond the knee."""


def design(analysis: Analysis) -> Design | Skip:
    """p99 (bold) and median (thin) of the response time, one pair of lines per backend."""
    p99: dict[str, list[Point]] = {}
    p50: dict[str, list[Point]] = {}
    for label, rates in by_rate(analysis).items():
        for rate, trials in rates.items():
            latencies = [t.response_time for t in trials if t.response_time]
            enough = [x for x in latencies if x.count >= 100 * stats.MIN_BEYOND]
            high = stats.spread(x.p99_ms for x in enough)
            middle = stats.spread(x.p50_ms for x in enough)
            if high and middle:
                p99.setdefault(label, []).append(Point(rate, high))
                p50.setdefault(label, []).append(Point(rate, middle))
    if not p99:
        return Skip(
            NAME, TITLE, f"no valid open-loop trial with {100 * stats.MIN_BEYOND:,} response times"
        )
    told = {
        label: ", ".join(f"{duration(p.spread.median)} at {number(p.x)}/s" for p in points)
        for label, points in p99.items()
    }
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(p99),
        subtitle=(
            "From the intended start to the last byte; "
            + blocks_words(spreads_of(p99), "shaded", " a rate")
        ),
        alt="Line chart: response time against offered rate. 99th percentiles: "
        + described(analysis, told),
        draw=partial(_draw, p99, p50),
        notes=(
            *listed(stats.trials_of(analysis.records, "openloop")),
            "At low rates loops look slower than threads: they wait for a due time in whole "
            "milliseconds, so they send half a millisecond late.",
        ),
    )


def _finding(p99: Lines) -> str | None:
    """The first rate at which one model is beyond its knee, and another is not."""
    lines = {label: points for label, points in p99.items() if label in MODELS} or p99
    knees: dict[str, float | None] = {}
    for label, points in lines.items():
        beyond = [p.x for p in points if p.spread.low > KNEE * points[0].spread.median]
        knees[label] = beyond[0] if beyond else None
    bent = {label: rate for label, rate in knees.items() if rate}
    if not bent or (len(bent) == len(lines) and max(bent.values()) == min(bent.values())):
        return None
    first = min(bent, key=lambda label: bent[label])
    straight = [label for label in lines if label not in bent]
    last = straight[0] if straight else max(bent, key=lambda label: bent[label])
    at = {label: [p.spread for p in lines[label] if p.x == bent[first]] for label in (first, last)}
    if not at[last] or not apart(at[first][0], at[last][0]):
        return None
    return (
        f"At {number(bent[first])} requests/s the p99 is {duration(at[first][0].median)} with "
        f"{prose(first)} and {duration(at[last][0].median)} with {prose(last)}"
    )


def _draw(p99: Lines, p50: Lines, slide: Slide) -> None:
    names = list(p99)
    size = slide.label_size(len(names))
    axes = slide.panels(right=slide.label_room(names, size))[0]
    ends = draw_lines(slide, axes, p99, shaded=True)
    medians = {label: [p.spread.median for p in points] for label, points in p50.items()}
    for label, values in medians.items():
        axes.plot(
            [point.x for point in p50[label]],
            values,
            color=slide.look.of(label).colour,
            linewidth=1.4,
            linestyle=(0, (2, 2)),
            zorder=2,
        )
    highest = max(point.x for points in p99.values() for point in points)
    value_axis(axes, [highest], axis="x", log_beyond=1e9)
    axes.set_xlim(0, highest * 1.02)
    time_axis(axes, [*extent(p99), *(v for values in medians.values() for v in values)])
    axes.set_xlabel("offered: requests per second on the schedule")
    axes.set_title("response time: p99 solid, median dotted", color=slide.palette.muted)
    slide.label_ends(axes, ends, size)
