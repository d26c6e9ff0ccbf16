"""What each CPython release changed: CPU per page and memory per connection, model by model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.releases import switches
from bench.analysis.stats import Comparison, Metric, Spread
from bench.analysis.wording import TIMES_FROM, says
from bench.plan.labels import Label
from bench.report.charts.axes import ratio_axis, value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import markers
from bench.report.charts.slide import Slide
from bench.show.words import blocks_words, point_words, sentence
from bench.text import duration_tick, listing, times

NAME = "interpreters"
TITLE = "What each CPython release changed"
METRICS: dict[Metric, tuple[str, float, Callable[[float], str]]] = {
    stats.CPU_PER_1000: ("CPU per 1000 pages", 1.0, duration_tick),
    stats.USER_PER_CONNECTION: ("memory per connection", 1024.0, lambda v: f"{v:g} KiB"),
}
"""What is drawn: the metric, its title, the unit it is drawn in and the words of a tick."""
STEP = 0.17
"""Between the markers of two models at one interpreter, which are 1 apart."""


@dataclass(frozen=True, slots=True)
class Column:
    """One metric: label -> its values, and label -> its ratio to the step before."""

    metric: Metric
    spreads: Mapping[str, Spread]
    ratios: Mapping[str, Comparison]


def design(analysis: Analysis) -> Design | Skip:
    """Absolute figures above; below, what each step from one interpreter to the next changed."""
    releases = analysis.releases
    if releases is None:
        return Skip(NAME, TITLE, "the campaign names no interpreters")
    columns = [
        Column(metric, releases.spreads(metric), releases.to_previous(metric))
        for metric in METRICS
        if releases.spreads(metric)
    ]
    if not columns:
        return Skip(NAME, TITLE, "no valid trial on any interpreter")
    told = [
        f"{label}: {METRICS[column.metric][0]} {spread.median / METRICS[column.metric][1]:.1f} "
        f"{'ms' if column.metric is stats.CPU_PER_1000 else 'KiB'}"
        for column in columns
        for label, spread in list(column.spreads.items())[:8]
    ]
    return Design(
        name=NAME,
        title=TITLE,
        finding=strongest([c for column in columns for c in column.ratios.values()]),
        subtitle=subtitle(analysis, columns),
        alt=f"Dot chart by interpreter. {'; '.join(told)}.",
        draw=partial(_draw, columns, list(releases.kinds.values()), releases.models),
        notes=notes(analysis, releases.kinds),
    )


def _draw(
    columns: Sequence[Column],
    kinds: Sequence[Sequence[str]],
    models: Sequence[str],
    slide: Slide,
) -> None:
    slide.key(models)
    panels = slide.panels(len(columns), 2, sharex=True)
    names = [name for mine in kinds for name in mine]
    for place, column in enumerate(columns):
        absolute, relative = panels[place], panels[len(columns) + place]
        title, unit, words = METRICS[column.metric]
        absolute.set_title(title, fontweight="bold")
        value_axis(absolute, [s.high / unit for s in column.spreads.values()], words=words)
        ratios = [c.ratio for c in column.ratios.values()]
        ends = [v for r in ratios for v in (r.value, r.low, r.high) if v is not None and v > 0]
        ratio_axis(relative, [min([*ends, 0.9]) / 1.04, max([*ends, 1.1]) * 1.04], most=5)
        relative.axhline(1.0, color=slide.palette.muted, linewidth=1.4, zorder=1)
        for at, name in enumerate(names):
            for which, model in enumerate(models):
                x = at + (which - (len(models) - 1) / 2) * STEP
                label = Label(model, name).backend
                if spread := column.spreads.get(label):
                    values = (spread.median, spread.low, spread.high)
                    one(slide, absolute, model, x, *(value / unit for value in values))
                if found := column.ratios.get(label):
                    r = found.ratio
                    one(slide, relative, model, x, r.value, r.low, r.high)
        edge = -0.5
        for mine in kinds[:-1]:
            edge += len(mine)
            for axes in (absolute, relative):
                axes.axvline(edge, color=slide.palette.muted, linewidth=1.2, linestyle=(0, (4, 3)))
        relative.set_xlim(-0.55, len(names) - 0.45)
        relative.set_xticks(range(len(names)), names)
        relative.tick_params(axis="x", labelcolor=slide.palette.ink, labelsize=13)
        if not slide.look.wide:
            relative.tick_params(axis="x", rotation=40)


def one(
    slide: Slide,
    axes: Axes,
    model: str,
    x: float,
    y: float | None,
    low: float | None,
    high: float | None,
) -> None:
    """A marker with its range or interval."""
    if y is None:
        return
    look = slide.look.of(model)
    if low is not None and high is not None:
        axes.plot([x, x], [low, high], color=look.colour, linewidth=2.6, alpha=0.55, zorder=3)
    markers(axes, look, [x], [y], [False], slide.palette.background, 8.5)


def strongest(found: list[Comparison]) -> str | None:
    """The largest shown difference in a sentence, None when none is shown."""
    shown = [c for c in found if c.ratio.shown and c.ratio.value]
    if not shown:
        return None
    most = max(shown, key=lambda c: abs(math.log(c.ratio.value or 1.0)))
    value = most.ratio.value or 1.0
    now, before = Label.parse(most.label), Label.parse(most.base)
    changed = f"{abs(100 * value - 100):.0f} % {'more' if value > 1 else 'less'}"
    if value >= TIMES_FROM:
        changed = f"{times(value)} times as much"
    what, _, _ = METRICS[most.metric]
    compared = f"{'as' if value >= TIMES_FROM else 'than'} on {before.interpreter}"
    return sentence(f"{says(now.name, 'take')} {changed} {what} on {now.interpreter} {compared}")


def subtitle(analysis: Analysis, columns: Sequence[Column]) -> str:
    """Where the figures are from, and what the bars are."""
    trials = stats.trials_of(analysis.records, twins=False)
    at = [
        point_words(next(t for t in trials if t.workload in column.metric.workloads))
        for column in columns
    ]
    blocks = blocks_words(s for column in columns for s in column.spreads.values())
    return (
        f"{listing(at)}; above: {blocks}; below: ratio to the release before in the same build "
        "(t: to the same release with the lock, j: with the JIT on, to the same with it off), "
        "95 % interval"
    )


def notes(analysis: Analysis, kinds: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Builds, parser, lock and JIT as they were in the trials, and what is missing."""
    trials = stats.trials_of(analysis.records)
    found = [f"{listing(names)}: {build}" for build, names in kinds.items()]
    builds = (
        f"WARNING, builds differ: {'. '.join(found)}. A build can change more than a release: "
        "do not compare across the broken line."
    )
    if len(kinds) == 1:
        builds = f"All built alike: {next(iter(kinds))}."
    parsers = sorted({str(t.mechanism.get("parser")) for t in trials})
    words = f"Memory: user space. Standard library only, parser: {listing(parsers)}. "
    words += " ".join(switches(trials))
    if missing := analysis.campaign.interpreters_missing:
        words += f" Not measured: {listing(list(missing))}."
    return builds, words
