"""Every backend against the base, with intervals and the noise floor: is it real?"""

from __future__ import annotations

import math
from collections import Counter

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench import stats
from bench.charts.facts import Facts
from bench.charts.style import Plan, Skip, Slide, listing, readable
from bench.stats import Comparison

NAME = "ratios"
TITLE = "Throughput against the base, with intervals"
#: With more backends than this, one row per backend at one point instead of all points.
CROWD = 6


def plan(facts: Facts) -> Plan | Skip:
    """A forest chart of all throughput ratios."""
    found = facts.compare(stats.PAGES_PER_S)
    found = [c for c in found if c.ratio.value is not None]
    if not found:
        return Skip(NAME, TITLE, "nothing to compare: no block holds the base and another backend")
    base = found[0].base
    floor = facts.floor(stats.PAGES_PER_S)
    workloads = [w for w in stats.CLOSED if any(c.workload == w for c in found)]
    labels = [x for x in facts.labels if any(c.label == x for c in found)]
    crowd = len(labels) > CROWD
    groups: dict[str, list[tuple[str, list[Comparison]]]] = {}
    for workload in workloads:
        mine = [c for c in found if c.workload == workload]
        if crowd:
            point = facts.reference_point(workload)
            groups[workload] = [
                (x, [c for c in mine if c.label == x and c.point == point]) for x in labels
            ]
        else:
            points = list(dict.fromkeys(c.point for c in mine))
            groups[workload] = [
                (p.rpartition("-")[2], [c for c in mine if c.point == p]) for p in points
            ]
    drawn = [c for g in groups.values() for _, cs in g for c in cs]
    hollow = any(c.server_limited for c in drawn)
    verdicts = Counter("shown" if c.ratio.shown else c.ratio.verdict for c in drawn)
    finding = None
    if verdicts["shown"]:
        finding = (
            f"{verdicts['shown']} of {len(drawn)} differences from {base} are real, by interval "
            "and noise floor"
        )
    notes: list[str] = []
    if verdicts[stats.TOO_FEW]:
        notes.append(
            f"Points without a bar: fewer than {stats.MIN_BLOCKS} blocks, no interval, no claim."
        )
    if not verdicts["shown"] and verdicts[stats.NO_DIFFERENCE]:
        notes.append("No difference shown.")
    notes.append(
        "Bars: 95 % studentised bootstrap intervals, paired within blocks"
        + (
            f". Grey band: noise floor {stats.floor_words(floor.log)} from {floor.pairs} A/A pairs."
            if floor.log is not None
            else ". No A/A pair, so no noise floor."
        )
    )

    def draw(slide: Slide) -> None:
        count = len(workloads)
        rows = [max(1, len(groups[w])) for w in workloads]
        panels = (
            slide.panels(count)
            if slide.look.wide
            else slide.panels(1, count, heights=[float(r) for r in rows], sharex=True)
        )
        ends = [
            x for c in drawn for x in (c.ratio.low, c.ratio.high, c.ratio.value) if x is not None
        ]
        edge = max([abs(math.log(x)) for x in ends if x > 0] + [(floor.log or 0) * 1.5, 0.05])
        low = min([math.log(x) for x in ends if x > 0] + [-0.25 * edge, -(floor.log or 0) * 1.5])
        high = max([math.log(x) for x in ends if x > 0] + [0.25 * edge, (floor.log or 0) * 1.5])
        pad = 0.06 * (high - low)
        limits = (math.exp(low - pad), math.exp(high + pad))
        for axes, workload in zip(panels, workloads, strict=True):
            mine = groups[workload]
            if floor.log is not None:
                axes.axvspan(
                    math.exp(-floor.log),
                    math.exp(floor.log),
                    color=slide.palette.band,
                    linewidth=0,
                    zorder=0,
                )
            axes.axvline(1.0, color=slide.palette.muted, linewidth=1.4, zorder=1)
            for row, (_, comparisons) in enumerate(mine):
                for comparison in comparisons:
                    shift = 0.0
                    if not crowd:
                        place = labels.index(comparison.label)
                        shift = (place - (len(labels) - 1) / 2) * min(0.24, 0.72 / len(labels))
                    _one(slide, axes, comparison, row + shift, 5.5 if crowd else 9.0)
            axes.set_xscale("log")
            axes.set_xlim(*limits)
            ticks = _ticks(*limits, most=5 if slide.look.wide else 9)
            axes.xaxis.set_major_locator(FixedLocator(ticks))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}×"))
            axes.set_ylim(len(mine) - 0.45, -0.55)
            axes.set_yticks(range(len(mine)), [name for name, _ in mine])
            axes.grid(axis="x")
            axes.grid(visible=False, axis="y")
            for row in range(1, len(mine)):
                axes.axhline(row - 0.5, color=slide.palette.grid, linewidth=1, zorder=0)
            axes.spines["bottom"].set_visible(False)
            axes.tick_params(axis="y", labelcolor=slide.palette.ink)
            at = facts.reference_point(workload)
            where = f", {at.rpartition('-')[2]} slots" if crowd and at else ""
            axes.set_title(f"{workload}{where}", fontweight="bold")
            if crowd:
                axes.tick_params(axis="y", labelsize=slide.label_size(max(rows), 14.0))
                if axes is not panels[0] and slide.look.wide:
                    axes.tick_params(axis="y", labelleft=False)
            elif axes is panels[0] or not slide.look.wide:
                axes.set_ylabel("slots")
        panels[-1 if not slide.look.wide else count // 2].set_xlabel(f"pages/s relative to {base}")
        if not crowd:
            handles = [
                Line2D(
                    [],
                    [],
                    color=slide.look.of(x).colour,
                    marker=slide.look.of(x).marker,
                    markersize=10,
                    linewidth=3,
                    label=x,
                )
                for x in labels
            ]
            legend = slide.figure.legend(
                handles=handles,
                loc="outside upper left",
                ncols=len(handles),
                borderaxespad=0.3,
                fontsize=15,
                handlelength=1.6,
            )
            for text, x in zip(legend.get_texts(), labels, strict=True):
                text.set_color(readable(slide.look.of(x).colour, slide.palette.background))
                text.set_fontweight("bold")

    strongest = sorted(
        (c for c in drawn if c.ratio.shown), key=lambda c: -abs(math.log(c.ratio.value or 1.0))
    )[:6]
    alt = f"Forest chart of throughput ratios against {base}. " + (
        "; ".join(
            f"{c.label} {c.ratio.value:.2f} ({c.ratio.low:.2f} to {c.ratio.high:.2f}) at {c.point}"
            for c in strongest
        )
        + "."
        if strongest
        else "No difference is shown."
    )
    return Plan(
        name=NAME,
        title=f"{TITLE}: {listing(labels)} over {base}" if len(labels) < 4 else TITLE,
        finding=finding,
        subtitle="Ratio of pages per second; 1× is no difference, right of it is faster",
        alt=alt,
        draw=draw,
        notes=tuple(notes),
        hollow=hollow,
    )


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Round ratios within the limits, 1 always among them, not more than ``most``."""
    for steps in (
        (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2),
        (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4),
        (0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0),
        (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0),
        (0.25, 0.5, 1.0, 2.0, 4.0),
    ):
        found = [s for s in steps if low <= s <= high]
        if len(found) <= most and low >= steps[0] * 0.8 and high <= steps[-1] * 1.25:
            return found
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**e for e in decades for m in (1.0, 3.0) if low <= m * 10.0**e <= high]


def _one(slide: Slide, axes: Axes, comparison: Comparison, y: float, size: float) -> None:
    look, ratio = slide.look.of(comparison.label), comparison.ratio
    if ratio.value is None:
        return
    alpha = 1.0 if ratio.shown else 0.55
    if ratio.low is not None and ratio.high is not None:
        axes.plot(
            [ratio.low, ratio.high], [y, y], color=look.colour, linewidth=3, alpha=alpha, zorder=3
        )
    axes.plot(
        [ratio.value],
        [y],
        marker=look.marker,
        linestyle="none",
        markersize=size,
        markerfacecolor=slide.palette.background if comparison.server_limited else look.colour,
        markeredgecolor=look.colour,
        markeredgewidth=2.2 if comparison.server_limited else 0,
        zorder=4,
    )
