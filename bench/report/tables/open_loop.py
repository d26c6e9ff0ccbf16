"""Open loop: response times at an offered rate."""

from __future__ import annotations

from typing import Final

from bench.analysis.analysis import Analysis
from bench.analysis.summary import SummaryRow
from bench.show import cells
from bench.show.table import MISSING, Column, Row, Table, name

COLUMNS: Final = (
    name("backend"),
    Column("offered/s"),
    Column("achieved/s, median [min–max]"),
    Column("response p50 ms", drop=4),
    Column("response p99 ms"),
    Column("service p99 ms", drop=5),
    Column("late starts", drop=6),
    name("limiter"),
)


def open_loop(analysis: Analysis) -> Table:
    """Every backend at every offered rate."""
    return Table(
        "Open loop: response time from the intended start",
        COLUMNS,
        [_row(row) for row in analysis.rows if row.workload == "openloop"],
    )


def _row(row: SummaryRow) -> Row:
    return [
        row.label,
        cells.figure(row.offered_per_s),
        cells.spread(row.achieved_per_s),
        cells.figure(row.response_p50_ms),
        cells.figure(row.response_p99_ms),
        cells.figure(row.service_p99_ms),
        MISSING if row.late_starts is None else f"{row.late_starts:,}",
        cells.limiter(row.limiter),
    ]
