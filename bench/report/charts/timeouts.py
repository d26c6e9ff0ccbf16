"""What a timeout for each exchange adds to a page, in the way of each library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.analysis.analysis import Analysis
from bench.analysis.timeouts import Timeout, priced
from bench.report.charts.axes import value_axis
from bench.report.charts.design import Design, Skip
from bench.report.charts.marks import bar_label, bar_range, bar_rows
from bench.report.charts.slide import Slide
from bench.show.words import of_blocks
from bench.text import duration, duration_tick

NAME = "timeouts"
TITLE = "What a timeout for each exchange costs"


def design(analysis: Analysis) -> Design | Skip:
    """A bar for each way that was measured, with its interval."""
    rows = priced(analysis.timeouts)
    if not rows:
        return Skip(NAME, TITLE, "no backend was measured with and without a timeout")
    blocks = [row.ratio.blocks for row in rows if row.ratio]
    return Design(
        name=NAME,
        title=TITLE,
        finding=finding(rows),
        subtitle="Processor time that it adds to a crawled page at 100 slots, paired in turns; "
        f"{of_blocks(blocks)}, 95 % intervals",
        alt="Bar chart, processor time that a timeout adds to a page. "
        + "; ".join(f"{row.way} with {row.backend} {words(row)}" for row in rows)
        + ".",
        draw=partial(_draw, rows),
        notes=(
            "On top of what is in every page: a deadline in each slot, and a sweep over the slots "
            "four times a second.",
        ),
    )


def finding(rows: Sequence[Timeout]) -> str | None:
    """The way that costs most, and the one that costs least, where both are shown."""
    shown = [row for row in rows if row.ratio is not None and row.ratio.shown]
    if len(shown) < 2:
        return None
    most, least = shown[0], shown[-1]
    return f"{most.way} adds {words(most)} to a page, {least.way} {words(least)}"


def words(row: Timeout) -> str:
    """``7.4 µs (15 %)``."""
    added = _ms(row.added_us)
    share = (row.ratio.value or 1.0) - 1 if row.ratio else 0.0
    sign = "−" if added < 0 else ""
    return f"{sign}{duration(abs(added))} ({100 * share:.0f} %)"


def _ms(microseconds: float | None) -> float:
    return (microseconds or 0.0) / 1000


def _draw(rows: Sequence[Timeout], slide: Slide) -> None:
    axes = slide.panels()[0]
    size = slide.label_size(2 * len(rows), 16.0)
    most = 0.0
    for place, row in enumerate(rows):
        added = _ms(row.added_us)
        colour = slide.look.of(row.backend).colour
        axes.barh(place, max(added, 0.0), height=0.5, color=colour, zorder=2)
        end = max(added, 0.0)
        if row.interval_us is not None:
            low, high = (max(_ms(value), 0.0) for value in row.interval_us)
            bar_range(axes, low, high, place, slide.palette.ink)
            end = max(end, high)
        bar_label(axes, words(row), end, place, size, bold=True)
        most = max(most, end)
    value_axis(axes, [most * 1.25], axis="x", words=duration_tick)
    bar_rows(slide, axes, [row.backend for row in rows], size)
    axes.set_yticks(range(len(rows)), [f"{row.way}\n{row.backend}" for row in rows], fontsize=size)
    axes.set_xlabel("processor time that a timeout adds to a page")
