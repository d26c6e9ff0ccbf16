"""Any table (:class:`bench.show.table.Table`) in Markdown, and on a terminal as wide as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import rich.table
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from bench.show.table import Column, Row, Table
from bench.text import markdown_text

BETWEEN: Final = 3
"""Characters that a column takes beside its own width."""
INDENT: Final = 2
"""Of the rows of a group."""


def section(table: Table, level: int = 2) -> list[str]:
    """The lines of a table with its caption as heading; none where the table has no rows."""
    if not table.rows:
        return []
    lines = [f"{'#' * level} {table.caption}", ""]
    if table.about:
        lines += [markdown_text(table.about), ""]
    if table.grouped:
        for group, rows in table.groups():
            lines += [f"{'#' * (level + 1)} {markdown_text(group)}", "", *grid(rows), ""]
    else:
        lines += [*grid(table), ""]
    if table.notes:
        lines += [*(f"- {markdown_text(note)}" for note in table.notes), ""]
    return lines


def grid(table: Table) -> list[str]:
    """Header and rows alone."""
    marks = ["---:" if column.numeric else "---" for column in table.columns]
    return [_line(table.header), _line(marks), *map(_line, table.rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown_text, cells))} |"


# --- on a terminal ---


def show(table: Table, console: Console) -> None:
    """Print a table and its notes; nothing where the table has no rows.

    A narrow terminal leaves out the columns that you miss least.
    """
    if not table.rows:
        return
    groups = list(table.groups()) if table.grouped else [("", table)]
    indent = INDENT if table.grouped else 0
    columns = groups[0][1].columns
    rows = [row for _, part in groups for row in part.rows]
    widths, fits = fit(columns, rows, console.width - indent)
    shown = rich.table.Table(title=table.caption, title_justify="left", pad_edge=False)
    for place, width in widths.items():
        column = columns[place]
        shown.add_column(
            Text(column.title),
            justify=column.align,
            width=width + (indent if place == 0 else 0) if fits else None,
            overflow="fold",
        )
    for group, part in groups:
        if group:
            shown.add_row(Text(group, style="bold"))
        for row in part.rows:
            cells = [Text(row[place]) for place in widths]
            cells[0].pad_left(indent)
            shown.add_row(*cells)
    console.print(shown)
    for note in table.notes:
        console.print(Text(f"• {note}", style="dim"))


def fit(
    columns: Sequence[Column], rows: Sequence[Row], width: int
) -> tuple[Mapping[int, int], bool]:
    """The place and width of the columns that are shown: those least wanted are dropped.

    And whether they fit; otherwise cells are broken into lines.
    """
    widths = {
        place: max(map(cell_len, [*column.title.split(), *(row[place] for row in rows)]))
        for place, column in enumerate(columns)
    }
    for drop in sorted({column.drop for column in columns}, reverse=True):
        if sum(widths.values()) + BETWEEN * len(widths) + 1 <= width:
            return widths, True
        if drop:
            widths = {p: w for p, w in widths.items() if columns[p].drop != drop}
    return widths, False
