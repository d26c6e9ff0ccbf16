"""What every study shows: a summary with its tables, and charts with their origin below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from bench import filesystem
from bench.report.charts import Sheet, designed
from bench.report.files import CHARTS, SUMMARY
from bench.report.tables import section, show
from bench.show.figures import Figure
from bench.show.table import Table
from bench.show.words import commit_words, machine_words
from bench.study.record import RunRecord


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a study shows of its records."""

    title: str
    about: str  # how it was measured, where and when; Markdown
    tables: Sequence[Table]
    designs: Sequence[Figure | str] = ()  # or why there is none
    backends: Sequence[str] = ()  # in the order that decides on the colours of the charts
    notes: Sequence[str] = ()  # what was not measured, and why

    def excerpt(self, level: int = 3) -> str:
        """The tables, as a document has them."""
        lines = [line for table in self.tables for line in section(table, level)]
        return "\n".join(lines).rstrip()

    def summary(self) -> str:
        parts = [f"# {self.title}", self.about, self.excerpt(2)]
        if self.notes:
            parts += ["## Not measured", "\n".join(f"- {note}" for note in self.notes)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def write(self, folder: Path, console: Console) -> None:
        """Write the summary, draw the charts, and show the tables.

        Raises :class:`bench.BenchError`.
        """
        filesystem.make_folder(folder / CHARTS)
        sheet = Sheet(folder / CHARTS, self.backends, ())
        for design in self.designs:
            if isinstance(design, Figure):
                sheet.draw(design)
        filesystem.write_text(folder / SUMMARY, self.summary())
        for table in self.tables:
            show(table, console)
        for note in self.notes:
            console.print(f"not measured: {note}")
        console.print(f"summary and charts: {folder}")


def drawn(figure: Figure, source: str, head: RunRecord) -> Figure:
    """A figure with its origin below it: when its numbers were taken, where, and by what."""
    below = (
        machine_words(head.environment, head.created),
        f"{source} · commit {commit_words(head.environment)}",
    )
    return replace(designed(figure), footer=below)
