"""What every study shows: a summary with its tables, and charts with their origin below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import filesystem
from bench.report.charts import Sheet, designed
from bench.report.files import CHARTS, SUMMARY
from bench.report.tables import section, show
from bench.show.figures import Figure
from bench.show.measured import Measured
from bench.show.table import Table, name
from bench.show.words import commit_words, machine_words
from bench.study.record import Part, Run, RunRecord


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

        Raises :class:`bench.filesystem.FileError`.
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


def by_repeat(
    samples: Mapping[str, Mapping[int, Part]],
    values: Callable[[Part], Mapping[str, float | None]],
) -> dict[str, dict[str, dict[int, float]]]:
    """Program -> measure -> round -> value, as far as the samples have them."""
    rows: dict[str, dict[str, dict[int, float]]] = {}
    for program, parts in samples.items():
        for repeat, part in parts.items():
            for key, value in values(part).items():
                if value is not None:
                    rows.setdefault(program, {}).setdefault(key, {})[repeat] = value
    return rows


def of_run(
    run: Run[Any], measured: Measured, title: str, about: str, first: str, notes: Sequence[str] = ()
) -> Table:
    """A table that names its interpreter and notes what was not measured.

    ``first`` heads the column of names; ``notes`` come last.
    """
    table = measured.table(f"{title} ({run.head.environment.python})", about)
    return replace(table, columns=[name(first), *table.columns[1:]], notes=[*run.faults(), *notes])
