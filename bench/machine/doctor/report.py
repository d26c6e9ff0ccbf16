"""The results of all checks as a table on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from bench.machine.doctor.result import CheckResult, Level
from bench.terminal import Terminal

COLOURS: dict[Level, str] = {"ok": "green", "note": "cyan", "warning": "yellow", "refusal": "red"}


def show(results: Sequence[CheckResult]) -> None:
    """Print the results, the most serious last; in colour on terminals only."""
    order = list(COLOURS)
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for result in sorted(results, key=lambda result: order.index(result.level)):
        level = Text(result.level, style=COLOURS[result.level])
        table.add_row(level, Text(result.check), Text(result.found))
        if result.effect:
            table.add_row("", "", Text(result.effect, style="dim"))
        if result.fix:
            table.add_row("", "", Text(f"→ {result.fix}"))
    Terminal().print(table)
    count = [sum(r.level == level for r in results) for level in order]
    print(", ".join(f"{n} {level}" for n, level in zip(count, order, strict=True) if n))
