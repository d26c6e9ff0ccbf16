"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bench.show.table import Table
from bench.text import markdown_text


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
    return [_line(table.header), _line(marks), *map(_line, table.texts)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown_text, cells))} |"
