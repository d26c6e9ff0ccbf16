"""Memory per connection by owner, with the fixed cost of the process apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.wording import prose
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.show.words import described
from bench.text import KIB, MIB, count, number, size_words
from crawlers.registry import MODELS

NAME = "memory"
TITLE = "Memory per connection, by owner"

LEAST = 50.0
"""A part of fewer bytes per connection is not mentioned."""
CLEAR = 1.05
"""The headline compares totals that differ by at least this factor."""

HATCH = "//"
"""Marks a part that is calculated, not read."""

# One colour per part, not per backend: the chart compares the parts.
PART_COLOURS = {
    "light": {
        "user": "#0072b2",
        "page tables": "#56b4e9",
        "kernel stacks": "#d55e00",
        "kernel sockets": "#e69f00",
        "send buffers": "#cc79a7",
        "other": "#9aa1aa",
    },
    "dark": {
        "user": "#4aa3df",
        "page tables": "#a8dcf7",
        "kernel stacks": "#e8743b",
        "kernel sockets": "#f3c14b",
        "send buffers": "#e39ac4",
        "other": "#7b838d",
    },
}


@dataclass(frozen=True, slots=True)
class Row:
    """One backend, in bytes: each part per connection, and the fixed cost of the process."""

    label: str
    parts: Mapping[str, float]
    interval: tuple[float, float] | None  # of the sum; None without a slope
    fixed: float | None
    calculated: tuple[str, ...] = ()  # parts that were not read

    @property
    def total(self) -> float:
        """All parts together."""
        return sum(self.parts.values())


def design(analysis: Analysis) -> Design | Skip:
    """Stacked bars of the fitted slopes; the intercepts in a panel of their own."""
    rows: list[Row] = []
    missing: dict[str, str] = {}
    for label, fit in analysis.memory.items():
        if label not in analysis.main:
            continue
        parts: dict[str, float] = {}
        low = high = 0.0
        fitted = any(p.slope is not None for p in fit.parts.values())
        for name, part in fit.parts.items():
            value = part.slope if fitted else fit.at_highest[name]
            if value is None:
                missing[name] = part.reason or "not measured"
                continue
            parts[name] = max(value, 0.0)
            low += max(part.low or 0.0, 0.0)
            high += max(part.high or 0.0, 0.0)
        if parts:
            rows.append(
                Row(label, parts, (low, high) if fitted else None, fit.fixed, fit.calculated)
            )
    if not rows:
        return Skip(NAME, TITLE, "no valid trial of the c10k workload with memory readings")
    finding = _finding(rows)
    counts = sorted({n for row in rows for n in analysis.memory[row.label].connections})
    notes = [f"Not in the bars: {n} ({why})." for n, why in sorted(missing.items())]
    if finding is None and sum(row.interval is not None for row in rows) > 1:
        notes.insert(0, "No difference shown: the intervals of the totals overlap.")
    how = (
        f"Slope of a robust (Theil–Sen) line through {len(counts)} numbers of connections up to "
        f"{count(counts[-1])}, with the 95 % interval of the total"
        if any(row.interval for row in rows)
        else f"At {count(counts[-1])} connections, divided by their number: too few numbers of "
        "connections for a slope"
    )
    notes += _calculated(rows)
    told = {
        row.label: f"{size_words(row.total)} ("
        + ", ".join(
            f"{n} {size_words(v)}{' calculated' if n in row.calculated else ''}"
            for n, v in row.parts.items()
            if v >= LEAST
        )
        + ")"
        for row in rows
    }
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=how,
        alt=f"Stacked bar chart: memory per connection by owner. {described(analysis, told)}",
        draw=partial(_draw, rows),
        notes=(
            *notes,
            "Without the server’s side of the sockets. Fixed: the process before its first "
            "connection.",
        ),
    )


def _calculated(rows: Sequence[Row]) -> list[str]:
    """Which parts of which bars were not read."""
    found = [
        f"{size_words(row.parts[name])} of {prose(row.label)} ({name})"
        for row in rows
        for name in row.calculated
        if row.parts.get(name, 0.0) >= LEAST
    ]
    if not found:
        return []
    more = f" and {len(found) - 2} more" if len(found) > 2 else ""
    return [f"Hatched: calculated, not read: {', '.join(found[:2])}{more}."]


def _finding(rows: Sequence[Row]) -> str | None:
    """The models that need most and least, where their intervals lie apart."""
    bounded = [row for row in rows if row.interval]
    bounded = [row for row in bounded if row.label in MODELS] or bounded
    if len(bounded) < 2:
        return None
    most, least = (pick(bounded, key=lambda row: row.total) for pick in (max, min))
    if not most.interval or not least.interval or least.interval[1] <= 0:
        return None
    if most.interval[0] <= least.interval[1] or most.total <= CLEAR * least.total:
        return None
    return (
        f"An idle connection takes {size_words(most.total, 2)} with {prose(most.label)} and "
        f"{size_words(least.total, 2)} with {prose(least.label)}"
    )


def _draw(rows: Sequence[Row], slide: Slide) -> None:
    two = any(row.fixed is not None for row in rows)
    colours = PART_COLOURS[slide.look.theme]
    names = [n for n in stats.MEMORY_PARTS if any(row.parts.get(n, 0.0) > 0 for row in rows)]
    hatched = {n for row in rows for n in row.calculated}
    slide.swatches(
        [
            (f"{n} (calculated)" if n in hatched else n, colours[n], HATCH * (n in hatched))
            for n in names
        ]
    )
    panels = slide.panels(2 if two else 1, widths=[3.1, 1.0] if two else None)
    size = slide.label_size(len(rows), 16.0)
    _parts(slide, panels[0], rows, size)
    if two:
        _fixed(slide, panels[1], rows, size)
    for panel in panels:
        bar_rows(slide, panel, [row.label for row in rows], size)
    if two:
        panels[1].set_yticks([])


def _parts(slide: Slide, axes: Axes, rows: Sequence[Row], size: float) -> None:
    colours = PART_COLOURS[slide.look.theme]
    for place, row in enumerate(rows):
        left = 0.0
        for name in stats.MEMORY_PARTS:
            value = row.parts.get(name, 0.0) / KIB
            axes.barh(
                place,
                value,
                left=left,
                height=0.62,
                color=colours[name],
                hatch=HATCH if name in row.calculated else None,
                edgecolor=slide.palette.background,
                linewidth=0,
                zorder=2,
            )
            left += value
        edge = left
        if row.interval:
            low, high = row.interval[0] / KIB, row.interval[1] / KIB
            bar_range(axes, low, high, place, slide.palette.ink)
            edge = max(left, high)
        bar_label(axes, size_words(row.total), edge, place, size, bold=True)
    widest = max(max(row.total, row.interval[1] if row.interval else 0.0) for row in rows)
    value_axis(axes, [widest / KIB * 1.2], axis="x", words=number)
    axes.set_xlabel("KiB per connection")


def _fixed(slide: Slide, axes: Axes, rows: Sequence[Row], size: float) -> None:
    known = [(place, row.fixed / MIB) for place, row in enumerate(rows) if row.fixed is not None]
    for place, value in known:
        axes.barh(place, value, height=0.62, color=slide.palette.muted, zorder=2)
        bar_label(axes, f"{value:.0f}", value, place, size)
    value_axis(axes, [max(value for _, value in known) * 1.35], axis="x", words=number)
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel("MiB fixed")
