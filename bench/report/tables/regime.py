"""Which model wins at each number of slots and each delay."""

from __future__ import annotations

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.regime import Cell
from bench.show import cells as cells_text
from bench.show.table import Table, words
from bench.text import listing, plural


def regime(analysis: Analysis) -> Table:
    """One row per cell of the map; no rows where it was not measured."""
    by_rate = analysis.regime(stats.PAGES_PER_S)
    by_cpu = {cell.point: cell for cell in analysis.regime(stats.CPU_PER_1000)}
    return Table(
        "Which model wins, by slots and delay",
        [words("regime"), words("most pages/s"), words("least CPU per page")],
        [
            [place(cell), winner(cell), winner(by_cpu.get(cell.point))]
            for cell in sorted(by_rate, key=lambda cell: (cell.slots, cell.delay_ms))
        ],
        about=(
            "The model that beats each of the other three, and its lead on the next; or the models "
            "that share the cell, because they are equivalent. The verdicts are those of the "
            "closed-loop table."
        ),
        notes=[
            tally(what, cells)
            for what, cells in (("pages/s", by_rate), ("CPU per page", [*by_cpu.values()]))
            if cells
        ],
    )


def place(cell: Cell) -> str:
    """``100 slots, 10 ms``."""
    return f"{plural(cell.slots, 'slot')}, {cell.delay_ms:g} ms"


def winner(cell: Cell | None) -> str:
    """The winner with its lead, or who shares the cell; ○ where the server set the rate."""
    if cell is None or not cell.enough:
        return stats.TOO_FEW
    limited = " ○" if cell.server_limited else ""
    if cell.lead is not None:
        return f"{cell.best[0]} × {cell.lead:.2f}{limited}"
    if cell.shared:
        return f"{', '.join(cell.best)}: {equivalent(cell)}{limited}"
    return f"{stats.UNDECIDED} between {', '.join(cell.best)}: {settling(cell)}{limited}"


def equivalent(cell: Cell) -> str:
    """``equivalent within ±5 %``."""
    return f"{stats.EQUIVALENT} within ±{100 * (cell.margin or 0):.0f} %"


def settling(cell: Cell) -> str:
    """What it would take to decide an undecided cell."""
    return f"{cells_text.blocks(cell.blocks_to_settle)} blocks would decide"


def tally(what: str, cells: list[Cell]) -> str:
    """How many cells are decided one way or the other, and what the rest would take."""
    enough = [cell for cell in cells if cell.enough]
    won, shared = sum(cell.won for cell in enough), sum(cell.shared for cell in enough)
    open_ = [cell for cell in enough if not cell.won and not cell.shared]
    parts = [f"{won} won", f"{shared} shared by equivalent models", f"{len(open_)} undecided"]
    few = [place(cell) for cell in cells if not cell.enough]
    if few:
        parts.append(f"{len(few)} with too few blocks")
    text = f"By {what}, of {plural(len(cells), 'cell')}: {listing(parts)}."
    if open_:
        text += " Undecided, with the blocks that would decide: "
        text += "; ".join(f"{place(c)}: {cells_text.blocks(c.blocks_to_settle)}" for c in open_)
        text += "."
    if few:
        text += f" Too few blocks (at least {stats.MIN_BLOCKS} are needed): {'; '.join(few)}."
    return text
