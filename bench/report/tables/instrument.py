"""What measuring costs: keeping times, which also count the progress of a crawl in turns."""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.show.table import MISSING, Column, Table, name

LIMIT: Final = 0.01
"""The most that measuring may take of a page."""


def instrument(analysis: Analysis) -> Table:
    """One row per point and label; no rows where it was not measured."""
    return Table(
        "What measuring costs",
        [
            name("backend"),
            name("point"),
            Column("share of a page"),
            Column("95 %"),
            name("at most 1 %"),
            Column("blocks"),
        ],
        [
            [
                label,
                point,
                MISSING if cost.value is None else f"{100 * (1 - cost.value):+.1f} %",
                MISSING
                if cost.low is None or cost.high is None
                else f"{100 * (1 - cost.high):+.1f} to {100 * (1 - cost.low):+.1f} %",
                within(cost),
                str(cost.blocks),
            ]
            for (point, label), cost in analysis.instrument_cost.items()
        ],
        about=(
            "One backend against itself in turns: with the recorder of every other trial, and with "
            "one that keeps nothing. Pages are counted at the server for both of them."
        ),
    )


def within(cost: stats.Ratio) -> str:
    """Whether the cost is shown to be within the limit: by the whole interval, or not at all."""
    if cost.low is None or cost.high is None:
        return cost.reason
    if 1 - cost.low <= LIMIT:
        return "yes"
    return "no, it is more" if 1 - cost.high > LIMIT else "not shown"
