"""How each backend would limit an exchange, and what that costs."""

from __future__ import annotations

from bench.analysis.analysis import Analysis
from bench.analysis.timeouts import Timeout
from bench.show import cells
from bench.show.table import MISSING, Column, Row, Table, name, words


def timeouts(analysis: Analysis) -> Table:
    """One row per backend, those with a price first."""
    return Table(
        "A timeout for each exchange",
        [
            name("backend"),
            words("way"),
            Column("µs added [95 %]"),
            Column("ratio [95 %]"),
            words("verdict", drop=1),
        ],
        [_row(row) for row in analysis.timeouts],
        about=(
            "Processor time of a crawled page with the way of the backend’s library over the same "
            "backend without, at 100 slots, paired in turns. All have a deadline in each slot and "
            "a sweep over the slots as well. A way without a figure has no backend of its own here."
        ),
    )


def _row(row: Timeout) -> Row:
    verdict = row.ratio.verdict if row.ratio else MISSING
    return [row.backend, row.way, added(row), cells.ratio(row.ratio), verdict]


def added(row: Timeout) -> str:
    """Microseconds with their interval."""
    shown = cells.figure(row.added_us)
    if row.added_us is None or row.interval_us is None:
        return shown
    low, high = row.interval_us
    return f"{shown} [{cells.figure(low)}–{cells.figure(high)}]"
