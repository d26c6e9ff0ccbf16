"""Service and response time of the same trials: coordinated omission made visible."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from matplotlib.axes import Axes

from bench.analysis.analysis import Analysis
from bench.analysis.wording import prose
from bench.report.charts.axes import time_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.open_loop import by_rate, highest_kept
from bench.report.charts.percentiles import Curve, curve, percentile_axis
from bench.report.charts.slide import Slide
from bench.schema import TrialRecord
from bench.show.words import described, listed, of_blocks
from bench.text import count, duration
from crawlers.registry import MODELS

NAME = "omission"
TITLE = "Service time and response time of the same trials"
MOST = 4
"""Panels on one slide."""
CLEAR = 1.5
"""A p99 of response times so many times that of service times shows the omission."""

Pairs = Mapping[str, tuple[Curve, Curve]]
"""Label -> its service and its response times."""


def design(analysis: Analysis) -> Design | Skip:
    """Two curves per backend at one rate: what a closed loop sees, and what a user would."""
    data = by_rate(analysis)
    data = {
        label: {r: ts for r, ts in rates.items() if all(t.response_time for t in ts)}
        for label, rates in data.items()
    }
    data = {label: rates for label, rates in data.items() if rates}
    if not data:
        return Skip(NAME, TITLE, "no valid open-loop trial with response times")
    labels = sorted(data, key=lambda label: label not in MODELS)[:MOST]
    common = set.intersection(*(set(data[x]) for x in labels))
    if not common:
        return Skip(NAME, TITLE, "no offered rate was measured for all backends")
    # The lowest rate that some backend no longer keeps up with shows the effect
    # without having been chosen for size; without one, the highest rate.
    past = [r for r in sorted(common) if any((highest_kept(data[x]) or 0.0) < r for x in labels)]
    rate = past[0] if past else max(common)
    pairs: dict[str, tuple[Curve, Curve]] = {}
    for label in labels:
        service = curve(data[label][rate], lambda t: t.service_time)
        response = curve(data[label][rate], lambda t: t.response_time)
        if service and response:
            pairs[label] = (service, response)
    if not pairs:
        return Skip(NAME, TITLE, "too few samples for percentile curves")
    absent = [x for x in data if x not in pairs]
    left = ", ".join(absent) if len(absent) < 6 else f"{len(absent)} further backends"
    told = {
        label: f"p99 service {duration(service.p99_ms)}, response {duration(response.p99_ms)}"
        for label, (service, response) in pairs.items()
    }
    return Design(
        name=NAME,
        title=TITLE,
        finding=_finding(pairs, {label: data[label][rate] for label in pairs}),
        subtitle=(
            f"{count(rate)} requests/s offered. Service time runs from the actual start, response "
            "time from the intended one"
        ),
        alt=f"Percentile curves at {count(rate)} requests/s offered. {described(analysis, told)}",
        draw=partial(_draw, pairs),
        notes=(
            "A closed loop sees service time only. What it misses is called coordinated omission. "
            + _merged(pairs),
            *listed([t for label in pairs for t in data[label][rate]]),
            *((f"Not drawn: {left}.",) if absent else ()),
        ),
    )


def _merged(pairs: Pairs) -> str:
    return f"Each curve merges {of_blocks(service.trials for service, _ in pairs.values())}."


def _finding(pairs: Pairs, trials: Mapping[str, list[TrialRecord]]) -> str | None:
    worst = max(pairs, key=lambda x: pairs[x][1].p99_ms / max(pairs[x][0].p99_ms, 1e-9))
    service, response = pairs[worst]
    if not all(
        t.response_time.p99_ms > CLEAR * t.service_time.p99_ms
        for t in trials[worst]
        if t.response_time and t.service_time
    ):
        return None
    return (
        f"The same requests with {prose(worst)} have a p99 of {duration(service.p99_ms)} as "
        f"service time and {duration(response.p99_ms)} as response time"
    )


def _draw(pairs: Pairs, slide: Slide) -> None:
    columns = len(pairs) if slide.look.wide or len(pairs) < 2 else 2
    panels = slide.panels(columns, -(-len(pairs) // columns), sharey=True, sharex=True)
    curves = [found for pair in pairs.values() for found in pair]
    for axes, (label, (service, response)) in zip(panels, pairs.items(), strict=False):
        _panel(slide, axes, label, service, response)
        percentile_axis(axes, max(found.highest for found in curves))
        axes.tick_params(axis="x", labelsize=12)
        time_axis(axes, [ms for found in curves for ms in found.ms], 0.12)
    for spare in panels[len(pairs) :]:
        spare.set_visible(False)


def _panel(slide: Slide, axes: Axes, label: str, service: Curve, response: Curve) -> None:
    colour = slide.look.of(label).colour
    axes.plot(service.positions, service.ms, color=colour, linewidth=2.4, linestyle=(0, (2, 1.4)))
    axes.plot(response.positions, response.ms, color=colour, linewidth=3.4)
    below = dict(zip(service.positions, service.ms, strict=True))
    between = [
        (x, below[x], y) for x, y in zip(response.positions, response.ms, strict=True) if x in below
    ]
    axes.fill_between(
        [x for x, _, _ in between],
        [low for _, low, _ in between],
        [high for _, _, high in between],
        color=colour,
        alpha=0.14,
        linewidth=0,
    )
    axes.set_title(label, fontweight="bold", fontsize=17)
    for found, name, va, ha, dy in (
        (response, "response", "bottom", "right", 8),
        (service, "service", "top", "left", -9),
    ):
        middle = len(found.ms) // 2
        axes.annotate(
            name,
            (found.positions[middle], found.ms[middle]),
            xytext=(0, dy),
            textcoords="offset points",
            ha=ha,
            va=va,
            fontsize=13,
            color=slide.palette.ink,
        )
