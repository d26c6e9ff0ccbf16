"""Instructions per page as bars: one panel for fetching, one for crawling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from bench.costs.account import Account, Cost
from bench.costs.record import Costs, seed_words
from bench.costs.tasks import FLOOR
from bench.machine.instruments import INSTRUCTIONS
from bench.plan.cast import MAIN_VARIANTS
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.show.words import commit_words, machine_words
from bench.text import number, times
from crawlers.registry import MODELS

NAME = "costs"
TITLE = "Instructions that a page takes"
MOST = 16
"""With more backends in a panel only the main ones are drawn, so that each can be read."""
SHOWN = (FLOOR, *MODELS, *MAIN_VARIANTS)
HEADS = {"fetch": "a fetched page: a list, no links", "crawl": "a crawled page: links too"}


@dataclass(frozen=True, slots=True)
class Row:
    """One backend on one workload."""

    backend: str
    cost: Cost


def design(costs: Costs, made: Sequence[Account]) -> Design | Skip:
    """Bars with the range over hash seeds."""
    panels = {
        workload: rows
        for workload in HEADS
        if (
            rows := [
                Row(each.backend, each.costs[INSTRUCTIONS])
                for each in made
                if each.workload == workload and INSTRUCTIONS in each.costs
            ]
        )
    }
    if not panels:
        return Skip(NAME, TITLE, "no instructions were counted")
    counted = max(map(len, panels.values()))
    left_out: tuple[str, ...] = ()
    main = {w: [r for r in rows if r.backend in SHOWN] for w, rows in panels.items()}
    if counted > MOST and all(main.values()):
        panels = main
        left_out = (f"The models and the main variants; the tables have all {counted}.",)
    workload, first = next(iter(panels.items()))
    header = costs.header
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(workload, first),
        subtitle=(
            f"Instructions in user space per page at {header.slots} slots, by "
            f"{header.tools.get('instructions', 'valgrind')}: a count, not a speed"
        ),
        alt="Bar charts, instructions per page. "
        + " ".join(
            f"{workload}: " + "; ".join(f"{r.backend} {r.cost.middle:,.0f}" for r in rows) + "."
            for workload, rows in panels.items()
        ),
        draw=partial(_draw, panels),
        notes=(
            f"Crawls of {header.pages:,} and {2 * header.pages:,} pages subtracted; median and "
            f"range of {seed_words(costs)}. Not in it: the kernel’s time, "
            "cache and branch misses.",
            *left_out,
        ),
    )


def finding(workload: str, rows: Sequence[Row]) -> str | None:
    """The models with the least and the most, if their ranges are apart."""
    models = [row for row in rows if row.backend in MODELS]
    if len(models) < 2:
        return None
    least = min(models, key=lambda row: row.cost.middle)
    most = max(models, key=lambda row: row.cost.middle)
    if most.cost.low <= least.cost.high:
        return None
    ratio = times(most.cost.middle / least.cost.middle)
    what = "fetched" if workload == "fetch" else "crawled"
    return (
        f"A {what} page takes {number(least.cost.middle)} instructions with {least.backend}, "
        f"{ratio} times as many with {most.backend}"
    )


def _draw(panels: dict[str, list[Row]], slide: Slide) -> None:
    beside = len(panels) if slide.look.wide else 1
    below = len(panels) // beside
    all_axes = slide.panels(beside, below)
    size = slide.label_size(max(map(len, panels.values())) * below, 15.0)
    for axes, (workload, rows) in zip(all_axes, panels.items(), strict=True):
        _panel(slide, axes, workload, rows, size)


def _panel(slide: Slide, axes: Axes, workload: str, rows: Sequence[Row], size: float) -> None:
    for place, row in enumerate(rows):
        colour = slide.look.of(row.backend).colour
        axes.barh(place, row.cost.middle, height=0.62, color=colour, zorder=2)
        if row.cost.spread > 0.002:
            bar_range(axes, row.cost.low, row.cost.high, place, slide.palette.ink)
        bar_label(axes, number(row.cost.middle), row.cost.high, place, size, bold=True)
    most = max(row.cost.high for row in rows)
    value_axis(axes, [most * 1.16], axis="x", words=number)
    bar_rows(slide, axes, [row.backend for row in rows], size)
    axes.set_xlabel(HEADS[workload])


def footer(costs: Costs) -> tuple[str, str]:
    """Where the numbers come from."""
    environment = costs.header.environment
    return (
        machine_words(environment, costs.header.created),
        f"python -m bench costs · commit {commit_words(environment)}",
    )
