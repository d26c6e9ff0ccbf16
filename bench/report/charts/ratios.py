"""Every backend against the base, with intervals and the noise floor: is it real?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Comparison
from bench.analysis.wording import prose
from bench.report.charts.axes import ratio_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.slide import Slide
from bench.show.words import of_models
from bench.text import listing

NAME = "ratios"
TITLE = "Throughput against the base, with intervals"
#: With more backends than this, one row per backend at one point instead of all points.
CROWD = 6
#: Where a ratio to one base is the question; the ladder and the regime map have their own.
WORKLOADS = ("throughput", "waiting", "real")


@dataclass(frozen=True, slots=True)
class Forest:
    """The comparisons of each workload, row by row."""

    base: str
    labels: Sequence[str]
    rows: Mapping[str, Sequence[tuple[str, Sequence[Comparison]]]]  # workload -> rows
    titles: Mapping[str, str]  # workload -> title of its panel
    floor: float  # noise floor as a log ratio, 0 without one
    crowd: bool  # one backend per row, not one point

    @property
    def drawn(self) -> list[Comparison]:
        """All comparisons."""
        return [c for rows in self.rows.values() for _, found in rows for c in found]


def design(analysis: Analysis) -> Design | Skip:
    """A forest chart of all throughput ratios."""
    found = analysis.compare(stats.PAGES_PER_S)
    found = [c for c in found if c.ratio.value is not None and c.workload in WORKLOADS]
    if not found:
        return Skip(NAME, TITLE, "nothing to compare: no block holds the base and another backend")
    floor = analysis.floor(stats.PAGES_PER_S)
    labels = [x for x in analysis.labels if any(c.label == x for c in found)]
    crowd = len(labels) > CROWD
    rows: dict[str, list[tuple[str, list[Comparison]]]] = {}
    titles: dict[str, str] = {}
    for workload in WORKLOADS:
        mine = [c for c in found if c.workload == workload]
        if not mine:
            continue
        titles[workload] = workload
        if crowd:
            point = analysis.reference_point(workload) or ""
            titles[workload] += f", {point.rpartition('-')[2]} slots"
            rows[workload] = [
                (x, [c for c in mine if c.label == x and c.point == point]) for x in labels
            ]
        else:
            rows[workload] = [
                (point.rpartition("-")[2], [c for c in mine if c.point == point])
                for point in dict.fromkeys(c.point for c in mine)
            ]
    forest = Forest(found[0].base, labels, rows, titles, floor.log or 0.0, crowd)
    base = prose(forest.base)
    models = of_models(forest.drawn)
    shown = sum(c.ratio.shown for c in models)
    between = (
        f"Bars: 95 % bootstrap intervals, paired within blocks. Grey: noise floor of "
        f"{stats.floor_words(floor.log)} from {floor.pairs} A/A pairs."
        if floor.log is not None
        else "Bars: 95 % bootstrap intervals, paired within blocks. No A/A pair, so no noise floor."
    )
    return Design(
        name=NAME,
        title=f"{TITLE}: {listing(labels)} over {forest.base}" if len(labels) < 4 else TITLE,
        finding=(
            f"{shown} of {len(models)} comparisons with {base} show a difference beyond the noise"
            if shown and models == forest.drawn
            else f"{shown} of {len(models)} comparisons of the models with {base} show a "
            "difference beyond the noise"
            if shown
            else None
        ),
        subtitle="Ratio of pages per second: 1× is no difference, farther right is faster",
        alt=_alt(forest),
        draw=partial(_draw, forest),
        notes=(*_missing(forest), between),
        hollow=any(c.server_limited for c in forest.drawn),
    )


def _missing(forest: Forest) -> list[str]:
    """Why some points have no bar, or none shows a difference."""
    verdicts = Counter("shown" if c.ratio.shown else c.ratio.verdict for c in forest.drawn)
    notes = []
    if verdicts[stats.TOO_FEW]:
        notes.append(
            f"No bar: fewer than {stats.MIN_BLOCKS} blocks, too few to claim a difference."
        )
    if not verdicts["shown"] and verdicts[stats.UNDECIDED]:
        notes.append("No difference shown.")
    return notes


def _alt(forest: Forest) -> str:
    head = f"Forest chart of throughput ratios to {forest.base}. "
    shown = [c for c in of_models(forest.drawn) if c.ratio.shown]
    shown.sort(key=lambda c: -abs(math.log(c.ratio.value or 1.0)))
    if not shown:
        return f"{head}No difference is shown."
    told = [
        f"{c.label} {c.ratio.value:.2f} ({c.ratio.low:.2f} to {c.ratio.high:.2f}) at {c.point}"
        for c in shown[:6]
    ]
    return f"{head}{'; '.join(told)}."


def _draw(forest: Forest, slide: Slide) -> None:
    wide, count = slide.look.wide, len(forest.rows)
    if not forest.crowd:
        slide.key(forest.labels)
    heights = [max(1, len(rows)) for rows in forest.rows.values()]
    if wide:
        panels = slide.panels(count)
    else:
        panels = slide.panels(1, count, heights=[float(n) for n in heights], sharex=True)
    limits = _limits(forest)
    for axes, (workload, rows) in zip(panels, forest.rows.items(), strict=True):
        ratio_axis(axes, limits, most=(6 if count < 3 else 3) if wide else 9, axis="x")
        if forest.floor:
            floor = math.exp(forest.floor)
            axes.axvspan(1 / floor, floor, color=slide.palette.band, linewidth=0, zorder=0)
        axes.axvline(1.0, color=slide.palette.muted, linewidth=1.4, zorder=1)
        for row, (_, comparisons) in enumerate(rows):
            for comparison in comparisons:
                _one(slide, axes, comparison, row + _shift(forest, comparison), forest.crowd)
        # Rows of equal height in all panels: the same distance means the same everywhere.
        axes.set_ylim((max(heights) if wide else len(rows)) - 0.45, -0.55)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        for row in range(1, len(rows)):
            axes.axhline(row - 0.5, color=slide.palette.grid, linewidth=1, zorder=0)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="y", labelcolor=slide.palette.ink)
        axes.set_title(forest.titles[workload], fontweight="bold")
        if forest.crowd:
            axes.tick_params(axis="y", labelsize=slide.label_size(max(heights), 14.0))
            if axes is not panels[0] and wide:
                axes.tick_params(axis="y", labelleft=False)
        elif axes is panels[0] or not wide:
            axes.set_ylabel("slots")
    panels[count // 2 if wide else -1].set_xlabel(f"pages/s relative to {forest.base}")


def _shift(forest: Forest, comparison: Comparison) -> float:
    """How far from the middle of its row a backend stands, so that markers do not overlap."""
    if forest.crowd:
        return 0.0
    place = forest.labels.index(comparison.label) - (len(forest.labels) - 1) / 2
    return place * min(0.24, 0.72 / len(forest.labels))


def _limits(forest: Forest) -> tuple[float, float]:
    """The ends of the axis: all intervals, and more than the noise floor on either side of 1."""
    ratios = [c.ratio for c in forest.drawn]
    logs = [
        math.log(x) for r in ratios for x in (r.low, r.high, r.value) if x is not None and x > 0
    ]
    floor = 1.5 * forest.floor
    edge = max([*map(abs, logs), floor, 0.05])
    low, high = min([*logs, -0.25 * edge, -floor]), max([*logs, 0.25 * edge, floor])
    pad = 0.06 * (high - low)
    return math.exp(low - pad), math.exp(high + pad)


def _one(slide: Slide, axes: Axes, comparison: Comparison, y: float, small: bool) -> None:
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
        markersize=5.5 if small else 9.0,
        markerfacecolor=slide.palette.background if comparison.server_limited else look.colour,
        markeredgecolor=look.colour,
        markeredgewidth=2.2 if comparison.server_limited else 0,
        zorder=4,
    )
