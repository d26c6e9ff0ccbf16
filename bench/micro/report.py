"""The results for readers: the table on the terminal and ``summary.md``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import filesystem
from bench.micro.record import MicroRecord
from bench.report import files
from bench.text import markdown_table, significant

HEAD = ["operation", "where", "median µs", "quartiles", "least"]
WORDS = 2
"""Columns of words, before those of numbers."""


def write(record: MicroRecord, folder: Path, console: Console) -> None:
    """Write the summary, print the table."""
    filesystem.write_text(folder / files.SUMMARY, markdown(record))
    table = Table(*HEAD, title="Processor time of one operation, µs")
    for column in table.columns[WORDS:]:
        column.justify = "right"
    for line in lines(record):
        table.add_row(*line)
    console.print(table)


def us(value: float) -> str:
    """Microseconds with three digits."""
    return significant(value, 3)


def lines(record: MicroRecord) -> list[list[str]]:
    """Every micro-benchmark, grouped by operation."""
    made = []
    for name, price in sorted(record.prices.items(), key=lambda item: (item[1].group, item[0])):
        where, _, test = name.partition(".")
        inside = test[test.index("[") :] if "[" in test else ""
        made.append(
            [
                f"{price.group}{inside}",
                where,
                us(price.median_us),
                f"{us(price.q1_us)} to {us(price.q3_us)}",
                us(price.min_us),
            ]
        )
    return made


def markdown(record: MicroRecord) -> str:
    """The whole summary."""
    machine = record.environment
    table = "\n".join(markdown_table(HEAD, lines(record), len(HEAD) - WORDS))
    return (
        "# What single operations cost\n\n"
        f"{record.created[:10]}, {machine.cpu_model or machine.machine}, {machine.python}. "
        "Microseconds of processor time (user and system), over all batches of two passes. "
        "Rebuild with `python -m bench micro --redraw`; docs/method.md says how they are "
        f"measured.\n\n{table}\n"
    )
