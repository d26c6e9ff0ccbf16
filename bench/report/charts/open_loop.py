"""Open loop: offered against achieved rate."""

from __future__ import annotations

from functools import partial

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import prose, says
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import Lines, Point, draw_lines, extent, spreads_of
from bench.report.charts.slide import Slide
from bench.schema import TrialRecord
from bench.show.words import apart, blocks_words, described, listed, sentence
from bench.text import number
from crawlers.registry import MODELS

NAME = "open-loop"
TITLE = "Open loop: achieved against offered rate"
KEEPS_UP = 0.98
"""Below this share of the offered rate a backend no longer keeps up."""

ByRate = dict[str, dict[float, list[TrialRecord]]]
"""Label -> offered rate -> its trials."""


def by_rate(analysis: Analysis) -> ByRate:
    """The open-loop trials; records without the rate among their parameters have it measured."""
    found = analysis.by_size("openloop", "rate")
    if found:
        return found
    result: ByRate = {}
    for trial in stats.trials_of(analysis.records, "openloop", twins=False):
        if trial.offered_per_s:
            result.setdefault(trial.label, {}).setdefault(trial.offered_per_s, []).append(trial)
    return {label: dict(sorted(rates.items())) for label, rates in result.items()}


def highest_kept(rates: dict[float, list[TrialRecord]]) -> float | None:
    """The highest offered rate up to which the backend kept up with every rate."""
    best = None
    for rate, trials in sorted(rates.items()):
        spread = stats.spread(t.achieved_per_s for t in trials)
        offered = stats.spread(t.offered_per_s or rate for t in trials)
        if spread is None or offered is None or spread.median < KEEPS_UP * offered.median:
            break
        best = rate
    return best


def design(analysis: Analysis) -> Design | Skip:
    """One line per backend; the diagonal is keeping up."""
    data = by_rate(analysis)
    lines: dict[str, list[Point]] = {}
    for label, rates in data.items():
        for rate, trials in rates.items():
            if spread := stats.spread(t.achieved_per_s for t in trials):
                limited = stats.limiter_of(trials) == "server"
                lines.setdefault(label, []).append(Point(rate, spread, limited))
    if not lines:
        return Skip(NAME, TITLE, "no valid open-loop trial")
    kept = {label: highest_kept(data[label]) for label in lines}
    told = {
        label: f"keeps up to {number(rate)} requests/s" if rate else "never keeps up"
        for label, rate in kept.items()
    }
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(lines, kept),
        subtitle=(
            f"Requests start on a schedule, not when a slot is free; "
            f"{blocks_words(spreads_of(lines), each=' a rate')}"
        ),
        alt=f"Line chart: achieved against offered rate. {described(analysis, told)}",
        draw=partial(_draw, lines),
        notes=(
            f"Keeping up: achieving at least {100 * KEEPS_UP:.0f} % of the offered rate.",
            *listed(stats.trials_of(analysis.records, "openloop")),
        ),
        hollow=any(point.hollow for points in lines.values() for point in points),
    )


def _finding(lines: Lines, kept: dict[str, float | None]) -> str | None:
    known = {label: rate for label, rate in kept.items() if rate}
    known = {label: rate for label, rate in known.items() if label in MODELS} or known
    if len(known) < 2:
        return None
    most, least = (pick(known, key=lambda label: known[label]) for pick in (max, min))
    at = {label: [p.spread for p in lines[label] if p.x == known[most]] for label in (most, least)}
    if known[most] == known[least] or not at[most] or not at[least]:
        return None
    if not apart(at[most][0], at[least][0]):
        return None
    return sentence(
        f"{says(most, 'keep')} up with {number(known[most])} requests/s, "
        f"{prose(least)} with {number(known[least])}"
    )


def _draw(lines: Lines, slide: Slide) -> None:
    names = list(lines)
    size = slide.label_size(len(names))
    axes = slide.panels(right=slide.label_room(names, size))[0]
    highest = max(point.x for points in lines.values() for point in points)
    axes.plot(
        [0, highest],
        [0, highest],
        color=slide.palette.muted,
        linewidth=1.4,
        linestyle=(0, (4, 3)),
        zorder=1,
    )
    ends = draw_lines(slide, axes, lines)
    value_axis(axes, [highest, *extent(lines)], log_beyond=1e9)
    value_axis(axes, [highest], axis="x", log_beyond=1e9)
    axes.set_xlim(0, highest * 1.02)
    axes.set_xlabel("offered: requests per second on the schedule")
    axes.set_title("achieved requests per second (dashed: keeps up)", color=slide.palette.muted)
    slide.label_ends(axes, ends, size)
