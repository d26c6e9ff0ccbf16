"""Total memory against connections held open."""

from __future__ import annotations

from functools import partial

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.stats import Spread
from bench.analysis.wording import prose
from bench.report.charts.axes import count_axis, memory_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import Lines, Point, draw_lines, extent, spreads_of
from bench.report.charts.slide import Slide
from bench.schema import TrialRecord
from bench.show.words import apart, blocks_words, described, extremes
from bench.text import count, size_words

NAME = "memory-total"
TITLE = "Total memory against connections held open"
ENOUGH = 3
"""Blocks that show a difference: memory hardly scatters."""


def total_bytes(trial: TrialRecord) -> float | None:
    """Memory of the whole crawler: its own parts as held, plus what the kernel's parts grew by."""
    growth = stats.memory_growth(trial)
    if growth is None or trial.memory is None:
        return None
    held = trial.memory.held
    own = [held.user_bytes, held.page_table_bytes, held.kernel_stack_bytes]
    if own[0] is None:
        return None
    kernel = [growth[name] for name in stats.MEMORY_PARTS if name not in stats.OWN_PARTS]
    return float(sum(v for v in own if v is not None)) + sum(v for v in kernel if v is not None)


def design(analysis: Analysis) -> Design | Skip:
    """One line per backend, medians over blocks with their range."""
    lines: dict[str, list[Point]] = {}
    missing: set[str] = set()
    for label, sizes in analysis.by_size("c10k", "connections").items():
        if label not in analysis.main:
            continue
        for connections, trials in sizes.items():
            if found := stats.spread(total_bytes(t) for t in trials):
                lines.setdefault(label, []).append(Point(connections, found))
            for trial in trials:
                growth = stats.memory_growth(trial) or {}
                missing |= {n for n in stats.MEMORY_PARTS if growth.get(n) is None}
    if not lines:
        return Skip(NAME, TITLE, "no valid trial of the c10k workload with memory readings")
    top = max(point.x for points in lines.values() for point in points)
    at_top = {
        label: point.spread for label, points in lines.items() for point in points if point.x == top
    }
    told = {label: size_words(spread.median) for label, spread in at_top.items()}
    return Design(
        name=NAME,
        title=TITLE,
        finding=takes(top, at_top),
        subtitle=(
            "The crawler’s process and its share of the kernel, with every connection idle; "
            + blocks_words(spreads_of(lines))
        ),
        alt=f"Line chart: memory against connections. At {count(top)} connections: "
        + described(analysis, told),
        draw=partial(_draw, lines),
        notes=(f"Not measured: {', '.join(sorted(missing))}.",) if missing else (),
    )


def takes(connections: float, memory: dict[str, Spread], whose: str = "") -> str | None:
    """``10,000 connections take 802 MiB with threads and 61 MiB with callbacks``, if they do.

    None when the two trials overlap, or differ by less than a tenth.
    """
    ends = extremes(memory)
    if ends is None:
        return None
    most, least = (memory[label] for label in ends)
    if not apart(most, least, ENOUGH) or most.median < 1.1 * least.median:
        return None
    return (
        f"{count(connections)} connections take {size_words(most.median)}{whose} with "
        f"{prose(ends[0])} and {size_words(least.median)} with {prose(ends[1])}"
    )


def _draw(lines: Lines, slide: Slide) -> None:
    names = list(lines)
    size = slide.label_size(len(names))
    axes = slide.panels(right=slide.label_room(names, size))[0]
    ticks = sorted({point.x for points in lines.values() for point in points})
    count_axis(axes, ticks)
    ends = draw_lines(slide, axes, lines)
    memory_axis(axes, extent(lines))
    axes.set_xlim(ticks[0] / 1.3, ticks[-1] * 1.15)
    axes.set_xlabel("connections held open at once")
    slide.label_ends(axes, ends, size)
