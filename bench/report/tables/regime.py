"""Which model wins at each number of slots and each delay."""

from __future__ import annotations

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.regime import Cell
from bench.report.tables.table import Table, words


def regime(analysis: Analysis) -> Table:
    """One row per cell of the map; no rows where it was not measured."""
    by_cpu = {cell.point: cell for cell in analysis.regime(stats.CPU_PER_1000)}
    return Table(
        "Which model wins, by slots and delay",
        [words("regime"), words("most pages/s"), words("least CPU per page")],
        [
            [
                f"{cell.slots:,} slots, {cell.delay_ms:g} ms",
                winner(cell),
                winner(by_cpu.get(cell.point)),
            ]
            for cell in analysis.regime(stats.PAGES_PER_S)
        ],
        about="The model that beats each of the other three, and its lead on the next.",
    )


def winner(cell: Cell | None) -> str:
    """The winner with its lead; ○ where the server set the rate."""
    if cell is None or not cell.enough:
        return stats.TOO_FEW
    if cell.lead is None:
        return f"{stats.UNDECIDED} between {', '.join(cell.best)}"
    return f"{cell.best[0]} × {cell.lead:.2f}" + (" ○" if cell.server_limited else "")
