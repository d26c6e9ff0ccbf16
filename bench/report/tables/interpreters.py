"""A campaign across interpreters: what each backend costs on each."""

from __future__ import annotations

from typing import Final

from bench.analysis import stats
from bench.analysis.releases import Releases
from bench.plan.labels import Label
from bench.show import cells
from bench.show.table import MISSING, Cell, Column, Row, Table, name
from bench.text import KIB

SCALES: Final = {stats.CPU_PER_1000: 1, stats.USER_PER_CONNECTION: KIB}
COLUMNS: Final = (
    name("backend"),
    name("interpreter"),
    Column("CPU ms per 1000 pages"),
    Column("× oldest"),
    Column("× step"),
    Column("user KiB per connection"),
    Column("× oldest"),
    Column("× step"),
)


def interpreters(releases: Releases) -> Table:
    """A row for each backend on each interpreter: its figures, and their ratios."""
    spreads = {metric: releases.spreads(metric) for metric in SCALES}
    rows: list[Row] = []
    for label, base in releases.oldest.items():
        parsed = Label.parse(label)
        row: list[str | Cell] = [parsed.name, parsed.interpreter]
        for metric, scale in SCALES.items():
            spread = spreads[metric].get(label)
            row.append(cells.figure(spread.median / scale) if spread else MISSING)
            for compared in (releases.to_oldest(metric), releases.to_previous(metric)):
                found = compared.get(label)
                row.append(cells.ratio(found.ratio if found else None, base=label == base))
        rows.append(row)
    return Table("Across interpreters", COLUMNS, rows, notes=releases.lines)
