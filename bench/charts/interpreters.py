"""What each CPython release changed: CPU per page and memory per connection, model by model."""

from __future__ import annotations

import math
from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench import across, stats
from bench.charts.facts import Facts, point_words
from bench.charts.ratios import ratio_ticks
from bench.charts.style import (
    Plan,
    Skip,
    Slide,
    duration_tick,
    listing,
    markers,
    times,
    value_axis,
)
from bench.stats import Comparison, Metric
from bench.workloads import AT, interpreter_of, model_of

NAME = "interpreters"
TITLE = "What each CPython release changed"
METRICS: dict[Metric, tuple[str, float, Callable[[float], str]]] = {
    stats.CPU_PER_1000: ("CPU per 1000 pages", 1.0, duration_tick),
    stats.USER_PER_CONNECTION: ("memory per connection", 1024.0, lambda v: f"{v:g} KiB"),
}
"""What is drawn: the metric, its title, the unit it is drawn in and the words of a tick."""
STEP = 0.17
"""Between the markers of two models at one interpreter, which are 1 apart."""


def plan(facts: Facts) -> Plan | Skip:
    """Absolute figures above; below, what each step from one interpreter to the next changed."""
    records = facts.records
    spreads = {metric: across.spreads(records, metric) for metric in METRICS}
    drawn = [metric for metric in METRICS if spreads[metric]]
    if not drawn:
        return Skip(NAME, TITLE, "no valid trial on any interpreter")
    steps = across.step_bases(records)
    ratios = {metric: across.comparisons(records, metric, steps) for metric in drawn}
    kinds = across.kinds(records)
    names = [name for mine in kinds.values() for name in mine]
    models = across.models(records)
    alone = len(models) - 1

    def draw(slide: Slide) -> None:
        slide.key(models)
        panels = slide.panels(len(drawn), 2, sharex=True)
        for column, metric in enumerate(drawn):
            absolute, relative = panels[column], panels[len(drawn) + column]
            title, unit, words = METRICS[metric]
            absolute.set_title(title, fontweight="bold")
            tops = [spread.high / unit for spread in spreads[metric].values()]
            value_axis(absolute, tops, words=words)
            ratio_axis(relative, list(ratios[metric].values()))
            for place, name in enumerate(names):
                for which, model in enumerate(models):
                    x = place + (which - alone / 2) * STEP
                    label = f"{model}{AT}{name}"
                    if spread := spreads[metric].get(label):
                        values = (spread.median, spread.low, spread.high)
                        one(slide, absolute, model, x, *(value / unit for value in values))
                    if found := ratios[metric].get(label):
                        r = found.ratio
                        one(slide, relative, model, x, r.value, r.low, r.high)
            for axes in (absolute, relative):
                axes.set_xlim(-0.55, len(names) - 0.45)
                edge = 0
                for mine in list(kinds.values())[:-1]:
                    edge += len(mine)
                    axes.axvline(
                        edge - 0.5, color=slide.palette.muted, linewidth=1.2, linestyle=(0, (4, 3))
                    )
            relative.set_xticks(range(len(names)), names)
            relative.tick_params(axis="x", labelcolor=slide.palette.ink, labelsize=13)
            if not slide.look.wide:
                relative.tick_params(axis="x", rotation=40)

    finding = strongest([c for metric in drawn for c in ratios[metric].values()])
    alt = "Dot chart by interpreter. " + "; ".join(
        f"{label}: {METRICS[metric][0]} {spread.median / METRICS[metric][1]:.1f} "
        f"{'ms' if metric is stats.CPU_PER_1000 else 'KiB'}"
        for metric in drawn
        for label, spread in list(spreads[metric].items())[:8]
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=subtitle(facts, drawn),
        alt=alt + ".",
        draw=draw,
        notes=notes(facts, kinds),
    )


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


def ratio_axis(axes: Axes, found: list[Comparison]) -> None:
    """A logarithmic axis about 1, so that half and double are equally far from it."""
    ratios = [c.ratio for c in found]
    ends = [v for r in ratios for v in (r.value, r.low, r.high) if v is not None and v > 0]
    low, high = min([*ends, 0.9]) / 1.04, max([*ends, 1.1]) * 1.04
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(FixedLocator(ratio_ticks(low, high, most=5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}×"))
    axes.axhline(1.0, color=axes.xaxis.label.get_color(), linewidth=1.4, zorder=1)


def strongest(found: list[Comparison]) -> str | None:
    """The largest shown difference in a sentence, None when none is shown."""
    shown = [c for c in found if c.ratio.shown and c.ratio.value]
    if not shown:
        return None
    most = max(shown, key=lambda c: abs(math.log(c.ratio.value or 1.0)))
    return (
        f"{model_of(most.label)} on {interpreter_of(most.label)}: "
        f"{times(most.ratio.value or 1.0)}× the {METRICS[most.metric][0]} of "
        f"{interpreter_of(most.base)}"
    )


def subtitle(facts: Facts, drawn: list[Metric]) -> str:
    """Where the figures are from, and what the bars are."""
    trials = stats.trials_of(facts.records, twins=False)
    at = [
        point_words(next(t for t in trials if t.workload in metric.workloads)) for metric in drawn
    ]
    return (
        f"{listing(at)}; above: {facts.spread_words(trials)}; "
        "below: ratio to the release before in the same build (t: to the same with the lock), "
        "95 % interval"
    )


def notes(facts: Facts, kinds: dict[str, list[str]]) -> tuple[str, ...]:
    """Builds, parser and lock as they were in the trials, and what is missing."""
    trials = stats.trials_of(facts.records)
    found = [f"{listing(names)}: {build}" for build, names in kinds.items()]
    builds = (
        f"WARNING, builds differ: {'. '.join(found)}. A build can change more than a release: "
        "do not compare across the broken line."
    )
    if len(kinds) == 1:
        builds = f"All built alike: {next(iter(kinds))}."
    parsers = sorted({str(t.mechanism.get("parser")) for t in trials})
    lock = sorted({str(t.mechanism["gil"]) for t in trials if t.label.partition("#")[0][-1] == "t"})
    said = f"Memory: user space. Standard library only, parser: {listing(parsers)}."
    if lock:
        said += f" t: free-threaded build, interpreter lock {listing(lock)}."
    head = facts.campaign
    if head and head.interpreters_missing:
        said += f" Not measured: {listing(list(head.interpreters_missing))}."
    return builds, said
