"""What a connection for each page costs on plain HTTP."""

from __future__ import annotations

from bench.analysis.analysis import Analysis
from bench.analysis.churn import KEPT, OPENED, Churn
from bench.report.tables import cells
from bench.report.tables.table import MISSING, Column, Row, Table, name
from bench.text import times


def churn(analysis: Analysis) -> Table:
    """One row per backend, in microseconds of processor time per page."""
    return Table(
        "A connection for each page, µs",
        [
            name("backend"),
            Column("kept"),
            Column("new"),
            Column("the connection"),
            Column("in kept pages"),
        ],
        [_row(row) for row in analysis.churn],
        about=(
            "Processor time per page on plain HTTP, in turns: on kept connections, and with a new "
            "connection for each page. Medians over blocks and their range; the connection is the "
            "difference within a block, in µs and in pages of the same backend."
        ),
    )


def _row(row: Churn) -> Row:
    pages = MISSING if row.pages is None else times(row.pages.median)
    kept, opened = row.costs.get(KEPT), row.costs.get(OPENED)
    return [row.label, *map(cells.spread, (kept, opened, row.opening)), pages]
