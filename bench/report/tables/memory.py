"""Memory per connection, by owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.summary import MemoryRow
from bench.show import cells
from bench.show.table import MISSING, Cell, Column, Row, Table, name
from bench.text import listing

DROPS: Final = {"page tables": 3, "other": 3, "send buffers": 2, "kernel sockets": 1}
COLUMNS: Final = (
    name("backend"),
    *(Column(part, drop=DROPS.get(part, 0)) for part in stats.MEMORY_PARTS),
    Column("total"),
    Column("fixed MiB", drop=4),
    Column("server side", drop=5),
    Column("user at highest N", drop=6),
    Column("parts / free memory", drop=7),
)


def memory(analysis: Analysis) -> Table:
    """One row per backend, in KiB per connection."""
    rows = analysis.memory_rows
    how = (
        "Slope of a Theil–Sen line over the numbers of connections"
        if all(row.fitted for row in rows)
        else "Per connection at the highest N, where too few numbers were measured for a slope"
    )
    highest = max((row.highest for row in rows), default=0)
    sources: dict[str, str] = {}
    for fit in analysis.memory.values():
        sources |= fit.sources
    listed = "; ".join(f"{part}: {source}" for part, source in sorted(sources.items()))
    return Table(
        "Memory per connection, KiB",
        COLUMNS,
        [_row(row) for row in rows],
        about=(
            f"{how}; user with its 95 % interval; highest N {highest:,}. The server’s side of the "
            "sockets is listed apart and is not in the total."
            + (f" Sources: {listed}." if listed else "")
        ),
        notes=missing(rows),
    )


def missing(rows: Sequence[MemoryRow]) -> list[str]:
    """Which parts have no figure for some backend, one line for each reason."""
    parts: dict[str, list[str]] = {}
    for part, reason in sorted({pair for row in rows for pair in row.reasons.items()}):
        parts.setdefault(reason, []).append(part)
    return [f"Missing: {listing(names)}: {reason}" for reason, names in parts.items()]


def _row(row: MemoryRow) -> Row:
    parts: dict[str, str | Cell] = {part: cells.tenths(kib) for part, kib in row.parts.items()}
    return [
        row.label,
        *(parts | {"user": user(row)}).values(),
        cells.tenths(row.total),
        cells.tenths(row.fixed_mib),
        cells.tenths(row.server_sockets),
        cells.tenths(row.user_at_highest),
        MISSING if row.agreement is None else f"{row.agreement:.2f}",
    ]


def user(row: MemoryRow) -> str | Cell:
    """User memory with its interval."""
    text = cells.tenths(row.parts["user"])
    if row.user_interval is None:
        return text
    low, high = row.user_interval
    return Cell(f"{text} [{low:.1f}–{high:.1f}]", text)
