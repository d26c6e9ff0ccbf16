"""How evenly a backend's slots were served."""

from __future__ import annotations

from bench.analysis.analysis import Analysis
from bench.show import cells
from bench.show.table import Column, Table, name


def fairness(analysis: Analysis) -> Table:
    """One row per backend; no rows where it was not measured."""
    return Table(
        "Fairness between slots",
        [
            name("backend"),
            Column("least served slot ÷ median slot"),
            Column("longest wait, s"),
            Column("Jain’s index"),
        ],
        [
            [
                row.label,
                cells.spread(row.least_served),
                cells.spread(row.longest_wait_s),
                cells.spread(row.jain),
            ]
            for row in analysis.fairness
        ],
    )
