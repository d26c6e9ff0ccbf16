"""Every backend against the base, with intervals and the noise floor: is it real?"""

from __future__ import annotations

import math
from collections import Counter

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench import stats
from bench.charts.facts import Facts
from bench.charts.style import Plan, Skip, Slide, listing
from bench.stats import Comparison

NAME = "ratios"
TITLE = "Throughput against the base, with intervals"
#: With more backends than this, one row per backend at one point instead of all points.
CROWD = 6
#: Where a ratio to one base is the question; the ladder and the regime map have their own.
WORKLOADS = ("throughput", "waiting", "real")


def plan(facts: Facts) -> Plan | Skip:
    """A forest chart of all throughput ratios."""
    found = facts.compare(stats.PAGES_PER_S)
    found = [c for c in found if c.ratio.value is not None and c.workload in WORKLOADS]
    if not found:
        return Skip(NAME, TITLE, "nothing to compare: no block holds the base and another backend")
    base = found[0].base
    floor = facts.floor(stats.PAGES_PER_S)
    workloads = [w for w in WORKLOADS if any(c.workload == w for c in found)]
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
            f"{verdicts['shown']} of {len(drawn)} comparisons with {base} show a difference "
            "beyond the noise"
        )
    notes: list[str] = []
    if verdicts[stats.TOO_FEW]:
        notes.append(
            f"Points without a bar: fewer than {stats.MIN_BLOCKS} blocks, no interval, no claim."
        )
    if not verdicts["shown"] and verdicts[stats.NO_DIFFERENCE]:
        notes.append("No difference shown.")
    notes.append(
        "Bars: 95 % bootstrap intervals, paired within blocks"
        + (
            f". Grey band: noise floor {stats.floor_words(floor.log)} from {floor.pairs} A/A pairs."
            if floor.log is not None
            else ". No A/A pair, so no noise floor."
        )
    )

    def draw(slide: Slide) -> None:
        count = len(workloads)
        if not crowd:
            slide.key(labels)
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
            ticks = ratio_ticks(*limits, most=(6 if count < 3 else 4) if slide.look.wide else 9)
            axes.xaxis.set_major_locator(FixedLocator(ticks))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}×"))
            # Equal row heights in all panels: the same distance means the same everywhere.
            axes.set_ylim((max(rows) if slide.look.wide else len(mine)) - 0.45, -0.55)
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


def ratio_ticks(low: float, high: float, most: int) -> list[float]:
    """Round ratios within the limits, 1 always among them, not more than ``most``.

    Adjacent ticks lie at least 1/(most + 1) of the axis apart, so labels do not touch.
    """
    span = math.log(high / low)
    candidates = [1.0, 2.0, 0.5, 4.0, 0.25, 8.0, 0.1, 10.0, 1.5, 0.75, 3.0, 1.25, 0.8, 1.2, 0.9]
    candidates += [1.1, 0.6, 0.7, 0.95, 1.05, 0.85, 1.15, 0.97, 1.03, 0.98, 1.02, 0.99, 1.01]
    chosen: list[float] = []
    for value in candidates:
        if low <= value <= high and all(
            abs(math.log(value / other)) >= span / (most + 1) for other in chosen
        ):
            chosen.append(value)
    return sorted(chosen)


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
