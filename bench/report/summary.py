"""The summary of a campaign: all its tables, as Markdown and on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from bench.analysis import trust
from bench.analysis.analysis import Analysis
from bench.questions import answers
from bench.report.tables import (
    closed_loop,
    environment,
    fairness,
    instrument,
    interpreters,
    ladder,
    markdown,
    memory,
    mixed,
    open_loop,
    processors,
    segments,
    terminal,
    timeouts,
    tls,
    validity,
)
from bench.show.table import Table
from bench.text import markdown_text


def tables(analysis: Analysis) -> list[Table]:
    """Every table that the campaign has data for, in the order of the summary and the page."""
    if analysis.releases:
        several = [interpreters.interpreters(analysis.releases), processors.processors(analysis)]
        return [table for table in several if table.rows]
    made = (
        closed_loop.closed_loop,
        segments.segments,
        closed_loop.ceiling_shares,
        memory.memory,
        tls.memory,
        open_loop.open_loop,
        mixed.mixed,
        ladder.ladder,
        fairness.fairness,
        timeouts.timeouts,
        validity.validity,
        instrument.instrument,
        processors.processors,
    )
    tables = [table for make in made if (table := make(analysis)).rows]
    return tables + [table for _, found in answers(analysis) for table in found.tables]


def to_markdown(analysis: Analysis) -> str:
    """The whole summary, for ``results/<campaign>/summary.md``."""
    lines = [f"# Campaign {markdown_text(analysis.campaign.campaign)}", ""]
    lines += _list("Warnings", trust.warnings(analysis))
    for table in tables(analysis):
        lines += markdown.section(table)
    lines += _list("Can it be trusted?", trust.method_lines(analysis))
    pairs = environment.environment(analysis.records)
    lines += _list("Environment", [f"{name}: {value}" for name, value in pairs])
    return "\n".join(lines).rstrip("\n") + "\n"


def _list(title: str, lines: list[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {markdown_text(line)}" for line in lines), ""] if lines else []


def show(analysis: Analysis, console: Console) -> None:
    """Print the tables that you look at first, what speaks for the campaign, and warnings."""
    if analysis.releases:
        terminal.show(interpreters.interpreters(analysis.releases), console)
    else:
        for make in (
            closed_loop.closed_loop,
            segments.segments,
            memory.memory,
            tls.memory,
            open_loop.open_loop,
        ):
            terminal.show(make(analysis), console)
    for line in trust.method_lines(analysis):
        console.print(Text.assemble(("• ", "dim"), line))
    for line in trust.warnings(analysis):
        console.print(Text.assemble(("! ", "yellow"), line))
