"""The results for readers: tables on the terminal, ``summary.md``, charts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import filesystem
from bench.analysis.analysis import Analysis
from bench.micro import record as prices_record
from bench.micro.record import MicroError, MicroRecord
from bench.micro.startup import record as startup_record
from bench.micro.startup import report as startup
from bench.micro.startup.record import StartupRecord
from bench.micro.waiting import chart as tasks_chart
from bench.micro.waiting import record as tasks_record
from bench.micro.waiting import report as tasks
from bench.micro.waiting.beside import connections
from bench.micro.waiting.kinds import KINDS
from bench.micro.waiting.lines import lines as task_lines
from bench.micro.waiting.record import TasksRecord
from bench.report import charts, files
from bench.report.tables import markdown as tables_markdown
from bench.report.tables import terminal
from bench.schema import Environment
from bench.show import table as tables
from bench.show.words import commit_words, machine_words
from bench.text import markdown_table, significant

HEAD = ["operation", "where", "median µs", "quartiles", "least"]
WORDS = 2
"""Columns of words, before those of numbers."""


@dataclass(frozen=True, slots=True)
class Found:
    """The records of a folder; None for what was not measured."""

    prices: MicroRecord | None = None
    tasks: TasksRecord | None = None
    startup: StartupRecord | None = None


def load(folder: Path) -> Found:
    """The records in a folder. Raises :class:`MicroError` if there is none at all."""
    tasks, startup = tasks_record.load(folder), startup_record.load(folder)
    try:
        prices = prices_record.load(folder)
    except MicroError:
        if (folder / prices_record.FILE_NAME).exists() or not (tasks or startup):
            raise
        prices = None
    return Found(prices, tasks, startup)


def write(found: Found, folder: Path, console: Console, campaign: Analysis | None = None) -> None:
    """Write the summary and the charts, print the tables.

    The connections of a campaign stand beside waiting tasks, if it ran on the same machine.
    """
    filesystem.write_text(folder / files.SUMMARY, summary(found, campaign))
    for design, shown, environment, created in designs(found, campaign):
        if isinstance(design, charts.Design):
            filesystem.make_folder(folder / files.CHARTS)
            charts.Sheet(folder / files.CHARTS, shown, footer(environment, created)).draw(design)
    if found.prices is not None:
        table = Table(*HEAD, title="Processor time of one operation, µs")
        for column in table.columns[WORDS:]:
            column.justify = "right"
        for line in lines(found.prices):
            table.add_row(*line)
        console.print(table)
    for each in further(found, campaign):
        terminal.show(each, console)


def designs(
    found: Found, campaign: Analysis | None
) -> Iterator[tuple[charts.Design | charts.Skip, tuple[str, ...], Environment, str]]:
    """Each chart, with what decides on its colours, and where and when it was measured."""
    if (mine := found.tasks) is not None:
        held, where = connections(campaign, mine.environment)
        shown = tuple(kind.backend or kind.name for kind in KINDS.values())
        yield tasks_chart.design(mine, held, where), shown, mine.environment, mine.created
    if (starts := found.startup) is not None:
        yield startup.design(starts), startup.CHARTED, starts.environment, starts.created


def footer(environment: Environment, created: str) -> tuple[str, str]:
    """Where the numbers of a chart come from."""
    return (
        machine_words(environment, created),
        f"python -m bench micro · commit {commit_words(environment)}",
    )


def further(found: Found, campaign: Analysis | None) -> list[tables.Table]:
    """The tables of waiting tasks and of start-up."""
    made = []
    if found.tasks is not None:
        held, _ = connections(campaign, found.tasks.environment)
        made += [tasks.memory(found.tasks, held), tasks.times(found.tasks)]
    if found.startup is not None:
        made.append(startup.table(found.startup))
    return made


def summary(found: Found, campaign: Analysis | None = None) -> str:
    """The text of ``summary.md``."""
    if found.prices is not None:
        text = markdown(found.prices)
    else:
        text = "# What single operations cost\n\nTheir prices were not measured.\n"
    records = [record for record in (found.tasks, found.startup) if record is not None]
    measured = {f"{r.created[:10]}, {r.environment.python}" for r in records}
    if measured:
        text += f"\nWaiting tasks and start-up: {'; '.join(sorted(measured))}.\n"
    if found.tasks is not None:
        text += f"\n{connections(campaign, found.tasks.environment)[1]}\n"
    for table in further(found, campaign):
        text += "\n" + "\n".join(tables_markdown.section(table)).rstrip("\n") + "\n"
    return text


def as_json(found: Found) -> dict[str, float]:
    """Medians by name: microseconds, bytes of a waiting task, milliseconds of an import."""
    made: dict[str, float] = {}
    if found.prices is not None:
        made |= {name: price.median_us for name, price in found.prices.prices.items()}
    for line in task_lines(found.tasks) if found.tasks else ():
        if line.total is not None:
            made[f"tasks.{line.kind.name}.bytes"] = line.total
        for what in ("spawn", "switch", "cancel"):
            if (spread := getattr(line, what)) is not None:
                made[f"tasks.{line.kind.name}.{what}_us"] = spread.median
    for each in startup.imports(found.startup) if found.startup else ():
        made[f"startup.{each.backend}.cpu_ms"] = each.cpu_ms.median
    return made


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
