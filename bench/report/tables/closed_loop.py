"""Closed loop: pages per second and what they cost, by point; the shares of the ceiling."""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.analysis import Analysis
from bench.analysis.summary import SummaryRow
from bench.report.tables import memory
from bench.show import cells
from bench.show.table import MISSING, Cell, Column, Row, Table, name, words

COLUMNS: Final = (
    name("backend"),
    name("point"),
    Column("pages/s, median [min–max]"),
    Column("ratio [95 %]"),
    words("verdict"),
    words("why", drop=9),
    Column("CPU user ms / 1000 pages", drop=3),
    Column("CPU system ms / 1000 pages", drop=3),
    Column("round ms", drop=6),
    Column("under the clock", drop=7),
    Column("p50 ms", drop=4),
    Column("p99 ms", drop=4),
    Column("of ceiling", drop=5),
    name("limiter", drop=2),
    Column("trials", drop=8),
)
STRUCK: Final = Cell("struck", "struck", "muted")
GLANCE: Final = (
    *("backend", "pages/s, median [min–max]", "ratio [95 %]", "verdict"),
    *("CPU user ms / 1000 pages", "CPU system ms / 1000 pages", "p99 ms"),
)


def closed_loop(analysis: Analysis) -> Table:
    """Every backend at every point, grouped by point."""
    return Table(
        "Closed loop: every backend at every point",
        COLUMNS,
        [_row(row, analysis.base) for row in analysis.rows if row.workload in stats.CLOSED],
        about=(
            f"Ratios are to {analysis.base}, paired within blocks, with 95 % expanded percentile "
            "bootstrap intervals. CPU is the crawler’s, per 1000 pages. A round is slots ÷ rate: "
            "what an exchange takes with everything around it. p50 and p99 are of the service "
            "time, and struck where its clock covers less than "
            f"{100 * stats.COVERED:.0f} % of a round. ○: limited by the server, so not the "
            "backend’s own speed."
        ),
        notes=where(analysis),
        grouped=True,
    )


def where(analysis: Analysis) -> list[str]:
    """On how many processors which backends ran; nothing where all had one."""
    return [analysis.places.words] if analysis.places else []


def _row(row: SummaryRow, base: str) -> Row:
    verdict: str | Cell = cells.verdict(row.ratio, row.limiter)
    if row.twin:
        verdict = Cell("A/A twin", "A/A twin", "muted")
    elif not row.trials:
        verdict = Cell("no valid trial", "no valid trial", "bad")
    return [
        row.label,
        row.point,
        cells.spread(row.pages_per_s),
        cells.ratio(row.ratio, base=row.label == base),
        verdict,
        "" if row.twin else cells.why(row.ratio),
        cells.figure(row.cpu_user_ms),
        cells.figure(row.cpu_system_ms),
        cells.figure(row.round_ms),
        MISSING if row.clock_share is None else f"{100 * row.clock_share:.0f} %",
        STRUCK if row.struck else cells.figure(row.service_p50_ms),
        STRUCK if row.struck else cells.figure(row.service_p99_ms),
        cells.share(row.ceiling_share),
        cells.limiter(row.limiter),
        str(row.trials) + (f" (+{row.unusable} unusable)" if row.unusable else ""),
    ]


def at_a_glance(analysis: Analysis) -> Table:
    """Speed, cost and memory of each backend at the point that stands for all."""
    point = analysis.reference_point("throughput", "real", "waiting")
    held = {row.label: row for row in analysis.memory_rows}
    at = {column.title: place for place, column in enumerate(COLUMNS)}
    rows: list[Row] = []
    for row in analysis.rows:
        if row.point != point or row.twin:
            continue
        all_cells = _row(row, analysis.base)
        mine = held.get(row.label)
        rows.append(
            [
                *(all_cells[at[title]] for title in GLANCE),
                cells.tenths(mine.total) if mine else MISSING,
                memory.user(mine) if mine else MISSING,
                all_cells[at["limiter"]],
            ]
        )
    return Table(
        f"At a glance: {point}",
        [
            *(COLUMNS[at[title]] for title in GLANCE),
            Column("memory KiB"),
            Column("of it user KiB"),
            COLUMNS[at["limiter"]],
        ],
        rows,
        about=(
            f"Ratios are to {analysis.base}. CPU is per 1000 pages, memory per idle connection. "
            f"p99 is struck where its clock covers less than {100 * stats.COVERED:.0f} % of what "
            "an exchange takes."
        ),
        notes=where(analysis),
    )


def ceiling_shares(analysis: Analysis) -> Table:
    """How near each backend comes to the most that the server can do."""
    tools = sorted({c.tool for c in analysis.records.ceilings if c.requests_per_s is not None})
    return Table(
        "Share of the server’s ceiling",
        [name("backend"), Column("share, median"), Column("min"), Column("max")],
        [
            [label, *(f"{value:.2f}" for value in (share.median, share.low, share.high))]
            for label, share in analysis.ceiling_shares
        ],
        about=(
            f"Requests/s as a share of what {', '.join(tools)} reaches on the same server in this "
            "campaign."
        ),
    )
