"""Where threads stop being fine: pages per second and p99 by slots, a column for each delay."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from matplotlib.axes import Axes

from bench.analysis.analysis import Analysis
from bench.analysis.crossover import COMPARED, DEFAULT, Cell, Crossing, Crossover, behind, head
from bench.analysis.stats import Ratio
from bench.report.charts.axes import count_axis, ratio_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import markers
from bench.report.charts.slide import Slide
from bench.show.words import described, of_blocks
from bench.text import count, duration_tick

NAME: Final = "crossover"
TITLE: Final = "Where threads stop being fine, by slots and delay"
ROWS: Final = ("pages/s", "p99")


def design(analysis: Analysis) -> Design | Skip:
    """Two rows of small panels: ratios to callbacks, with intervals, and where threads cross."""
    found = analysis.crossover
    if found is None:
        return Skip(NAME, TITLE, "no valid trial of the crossover workload")
    told = {
        label: ", ".join(
            f"{cell.rate.value:.2f} at {count(cell.slots)} {behind(cell.delay_ms)}"
            for cell in found.cells
            if cell.label == label and cell.rate and cell.rate.value
        )
        for label in COMPARED
        if any(cell.label == label and cell.rate for cell in found.cells)
    }
    blocks = [cell.rate.blocks for cell in found.cells if cell.rate]
    if not blocks:
        return Skip(NAME, TITLE, "threads and callbacks were not measured at the same point")
    return Design(
        name=NAME,
        title=TITLE,
        finding=head(found),
        subtitle="Ratios to callbacks in the same blocks, by slots, behind each delay of the "
        f"server; 95 % intervals over {of_blocks(blocks)}",
        alt=f"Small charts, pages per second over those of callbacks. {described(analysis, told)}"
        + "".join(f" {_told(each)}." for each in found.crossings if each.below),
        draw=partial(_draw, found),
        notes=(
            "Shaded: from the most slots at which threads are not shown to fetch fewer pages per "
            "second than async_await to the fewest from which they are. No p99 without delay: "
            "backends take turns there.",
        ),
    )


def _told(each: Crossing) -> str:
    return (
        f"{each.label} below async_await {behind(each.delay_ms)} from {count(each.below or 0)} "
        "slots on"
    )


def _draw(found: Crossover, slide: Slide) -> None:
    delays = found.delays
    names = [label for label in COMPARED if any(cell.label == label for cell in found.cells)]
    slide.key(names)
    tails = any(cell.p99 for cell in found.cells)
    rows = 2 if tails else 1
    panels = slide.panels(len(delays), rows)
    for row in range(rows):
        chosen = [_ratio(cell, row) for cell in found.cells]
        ends = [v for r in chosen if r for v in (r.low, r.high, r.value) if v]
        for column, delay in enumerate(delays):
            axes = panels[row * len(delays) + column]
            cells = [cell for cell in found.cells if cell.delay_ms == delay]
            _panel(slide, axes, cells, row)
            ratio_axis(axes, [min(*ends, 0.9) / 1.1, max(*ends, 1.1) * 1.1], 6)
            axes.tick_params(labelsize=11.0, labelleft=column == 0)
            if row == 0:
                above = duration_tick(delay) if delay else "no delay"
                axes.set_title(above, fontweight="bold", fontsize=14.0)
                _mark(slide, axes, [c for c in found.crossings if c.delay_ms == delay])
            if column == 0:
                axes.set_ylabel(ROWS[row], fontsize=14.0)
            if row == rows - 1 and column == len(delays) // 2:
                axes.set_xlabel("slots", fontsize=14.0)


def _ratio(cell: Cell, row: int) -> Ratio | None:
    return cell.p99 if row else cell.rate


def _panel(slide: Slide, axes: Axes, cells: Sequence[Cell], row: int) -> None:
    """One delay: a line for each label, with the interval of each point."""
    axes.axhline(1.0, color=slide.palette.muted, linewidth=1.2, zorder=1)
    slots = sorted({cell.slots for cell in cells})
    count_axis(axes, slots)
    beside = 1.8 if len(slots) > 1 else 4.0
    axes.set_xlim(slots[0] / beside, slots[-1] * beside)
    axes.tick_params(axis="x", labelrotation=45.0)
    for place, label in enumerate(COMPARED):
        look = slide.look.of(label)
        shift = 10 ** (0.05 * (place - 1))
        drawn = [
            (cell.slots * shift, ratio.value, ratio)
            for cell in cells
            if cell.label == label and (ratio := _ratio(cell, row)) and ratio.value
        ]
        if not drawn:
            continue
        xs, ys = [x for x, _, _ in drawn], [y for _, y, _ in drawn]
        axes.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
        for x, _, ratio in drawn:
            if ratio.low and ratio.high:
                axes.plot([x, x], [ratio.low, ratio.high], color=look.colour, linewidth=2.2)
        hollow = [False] * len(xs)
        markers(axes, look, xs, ys, hollow, slide.palette.background, 7.0)


def _mark(slide: Slide, axes: Axes, crossings: Sequence[Crossing]) -> None:
    """Shade where threads with the usual switch interval fall below async_await."""
    for each in crossings:
        if each.label != DEFAULT or each.below is None:
            continue
        low = each.above or axes.get_xlim()[0]
        axes.axvspan(low, each.below, color=slide.palette.band, zorder=0)
        if each.at:
            axes.axvline(each.at, color=slide.palette.ink, linewidth=1.0, linestyle=":", zorder=1)
