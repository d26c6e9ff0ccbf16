"""The results for readers: the table on the terminal, ``summary.md``, the chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import filesystem
from bench.micro import chart
from bench.micro.account import Account, AccountRow, MicroRecord, accounts
from bench.micro.operations import GROUPS
from bench.report import charts, files
from bench.text import markdown_table, significant

NONE = "—"

Lines = list[list[str]]


def write(record: MicroRecord, folder: Path, console: Console) -> None:
    """Draw the chart, write the summary, print the table."""
    made = accounts(record)
    filesystem.make_folder(folder / files.CHARTS)
    sheet = charts.Sheet(folder / files.CHARTS, list(record.models), chart.footer(record))
    sheet.draw(chart.design(record, made))
    filesystem.write_text(folder / files.SUMMARY, markdown(record, made))
    head, *lines = overview(made)
    table = Table(*head, title="Processor time of a page, µs: price × number, by group")
    for column in table.columns[1:]:
        column.justify = "right"
    for line in lines:
        table.add_row(*line)
    console.print(table)


def us(value: float | None) -> str:
    """Microseconds with three digits; a dash if unknown."""
    return NONE if value is None else significant(value, 3)


def percent(share: float | None) -> str:
    """A share as a percentage; a dash if unknown."""
    return NONE if share is None else f"{share:.0%}"


def overview(made: Sequence[Account]) -> Lines:
    """One row per group, one column per backend; then sum, measured and explained."""
    used = [group for group in GROUPS if any(group in account.groups for account in made)]
    lines = [["", *(account.backend for account in made)]]
    lines += [[group, *(us(account.groups.get(group)) for account in made)] for group in used]
    lines += [
        ["sum", *(us(account.explained_us) for account in made)],
        ["measured", *(us(account.measured_us) for account in made)],
        ["explained", *(percent(account.share) for account in made)],
    ]
    return lines


def grid(lines: Lines, left: int = 1) -> str:
    """A Markdown table; all but the first ``left`` columns are numbers."""
    head, *body = lines
    return "\n".join(markdown_table(head, body, len(head) - left))


def detail(account: Account) -> str:
    """One backend's operations."""
    lines = [["operation", "group", "µs each", "per page", "µs per page"]]
    lines += [
        [row.title, row.group, us(row.each_us), number(row), us(row.page_us)]
        for row in account.rows
    ]
    text = f"\n### {account.backend}\n\n{grid(lines, 2)}\n"
    if account.measured is None:
        return f"{text}\nSum {us(account.explained_us)} µs. No valid trial to compare with.\n"
    least, most = (edge / account.measured.median for edge in (account.low_us, account.high_us))
    return (
        f"{text}\nSum {us(account.explained_us)} µs, measured {us(account.measured.median)} µs "
        f"({us(account.measured.low)} to {us(account.measured.high)} in {account.measured.count} "
        f"trials): **{percent(account.share)} explained** ({percent(least)} to {percent(most)} "
        "with prices at their quartiles).\n"
    )


def number(row: AccountRow) -> str:
    """The number per page; a dash if unknown."""
    return NONE if row.number is None else f"{row.number:.3f}"


def price_list(record: MicroRecord) -> str:
    """Every micro-benchmark, grouped by operation."""
    lines = [["operation", "where", "median µs", "quartiles", "least"]]
    for name, price in sorted(record.prices.items(), key=lambda item: (item[1].group, item[0])):
        where, _, test = name.partition(".")
        inside = test[test.index("[") :] if "[" in test else ""
        lines.append(
            [
                f"{price.group}{inside}",
                where,
                us(price.median_us),
                f"{us(price.q1_us)} to {us(price.q3_us)}",
                us(price.min_us),
            ]
        )
    return grid(lines, 2)


def markdown(record: MicroRecord, made: Sequence[Account]) -> str:
    """The whole summary."""
    machine = record.environment
    void = [f"- {name}: {reason}" for name, model in record.models.items() for reason in model.void]
    parts = [
        "# Micro-costs, and how they add up\n",
        f"{record.created[:10]}, {machine.cpu_model or machine.machine}, {machine.python}; "
        f"`{record.site}`, {record.slots} slots, {record.blocks} blocks. Microseconds of "
        "processor time (user and system). Rebuild with `python -m bench micro --redraw`; "
        "docs/reading-the-charts.md explains how to read it.\n",
        grid(overview(made)) + "\n",
        "## Each model's page\n" + "".join(map(detail, made)),
        f"## Prices\n\n{price_list(record)}\n",
    ]
    if void:
        parts.append("## Trials that do not count\n\n" + "\n".join(void) + "\n")
    return "\n".join(parts)
