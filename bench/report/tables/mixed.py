"""Mixed load: the response times of pages without work, and what theory says of loops."""

from __future__ import annotations

from bench.analysis.analysis import Analysis
from bench.analysis.mixed import Mixed
from bench.show import cells
from bench.show.table import MISSING, Column, Row, Table, name
from bench.text import duration, significant


def mixed(analysis: Analysis) -> Table:
    """One row per backend and amount of work, in milliseconds."""
    return Table(
        "Mixed load: response times beside pages that need work, ms",
        [
            name("backend"),
            name("work"),
            Column("requests/s", drop=6),
            Column("mean [min–max]"),
            Column("p50"),
            Column("p90 or p99"),
            Column("mean in theory", drop=2),
            Column("… of the queue alone", drop=3),
            Column("… in the long run", drop=4),
            Column("work done p50", drop=5),
            Column("work takes", drop=8),
            Column("pages", drop=7),
        ],
        [_row(row) for row in analysis.mixed],
        about=(
            "Open loop in which one page in ten needs work: response times of the others, from "
            "the due time to the last byte, all blocks merged; the range is that of the blocks’ "
            "means. The tail is p99 where ten pages lie beyond it, otherwise p90. In theory: the "
            "mean that a loop gives on the same schedules with the measured times of work, "
            "followed step by step, with timers that wait whole milliseconds; of the queue alone: "
            "with one server, first come first served, that is never late; in the long run: "
            "Pollaczek and Khinchine’s mean for the rate. All three are for loops only. Work "
            "done: until a page that needed work had it; work takes: by the clock, in the thread "
            "that did it."
        ),
        grouped=True,
    )


def _row(row: Mixed) -> Row:
    theory = row.predicted
    return [
        row.label,
        f"{duration(row.work_ms)} of work",
        f"{row.rate:,.0f}",
        f"{_ms(row.mean_ms)} [{_ms(row.means.low)}–{_ms(row.means.high)}]",
        _ms(row.p50_ms),
        f"{_ms(row.tail_ms)} (p{row.tail:g})",
        _ms(theory.loop.mean_ms if theory and theory.loop else None),
        _ms(theory.queue.mean_ms if theory else None),
        _ms(theory.long_run_ms if theory else None),
        _ms(row.worked_p50_ms),
        _ms(row.wall_ms),
        cells.figure(row.count),
    ]


def _ms(value: float | None) -> str:
    return MISSING if value is None else significant(value, 3)
