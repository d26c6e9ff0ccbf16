"""What a new connection for each page costs on plain HTTP.

A backend takes turns with itself: pages of a list on kept connections, and the same pages with a
connection for each. So the cost of opening and closing is a difference within a block, and the
backend's own page on a kept connection is its unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.analysis import stats
from bench.analysis.encryption import costs_in_modes, within
from bench.analysis.stats import Spread
from bench.store import Records

WORKLOAD: Final = "churn"
KEPT, OPENED = "plain", "churn"
"""The modes: a kept connection, and one for each page."""


@dataclass(frozen=True, slots=True)
class Churn:
    """One backend. Times are microseconds of processor time, over the blocks."""

    label: str
    slots: int
    costs: Mapping[str, Spread]  # mode -> µs per page
    opening: Spread | None  # µs that a connection of its own adds to a page, within blocks
    pages: Spread | None  # the same in pages on a kept connection


def churn(records: Records) -> list[Churn]:
    """Every backend that was measured in both modes, in the campaign's order."""
    sizes = {
        trial.label: int(stats.number_param(trial, "slots") or 0)
        for trial in stats.trials_of(records, WORKLOAD, twins=False)
    }
    found = []
    for label, mine in costs_in_modes(records, WORKLOAD).items():
        spreads = {mode: stats.spread(blocks.values()) for mode, blocks in mine.items()}
        found.append(
            Churn(
                label=label,
                slots=sizes[label],
                costs={mode: spread for mode, spread in spreads.items() if spread},
                opening=within(mine, OPENED, KEPT, lambda opened, kept: opened - kept),
                pages=within(mine, OPENED, KEPT, lambda opened, kept: opened / kept - 1),
            )
        )
    return found


def dearest(rows: Sequence[Churn]) -> list[Churn]:
    """The rows with a figure, the most pages for a connection first."""
    known = [row for row in rows if row.pages is not None]
    return sorted(known, key=lambda row: -row.pages.median if row.pages else 0.0)
